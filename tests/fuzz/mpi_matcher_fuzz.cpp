// Whatever calls the logs of three ranks of four hold, in whatever order: the matched picture hands
// out each event once, with nothing left open, and waiting within its duration. The first byte says
// the bounds on what is held, then each event is a place, a call, two times, its arguments and the
// varints of its list.
#include <array>
#include <string>
#include <vector>

#include "core/order/matcher.hpp"
#include "core/wire/record.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {
namespace {

constexpr mpi::ProcessIndex kProcesses = 3;

class Checked final : public order::MpiPictureSink {
 public:
  void seen(std::uint64_t id, const order::MpiEventRef&, const event::Event&) override {
    require(id == settled_.size());
    settled_.push_back(false);
  }
  void settled(const order::MatchedEvent& event) override {
    require(event.id < settled_.size() && !settled_[event.id]);
    settled_[event.id] = true;
    const std::int64_t duration = event.event.end_ns - event.event.start_ns;
    if (event.waited_ns) require(*event.waited_ns >= 0 && *event.waited_ns <= duration);
    require((event.late != mpi::kNoProcess) == (event.waited_ns.value_or(0) > 0));
    for (const order::EventPart& part : event.parts) {
      require(part.operation->match != order::Match::kOpen);
      require(!order::wordsOf(part.operation->match).empty());
    }
  }
  void requireAllSettled(const order::MpiCounts& counts) const {
    for (const bool is_settled : settled_) require(is_settled);
    require(counts.events == settled_.size());
  }

 private:
  std::vector<bool> settled_;
};

mpi::MpiGroups groups() {
  const std::array<std::vector<std::pair<const char*, const char*>>, kProcesses> facts = {{
      {{"group.1", "a 0 4 0 0 comm"},
       {"group.2", "b 0 2 0 0 comm"},
       {"group.2.sources", "1 1 7"},
       {"group.3", "c 0 1 0 2 inter"},
       {"group.4", "d 0 3 0 0 window"}},
      {{"group.1", "a 1 4 0 0 comm"},
       {"group.2", "b 1 2 0 0 comm"},
       {"group.3", "c 0 2 1 1 inter"},
       {"group.4", "d 1 3 0 0 window"}},
      {{"group.1", "a 2 4 0 0 comm"},
       {"group.2", "e 0 1 0 0 comm"},
       {"group.3", "c 1 2 1 1 inter"},
       {"group.4", "d 2 3 0 0 window"}},
  }};
  mpi::MpiGroups result;
  for (const auto& of_process : facts) {
    std::string payload;
    for (const auto& [key, value] : of_process) {
      payload += key;
      payload += '\0';
      payload += value;
      payload += '\0';
    }
    tracefile::ProcessInfo info;
    info.take(payload);
    result.add(info);
  }
  return result;
}

std::vector<const calls::Row*> mpiRows() {
  std::vector<const calls::Row*> rows;
  for (const calls::Row& row : calls::kTable) {
    // Both names of a call are one to the matcher.
    if (row.number != 0 && row.api == calls::Api::kMpi && row.number % 2 == 0) rows.push_back(&row);
  }
  return rows;
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool left() const { return size_ > 0; }
  std::uint8_t next() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

constexpr int kLowest = -4;  // of arguments: MPI_ROOT

// Seeds are written as they are read.
class Calls {
 public:
  Calls() { bytes_ += static_cast<char>(255); }
  void add(mpi::ProcessIndex process, std::string_view name, std::vector<int> arguments,
           std::string list = {}) {
    const auto rows = mpiRows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->name != name) continue;
      bytes_ += static_cast<char>(process);
      bytes_ += static_cast<char>(i);
      bytes_ += static_cast<char>(10);
      bytes_ += static_cast<char>(20);
      for (const int argument : arguments) bytes_ += static_cast<char>(argument - kLowest);
      if (wire::kRecordLayouts[rows[i]->number].pieces >= 0) {
        bytes_ += static_cast<char>(list.size());
        bytes_ += list;
      }
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

const int kVariations = 3000;

std::vector<std::string> seeds() {
  Calls messages;
  messages.add(0, "MPI_Send", {1, 1, 0, 8, 1});
  messages.add(1, "MPI_Irecv", {1, -1, 0, 8, 1});
  messages.add(1, "MPI_Irecv", {1, 0, 0, 8, 2});
  messages.add(1, "MPI_Wait", {}, std::string("\x09\x01\x00\x00\x01\x08", 6));
  messages.add(0, "MPI_Isend", {1, 1, 0, 8, 2, 3});
  messages.add(1, "MPI_Wait", {}, std::string("\x05\x01\x00\x00\x02\x08", 6));
  messages.add(0, "MPI_Wait", {}, std::string("\x0c", 1));
  messages.add(2, "MPI_Sendrecv", {1, 2, 0, 8, 1, 2, 0, 8, 1});
  Calls groups;
  for (mpi::ProcessIndex process = 0; process < kProcesses; ++process) {
    groups.add(process, "MPI_Win_fence", {4, 1});
    groups.add(process, "MPI_Ibcast", {3, 0, 8, 1, 1});
    groups.add(process, "MPI_Allreduce", {1, 8, 1});
    groups.add(process, "MPI_Wait", {}, std::string("\x04", 1));
  }
  groups.add(0, "MPI_Win_post", {4}, std::string("\x01\x01", 2));
  groups.add(1, "MPI_Win_start", {4}, std::string("\x00\x01", 2));
  groups.add(1, "MPI_Win_complete", {4}, std::string("\x00\x01", 2));
  groups.add(0, "MPI_Win_wait", {4}, std::string("\x01\x01", 2));
  groups.add(0, "MPI_Neighbor_alltoall", {2, 8, 2});
  groups.add(1, "MPI_Neighbor_alltoall", {2, 8, 2});
  Calls others;
  others.add(0, "MPI_Startall", {},
             std::string("\x05\x01\x02\x00\x08\x01\x0a\x01\x02\x00\x08", 11));
  others.add(1, "MPI_Mprobe", {1, 0, 0, 8, 1, 5});
  others.add(1, "MPI_Imrecv", {8, 5});
  others.add(1, "MPI_Probe", {1, 0, 0, 8, 1});
  others.add(1, "MPI_Request_free", {5});
  others.add(0, "MPI_Waitall", {}, std::string("\x04\x0b", 2));
  others.add(0, "MPI_Comm_create_group", {1, 2, 0});
  others.add(1, "MPI_Comm_create_group", {1, 2, 0});
  return {messages.bytes(), groups.bytes(), others.bytes(),
          messages.bytes() + groups.bytes().substr(1) + others.bytes().substr(1)};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  using namespace omnio::fuzz;
  static const std::vector<const calls::Row*> kRows = mpiRows();
  static const mpi::MpiGroups kGroups = groups();
  Bytes bytes(data, size);
  Checked sink;
  const std::uint8_t bound = bytes.next();
  const order::MpiMatcher::Limits limits{.most_open = std::size_t{1} + bound,
                                         .most_requests = std::size_t{1} + bound % 16U,
                                         .most_epochs = std::size_t{1} + bound % 8U,
                                         .most_streams = bound % 4U};
  order::MpiMatcher matcher(kGroups, {false, true, false}, {&kGroups, {{0, 0}, {0, 0}, {1, 5}}, 10},
                            sink, limits);
  std::array<std::uint64_t, kProcesses> numbers{};
  std::array<bool, kProcesses> ended{};
  std::int64_t now = 1000;
  while (bytes.left()) {
    const std::uint8_t place = bytes.next();
    const mpi::ProcessIndex process = place % 4;
    if (process == kProcesses) {  // what is left of a place says who ends
      const mpi::ProcessIndex ending = place / 4 % 8;
      if (ending < kProcesses && !ended[ending]) matcher.end(ending);
      if (ending < kProcesses) ended[ending] = true;
      continue;
    }
    event::Event event;
    event.row = kRows[bytes.next() % kRows.size()];
    event.failed = place >= 0xF0;
    now += bytes.next();
    event.start_ns = now;
    event.end_ns = now + bytes.next();
    std::string list;
    const wire::RecordLayout& layout = wire::kRecordLayouts[event.row->number];
    for (unsigned i = 0; i < layout.count; ++i) {
      const std::uint8_t index = layout.argument[i];
      const std::uint8_t value = bytes.next();
      event.arguments[index] = value + kLowest;
      if (layout.field[i] != wire::Field::kPieces) continue;
      for (std::uint8_t n = value % 64; n > 0 && bytes.left(); --n) {
        list += static_cast<char>(bytes.next());
      }
    }
    event.pieces = list;
    if (ended[process]) continue;
    matcher.push({.row = event.row,
                  .process = process,
                  .thread = place / 4U % 2U,
                  .number = ++numbers[process],
                  .start_ns = event.start_ns,
                  .end_ns = event.end_ns},
                 event);
  }
  matcher.finish();
  sink.requireAllSettled(matcher.counts());
  require(matcher.operationsHeld() == 0 && matcher.epochsHeld() == 0);
  return 0;
}
