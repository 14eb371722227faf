// Where in a file an MPI-IO call reads or writes: MPI-3.1, sections 13.3 (views) and 13.4 (data
// access). Of one process, whose MPI-IO events come in order.
//
// Offsets by shared pointers are made of all ranks' calls, or of the layer below
// (core/mpi/shared_offsets.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/event/event.hpp"
#include "core/mpi/datatype.hpp"
#include "core/mpi/shared_offsets.hpp"

namespace omnio::mpi {

enum class MpiPointer : std::uint8_t { kExplicit, kIndividual, kShared };

// The name of a call that moves data says how it does that (MPI-3.1, table 13.2).
struct MpiAccessForm {
  MpiPointer pointer = MpiPointer::kExplicit;
  bool collective = false;
  bool nonblocking = false;
  bool split = false;
};

// Datatypes of a process by number, each parsed once.
class MpiTypes {
 public:
  // `info` has to outlive it.
  explicit MpiTypes(const tracefile::ProcessInfo& info) : info_(info) {}
  // nullptr when the process did not record it, or what it recorded makes no sense.
  const MpiType* find(std::uint64_t number);

 private:
  const tracefile::ProcessInfo& info_;
  std::map<std::uint64_t, std::optional<MpiType>> types_;
};

// An MPI file as a process has opened it.
struct MpiFileState {
  std::uint64_t session = 0;  // tells opens apart: from 1 in the order in which they were met
  std::uint64_t group = 0;    // number of its group of ranks; 0: not known
  bool has_view = false;
  // Not there when the types are not known, or the data lie in the file in another form.
  std::optional<MpiView> view = MpiView();
  std::int64_t etype_bytes = 1;  // 0 when the etype is not known
  // The individual pointer, in etypes.
  std::optional<std::int64_t> pointer = 0;
  // The bytes that a split read asked for when it began, and the pointer behind all of them.
  std::uint64_t split_bytes = 0;
  std::optional<std::int64_t> behind_split;
};

class MpiFileOffsets {
 public:
  explicit MpiFileOffsets(const tracefile::ProcessInfo& info) : types_(info) {}

  struct Placed {
    const MpiFileState* file = nullptr;  // until the next event
    MpiAccessForm form;
    // Begin of the access in etypes of the view. Not there: by shared pointer, or not known.
    std::optional<std::int64_t> etypes;
  };

  // Takes in any event below MPI (depth above 0), in the order of its log: before the call that it
  // was made for.
  void takeBelow(const event::Event& event);

  // Takes in any MPI-IO event of the process. Of one that reads or writes it returns the place;
  // individual pointers move on.
  std::optional<Placed> take(const event::Event& event);

 private:
  MpiFileState& fileOf(const event::Event& event);
  void setView(MpiFileState& file, const event::Event& event);
  void advance(MpiFileState& file, const event::Event& event, MpiAccessForm form);
  static void endSplit(MpiFileState& file, const event::Event& event);

  bool wasShortBelow(const event::Event& event) const;

  MpiTypes types_;
  std::uint64_t sessions_ = 0;
  std::map<std::uint32_t, MpiFileState> files_;  // by handle
  struct Interval {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  std::map<event::FileId, Interval> short_below_;  // the last read that got less than it asked for
};

// A pointer after an access of so many etypes; not known where one of them is not.
void moveOn(std::optional<std::int64_t>& pointer, std::optional<std::int64_t> etypes);

// The data that an MPI-IO access is about, as far as it is known.
struct MpiAccess {
  std::optional<std::int64_t> etypes;       // begin, in etypes of the view
  std::optional<std::int64_t> etype_count;  // moved
  std::optional<std::int64_t> begin;        // of the data in the file, in bytes; of none too
  std::optional<std::int64_t> end;          // behind the last byte of the data
  bool is_whole = false;       // whether `pieces` are all: else they are the first, or none
  std::vector<Stride> pieces;  // of the file
};
// `bytes` are those asked for or moved; `most` of the strides are made. `shared` may be null.
MpiAccess accessOf(const MpiFileOffsets::Placed& placed, const MpiSharedPlace* shared,
                   std::int64_t bytes, std::size_t most);

}  // namespace omnio::mpi
