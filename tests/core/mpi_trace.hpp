// Synthetic traces of MPI programs, and their matched picture as lines of text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/calls/role.hpp"
#include "core/order/matched_events.hpp"
#include "core/wire/mpi_requests.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::test {

// The arguments kBegun, kDone and kMembers hold these.
template <typename Item>
std::vector<std::uint64_t> listOf(std::initializer_list<Item> items) {
  std::vector<std::uint64_t> list;
  for (const Item& item : items) {
    char room[wire::kMostOfItem * wire::kMaxVarint + 8];
    std::int64_t count = 0;
    const char* const end = wire::put(room, item, count);
    for (const char* at = room; at < end;) {
      std::uint64_t value = 0;
      at = wire::getVarint(at, end, value);
      list.push_back(value);
    }
  }
  return list;
}

class MpiTrace {
 public:
  // Ranks 0 to ranks - 1 of MPI_COMM_WORLD (group 1 of each); those in `untraced` have no process.
  explicit MpiTrace(int ranks, std::vector<int> untraced = {});

  // A group of these ranks of the world, in this order, that each of them knows by this number.
  void group(int number, std::string_view id, std::vector<int> ranks,
             std::string_view kind = "comm");
  // The same of two sides.
  void intercommunicator(int number, std::string_view id, std::vector<int> side_0,
                         std::vector<int> side_1);
  void fact(int rank, const std::string& key, const std::string& value);
  void onNode(int rank, const std::string& boot);
  // The clock of a rank when its process ends; without it the trace does not say.
  void endsAt(int rank, std::uint64_t ns) { ends_[rank] = ns; }

  // Calls of a thread in order of time. `call` is without MPI_, or with PMPI_.
  struct Place {
    Place(int of_rank, int of_thread = 0) : rank(of_rank), thread(of_thread) {}  // NOLINT: converts
    int rank;
    int thread;
  };
  void call(Place place, std::string_view call, std::uint64_t start, std::uint64_t end,
            Arguments arguments, std::vector<std::uint64_t> list = {});
  void failed(Place place, std::string_view call, std::uint64_t start, std::uint64_t end,
              Arguments arguments);
  void depth(unsigned depth) { depth_ = depth; }  // of the calls that follow

  // The usual calls with the arguments that matter; in MPI_COMM_WORLD with tag 0 unless
  // told otherwise.
  void send(Place from, int to, int seq, std::uint64_t start, std::uint64_t end, int tag = 0,
            int comm = 1);
  void receive(Place at, int from, int seq, std::uint64_t start, std::uint64_t end, int tag = 0,
               int comm = 1);
  void barrier(Place place, int seq, std::uint64_t start, std::uint64_t end, int comm = 1);

  void save(const std::string& directory) const;

  // One line an event, by rank, thread and number:
  //   0.0#1 Send waited=5 own=10 late=1 with 1.0#1
  // With the reason in place of the times where a counterpart is missing.
  std::vector<std::string> picture(order::MpiMatcher::Limits limits = {});
  order::MpiCounts counts;  // of the last picture()
  std::uint64_t seen = 0;   // events of the last picture()

 private:
  void add(Place place, std::string_view call, EventSpec spec, Arguments arguments,
           std::vector<std::uint64_t> list);

  int ranks_;
  std::vector<int> untraced_;
  std::map<int, std::uint64_t> ends_;
  std::map<int, std::map<std::string, std::string>> facts_;
  std::map<std::pair<int, int>, ChunkBuilder> chunks_;
  unsigned depth_ = 0;
};

}  // namespace omnio::test
