// Where MPI-IO reads and writes: from synthetic traces to the model's offsets.
#include "phase_model/access_reader.hpp"
#include "tests/core/mpi_trace.hpp"
#include "tests/phase_model/position_testing.hpp"

namespace omnio::phases {
namespace {

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
  void wait(std::initializer_list<wire::DoneRequest> found) {
    const std::vector<std::uint64_t> list = test::listOf(found);
    chunk_.event(test::numberOf("MPI_Waitall"),
                 {.start = now_,
                  .end = now_ + 5,
                  .arguments = {static_cast<std::int64_t>(list.size())},
                  .pieces = list});
    now_ += 10;
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

TEST_F(MpiPositionTest, ReadsThatEndLaterCountWhatTheyGot) {
  using calls::Role;
  handle(1, 1);
  mpi("MPI_File_iread_at", {{Role::kOffset, 0}, {Role::kRequest, 1}}, 100);
  mpi("MPI_File_iread_at", {{Role::kOffset, 5000}, {Role::kRequest, 2}}, 100);
  mpi("MPI_File_iread_at", {{Role::kOffset, 9000}, {Role::kRequest, 3}}, 100);  // at the end
  mpi("MPI_File_write_at", {{Role::kOffset, 7000}}, 50);
  wait({{.request = 3, .kind = wire::DoneRequest::kGot, .bytes = 0},
        {.request = 2, .kind = wire::DoneRequest::kGot, .bytes = 30}});
  mpi("MPI_File_read_at_all_begin", {{Role::kOffset, 200}}, 100);
  mpi("MPI_File_write_at", {{Role::kOffset, 8000}}, 50);
  mpi("MPI_File_read_at_all_end", {}, 40);
  wait({{.request = 1, .kind = wire::DoneRequest::kGot, .bytes = 100}});
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "read 0+100 read 5000+30 write 7000+50 read 200+40 write 8000+50");
  EXPECT_TRUE(m.left_out.empty());
}

TEST_F(MpiPositionTest, BehindASplitReadThePointerIsKnownWhenAllWasGot) {
  handle(1, 1);
  mpi("MPI_File_read_all_begin", {}, 100);
  mpi("MPI_File_write", {}, 10);
  mpi("MPI_File_read_all_end", {}, 100);
  mpi("MPI_File_write", {}, 10);
  EXPECT_EQ(summary(), "read 0+100 write ?+10 write 110+10");
}

TEST_F(MpiPositionTest, ASeekDuringASplitReadCounts) {
  using calls::Role;
  handle(1, 1);
  mpi("MPI_File_read_all_begin", {}, 100);
  mpi("MPI_File_seek", {{Role::kOffset, 500}, {Role::kWhence, SEEK_SET}, {Role::kPosition, 500}});
  mpi("MPI_File_read_all_end", {}, 100);
  mpi("MPI_File_write", {}, 10);
  EXPECT_EQ(summary(), "read 0+100 write 500+10");
}

TEST_F(MpiPositionTest, BehindAShortReadThePointerIsNotKnownUntilItIsSet) {
  using calls::Role;
  handle(1, 1);
  mpi("MPI_File_read_all_begin", {}, 100);
  mpi("MPI_File_read_all_end", {}, 40);
  mpi("MPI_File_write", {}, 10);
  mpi("MPI_File_seek", {{Role::kOffset, 500}, {Role::kWhence, SEEK_SET}, {Role::kPosition, 500}});
  mpi("MPI_File_write", {}, 10);
  EXPECT_EQ(summary(), "read 0+40 write ?+10 write 500+10");
}

TEST_F(MpiPositionTest, ANonblockingReadThatWasShortBelowWasShort) {
  using calls::Role;
  handle(1, 1);
  for (const std::int64_t got : {100, 40}) {
    // Below the call that comes next.
    chunk_.event(test::numberOf("pread"), {.start = now_ + 1,
                                           .end = now_ + 2,
                                           .arguments = {1, 0, 100, 0},
                                           .request = 100,
                                           .result = got,
                                           .depth = 1});
    mpi("MPI_File_iread", {}, 100);
    mpi("MPI_File_write", {}, 10);
  }
  EXPECT_EQ(summary(), "read 0+100 write 100+10 read 110+100 write ?+10");
}

TEST_F(MpiPositionTest, AReadThatNobodyEndedGotNothing) {
  using calls::Role;
  handle(1, 1);
  mpi("MPI_File_iread_at", {{Role::kOffset, 0}, {Role::kRequest, 1}}, 100);
  mpi("MPI_File_write_at", {{Role::kOffset, 7000}}, 50);
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "write 7000+50");
  ASSERT_EQ(m.left_out.size(), 1U);
  EXPECT_EQ(m.left_out[0],
            "1 access by nonblocking and split calls that no other ended: reads of no bytes");
}

TEST_F(MpiPositionTest, AReadThatIsUnderWayForLongHoldsNobodyUpForEver) {
  using calls::Role;
  handle(1, 1);
  mpi("MPI_File_iread_at", {{Role::kOffset, 0}, {Role::kRequest, 1}}, 100);
  for (std::size_t i = 0; i < kMostHeld; ++i) {
    mpi("MPI_File_write_at", {{Role::kOffset, static_cast<std::int64_t>(i) * 8}}, 8);
  }
  wait({{.request = 1, .kind = wire::DoneRequest::kGot, .bytes = 30}});
  const model::PhaseModel m = model();
  EXPECT_EQ(summary(m), "read 0+100 write 0+524288");
  ASSERT_EQ(m.left_out.size(), 1U);
  EXPECT_EQ(m.left_out[0],
            "1 access by nonblocking and split calls that ended more than 65536 others later: "
            "counted with what they asked for");
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
