#include "phase_model/step_phases.hpp"

#include <gtest/gtest.h>

namespace omnio::phases {
namespace {

using calls::CallId;
using model::Operation;

// Steps of one thread of process 0 on files by name.
class StepPhasesTest : public testing::Test {
 protected:
  int of(CallId call, std::uint64_t step, const std::string& path) {
    event::Handle handle;
    handle.path.absolute = path;
    event::Event event;
    event.row = &calls::rowOf(call);
    event.handle = &handle;
    return phases_.phaseOf(0, 0, step, event);
  }

  void add(const std::string& path, std::uint64_t first, std::uint64_t last, int phase,
           const std::vector<Operation>& operations = {Operation::kWrite, Operation::kRead}) {
    phases_.add(0, 0, path, operations, first, last, phase);
  }

  StepPhases phases_;
};

TEST_F(StepPhasesTest, CallsBelongToTheDataTheyPrepareOrEnd) {
  add("/a", 2, 4, 1);
  add("/a", 8, 9, 2);
  EXPECT_EQ(of(CallId::pwrite, 3, "/a"), 1);
  EXPECT_EQ(of(CallId::pread, 8, "/a"), 2);
  EXPECT_EQ(of(CallId::open, 0, "/a"), 1);
  EXPECT_EQ(of(CallId::lseek, 6, "/a"), 2);
  EXPECT_EQ(of(CallId::fsync, 5, "/a"), 1);
  EXPECT_EQ(of(CallId::close, 10, "/a"), 2);
  // Nothing comes behind it, nothing before it.
  EXPECT_EQ(of(CallId::stat, 11, "/a"), 2);
  EXPECT_EQ(of(CallId::fsync, 1, "/a"), 1);
  EXPECT_EQ(of(CallId::open, 0, "/other"), 0);
}

TEST_F(StepPhasesTest, FilesThatAreUsedByTurnsAreKeptApart) {
  add("/a", 0, 10, 1);
  add("/b", 1, 11, 2);
  EXPECT_EQ(of(CallId::pwrite, 4, "/a"), 1);
  EXPECT_EQ(of(CallId::pwrite, 5, "/b"), 2);
}

// Short runs between two long ones were put together into one random phase.
TEST_F(StepPhasesTest, TheShorterStretchIsMeant) {
  add("/a", 0, 100, 1);
  add("/a", 20, 39, 2);
  add("/a", 60, 79, 3);
  EXPECT_EQ(of(CallId::pwrite, 10, "/a"), 1);
  EXPECT_EQ(of(CallId::pwrite, 20, "/a"), 2);
  EXPECT_EQ(of(CallId::pwrite, 50, "/a"), 1);
  EXPECT_EQ(of(CallId::pwrite, 79, "/a"), 3);
  EXPECT_EQ(of(CallId::pwrite, 100, "/a"), 1);
}

// Reads and writes at random places, by turns: neither phase is inside of the other.
TEST_F(StepPhasesTest, AStepIsOfAPhaseOfItsOperation) {
  add("/a", 0, 42, 1, {Operation::kWrite});
  add("/a", 1, 41, 2, {Operation::kRead});
  EXPECT_EQ(of(CallId::pwrite, 0, "/a"), 1);
  EXPECT_EQ(of(CallId::pread, 1, "/a"), 2);
  EXPECT_EQ(of(CallId::pwrite, 20, "/a"), 1);
  EXPECT_EQ(of(CallId::pread, 41, "/a"), 2);
  EXPECT_EQ(of(CallId::pwrite, 42, "/a"), 1);
  // One of no bytes makes no phase, and is of that of the calls around it.
  add("/b", 5, 9, 3, {Operation::kWrite});
  EXPECT_EQ(of(CallId::pread, 7, "/b"), 3);
  EXPECT_EQ(of(CallId::lseek, 3, "/b"), 3);
}

}  // namespace
}  // namespace omnio::phases
