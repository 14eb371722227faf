// The text of a datatype (docs/formats/trace.md, "Types"), read from the front: words, numbers and
// lists. What they mean is known by whoever takes the type apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::mpi {

// Numbers in runs of one step, so that a list is as long as its text.
class NumberList {
 public:
  struct Run {
    std::int64_t first = 0;
    std::int64_t step = 0;
    std::int64_t count = 0;
  };

  void add(Run run) {
    if (run.count <= 0) return;
    if (run.count == 1) run.step = 0;
    size_ += run.count;
    runs_.push_back(run);
  }
  std::int64_t size() const { return size_; }
  // One by one; at most 64 (dimensions of an array), fewer when there are fewer.
  std::vector<std::int64_t> all() const {
    constexpr std::size_t kMost = 64;
    std::vector<std::int64_t> numbers;
    for (Cursor at(*this); !at.atEnd() && numbers.size() < kMost; at.skip(1)) {
      numbers.push_back(at.value());
    }
    return numbers;
  }

  // A place in the list.
  class Cursor {
   public:
    explicit Cursor(const NumberList& list) : list_(list) {}
    bool atEnd() const { return run_ == list_.runs_.size(); }
    // Not at the end.
    std::int64_t value() const {
      const Run& run = list_.runs_[run_];
      return run.first + run.step * in_run_;
    }
    std::int64_t step() const { return list_.runs_[run_].step; }
    // Numbers in the rest of the run.
    std::int64_t left() const { return list_.runs_[run_].count - in_run_; }
    // Not more than left().
    void skip(std::int64_t count) {
      in_run_ += count;
      if (left() > 0) return;
      in_run_ = 0;
      ++run_;
    }

   private:
    const NumberList& list_;
    std::size_t run_ = 0;
    std::int64_t in_run_ = 0;
  };

 private:
  std::vector<Run> runs_;
  std::int64_t size_ = 0;
};

// The text, read from the front. Once something was not as expected all is empty or 0.
class TypeText {
 public:
  explicit TypeText(std::string_view text) : text_(text) {}

  bool failed() const { return !problem_.empty(); }
  // "datatype, byte N: why".
  const std::string& problem() const { return problem_; }
  void fail(std::string_view why);

  bool atEnd() const { return at_ == text_.size(); }
  bool isNext(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool takeIf(char c) {
    if (failed() || !isNext(c)) return false;
    ++at_;
    return true;
  }

  // Fails where something else is.
  void take(char c);

  // a-z and _
  std::string_view word();

  // One each, with commas.
  std::string letters();

  std::int64_t number();

  // A number that is not negative.
  std::int64_t count() {
    const std::int64_t value = number();
    if (value < 0) fail("a count is negative");
    return failed() ? 0 : value;
  }

  // Numbers with commas; FIRST+STEPxCOUNT stands for COUNT of them. May be empty.
  NumberList list();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

}  // namespace omnio::mpi
