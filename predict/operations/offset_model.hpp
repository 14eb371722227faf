// Predicts offsets for one transition, from a context to the next (Dorier et al., TPDS 2016).
//
// There are several ways to speak of an offset; each is tried beside the others, and the one that
// was right most often of late is believed (predict/operations/contest.hpp):
//
// - consecutive: where the operation before in the file ended, and 0 after an open;
// - relative: so many bytes from there. Several such distances have a grammar, more than 24 are
//   given up;
// - absolute: the offset itself, in the same manner: a header that is written again;
// - continued: where the operation before in the file ended, before it was opened again: an
//   appended log;
// - previous: where the operation before that one ended: a look elsewhere in between;
// - same distance, same offset: as the baselines have it;
// - highest: the highest end of the file, where what is new is put;
// - hole: a part of the file with room for the size that is expected, which was not written: the
//   begin of the next one, its end less that size, whichever of the two was right for that size,
//   the lowest one, or the one that is filled best (predict/operations/file_place.hpp);
// - repeated: a sequence of sizes and distances that came before, however many different ones it
//   has (predict/operations/repeated_sequence.hpp);
// - stride: the offset of 1, 2, ... 12 operations ago of this transition, moved on by as much as
//   that one was moved on from the one as many before: a variable, or one of several in turn, of
//   which each has its own steps.
//
// A transition that has come a few times only has no way of its own yet: all young ones share what
// was right for them (Prior), and so do those that come for the first time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/integers.hpp"
#include "predict/operations/contest.hpp"
#include "predict/operations/file_place.hpp"
#include "predict/operations/number_model.hpp"
#include "predict/operations/repeated_sequence.hpp"

namespace omnio::predict {

class OffsetModel {
  static constexpr std::size_t kMostAgo = 12;
  // kStride and those after it are of 1, 2, ... operations ago.
  enum Way : std::size_t {
    kConsecutive,
    kRelative,
    kAbsolute,
    kContinued,
    kPrevious,
    kSameDistance,
    kSameOffset,
    kHighest,
    kNextHole,
    kEndOfNextHole,
    kEitherEnd,
    kLowestHole,
    kTightestHole,
    kRepeated,
    kStride,
    kWays = kStride + kMostAgo
  };

 public:
  // What is known of an operation before its offset is.
  struct Known {
    const FilePlace& place;
    std::int64_t bytes = 0;     // that are expected
    std::int64_t distance = 0;  // of the last operation of the context, from where the one before
                                // in the file ended
  };
  // What is believed where a transition has little to tell.
  class Prior {
   public:
    void take(const Known& known, std::int64_t offset);
    std::int64_t next(const Known& known) const;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(contest_);
    }

   private:
    friend class OffsetModel;
    Contest<kWays> contest_{kMargin};
  };

  // `young`: of all transitions of the thread. `bytes`: that were moved.
  void take(const Known& known, std::int64_t offset, std::int64_t bytes, Prior& young);
  std::int64_t next(const Known& known, const Prior& young) const {
    return said(best(young), known);
  }
  // Of its own way.
  std::size_t symbolCount() const;
  std::size_t memoryBytes() const;
  void halve();
  // Frees the memory of repeated sequences, unless they are believed. Whether it had any.
  bool dropRepeated();
  // Gives memory that is not used back.
  void compact();

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(count_, consecutive_, first_offset_, first_distance_, others_);
  }

  // The offsets that follow, one after the other, each after what happened in between. Ends when
  // the model takes an offset.
  class Ahead {
   public:
    Ahead(const OffsetModel& model, const Prior& young);
    std::int64_t next(const Known& known);

   private:
    const OffsetModel& model_;
    std::size_t way_;
    NumberModel::Ahead numbers_;
    RepeatedSequence::Ahead repeated_;
    std::size_t count_ = 0;
  };

 private:
  static constexpr float kMargin = 1.5F;
  // As long as it has come less often, a transition is young.
  static constexpr std::uint64_t kYoung = 4;
  // Sizes that are told apart, where holes are filled from either end.
  static constexpr std::size_t kSizes = 64;
  // All but the consecutive way: made when that has been wrong, which saves time and memory where
  // it never is. The first offset of a transition does not count where the next ones are
  // consecutive: it is where a file's data begins.
  struct Others {
    NumberModel gaps;
    NumberModel offsets;
    Contest<kWays> contest{kMargin};
    std::array<std::int64_t, std::size_t{2} * kMostAgo> before{};
    std::uint64_t count = 0;
    // Made when much of late was wrong, so that memory and time are not spent where nothing is.
    std::unique_ptr<RepeatedSequence> repeated;
    bool is_repeated_useless = false;
    float wrong = 0;
    // By expected size: whether a hole was filled from its begin (above 0) or at its end.
    std::array<std::int8_t, kSizes> ends{};

    std::int64_t ago(std::size_t operations) const {
      return before[(count - operations) % before.size()];
    }

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(gaps, offsets, contest, before, count, repeated, is_repeated_useless, wrong, ends);
    }
  };
  using Errors = std::array<float, kWays>;

  static std::int64_t saidByPlace(std::size_t way, const Known& known);
  std::int64_t said(std::size_t way, const Known& known) const;
  static bool isOfPlace(std::size_t way);
  void takeEnd(const Errors& errors, const Known& known);
  void takeRepeated(std::int64_t distance, std::int64_t bytes, bool was_wrong);
  static std::size_t sizeIndex(std::int64_t bytes) {
    return base::mixed(static_cast<std::uint64_t>(bytes)) % kSizes;
  }
  std::size_t best(const Prior& young) const {
    if (count_ < kYoung) return young.contest_.best();
    return others_ == nullptr ? kConsecutive : others_->contest.best();
  }

  std::uint64_t count_ = 0;
  std::uint64_t consecutive_ = 0;  // offsets after the first, before there are others
  std::int64_t first_offset_ = 0;
  std::int64_t first_distance_ = 0;
  std::unique_ptr<Others> others_;
};

}  // namespace omnio::predict
