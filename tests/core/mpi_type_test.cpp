// Datatypes as a trace tells them, and where their data lies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/mpi/datatype.hpp"

namespace omnio {
namespace {

// Places of all bytes of a type, as begin+bytes of contiguous pieces in the type map's order.
std::string placesOf(const std::string& text) {
  const base::Result<mpi::MpiType> type = mpi::parseMpiType(text);
  if (!type) return type.failure().sentence;
  mpi::StridedPieces pieces(1000);
  type->layout->pieces(type->data, 0, type->size, 0, pieces);
  std::string out = fmt::format("{} [{},{}]", type->size, type->lower_bound, type->extent);
  for (const mpi::Stride& stride : pieces.strides()) {
    out += fmt::format(" {}+{}", stride.first, stride.bytes);
    if (stride.count > 1) out += fmt::format("/{}x{}", stride.stride, stride.count);
  }
  return out;
}

TEST(MpiType, EachWayToMakeOneHasItsPlaces) {
  EXPECT_EQ(placesOf("b8"), "8 [0,8] 0+8");
  EXPECT_EQ(placesOf("b8[0,16]"), "8 [0,16] 0+8");
  EXPECT_EQ(placesOf("dup(b4)"), "4 [0,4] 0+4");
  EXPECT_EQ(placesOf("contiguous(5;b8)"), "40 [0,40] 0+40");
  EXPECT_EQ(placesOf("contiguous(3;b4[0,10])[0,30]"), "12 [0,30] 0+4/10x3");
  EXPECT_EQ(placesOf("vector(3;2;5;b4)[0,48]"), "24 [0,48] 0+8/20x3");
  EXPECT_EQ(placesOf("hvector(2;1;-9;b4)[-9,13]"), "8 [-9,13] 0+4/-9x2");
  EXPECT_EQ(placesOf("indexed(2,0,1;1,4,5;b8)[8,40]"), "24 [8,40] 8+16 40+8");
  EXPECT_EQ(placesOf("hindexed(1,3;3,11;b1)[3,11]"), "4 [3,11] 3+1 11+3");
  EXPECT_EQ(placesOf("indexed_block(2;0,3;b4)[0,20]"), "16 [0,20] 0+8/12x2");
  EXPECT_EQ(placesOf("hindexed_block(1;0,30;b4)[0,34]"), "8 [0,34] 0+4/30x2");
  EXPECT_EQ(placesOf("struct(2,1,3;0,16,32;b4,b8,b2)[0,40]"), "22 [0,40] 0+8/16x2 32+6");
  EXPECT_EQ(placesOf("struct(1,1,1;0,8,24;b4x2,b2)[0,26]"), "10 [0,26] 0+4/8x2 24+2");
  EXPECT_EQ(placesOf("subarray(4,4;2,2;1,1;c;b1)[0,16]"), "4 [0,16] 5+2/4x2");
  EXPECT_EQ(placesOf("subarray(4,3;2,2;1,0;f;b1)[0,12]"), "4 [0,12] 1+2/4x2");
  EXPECT_EQ(placesOf("darray(2;1;10;c;2;2;c;b4)[0,40]"), "16 [0,40] 8+8/16x2");
  EXPECT_EQ(placesOf("darray(2;1;7;c;2;2;c;b4)[0,28]"), "12 [0,28] 8+8 24+4");
  EXPECT_EQ(placesOf("darray(4;1;7,11;b,b;0,0;2,2;f;b4)[0,308]"), "80 [0,308] 168+16/28x5");
  EXPECT_EQ(placesOf("darray(2;1;3,2;n,b;0,0;1,2;c;b1)[0,6]"), "3 [0,6] 1+1/2x3");
  EXPECT_EQ(placesOf("resized(-4;64;b8)"), "8 [-4,64] 0+8");
  EXPECT_EQ(placesOf("indexed(;;b8)"), "0 [0,0]");
}

TEST(MpiType, ListsHoldRunsOfOneStep) {
  EXPECT_EQ(placesOf("indexed_block(1;0+3x4;b1)[0,10]"), "4 [0,10] 0+1/3x4");
  EXPECT_EQ(placesOf("indexed(2x3,1;9-4x3,20;b1)[1,20]"), "7 [1,20] 9+2/-4x3 20+1");
  EXPECT_EQ(placesOf("indexed(1+1x4;0+10x4;b1)[0,34]"), "10 [0,34] 0+1 10+2 20+3 30+4");
  // As long as its text, whatever it stands for.
  const base::Result<mpi::MpiType> type =
      mpi::parseMpiType("hindexed_block(1;0+16x1000000000000;b8)[0,1]");
  ASSERT_TRUE(type);
  EXPECT_EQ(type->size, 8'000'000'000'000);
  EXPECT_EQ(type->layout->placeOf(type->data, 8 * 999'999'999'999 + 3), 16 * 999'999'999'999 + 3);
}

TEST(MpiType, WhatMakesNoSenseIsSaid) {
  EXPECT_EQ(placesOf(""), "datatype, byte 0: no '(' here");
  EXPECT_EQ(placesOf("b"), "datatype, byte 1: no number here");
  EXPECT_EQ(placesOf("b-4"), "datatype, byte 3: a count is negative");
  EXPECT_EQ(placesOf("b8b8"), "datatype, byte 2: the type has ended");
  EXPECT_EQ(placesOf("hexagon(3;b8)"), "datatype, byte 8: no way to make a type has this name");
  EXPECT_EQ(placesOf("vector(3;2;b8)"), "datatype, byte 11: no number here");
  EXPECT_EQ(placesOf("indexed(1,2;3;b8)"), "datatype, byte 16: the lists differ in length");
  EXPECT_EQ(placesOf("struct(1;0;b8x2)"), "datatype, byte 15: there are more types than blocks");
  EXPECT_EQ(placesOf("contiguous(99999999999;contiguous(99999999999;b8))"),
            "datatype, byte 50: it is larger than any file");
  EXPECT_EQ(placesOf("darray(4;4;8;b;0;4;c;b1)"), "datatype, byte 23: the rank is not in the grid");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "dup(";
  EXPECT_NE(placesOf(deep).find("it is nested too deeply"), std::string::npos);
  // Each of another length, more than any machine has memory for.
  EXPECT_NE(
      placesOf("indexed(1+1x9999999999;0+100x9999999999;b1)").find("it is larger than any file"),
      std::string::npos);
}

// A view and its pieces say the same of each byte.
TEST(MpiView, PiecesAreTheBytesOneByOne) {
  const mpi::MpiType etype = *mpi::parseMpiType("b2");
  for (const char* text :
       {"b2", "contiguous(3;b2)", "resized(0;20;vector(3;1;2;b2)[0,10])",
        "struct(1,1;0,12;indexed(1,2;0,3;b2)[0,10],subarray(3,4;2,1;1,2;c;b2)[0,24])[0,40]",
        "hvector(2;1;50;struct(1,1;4,12;b4,b2)[4,10])[4,60]"}) {
    const mpi::MpiView view(7, etype, *mpi::parseMpiType(text));
    for (std::int64_t from = 0; from < 12; ++from) {
      for (std::int64_t bytes = 1; bytes < 60; ++bytes) {
        mpi::StridedPieces pieces(1000);
        ASSERT_TRUE(view.pieces(from, bytes, pieces));
        std::int64_t at = from * 2;
        for (const mpi::Stride& stride : pieces.strides()) {
          for (std::int64_t i = 0; i < stride.count; ++i) {
            for (std::int64_t b = 0; b < stride.bytes; ++b, ++at) {
              ASSERT_EQ(view.inFile(at), stride.first + i * stride.stride + b) << text;
            }
          }
        }
        ASSERT_EQ(at, from * 2 + bytes) << text;
      }
    }
  }
}

TEST(MpiView, ARequestOfAMillionBlocksIsOneStride) {
  const mpi::MpiType etype = *mpi::parseMpiType("b8");
  const mpi::MpiView view(64, etype, *mpi::parseMpiType("resized(0;1600;contiguous(50;b8))"));
  mpi::StridedPieces pieces(4);
  ASSERT_TRUE(view.pieces(50, 400'000'000, pieces));
  ASSERT_EQ(pieces.strides().size(), 1U);
  EXPECT_EQ(pieces.strides()[0],
            (mpi::Stride{.first = 1664, .bytes = 400, .stride = 1600, .count = 1'000'000}));
}

TEST(MpiView, AMillionIrregularBlocksAreFoundAtOnce) {
  std::string places;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    last += 10 + i * i % 7;
    places += fmt::format("{}{}", i == 0 ? "" : ",", last);
  }
  const base::Result<mpi::MpiType> type =
      mpi::parseMpiType(fmt::format("hindexed_block(4;{};b1)[0,{}]", places, last + 4));
  ASSERT_TRUE(type);
  EXPECT_EQ(type->size, 4'000'000);
  const mpi::MpiView view(0, *mpi::parseMpiType("b1"), *type);
  EXPECT_EQ(view.inFile(3'999'999), last + 3);
  EXPECT_EQ(view.inFile(4'000'000 * 5LL + 3'999'998), 5 * (last + 4) + last + 2);
}

TEST(MpiView, WhatIsBeyondItIsNotThere) {
  const mpi::MpiType empty = *mpi::parseMpiType("contiguous(0;b8)");
  const mpi::MpiView nothing(0, *mpi::parseMpiType("b8"), empty);
  EXPECT_FALSE(nothing.inFile(0));
  mpi::StridedPieces pieces(4);
  EXPECT_FALSE(nothing.pieces(0, 1, pieces));
  EXPECT_FALSE(mpi::MpiView().pieces(INT64_MAX, 10, pieces));
  EXPECT_FALSE(mpi::MpiView().pieces(-1, 10, pieces));
}

TEST(StridedPieces, NeighboursAreJoinedAndStridesGoOn) {
  mpi::StridedPieces pieces(3);
  pieces.add({.first = 0, .bytes = 4, .stride = 10, .count = 3});
  pieces.add({.first = 24, .bytes = 2, .stride = 0, .count = 1});
  pieces.add({.first = 30, .bytes = 6, .stride = 0, .count = 1});
  const std::vector<mpi::Stride> wanted = {{.first = 0, .bytes = 4, .stride = 10, .count = 2},
                                           {.first = 20, .bytes = 6, .stride = 10, .count = 2}};
  EXPECT_EQ(pieces.strides(), wanted);
  EXPECT_EQ(pieces.bytes(), 20);
  EXPECT_EQ(pieces.count(), 4);
  pieces.add({.first = 100, .bytes = 1, .stride = 0, .count = 1});
  EXPECT_FALSE(pieces.isFull());
  pieces.add({.first = 300, .bytes = 7, .stride = 0, .count = 1});
  EXPECT_TRUE(pieces.isFull());
  EXPECT_EQ(pieces.bytes(), 21);
}

TEST(StridedPieces, NothingIsAddedBehindOneThatWasLeftOut) {
  mpi::StridedPieces pieces(2);
  pieces.add({.first = 0, .bytes = 2, .stride = 0, .count = 1});
  pieces.add({.first = 8, .bytes = 4, .stride = 10, .count = 2});
  // Makes one of the piece at 18, for which the room is too small, and the next begins at 32.
  pieces.add({.first = 22, .bytes = 4, .stride = 10, .count = 2});
  const std::vector<mpi::Stride> wanted = {{.first = 0, .bytes = 2, .stride = 0, .count = 1},
                                           {.first = 8, .bytes = 4, .stride = 0, .count = 1}};
  EXPECT_TRUE(pieces.isFull());
  EXPECT_EQ(pieces.strides(), wanted);
}

TEST(MpiTypeText, PiecesOfALongOneArePutTogether) {
  tracefile::ProcessInfo info;
  using namespace std::string_literals;
  info.take("type.3\0vector(2;\0type.3.1\0001;4;\0type.3.2\0b8)\0type.31\0b1\0"s);
  EXPECT_EQ(mpi::mpiTypeText(info, 3), "vector(2;1;4;b8)");
  EXPECT_EQ(mpi::mpiTypeText(info, 31), "b1");
  EXPECT_EQ(mpi::mpiTypeText(info, 4), "");
}

TEST(MpiType, AFewWordsDoNotKeepAReaderBusyForEver) {
  for (const char* text :
       {"hindexed(-9000000000000000000+1x9000000000000000000;0x9000000000000000000;b1)",
        "hindexed(1+1x9000000000000000000;0x9000000000000000000;b0)",
        "struct(-9000000000000000000+1x9000000000000000000;0x9000000000000000000;"
        "b1x9000000000000000000)"}) {
    EXPECT_FALSE(mpi::parseMpiType(text)) << text;
  }
}

TEST(MpiType, WhatDamageMakesOfNumbersIsRefused) {
  for (const char* text :
       {"b8[0,-9223372036854775808]", "b8[0,9223372036854775807]",
        "resized(0;-9223372036854775808;b8)", "resized(0;-9223372036854775808;b0)",
        "contiguous(3;b8[0,-9223372036854775808])",
        "vector(2;2;-9223372036854775808;b8[0,-9223372036854775808])",
        "hindexed_block(2;-9223372036854775808,9223372036854775807;b8)",
        "subarray(9,9;9,9;-9223372036854775808,1;c;b8[0,-1])"}) {
    const base::Result<mpi::MpiType> type = mpi::parseMpiType(text);
    ASSERT_FALSE(type) << text;
    EXPECT_NE(type.failure().sentence.find("it is larger than any file"), std::string::npos)
        << type.failure().sentence;
  }
}

}  // namespace
}  // namespace omnio
