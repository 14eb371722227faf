// Whatever a trace says a datatype is: it is refused by a sentence, or it is a view whose pieces
// are its bytes one by one.
#include "core/mpi/datatype.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {

const int kVariations = 3000;

std::vector<std::string> seeds() {
  return {"subarray(3,4;3,1;0,1;c;contiguous(512;b8))[0,49152]",
          "struct(1,2;0,12;indexed(1,2;0,3;b2)[0,10],resized(-4;40;dup(b8)))[0,92]",
          "darray(4;1;7,11;b,c;0,2;2,2;f;b4)[0,308]",
          "hindexed_block(1;0+16x1000000,5-1x4;b1)[0,15999985]",
          "indexed(1+1x4,2x3;0,3,9,20,30+7x3;vector(3;2;5;b4)[0,48])[0,4000]",
          "hvector(2;1;-9;struct(1,1,1;0,8,24;b4x2,b2)[0,26])[-9,35]",
          "indexed_block(2;0,3;hindexed(1,3;3,11;b1)[3,11])[3,50]"};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  const auto type = mpi::parseMpiType({reinterpret_cast<const char*>(data), size});
  if (!type) {
    fuzz::require(type.failure().sentence.starts_with("datatype, byte "));
    return 0;
  }
  const mpi::MpiView view(3, *type, *type);
  for (const std::int64_t from : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}}) {
    mpi::StridedPieces pieces(100);
    constexpr std::int64_t kBytes = 300;
    if (!view.pieces(from, kBytes, pieces)) continue;
    std::int64_t at = from * view.etypeBytes();
    for (const mpi::Stride& stride : pieces.strides()) {
      for (std::int64_t i = 0; i < stride.count; ++i) {
        for (std::int64_t b = 0; b < stride.bytes; ++b) {
          fuzz::require(view.inFile(at++) == stride.first + i * stride.stride + b);
        }
      }
    }
    fuzz::require(pieces.isFull() || pieces.bytes() == kBytes);
    const std::int64_t begin = from * view.etypeBytes();
    const auto first = view.inFile(begin);
    const auto last = view.inFile(begin + kBytes - 1);
    const auto found = view.requestAt(*first, *last + 1, kBytes);
    if (!found) continue;  // a view whose places go back, or come twice
    fuzz::require(view.inFile(*found * view.etypeBytes()) == first &&
                  view.inFile(*found * view.etypeBytes() + kBytes - 1) == last);
  }
  return 0;
}
