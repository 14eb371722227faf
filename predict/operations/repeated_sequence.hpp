// Predicts numbers that come again in the same order, however many different ones there are: a
// match model, as data compressors of the PAQ kind have (Mahoney, "Adaptive Weighing of Context
// Models for Lossless Data Compression", 2005, section 3.4).
//
// It keeps the last kMaxNumbers numbers, and where the last few of them stood before. The number
// that followed there is the next one, as long as that goes well; then the longest run of last
// numbers that is known is looked up again. A number is told apart by a key: sizes and distances
// together, say.
//
// A number costs three entries in a hash table. Memory grows with the numbers, up to kMaxBytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace omnio::predict {

class RepeatedSequence {
 public:
  static constexpr std::size_t kMaxNumbers = 4096;
  static constexpr std::size_t kMaxBytes = 32 * kMaxNumbers;
  // Other models make one where they were wrong so often: a count that keeps this part of itself
  // with each number, and so is of the last fifty or so.
  static constexpr float kWrongKept = 0.98F;
  static constexpr float kMuchIsWrong = 8;

  void take(std::int64_t number, std::uint64_t key);
  // Nothing where the last number never came before.
  std::optional<std::int64_t> next() const { return at(match_); }
  std::size_t memoryBytes() const {
    return entries_.capacity() * sizeof(Entry) + table_.capacity() * sizeof(Position);
  }
  // Whether it may as well be dropped: as many numbers as fit came and went, and hardly one was
  // right.
  bool isUseless() const { return taken_ > 2 * kMaxNumbers && right_ < kLeastRight; }

  // Its table is made anew.
  template <typename Archive>
  void serialize(Archive& archive) {
    std::vector<Entry> entries = inOrder();
    archive(taken_, match_, length_, right_, entries);
    if constexpr (Archive::kReads) {
      archive.require(restore(entries), "it has more numbers than a sequence keeps");
    }
  }

  // The numbers that follow, one after the other. Ends when the model takes a number.
  class Ahead {
   public:
    Ahead() = default;
    explicit Ahead(const RepeatedSequence& sequence)
        : sequence_(&sequence), position_(sequence.match_) {}
    std::optional<std::int64_t> next();

   private:
    const RepeatedSequence* sequence_ = nullptr;
    std::uint32_t position_ = 0;
  };

 private:
  // Positions count from 1 since the first number; 0 is none.
  using Position = std::uint32_t;
  struct Entry {
    std::int64_t number = 0;
    std::uint32_t key = 0;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(number);
      archive.fixed(key);
    }
  };
  static constexpr std::size_t kLeastNumbers = 64;
  // So many last numbers are looked up, the longest run first.
  static constexpr std::array<std::uint32_t, 3> kLengths = {6, 3, 1};
  // Of 1: how much of late was right.
  static constexpr float kLeastRight = 0.02F;

  bool has(Position position) const {
    return position > 0 && position <= taken_ && taken_ - position < entries_.size();
  }
  std::optional<std::int64_t> at(Position position) const {
    return has(position) ? std::optional(of(position).number) : std::nullopt;
  }
  const Entry& of(Position position) const { return entries_[position & (entries_.size() - 1)]; }
  std::size_t indexOf(std::uint32_t length) const;
  // How many numbers up to there are the last ones, of at most kLengths.front().
  std::uint32_t commonLength(Position position) const;
  void find();
  void insert(Position oldest);
  void grow();
  void fillTable();
  Position oldest() const {
    return taken_ > entries_.size() ? taken_ - static_cast<Position>(entries_.size()) + 1 : 1;
  }
  std::vector<Entry> inOrder() const;
  bool restore(const std::vector<Entry>& entries);

  std::vector<Entry> entries_;   // a ring; its size is a power of two
  std::vector<Position> table_;  // twice as many: where the last numbers ended when they came last
  Position taken_ = 0;
  Position match_ = 0;        // what is expected next
  std::uint32_t length_ = 0;  // of the match so far
  float right_ = 0;
};

}  // namespace omnio::predict
