// Calls as they are reissued: the symbol, its arguments, and what came of it.
#include "replay/issue/backend.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::replay {
namespace {

constexpr std::uint32_t kSlot = 0;
constexpr std::uint32_t kOther = 1;
constexpr std::uint64_t kLargest = 8192;

Plan planOfThreeFiles() {
  Plan plan;
  plan.files.emplace_back().location = "file";
  plan.files.emplace_back().location = "other";
  plan.files.emplace_back().location = "name.Ab12Cd";  // mkstemp made up its last six letters
  return plan;
}

// A tree with two files to be, and a thread that works on them.
class BackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    findSymbols();
    PlannedThread thread;
    thread.read_request = kLargest;
    thread.read_moved = kLargest;
    thread.write_request = kLargest;
    ASSERT_TRUE(buffers.reserve(thread, 7));
    context.buffers = &buffers;
  }

  static Instruction call(std::string_view symbol, std::vector<std::int64_t> arguments = {}) {
    Instruction instruction;
    instruction.op.row = static_cast<std::uint16_t>(test::numberOf(symbol));
    instruction.op.fd = kSlot;
    std::copy(arguments.begin(), arguments.end(), instruction.arguments.begin());
    return instruction;
  }
  static Instruction open(std::int64_t flags, std::uint32_t file = 0) {
    Instruction instruction = call("open", {0, flags, 0600});
    instruction.op.fd = kNoSlot;
    instruction.op.file = file;
    instruction.op.new_fd = file == 0 ? kSlot : kOther;
    return instruction;
  }
  static Instruction transfer(std::string_view symbol, std::uint64_t bytes,
                              std::int64_t offset = 0) {
    const auto count = static_cast<std::int64_t>(bytes);
    Instruction instruction = call(symbol, {0, 0, count, offset});
    instruction.op.request = bytes;
    instruction.op.offset = offset;
    return instruction;
  }
  Outcome done(const Instruction& instruction) { return issue(instruction, context); }
  std::string content(const char* name = "file") const {
    std::ifstream in(directory / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const test::TemporaryDirectory directory;
  const Plan plan = planOfThreeFiles();
  const base::Result<Trees> trees = Trees::open({directory.path()});
  const Paths paths{plan, *trees};
  Descriptors descriptors{2};
  Buffers buffers;
  IssueContext context{paths, descriptors, false};
};

TEST_F(BackendTest, AWriteGoesWhereAndAsFarAsItDidWhenItWasRecorded) {
  EXPECT_FALSE(done(open(O_RDWR | O_CREAT)).failed);
  const Outcome outcome = done(transfer("pwrite64", 100, 1000));
  EXPECT_FALSE(outcome.failed);
  EXPECT_TRUE(outcome.issued);
  EXPECT_EQ(outcome.result, 100);
  EXPECT_LE(outcome.start_ns, outcome.end_ns);
  EXPECT_EQ(content().size(), 1100U);
  EXPECT_EQ(content().find_first_not_of('\0'), 1000U);
}

TEST_F(BackendTest, AReadGetsWhatIsThere) {
  std::ofstream(directory / "file") << std::string(300, 'x');
  EXPECT_FALSE(done(open(O_RDONLY)).failed);
  EXPECT_EQ(done(transfer("read", 200)).result, 200);
  EXPECT_EQ(std::string(buffers.forRead(false), 200), std::string(200, 'x'));
  EXPECT_EQ(done(transfer("read", 200)).result, 100);
}

TEST_F(BackendTest, AFailureIsItsErrno) {
  const Outcome outcome = done(open(O_RDONLY));
  EXPECT_TRUE(outcome.failed);
  EXPECT_EQ(outcome.result, ENOENT);
  EXPECT_EQ(descriptors.fd(kSlot), -1);
  EXPECT_EQ(done(transfer("write", 10)).result, EBADF);
}

TEST_F(BackendTest, PiecesKeepTheirSizes) {
  EXPECT_FALSE(done(open(O_RDWR | O_CREAT)).failed);
  const std::uint64_t sizes[] = {10, 0, 300};
  Instruction instruction = call("writev");
  instruction.op.piece_count = 3;
  instruction.op.request = 310;
  instruction.op.offset = 0;
  instruction.pieces = sizes;
  EXPECT_EQ(done(instruction).result, 310);
  EXPECT_EQ(content().size(), 310U);
}

// The longest text that there is room for, with its end behind it.
TEST_F(BackendTest, ATextIsWrittenToItsEnd) {
  Instruction opened = call("fopen");
  opened.op.fd = kNoSlot;
  opened.op.file = 0;
  opened.op.new_fd = kSlot;
  opened.text = "w+";
  EXPECT_FALSE(done(opened).failed);
  Instruction text = call("fputs", {static_cast<std::int64_t>(kLargest)});
  text.op.request = kLargest;
  text.op.offset = 0;
  EXPECT_FALSE(done(text).failed);
  EXPECT_FALSE(done(call("fclose")).failed);
  EXPECT_EQ(content().size(), kLargest);
  EXPECT_EQ(content().find('\0'), std::string::npos);
}

TEST_F(BackendTest, AMadeUpNameBecomesTheRecordedOne) {
  Instruction instruction = call("mkstemp");
  instruction.op.fd = kNoSlot;
  instruction.op.file = 2;
  instruction.op.new_fd = kSlot;
  EXPECT_FALSE(done(instruction).failed);
  EXPECT_TRUE(std::filesystem::exists(directory / "name.Ab12Cd"));
}

// Another open of the file, which can lock it too.
class LockingBackend : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    EXPECT_FALSE(done(open(O_RDWR | O_CREAT)).failed);
    other_ = ::open((directory / "file").c_str(), O_RDWR);
    ASSERT_GE(other_, 0);
  }
  void TearDown() override { ::close(other_); }

  bool otherCanLock() const {
    if (flock(other_, LOCK_EX | LOCK_NB) != 0) return false;
    return flock(other_, LOCK_UN) == 0;
  }
  int otherRecordLock(short type) const {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_len = 8;
    return fcntl(other_, F_OFD_SETLK, &range);
  }
  static Instruction recordLock(std::int64_t command, std::int64_t type = F_WRLCK) {
    return call("(fcntl_lock)", {0, command, type, SEEK_SET, 0, 8});
  }
  static Instruction failed(Instruction instruction, int error) {
    instruction.op.flags |= kOpFailed;
    instruction.op.result = error;
    return instruction;
  }

  int other_ = -1;
};

TEST_F(LockingBackend, ALockIsTakenAndGivenUp) {
  const Outcome outcome = done(call("flock", {0, LOCK_EX}));
  EXPECT_FALSE(outcome.failed);
  EXPECT_EQ(outcome.substitute, Substitute::kNone);
  EXPECT_FALSE(otherCanLock());
  EXPECT_FALSE(done(call("flock", {0, LOCK_UN})).failed);
  EXPECT_TRUE(otherCanLock());
  EXPECT_EQ(done(recordLock(F_OFD_SETLKW)).substitute, Substitute::kNone);
  EXPECT_NE(otherRecordLock(F_WRLCK), 0);
  EXPECT_FALSE(done(recordLock(F_OFD_SETLK, F_UNLCK)).failed);
  EXPECT_EQ(otherRecordLock(F_WRLCK), 0);
}

TEST_F(LockingBackend, ALockThatOthersKeepIsGoneWithoutAndCounted) {
  ASSERT_EQ(flock(other_, LOCK_EX), 0);
  ASSERT_EQ(otherRecordLock(F_WRLCK), 0);
  for (const Instruction& instruction :
       {call("flock", {0, LOCK_EX}), call("flock", {0, LOCK_SH | LOCK_NB}),
        recordLock(F_OFD_SETLKW), recordLock(F_OFD_SETLK), recordLock(F_SETLKW, F_RDLCK),
        call("lockf", {0, F_LOCK, 8})}) {
    const Outcome outcome = done(instruction);
    EXPECT_FALSE(outcome.failed);
    EXPECT_EQ(outcome.result, 0);
    EXPECT_EQ(outcome.substitute, Substitute::kLock);
    EXPECT_GE(outcome.end_ns - outcome.start_ns, 10'000'000);
  }
}

// How long it is waited for is short: one turn in which others let go in that time has to be right.
TEST_F(LockingBackend, ALockIsHadAsSoonAsOthersLetGoOfIt) {
  constexpr int kMostTurns = 1000;
  bool is_had = false;
  for (int turn = 0; turn < kMostTurns && !is_had; ++turn) {
    ASSERT_EQ(flock(other_, LOCK_EX), 0);
    std::thread releases([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      flock(other_, LOCK_UN);
    });
    const Outcome outcome = done(call("flock", {0, LOCK_EX}));
    releases.join();
    EXPECT_FALSE(outcome.failed);
    is_had = outcome.substitute == Substitute::kNone;
    EXPECT_EQ(otherCanLock(), !is_had);
  }
  EXPECT_TRUE(is_had);
}

// Others have it or have not: the application did not get it, and was perhaps interrupted.
TEST_F(LockingBackend, ALockThatTheApplicationDidNotGetIsNotTaken) {
  for (const bool is_held : {false, true}) {
    if (is_held) {
      ASSERT_EQ(flock(other_, LOCK_EX), 0);
      ASSERT_EQ(otherRecordLock(F_WRLCK), 0);
    }
    for (const int error : {EAGAIN, EINTR, EDEADLK}) {
      for (const Instruction& instruction :
           {call("flock", {0, LOCK_EX}), call("flock", {0, LOCK_EX | LOCK_NB}),
            recordLock(F_SETLKW), recordLock(F_SETLK), recordLock(F_OFD_SETLKW),
            call("lockf", {0, F_LOCK, 8})}) {
        const Outcome outcome = done(failed(instruction, error));
        EXPECT_TRUE(outcome.failed);
        EXPECT_EQ(outcome.result, error);
        EXPECT_EQ(outcome.substitute, Substitute::kLock);
      }
    }
    if (!is_held) {
      EXPECT_TRUE(otherCanLock());
      EXPECT_EQ(otherRecordLock(F_WRLCK), 0);
      EXPECT_EQ(otherRecordLock(F_UNLCK), 0);
    }
  }
}

TEST_F(LockingBackend, NoOtherCommandOfFcntlIsIssuedAsALock) {
  for (const int command : {F_SETOWN, F_SETSIG, F_NOTIFY, F_SETFL, F_DUPFD, F_SETLEASE, 4711}) {
    EXPECT_FALSE(done(recordLock(command)).issued);
  }
}

TEST_F(BackendTest, ACopyGoesFromTheOneDescriptorToTheOther) {
  std::ofstream(directory / "other") << std::string(500, 'y');
  EXPECT_FALSE(done(open(O_RDWR | O_CREAT)).failed);
  EXPECT_FALSE(done(open(O_RDONLY, 1)).failed);
  Instruction instruction = call("sendfile", {0, 0, -1, 400});
  instruction.op.other = kOther;
  instruction.op.request = 400;
  EXPECT_EQ(done(instruction).result, 400);
  EXPECT_EQ(content(), std::string(400, 'y'));
}

TEST_F(BackendTest, ACopyGoesFromWhereAPointerSaid) {
  std::ofstream(directory / "other") << std::string(100, 'x') + std::string(400, 'y');
  EXPECT_FALSE(done(open(O_RDWR | O_CREAT)).failed);
  EXPECT_FALSE(done(open(O_RDONLY, 1)).failed);
  Instruction instruction = call("copy_file_range", {0, 90, 0, 5, 20, 0});
  instruction.op.other = kOther;
  instruction.op.request = 20;
  EXPECT_EQ(done(instruction).result, 20);
  EXPECT_EQ(content(), std::string(5, '\0') + std::string(10, 'x') + std::string(10, 'y'));
  // Neither descriptor has moved.
  EXPECT_EQ(done(call("lseek", {0, 0, SEEK_CUR})).result, 0);
}

TEST_F(BackendTest, AFifoIsMadeAsAPlainFile) {
  Instruction instruction = call("mkfifo", {0, 0600});
  instruction.op.fd = kNoSlot;
  instruction.op.file = 0;
  const Outcome outcome = done(instruction);
  EXPECT_FALSE(outcome.failed);
  EXPECT_EQ(outcome.substitute, Substitute::kNode);
  EXPECT_TRUE(std::filesystem::is_regular_file(directory / "file"));
}

TEST_F(BackendTest, ASeekSaysWhereItLedTo) {
  EXPECT_FALSE(done(open(O_RDWR | O_CREAT)).failed);
  EXPECT_EQ(done(call("lseek", {0, 1234, SEEK_SET})).result, 1234);
  EXPECT_EQ(done(transfer("write", 6, -1)).result, 6);
  EXPECT_EQ(content().size(), 1240U);
}

TEST_F(BackendTest, WithoutAStreamNothingIsIssued) {
  const Outcome outcome = done(call("fgetc"));
  EXPECT_FALSE(outcome.issued);
  EXPECT_EQ(outcome.substitute, Substitute::kNotIssued);
}

}  // namespace
}  // namespace omnio::replay
