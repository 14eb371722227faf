// Where calls read and write: from synthetic traces to the model's offsets.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "phase_model/model_builder.hpp"
#include "phase_model/mpi_position.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::phases {
namespace {

constexpr std::uint64_t kToken = 700;

// A trace of one process and one file, handle 1.
class PositionTest : public testing::Test {
 protected:
  PositionTest() : chunk_(kToken, 0, 0, 0, 0) { chunk_.text(0, "/data/f").text(1, "a+"); }

  void handle(std::uint32_t handle, std::uint32_t description, std::uint32_t flags = 0,
              wire::Origin origin = wire::Origin::kOpened) {
    chunk_.handle({.handle = handle,
                   .description = description,
                   .fd = 3,
                   .origin = origin,
                   .open_flags = flags,
                   .text_slot = 0});
  }

  void call(std::string_view symbol, std::array<std::int64_t, calls::kMaxArguments> arguments,
            std::int64_t result, std::uint64_t request = 0) {
    chunk_.event(test::numberOf(symbol), {.start = now_,
                                          .end = now_ + 5,
                                          .arguments = arguments,
                                          .request = request,
                                          .result = result});
    now_ += 10;
  }
  void write(std::int64_t handle, std::int64_t bytes) {
    call("write", {handle, 0, bytes}, bytes, static_cast<std::uint64_t>(bytes));
  }
  void read(std::int64_t handle, std::int64_t bytes) {
    call("read", {handle, 0, bytes}, bytes, static_cast<std::uint64_t>(bytes));
  }

  model::PhaseModel model() {
    test::ContainerBuilder container(kToken, 4711);
    container.facts(test::usualFacts(0, 1))
        .facts(types_)
        .chunk(chunk_)
        .ended(chunk_.header.event_count);
    container.save(directory_ / "node1.4711.0.omnio");
    const Result<Trace> trace = Trace::open(directory_.path());
    return *makePhaseModel(*trace, {});
  }

  // "write 0+100 read 50+10": the operation, the first offset and the bytes of each phase.
  std::string summary() { return summary(model()); }
  static std::string summary(const model::PhaseModel& model) {
    std::string text;
    for (const model::Phase& phase : model.phases) {
      const model::PhaseOperation& operation = phase.operations.front();
      text += text.empty() ? "" : " ";
      text += fmt::format(
          "{} {}+{}", nameOf(operation.operation),
          operation.init_offset.known ? fmt::format("{}", operation.init_offset.base) : "?",
          phase.weight_bytes);
    }
    return text;
  }

  test::TemporaryDirectory directory_;
  test::ChunkBuilder chunk_;
  std::uint64_t now_ = 0;
  std::map<std::string, std::string> types_;
};

TEST_F(PositionTest, SequentialCallsGoOnWhereTheLastOneEnded) {
  handle(1, 1);
  for (int i = 0; i < 4; ++i) write(1, 100);
  call("lseek", {1, 50, SEEK_SET}, 50);
  read(1, 10);
  read(1, 10);
  EXPECT_EQ(summary(), "write 0+400 read 50+20");
}

TEST_F(PositionTest, WhatSeekReturnedCounts) {
  handle(1, 1);
  call("lseek", {1, 0, SEEK_END}, 777);
  write(1, 100);
  EXPECT_EQ(summary(), "write 777+100");
}

TEST_F(PositionTest, DuplicatesShareThePositionAndOtherOpensDoNot) {
  handle(1, 1);
  handle(2, 1, 0, wire::Origin::kDuplicated);
  handle(3, 3);
  write(1, 100);
  write(2, 100);
  read(3, 30);
  write(1, 100);
  EXPECT_EQ(summary(), "write 0+200 read 0+30 write 200+100");
}

TEST_F(PositionTest, ExplicitOffsetsLeaveThePosition) {
  handle(1, 1);
  write(1, 100);
  call("pread", {1, 0, 10, 5000}, 10, 10);
  write(1, 100);
  EXPECT_EQ(summary(), "write 0+100 read 5000+10 write 100+100");
}

TEST_F(PositionTest, AppendsGoBehindTheFurthestByte) {
  handle(1, 1, O_APPEND);
  handle(2, 2);
  call("pwrite", {2, 0, 100, 900}, 100, 100);
  write(1, 10);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 900+100 write 1000+20");
  ASSERT_EQ(m.left_out.size(), 1U);
  EXPECT_EQ(m.left_out[0],
            "the size of files before they were appended to: offsets count from what the rank "
            "itself had seen (/data/f)");
}

TEST_F(PositionTest, AStreamThatWasTruncatedIsAppendedToFromItsBegin) {
  handle(1, 1, O_APPEND | O_TRUNC);
  call("open", {1, O_APPEND | O_TRUNC, 0}, 2);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+10");
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(PositionTest, StreamsMoveByWhatTheyMoved) {
  handle(1, 1);
  call("fopen", {1, 2}, 2);
  call("fprintf", {1}, 17);
  call("fwrite", {0, 8, 4, 1}, 3, 32);
  call("fputs", {9, 1}, 1);
  call("fputc", {65, 1}, 65);
  call("fseek", {1, 4, SEEK_SET}, 0);
  call("fgets", {0, 80, 1}, 6);
  call("rewind", {1}, 0);
  call("fgetc", {1}, 66);
  const model::PhaseModel m = model();
  // 17, 24, 9 and 1 bytes behind each other are more than three sizes: one varying phase.
  EXPECT_EQ(summary(m), "write 0+51 read 4+6 read 0+1");
}

TEST_F(PositionTest, AScanMakesThePositionUnknownUntilASeek) {
  handle(1, 1);
  call("fscanf", {1}, 1);
  call("fread", {0, 1, 10, 1}, 10, 10);
  call("fseek", {1, 40, SEEK_SET}, 0);
  call("fread", {0, 1, 5, 1}, 5, 5);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "read ?+10 read 40+5");
  EXPECT_EQ(m.left_out.size(), 2U);
}

TEST_F(PositionTest, WhatWasOpenBeforeTheRecordingCountsFromWhereItStood) {
  handle(1, 1, 0, wire::Origin::kInherited);
  write(1, 10);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+10");
  ASSERT_EQ(m.left_out.size(), 1U);
  EXPECT_EQ(m.left_out[0],
            "where files stood that were open before the recording began: offsets count from there "
            "(/data/f)");
}

TEST_F(PositionTest, AFileThatIsOpenedAnewBeginsAnotherPhaseUnlessItGoesOn) {
  handle(1, 1);
  for (int i = 0; i < 4; ++i) write(1, 100);
  handle(2, 2);
  for (int i = 0; i < 4; ++i) write(2, 100);
  handle(3, 3);
  call("lseek", {3, 400, SEEK_SET}, 400);
  for (int i = 0; i < 4; ++i) write(3, 100);
  EXPECT_EQ(summary(), "write 0+400 write 0+800");
}

TEST_F(PositionTest, FailedAndEmptyCallsAreNoAccesses) {
  handle(1, 1);
  write(1, 100);
  write(1, 0);
  chunk_.event(test::numberOf("write"), {.start = now_,
                                         .end = now_ + 5,
                                         .arguments = {1, 0, 100},
                                         .request = 100,
                                         .result = EIO,
                                         .failed = true});
  EXPECT_EQ(summary(), "write 0+100");
}

TEST_F(PositionTest, CallsBelowTheApplicationsAreNotCounted) {
  handle(1, 1);
  chunk_.event(test::numberOf("pwrite"), {.start = 0,
                                          .end = 5,
                                          .arguments = {1, 0, 100, 0},
                                          .request = 100,
                                          .result = 100,
                                          .depth = 1});
  EXPECT_EQ(summary(), "");
}

// The arguments of an MPI row, by role.
class MpiPositionTest : public PositionTest {
 protected:
  using Numbers = std::vector<std::pair<calls::Role, std::int64_t>>;
  void mpi(std::string_view symbol, const Numbers& numbers, std::uint64_t request = 0) {
    const calls::Row& row = calls::kTable[test::numberOf(symbol)];
    std::array<std::int64_t, calls::kMaxArguments> arguments{};
    const auto put = [&](calls::Role role, std::int64_t value) {
      const int at = calls::indexOf(row, role);
      ASSERT_GE(at, 0) << symbol;
      arguments[static_cast<std::size_t>(at)] = value;
    };
    put(calls::Role::kFile, 1);
    put(calls::Role::kTick, ++tick_);
    for (const auto& [role, value] : numbers) put(role, value);
    if (calls::has(row, calls::Role::kSize)) {
      put(calls::Role::kSize, static_cast<std::int64_t>(request));
    }
    if (calls::has(row, calls::Role::kGot)) {
      put(calls::Role::kGot, static_cast<std::int64_t>(request));
    }
    call(symbol, arguments, 0, request);
  }
  // A view of these types, in the words of a trace.
  void view(std::int64_t disp, const std::string& etype, const std::string& filetype) {
    using calls::Role;
    const auto numberOf = [this](const std::string& text) {
      const auto number = static_cast<std::int64_t>(types_.size()) + 1;
      types_[fmt::format("type.{}", number)] = text;
      return number;
    };
    mpi("MPI_File_set_view", {{Role::kDisp, disp},
                              {Role::kEtype, numberOf(etype)},
                              {Role::kFiletype, numberOf(filetype)}});
  }

  std::int64_t tick_ = 0;
};

TEST_F(MpiPositionTest, IndividualPointersFollowSeeksAndCounts) {
  using calls::Role;
  handle(1, 1);
  mpi("MPI_File_seek", {{Role::kOffset, 1000}, {Role::kWhence, SEEK_SET}, {Role::kPosition, 1000}});
  for (int i = 0; i < 4; ++i) mpi("MPI_File_write", {}, 100);
  mpi("MPI_File_seek", {{Role::kOffset, -200}, {Role::kWhence, SEEK_CUR}, {Role::kPosition, 1200}});
  mpi("MPI_File_read", {}, 100);
  mpi("MPI_File_read", {}, 100);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 1000+400 read 1200+200");
  EXPECT_EQ(m.phases[0].interface, model::Interface::kMpiIo);
  EXPECT_EQ(m.phases[0].pointer, model::PointerKind::kIndividual);
  EXPECT_EQ(m.phases[0].first_tick, 2U);
  EXPECT_EQ(m.phases[0].last_tick, 5U);
}

TEST_F(MpiPositionTest, AViewWithOneBlockGivesThePlaceInTheFile) {
  using calls::Role;
  handle(1, 1);
  // Blocks of 400 bytes in 1600, the second of four; displaced by 64.
  view(64, "b8", "subarray(4,50;1,50;1,0;c;b8)[0,1600]");
  for (int i = 0; i < 3; ++i) mpi("MPI_File_write_all", {}, 400);
  mpi("MPI_File_read_at_all", {{Role::kOffset, 50}}, 400);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 464+1200 read 2064+400");
  EXPECT_EQ(m.phases[0].operations[0].displacement_bytes, 1600);
  EXPECT_EQ(m.phases[0].mode, model::AccessMode::kStrided);
  EXPECT_TRUE(m.phases[0].collective);
  EXPECT_TRUE(m.phases[0].has_view);
  EXPECT_EQ(m.phases[0].etype_bytes, 8U);
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(MpiPositionTest, BlocksInsideAFiletypeAreFollowed) {
  handle(1, 1);
  // Two blocks of 200 bytes, 600 apart, in 1600.
  view(0, "b8", "resized(0;1600;hvector(2;25;600;b8)[0,800])");
  for (int i = 0; i < 3; ++i) mpi("MPI_File_write", {}, 200);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+200 write 600+400");
  EXPECT_EQ(m.phases[1].operations[0].displacement_bytes, 1000);
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(MpiPositionTest, AViewWithoutGapsIsNoBoundary) {
  handle(1, 1);
  view(8, "b8", "contiguous(50;b8)");
  mpi("MPI_File_write", {}, 1200);
  mpi("MPI_File_write", {}, 1200);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 8+2400");
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(MpiPositionTest, NestedAndIrregularViewsAreFollowed) {
  handle(1, 1);
  // A plane of a cube, then pairs at distances of their own.
  view(64, "b8", "subarray(4,4,4;2,2,2;1,1,1;c;b8)[0,512]");
  for (int i = 0; i < 4; ++i) mpi("MPI_File_write_all", {}, 16);
  view(0, "b1", "hindexed(2,2,2;3,10,40;b1)[3,39]");
  mpi("MPI_File_read", {}, 2);
  mpi("MPI_File_read", {}, 1);
  mpi("MPI_File_read", {}, 1);
  const model::PhaseModel m = model();
  // 64 + (16 + 4 + 1) * 8, one row on, then the plane behind.
  EXPECT_EQ(summary(m), "write 232+16 write 264+16 write 360+32 read 3+2 read 10+2");
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(MpiPositionTest, AViewOfUnknownTypesHasNoKnownOffset) {
  handle(1, 1);
  view(64, "b8", "hexagon(3;b8)");
  mpi("MPI_File_write_all", {}, 400);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write ?+400");
  EXPECT_EQ(m.left_out.size(), 1U);
}

TEST_F(MpiPositionTest, SplitAndNonblockingCallsMoveThePointerWhenTheyBegin) {
  handle(1, 1);
  mpi("MPI_File_iwrite", {}, 100);
  mpi("MPI_File_write_all_begin", {}, 100);
  mpi("MPI_File_write_all_end", {});
  mpi("MPI_File_write", {}, 100);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+100 write 100+100 write 200+100");
  EXPECT_FALSE(m.phases[0].blocking);
  EXPECT_TRUE(m.phases[1].collective);
}

TEST_F(MpiPositionTest, ARequestOverSeveralBlocksIsSaid) {
  handle(1, 1);
  view(0, "b8", "resized(0;1600;contiguous(50;b8))");
  mpi("MPI_File_write_all", {}, 1200);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 0+1200");
  EXPECT_EQ(m.left_out.size(), 1U);
}

TEST_F(MpiPositionTest, SharedPointersHaveNoKnownOffset) {
  handle(1, 1);
  mpi("MPI_File_write_shared", {}, 100);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write ?+100");
  EXPECT_EQ(m.phases[0].pointer, model::PointerKind::kShared);
  EXPECT_EQ(m.phases[0].mode, model::AccessMode::kRandom);
}

TEST_F(MpiPositionTest, CommunicationBetweenMakesTheGapAndFileOperationsDoNot) {
  handle(1, 1);
  mpi("MPI_File_write", {}, 100);
  tick_ += 16;
  for (int i = 0; i < 30; ++i) mpi("MPI_File_sync", {});
  mpi("MPI_File_write", {}, 100);
  tick_ += 17;
  mpi("MPI_File_write", {}, 100);
  EXPECT_EQ(summary(), "write 0+200 write 200+100");
}

}  // namespace
}  // namespace omnio::phases
