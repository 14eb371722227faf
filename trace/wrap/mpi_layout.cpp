#include "trace/wrap/mpi_layout.hpp"

namespace omnio::trace {
namespace {

// What a type of these kinds was made of fits here; nothing is allocated.
constexpr int kMaxNumbers = 50;  // a subarray of 16 dimensions
constexpr int kMaxNesting = 16;

struct TypeQueries {
  decltype(MPI_Type_get_envelope)* envelope =
      mpiFunction<decltype(MPI_Type_get_envelope)>("PMPI_Type_get_envelope");
  decltype(MPI_Type_get_contents)* contents =
      mpiFunction<decltype(MPI_Type_get_contents)>("PMPI_Type_get_contents");
  decltype(MPI_Type_get_extent_x)* extent =
      mpiFunction<decltype(MPI_Type_get_extent_x)>("PMPI_Type_get_extent_x");
  decltype(MPI_Type_get_true_extent_x)* true_extent =
      mpiFunction<decltype(MPI_Type_get_true_extent_x)>("PMPI_Type_get_true_extent_x");
  decltype(MPI_Type_size_x)* size = mpiFunction<decltype(MPI_Type_size_x)>("PMPI_Type_size_x");
  decltype(MPI_Type_free)* free = mpiFunction<decltype(MPI_Type_free)>("PMPI_Type_free");

  bool areThere() const {
    return envelope != nullptr && contents != nullptr && extent != nullptr &&
           true_extent != nullptr && size != nullptr && free != nullptr;
  }
};

// A subarray's slowest dimension comes last: each repeats what the ones before it are.
RegularBlocks subarrayOf(RegularBlocks blocks, const int* numbers, std::int64_t extent) {
  const int dimensions = numbers[0];
  const int* const sizes = numbers + 1;
  const int* const parts = sizes + dimensions;
  const bool c_order = numbers[1 + 3 * dimensions] == MPI_ORDER_C;
  for (int i = 0; i < dimensions; ++i) {
    const int d = c_order ? dimensions - 1 - i : i;
    blocks = blocks.repeated(parts[d], extent);
    extent *= sizes[d];
  }
  return blocks;
}

RegularBlocks blocksOf(const TypeQueries& ask, MPI_Datatype type, int nesting) {
  int number_count = 0;
  int address_count = 0;
  int type_count = 0;
  int combiner = MPI_COMBINER_NAMED;
  if (nesting > kMaxNesting ||
      ask.envelope(type, &number_count, &address_count, &type_count, &combiner) != MPI_SUCCESS) {
    return {};
  }
  if (combiner == MPI_COMBINER_NAMED) {
    MPI_Count bytes = 0;
    MPI_Count begin = 0;
    MPI_Count extent = 0;
    const bool whole = ask.size(type, &bytes) == MPI_SUCCESS &&
                       ask.true_extent(type, &begin, &extent) == MPI_SUCCESS && bytes == extent;
    return whole ? RegularBlocks{.bytes = bytes, .stride = 0, .count = 1} : RegularBlocks{};
  }
  if (number_count > kMaxNumbers || address_count > 2 || type_count != 1) return {};
  int numbers[kMaxNumbers];
  MPI_Aint addresses[2];
  MPI_Datatype inner = nullptr;
  if (ask.contents(type, number_count, address_count, type_count, numbers, addresses, &inner) !=
      MPI_SUCCESS) {
    return {};
  }
  RegularBlocks blocks = blocksOf(ask, inner, nesting + 1);
  MPI_Count begin = 0;
  MPI_Count extent = 0;
  if (ask.extent(inner, &begin, &extent) != MPI_SUCCESS) blocks = {};
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      break;
    case MPI_COMBINER_CONTIGUOUS:
      blocks = blocks.repeated(numbers[0], extent);
      break;
    case MPI_COMBINER_VECTOR:
      blocks = blocks.repeated(numbers[1], extent).repeated(numbers[0], numbers[2] * extent);
      break;
    case MPI_COMBINER_HVECTOR:
      blocks = blocks.repeated(numbers[1], extent).repeated(numbers[0], addresses[0]);
      break;
    case MPI_COMBINER_SUBARRAY:
      blocks = subarrayOf(blocks, numbers, extent);
      break;
    default:
      blocks = {};
  }
  // What was made of others is ours to free; the built-in ones are not.
  if (ask.envelope(inner, &number_count, &address_count, &type_count, &combiner) == MPI_SUCCESS &&
      combiner != MPI_COMBINER_NAMED) {
    ask.free(&inner);
  }
  return blocks;
}

}  // namespace

RegularBlocks regularBlocksOf(MPI_Datatype type) {
  const TypeQueries ask;
  return ask.areThere() ? blocksOf(ask, type, 0) : RegularBlocks{};
}

}  // namespace omnio::trace
