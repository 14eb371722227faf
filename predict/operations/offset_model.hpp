// Predicts offsets for one transition, from a context to the next (Dorier et al., TPDS 2016).
//
// There are several ways to speak of an offset; each is tried beside the others, and the one that
// was wrong least often of late is believed (predict/operations/contest.hpp):
//
// - consecutive: where the operation before in the file ended, and 0 after an open;
// - relative: so many bytes from there. Several such gaps have a grammar, more than 24 are given
// up;
// - absolute: the offset itself, in the same manner: a header that is written again;
// - stride: the offset of 1, 2, ... 12 operations ago of this transition, moved on by as much as
// that
//   one was moved on from the one as many before: a variable, or one of several in turn, of which
//   each has its own steps;
// - continued: where the operation before in the file ended, before it was opened again: an
//   appended log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/event/event.hpp"
#include "predict/operations/contest.hpp"
#include "predict/operations/number_model.hpp"

namespace omnio::predict {

// Where a thread is in the file of a slot.
struct FilePlace {
  event::FileId file = event::kNoFile;
  std::int64_t end = 0;            // of its last transfer since the open
  std::int64_t continued_end = 0;  // of its last transfer
  std::int64_t offset = 0;         // of its last transfer
  std::int64_t bytes = 0;
  std::uint64_t used = 0;  // when it was used last, counted in operations

  void open(event::FileId opened);
  void transfer(event::FileId used_file, std::int64_t offset, std::int64_t bytes);
};

class OffsetModel {
 public:
  void take(const FilePlace& place, std::int64_t offset);

  std::int64_t next(const FilePlace& place) const {
    return others_ == nullptr ? place.end : said(*others_, best(), place);
  }
  // Of the way that is believed.
  std::size_t symbolCount() const;
  std::size_t memoryBytes() const;
  void halve();

  // The offsets that follow, one after the other, each after what happened in between. Ends when
  // the model takes an offset.
  class Ahead {
   public:
    explicit Ahead(const OffsetModel& model);
    std::int64_t next(const FilePlace& place);

   private:
    const OffsetModel& model_;
    std::size_t way_;
    NumberModel::Ahead numbers_;
    std::size_t count_ = 0;
  };

 private:
  static constexpr std::size_t kMostAgo = 12;
  // kStride and those after it are of 1, 2, ... operations ago.
  enum Way : std::size_t {
    kConsecutive,
    kRelative,
    kAbsolute,
    kContinued,
    kStride,
    kWays = kStride + kMostAgo
  };
  // All but the consecutive way: made when that has been wrong, which saves time and memory where
  // it never is. The first offset of a transition does not count: where a file's data begins.
  struct Others {
    NumberModel gaps;
    NumberModel offsets;
    Contest<kWays> contest{1.5F};
    std::array<std::int64_t, std::size_t{2} * kMostAgo> before{};
    std::uint64_t count = 0;

    std::int64_t ago(std::size_t operations) const {
      return before[(count - operations) % before.size()];
    }
  };
  static std::int64_t said(const Others& others, std::size_t way, const FilePlace& place);
  std::size_t best() const { return others_ == nullptr ? kConsecutive : others_->contest.best(); }

  std::uint64_t consecutive_ = 0;  // offsets, before there are others
  bool is_first_ = true;
  std::unique_ptr<Others> others_;
};

}  // namespace omnio::predict
