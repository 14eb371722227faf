// Where the data of a datatype lies: bytes in the order of the type map (MPI-3.1, 4.1), told by how
// they repeat and not one by one. So a place is found in O(depth * log(runs)), and the pieces of a
// request are made at the cost of what is made of them.
//
// Displacements are in bytes and may go backwards and overlap, as type maps may.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace omnio::mpi {

// Contiguous pieces of a file, neighbours joined, told as strides: so a request of a million blocks
// at one distance is one entry.
// `count` pieces of `bytes` bytes, the first at `first`, `stride` from one's begin to the next's.
struct Stride {
  std::int64_t first = 0;
  std::int64_t bytes = 0;
  std::int64_t stride = 0;  // 0 when there is one
  std::int64_t count = 0;

  bool operator==(const Stride&) const = default;
};

class StridedPieces {
 public:
  // Takes no more than so many strides.
  explicit StridedPieces(std::size_t most) : most_(most) {}

  void add(Stride next);

  // Pieces that are added when it is full are left out.
  bool isFull() const { return is_full_; }
  const std::vector<Stride>& strides() const { return strides_; }
  std::int64_t bytes() const;
  std::int64_t count() const;

 private:
  void addSeparate(Stride next);

  std::size_t most_;
  std::uint64_t may_add_ = std::uint64_t{1} << 22;  // calls of add() that are still taken
  bool is_full_ = false;
  std::vector<Stride> strides_;
};

class DataLayout {
 public:
  using Id = std::uint32_t;

  // Larger than any file; what goes beyond makes the layout one that does not fit.
  static constexpr std::int64_t kMost = std::int64_t{1} << 61;
  static constexpr std::size_t kMostRuns = std::size_t{1} << 22;

 private:
  struct Run {
    std::int64_t displacement = 0;
    std::int64_t step = 0;  // 0 when there is one
    std::int64_t count = 0;
    std::int64_t size = 0;    // bytes of data in one
    std::int64_t before = 0;  // bytes of data in the runs before
    static constexpr Id kBytes = 0xFFFFFFFF;
    Id data = kBytes;  // kBytes: without gaps
  };

 public:
  // Parts behind one another: of each, `count` times the data of another layout, `step` bytes from
  // one to the next. Parts that go on where the last one ended become one with it.
  class Parts {
   public:
    void add(std::int64_t displacement, std::int64_t step, std::int64_t count, Id data);
    // Bytes without gaps, `count` times.
    void addBytes(std::int64_t displacement, std::int64_t step, std::int64_t count,
                  std::int64_t bytes);
    // Ends the parts.
    Id finish();

   private:
    friend class DataLayout;
    explicit Parts(DataLayout& layout) : layout_(layout) {}
    void push(Run run);
    DataLayout& layout_;
    std::vector<Run> runs_;
  };
  Parts parts() { return Parts(*this); }
  Id bytes(std::int64_t count);
  Id repeat(Id data, std::int64_t count, std::int64_t step);

  // False once something was larger than kMost, or of more than kMostRuns runs.
  bool fits() const { return fits_; }

  std::int64_t size(Id id) const { return nodes_[id].size; }
  // Whether it is bytes from 0 on, without gaps.
  bool isPlain(Id id) const;

  // Where byte `at` of the data is. Nothing: the data has no such byte.
  std::optional<std::int64_t> placeOf(Id id, std::int64_t at) const;

  // The pieces of the bytes from `from` up to `to`, until `out` is full, each `base` bytes on.
  void pieces(Id id, std::int64_t from, std::int64_t to, std::int64_t base,
              StridedPieces& out) const;

 private:
  struct Node {
    std::vector<Run> runs;
    std::int64_t size = 0;
    std::int64_t low = 0;   // the least displacement of its bytes
    std::int64_t high = 0;  // behind the greatest
  };

  const Run* runAt(const Node& node, std::int64_t at) const;
  bool emit(Id id, std::int64_t base, std::int64_t from, std::int64_t to, StridedPieces& out) const;
  // The value; 0, and no more fits, when it is larger than kMost.
  std::int64_t checked(bool overflows, std::int64_t value);
  std::int64_t product(std::int64_t a, std::int64_t b);
  std::int64_t sum(std::int64_t a, std::int64_t b);

  std::vector<Node> nodes_;
  std::size_t run_count_ = 0;
  bool fits_ = true;
};

}  // namespace omnio::mpi
