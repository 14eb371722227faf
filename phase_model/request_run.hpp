// A sequence of requests of one operation, in bounded memory: as a constant stride where it is one,
// as loops where it is regular, else as what is exact of it and its first requests.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/pattern/loop_finder.hpp"
#include "phase_model/access_reader.hpp"

namespace omnio::phases {

enum class Shape : std::uint8_t {
  kConstant,  // size and displacement are constant; also a single request
  kVarying,   // each request begins where the one before ended; sizes differ
  kNested,    // loops (core/pattern): strides in several dimensions, places that come again
  kRandom,    // none of these; or the offsets are not known
};

// Requests that a pattern lists when it is random; the rest is counted.
inline constexpr std::size_t kMaxListed = 1000;

// A shorter run among others is not a pattern of its own.
inline constexpr std::uint64_t kLongRun = 16;

using Request = std::pair<std::int64_t, std::uint64_t>;  // offset, bytes

// Requests at a constant stride in the view, in etypes.
struct ViewRun {
  std::int64_t first = 0;
  std::int64_t last = 0;  // offset of the last request
  std::int64_t displacement = 0;

  // Goes on with a run of `later` requests behind `before`; false where that makes no stride.
  bool append(const ViewRun& next, std::uint64_t before, std::uint64_t later);
};

struct Pattern {
  explicit Pattern(const Access& first);

  // Whether the request carries the constant stride on; the second of all makes the stride.
  bool continuesStride(const Access& access) const;
  bool continuesContiguously(const Access& access) const;

  // Takes in one more request, whatever its place; the caller has seen to it that `shape` holds.
  void add(const Access& access);

  // Gives up the constant stride: the requests are listed from now on, or known to be contiguous.
  void become(Shape wanted);

  // Appends a later pattern of the same operation to one that has become random or varying.
  void append(const Pattern& later);

  // Makes a random pattern a nested one. `all` are its requests.
  void becomeLoops(pattern::Part all);

  model::AccessMode mode() const;
  bool isContiguous() const;

  model::Operation operation;
  Manner manner;
  Shape shape = Shape::kConstant;
  bool offset_known = true;
  std::int64_t offset;             // of the first request
  std::uint64_t size;              // of the first request; of all when constant
  std::int64_t displacement;       // constant: from one to the next; of a single request its size
  std::int64_t last;               // offset of the last request
  std::int64_t end;                // where the last request ended
  std::int64_t furthest;           // where the one furthest in the file ended
  std::int64_t lowest;             // where the first one in the file began
  std::optional<ViewRun> in_view;  // where there is a view, and one stride in it
  bool several_blocks;             // some are of more than one block of a view
  BytePlaces places;               // of all bytes
  std::uint64_t requests = 1;
  std::uint64_t bytes;
  std::uint64_t smallest;
  std::uint64_t largest;
  std::uint64_t first_tick;
  std::uint64_t last_tick;
  std::uint64_t first_step;
  std::uint64_t last_step;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t io_ns;
  // The first requests: of a random pattern up to kMaxListed, else up to kLongRun, which is enough
  // to list a short run that turns out to be part of something random.
  std::vector<Request> listed;
  pattern::Part part{};  // of kNested: the first request is at 0

 private:
  // Ends the list: what is added behind a request that is not in it could not be told apart.
  bool list_ended_ = false;
  void list(Request request);
  void listAll(const Pattern& pattern);
};

// The requests of one operation that one thread makes on one file without anything else between
// them: found to be one or a few runs of constant stride, one contiguous sequence of varying sizes,
// or something random. Memory is bounded, however many requests there are.
//
// A burst of up to kMaxPieces runs is told run by run (a header, a body and a tail, say). One that
// is more cut up keeps its long runs; all others together become one random pattern. Contiguous
// runs that follow each other count as one: with more than kMaxPieces sizes they become one varying
// pattern.
//
// A burst that is regular all the same (core/pattern/loop_finder.hpp) becomes one nested pattern:
// if it is one loop, or a few parts with many requests each.
inline constexpr std::size_t kMaxPieces = 3;
inline constexpr std::size_t kMaxLongRuns = 8;
inline constexpr std::size_t kMaxParts = 64;

class Burst {
 public:
  explicit Burst(const Access& first);

  // Whether the access is of the same operation, made in the same manner.
  bool takes(const Access& access) const;
  void add(const Access& access);

  // Whether the access is of the same kind and begins where the last one ended.
  bool isContinuedBy(const Access& access) const;

  // The patterns, by the time they began. The burst is over.
  std::vector<Pattern> finish();

 private:
  void begin(const Access& access);
  std::size_t contiguousPieces() const;
  void foldContiguous();
  void foldShort();
  void foldBelow(std::uint64_t long_run);
  std::optional<pattern::Part> loops();

  std::vector<Pattern> pieces_;
  std::optional<Pattern> remainder_;  // the random pattern that short runs became
  Access run_first_;                  // of the last piece
  Access run_last_;
  pattern::LoopFinder loops_;
};

// Makes a random pattern of one, or appends it to the one that is there.
void foldInto(std::optional<Pattern>& remainder, Pattern&& pattern);

}  // namespace omnio::phases
