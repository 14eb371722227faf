// A datatype as the trace tells it (docs/formats/trace.md, "Types"; MPI-3.1, chapter 4): parsed,
// and with it where its data lies.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/mpi/data_layout.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::mpi {

// Words, numbers and lists of numbers in the text of a datatype (docs/formats/trace.md, "Types").
// Numbers in runs of one step, so that a list is as long as its text.
class NumberList {
 public:
  struct Run {
    std::int64_t first = 0;
    std::int64_t step = 0;
    std::int64_t count = 0;
  };

  void add(Run run);
  std::int64_t size() const { return size_; }
  // One by one; at most 64 (dimensions of an array), fewer when there are fewer.
  std::vector<std::int64_t> all() const;

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
  bool takeIf(char c);
  void take(char c);  // fails where something else is

  std::string_view word();  // a-z and _
  std::string letters();    // one each, with commas
  std::int64_t number();
  std::int64_t count();  // a number that is not negative
  // Numbers with commas; FIRST+STEPxCOUNT stands for COUNT of them. May be empty.
  NumberList list();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

// The text of a datatype (docs/formats/trace.md, "Types"), taken apart: of each part of the tree
// where its data lies, by the rules of MPI-3.1, section 4.1.
class MpiTypeParser {
 public:
  // A part of the tree.
  struct Part {
    DataLayout::Id data = 0;
    std::int64_t size = 0;
    std::int64_t lower_bound = 0;
    std::int64_t extent = 0;
  };
  struct Whole : Part {
    DataLayout::Id tiles = 0;  // one behind the other: as many as any file holds
  };

  // What it refers to has to outlive it; `layout` gets the parts.
  MpiTypeParser(std::string_view text, DataLayout& layout) : text_(text), layout_(layout) {}

  // The whole text; nothing when it makes no sense.
  std::optional<Whole> all();
  // "datatype, byte N: why", when there was nothing.
  const std::string& problem() const { return text_.problem(); }

 private:
  bool failed() const { return text_.failed() || !layout_.fits(); }

  DataLayout::Id tilesOf(const Part& part);
  Part type(int nesting);
  Part made(std::string_view name, int nesting);
  Part vector(bool in_bytes, int nesting);
  Part indexed(bool in_bytes, int nesting);
  Part indexedBlock(bool in_bytes, int nesting);
  Part structure(int nesting);
  Part resized(int nesting);
  // In core/mpi/datatype.cpp.
  Part subarray(int nesting);
  Part darray(int nesting);
  bool order();  // whether it is C's

  std::int64_t argument();
  NumberList list();
  std::int64_t times(std::int64_t a, std::int64_t b);
  // As wide as its data where nothing else is told.
  Part of(DataLayout::Id data) const;
  Part of(DataLayout::Parts& parts) { return of(parts.finish()); }
  Part repeated(const Part& inner, std::int64_t count, std::int64_t step);
  // `count` blocks of `length` behind one another.
  void addBlocks(DataLayout::Parts& parts, const Part& inner, std::int64_t length,
                 std::int64_t displacement, std::int64_t step, std::int64_t count);

  TypeText text_;
  DataLayout& layout_;
  std::size_t empty_blocks_ = 0;
};

struct MpiType {
  std::shared_ptr<const DataLayout> layout;
  DataLayout::Id data = 0;
  // One behind the other, as a view has them: as many as any file holds.
  DataLayout::Id tiles = 0;
  std::int64_t size = 0;  // bytes of data
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;  // bytes from the begin of one to the next
};

// The sentence of a failure says what is wrong at which byte of the text. Nothing in the text makes
// this recurse or take memory without bounds.
base::Result<MpiType> parseMpiType(std::string_view text);

// Text of the type of this number that the process recorded, put together when it is in several
// facts; empty when there is none.
std::string mpiTypeText(const tracefile::ProcessInfo& info, std::uint64_t number);

}  // namespace omnio::mpi
