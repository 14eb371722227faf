// Loops that stay loops do what their events do that are written out: the same operations, times
// and plan. The documents are made here, with a generator of numbers for those that are random.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string_view>

#include "core/model/schedule_reader.hpp"
#include "replay/plan/compile.hpp"
#include "replay/plan/program.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

// Takes no loop, so that all are written out.
class WrittenOut final : public model::ScheduleSink {
 public:
  explicit WrittenOut(ScheduleSink& next) : next_(next) {}
  Complaint global(const model::ScheduleGlobal& global) override { return next_.global(global); }
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override {
    return next_.file(number, file);
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    return next_.beginThread(thread);
  }
  Complaint event(const model::ScheduleEvent& event) override { return next_.event(event); }
  Complaint endThread() override { return next_.endThread(); }

 private:
  ScheduleSink& next_;
};

std::string textOf(const Instruction& one) {
  Op op = one.op;
  op.wait = op.named = 0;  // places in lists, of which a loop has one
  std::ostringstream text;
  text << static_cast<int>(op.step) << " flags " << int{op.flags} << " row " << op.row << " times "
       << op.start_ns << ' ' << op.end_ns << " own " << op.own_ns << ' ' << op.communication_ns
       << " result " << op.result << " request " << op.request << " offset " << op.offset << " fd "
       << op.fd << ' ' << op.other << ' ' << op.new_fd << " file " << op.file << ' ' << op.new_file
       << " in " << op.directory << ' ' << op.new_directory << " names " << op.lookups << ' '
       << op.new_lookups << " wait " << op.wait << " named " << op.named << " phase " << op.phase
       << " arguments";
  for (const std::int64_t argument : one.arguments) text << ' ' << argument;
  text << " pieces";
  for (std::size_t i = 0; i < op.piece_count; ++i) text << ' ' << one.pieces[i];
  text << " text " << one.text;
  return text.str();
}

std::vector<std::string> operationsOf(const std::filesystem::path& directory, std::size_t thread) {
  std::vector<std::string> operations;
  ProgramReader reader;
  EXPECT_TRUE(reader.open(programName(directory, thread)));
  while (const Instruction* one = reader.next()) operations.push_back(textOf(*one));
  EXPECT_FALSE(reader.failure());
  return operations;
}

// Each event that waits, and those that it waits for, by thread and place in it.
std::vector<std::string> waitsOf(const std::filesystem::path& directory, const Plan& plan) {
  const auto forEach = [&](auto take) {
    for (std::size_t thread = 0; thread < plan.threads.size(); ++thread) {
      ProgramReader reader;
      EXPECT_TRUE(reader.open(programName(directory, thread)));
      std::size_t place = 0;
      while (const Instruction* one = reader.next()) take(thread, place++, *one);
    }
  };
  struct Raised {
    std::string place;
    std::int64_t end_ns = 0;  // as recorded
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, Raised> raised;
  forEach([&](std::size_t thread, std::size_t place, const Instruction& one) {
    if (one.op.named == 0) return;
    const std::uint32_t flag = plan.threads[thread].raises[one.op.named - 1];
    if (flag == kNoFlag) return;
    const auto [at, is_first] = raised.emplace(
        std::pair(flag, one.pass),
        Raised{.place = fmt::format("{}:{}", thread, place), .end_ns = one.op.end_ns});
    EXPECT_TRUE(is_first);
  });
  std::vector<std::string> waits;
  forEach([&](std::size_t thread, std::size_t place, const Instruction& one) {
    if (one.op.wait == 0) return;
    const Wait& wait = plan.threads[thread].waits[one.op.wait - 1];
    std::set<std::string> awaited;
    std::int64_t recorded_ns = wait.recorded_end_ns;
    for (std::size_t i = 0; i < wait.flags.size(); ++i) {
      FlagPass flag{.flag = wait.flags[i], .pass = wait.passes.empty() ? 0 : wait.passes[i]};
      model::Work work = wait.work[i];
      if (!wait.loop.empty()) {
        flag.pass += wait.loop[i].step * one.pass;
        if (!wait.loop[i].each.empty()) {
          flag = wait.loop[i].each[static_cast<std::size_t>(one.pass)];
        }
        if (one.waits != nullptr && wait.loop[i].time >= 0) work = one.waits[wait.loop[i].time];
      }
      const auto found = raised.find({flag.flag, flag.pass});
      EXPECT_NE(found, raised.end());
      if (found == raised.end()) continue;
      // As the engine is told of it.
      recorded_ns = std::max(recorded_ns,
                             isLoopFlag(flag.flag) ? found->second.end_ns : flag.recorded_end_ns);
      // The order of the thread sees to it.
      const std::string& by = found->second.place;
      if (by.starts_with(fmt::format("{}:", thread)) && work.total() == 0) continue;
      awaited.insert(fmt::format(" {} + {} {}", by, work.compute_ns, work.communication_ns));
    }
    const std::int64_t least = one.waits != nullptr && wait.least_time >= 0
                                   ? one.waits[wait.least_time].total()
                                   : wait.least_ns;
    if (awaited.empty() && least == 0) return;
    waits.push_back(fmt::format("{}:{} in MPI {} least {}, behind {}:{}", thread, place,
                                wait.in_mpi, least, recorded_ns, fmt::join(awaited, "")));
  });
  std::ranges::sort(waits);
  return waits;
}

std::string planText(const Plan& plan) {
  std::ostringstream text;
  for (const PlannedFile& file : plan.files) {
    text << file.location << " added " << file.added_bytes << " end " << file.written_end
         << " shrinks " << file.may_shrink << " made " << file.made_by_events << " users "
         << file.users.size() << '\n';
  }
  for (const PlannedRank& rank : plan.ranks) {
    text << "slots " << rank.slots << " made " << rank.made << '\n';
  }
  for (const PlannedThread& thread : plan.threads) {
    text << "operations " << thread.operations << " largest " << thread.read_request << ' '
         << thread.read_moved << ' ' << thread.write_request << ' ' << thread.write_failed << '\n';
  }
  for (const PhaseWork& phase : plan.phase_work) {
    text << "phase " << phase.phase << ' ' << phase.bytes << '\n';
  }
  return text.str();
}

class LoopPrograms : public ::testing::Test {
 protected:
  struct Compiled {
    std::unique_ptr<Compiler> compiler;
    model::ScheduleSink::Complaint complaint;
    std::filesystem::path programs;
    std::string refusal;
  };

  Compiled compiled(const std::string& document, bool keeps_loops, const Changes& changes) {
    const std::filesystem::path path = directory_.path() / "schedule.json";
    std::ofstream(path) << document;
    Compiled result{.compiler = nullptr,
                    .complaint = {},
                    .programs = directory_.path() / (keeps_loops ? "loops" : "flat"),
                    .refusal = {}};
    std::filesystem::remove_all(result.programs);
    std::filesystem::create_directories(result.programs);
    result.compiler = std::make_unique<Compiler>(result.programs, changes);
    WrittenOut flat(*result.compiler);
    model::ScheduleSink& sink =
        keeps_loops ? static_cast<model::ScheduleSink&>(*result.compiler) : flat;
    const auto read = model::readSchedule(path, sink);
    if (!read) {
      result.refusal = read.failure().sentence;
    } else {
      result.complaint = result.compiler->finish();
    }
    return result;
  }

  // `loops`: how many of them have to stay.
  void expectSame(const std::string& document, std::size_t threads, std::uintmax_t loops,
                  const Changes& changes = {}) {
    SCOPED_TRACE(document);
    const Compiled stay = compiled(document, true, changes);
    const Compiled flat = compiled(document, false, changes);
    ASSERT_EQ(stay.refusal, flat.refusal);
    ASSERT_EQ(stay.complaint, flat.complaint);
    if (!stay.refusal.empty() || stay.complaint) return;
    std::uintmax_t found = 0;
    for (std::size_t i = 0; i < threads; ++i) {
      ASSERT_EQ(operationsOf(stay.programs, i), operationsOf(flat.programs, i));
      if (std::filesystem::exists(loopsName(programName(stay.programs, i)))) ++found;
    }
    EXPECT_EQ(found, loops);
    EXPECT_EQ(waitsOf(stay.programs, stay.compiler->plan()),
              waitsOf(flat.programs, flat.compiler->plan()));
    for (std::size_t i = 0; i < threads; ++i) {
      // A loop has the delays at its end too.
      EXPECT_GE(stay.compiler->plan().threads[i].last_end_ns,
                flat.compiler->plan().threads[i].last_end_ns);
    }
    EXPECT_EQ(planText(stay.compiler->plan()), planText(flat.compiler->plan()));
  }

  test::TemporaryDirectory directory_;
};

std::string scheduleOf(const std::string& events, const std::string& files,
                       const std::string& timing = "dt") {
  return fmt::format(
      R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"{}","ranks":1}},)"
      R"("files":[{}],"ranks":[{{"rank":0,"threads":[{{"thread":0,"events":[{}]}}]}}]}})",
      timing, files, events);
}

const std::string kOneFile = R"({"location":"a","role":"output","exists":false})";
const std::string kTenFiles =
    R"({"repeat":10,"body":[{"location":"f.{turn:03}","role":"output","exists":false}]})";
const std::string kOpen =
    R"({"gap":5000,"duration":7,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0})";

TEST_F(LoopPrograms, OfContiguousWrites) {
  expectSame(
      scheduleOf(
          kOpen +
              R"(,{"repeat":50,"gap":9,"body":[{"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":4096,"offset":"{4096*turn}","result":4096}]})",
          kOneFile),
      1, 1);
}

TEST_F(LoopPrograms, OfTimesThatAreSteps) {
  const std::string events =
      R"({"start":0,"end":4,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0},)"
      R"({"repeat":50,"body":[{"start":10,"end":15,"command":"write","fd":0,"count":512,"offset":0,"result":512,"step":{"start":20,"end":20,"offset":512}},)"
      R"({"start":16,"end":18,"command":"fsync","fd":0,"result":0,"step":{"start":20,"end":20}}]},)"
      R"({"start":2000,"end":2004,"command":"close","fd":0,"result":0})";
  for (const char* timing : {"dt", "asap", "start"}) {
    expectSame(scheduleOf(events, kOneFile, timing), 1, 1);
  }
  expectSame(scheduleOf(events, kOneFile), 1, 1, {.leave_out_syncs = true});
}

TEST_F(LoopPrograms, OfFilesOfTurns) {
  expectSame(
      scheduleOf(
          R"({"repeat":10,"gap":100,"body":[)"
          R"({"gap":2,"duration":3,"command":"open","location":"f.{turn:03}","flags":"O_WRONLY|O_CREAT|O_TRUNC","mode":"0644","result":"{turn}"},)"
          R"({"repeat":6,"body":[{"gap":1,"duration":2,"command":"write","fd":"{turn2}","count":"{100*turn2+50}","offset":"{600*turn}","result":"{100*turn2+50}"}]},)"
          R"({"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0}]})",
          kTenFiles),
      1, 1);
}

TEST_F(LoopPrograms, OfDescriptorsThatAreOpenAtOnce) {
  expectSame(
      scheduleOf(
          R"({"repeat":10,"body":[{"gap":2,"duration":3,"command":"open","location":"f.{turn:03}","flags":"O_WRONLY|O_CREAT","mode":"0644","result":"{turn}"}]},)"
          R"({"repeat":5,"body":[{"repeat":10,"body":[{"gap":1,"duration":2,"command":"pwrite64","fd":"{turn}","count":64,"offset":"{64*turn2}","result":64}]}]},)"
          R"({"repeat":10,"body":[{"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0}]})",
          kTenFiles),
      1, 1);
}

TEST_F(LoopPrograms, OfValuesOfLists) {
  expectSame(
      scheduleOf(
          kOpen +
              R"(,{"repeat":6,"values":{"a":[7,900000,0,512,3,88],"b":[1,2,30,4,50,6]},"body":[)"
              R"({"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":"{b}","offset":"{a+10*turn}","result":"{b}"},)"
              R"({"gap":3,"duration":4,"command":"pwritev","fd":0,"iov":["{b}",8],"offset":"{a}","result":"{b+8}"}]})",
          kOneFile),
      1, 1);
}

TEST_F(LoopPrograms, OfListsThatReachFurthestTogether) {
  const auto readv = [](const char* a, const char* b, const char* offset) {
    return fmt::format(
        R"(,{{"repeat":5,"values":{{"a":[{}],"b":[{}]}},"body":[{{"gap":3,"duration":4,"command":"preadv","fd":0,"iov":["{{a}}","{{b}}"],"offset":"{}","result":"{{a+b}}"}}]}})",
        a, b, offset);
  };
  const std::string both = "8,1048576,8,8,16";
  expectSame(scheduleOf(kOpen + readv(both.c_str(), both.c_str(), "{a}"), kOneFile), 1, 1);
  // One turn would begin in front of the file.
  expectSame(scheduleOf(kOpen + readv("0,-60,0,0,0", "0,-60,0,0,0", "{100+a+b}"), kOneFile), 1, 1);
  // A product has no steps.
  for (const char* sizes : {"1,3,1,2,1", "1,3,1,1,1"}) {
    expectSame(
        scheduleOf(
            R"({"gap":5,"duration":7,"command":"fopen","location":"a","mode":"w","result":0})" +
                fmt::format(
                    R"(,{{"repeat":5,"values":{{"a":[{}]}},"body":[{{"gap":3,"duration":4,"command":"fwrite","stream":0,"size":"{{a}}","nmemb":"{{a}}","result":"{{a}}"}}]}})",
                    sizes),
            kOneFile),
        1, 0);
  }
  // Descriptors are not counted by their turns.
  expectSame(
      scheduleOf(
          R"({"repeat":5,"values":{"a":[0,9,1,2,3]},"body":[)"
          R"({"gap":2,"duration":3,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":"{a}"},)"
          R"({"gap":1,"duration":2,"command":"write","fd":"{a}","count":64,"offset":0,"result":64}]})",
          kOneFile),
      1, 1);
}

TEST_F(LoopPrograms, OfSyncsThatAreLeftOut) {
  expectSame(
      scheduleOf(
          kOpen +
              R"(,{"repeat":50,"body":[{"gap":3,"duration":4,"command":"write","fd":0,"count":512,"offset":"{512*turn}","result":512},)"
              R"({"gap":1000,"duration":70,"command":"fsync","fd":0,"result":0,"compute":900}]},)"
              R"({"repeat":9,"body":[{"gap":3,"duration":4,"command":"fsync","fd":0,"result":0}]})",
          kOneFile),
      1, 1, {.leave_out_syncs = true});
}

TEST_F(LoopPrograms, OfFilesThatAreRenamed) {
  expectSame(
      scheduleOf(
          R"({"repeat":10,"body":[)"
          R"({"gap":2,"duration":3,"command":"open","location":"t.{turn}","flags":"O_WRONLY|O_CREAT","mode":"0644","result":"{turn}"},)"
          R"({"gap":1,"duration":2,"command":"write","fd":"{turn}","count":500,"offset":0,"result":500},)"
          R"({"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0},)"
          R"({"gap":2,"duration":3,"command":"rename","location":"t.{turn}","newlocation":"f.{turn:03}","result":0}]})",
          kTenFiles +
              R"(,{"repeat":10,"body":[{"location":"t.{turn}","role":"output","exists":false}]})"),
      1, 1);
}

TEST_F(LoopPrograms, OfADescriptorThatOneTurnMakesForAll) {
  expectSame(
      scheduleOf(
          R"({"repeat":10,"body":[)"
          R"({"gap":2,"duration":3,"command":"open","location":"f.{turn:03}","flags":"O_RDWR|O_CREAT","mode":"0644","result":"{turn}"},)"
          R"({"gap":1,"duration":2,"command":"pwrite64","fd":0,"count":500,"offset":"{500*turn}","result":500}]})",
          kTenFiles),
      1, 0);
}

// Bytes that are appended count where the descriptor has been told to append.
TEST_F(LoopPrograms, OfDescriptorsThatAreToldToAppend) {
  const auto fcntl = [](std::string_view fd, int flags) {
    return fmt::format(
        R"({{"gap":1,"duration":2,"command":"fcntl","fd":{},"cmd":"F_SETFL","value":{},"result":0}},)",
        fd, flags);
  };
  // In each turn, one that the turn makes.
  const std::string of_turns =
      R"({"repeat":10,"body":[)"
      R"({"gap":2,"duration":3,"command":"open","location":"f.{turn:03}","flags":"O_WRONLY|O_CREAT","mode":"0644","result":"{turn}"},)" +
      fcntl(R"("{turn}")", O_APPEND) +
      R"({"repeat":6,"body":[{"gap":1,"duration":2,"command":"write","fd":"{turn2}","count":100,"result":100}]},)"
      R"({"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0}]})";
  expectSame(scheduleOf(of_turns, kTenFiles), 1, 1);
  const Compiled each = compiled(scheduleOf(of_turns, kTenFiles), true, {});
  for (const PlannedFile& file : each.compiler->plan().files) EXPECT_EQ(file.added_bytes, 600U);
  // Before the loop, by a duplicate; and in the loop on and off again.
  const std::string duplicate =
      R"({"gap":1,"duration":2,"command":"dup","fd":0,"result":1},)" + fcntl("1", O_APPEND);
  const std::string writes =
      R"({"repeat":10,"gap":5,"body":[{"gap":1,"duration":2,"command":"write","fd":0,"count":100,"result":100}]})";
  expectSame(scheduleOf(kOpen + ',' + duplicate + writes, kOneFile), 1, 1);
  const Compiled all = compiled(scheduleOf(kOpen + ',' + duplicate + writes, kOneFile), true, {});
  EXPECT_EQ(all.compiler->plan().files.front().added_bytes, 1000U);
  const std::string by_turns =
      R"({"repeat":10,"gap":5,"body":[)" + fcntl("0", O_APPEND) +
      R"({"gap":1,"duration":2,"command":"write","fd":0,"count":7,"result":7},)" + fcntl("0", 0) +
      R"({"gap":1,"duration":2,"command":"write","fd":0,"count":100,"result":100}]})";
  expectSame(scheduleOf(kOpen + ',' + by_turns, kOneFile), 1, 1);
  const Compiled some = compiled(scheduleOf(kOpen + ',' + by_turns, kOneFile), true, {});
  EXPECT_EQ(some.compiler->plan().files.front().added_bytes, 70U);
}

TEST_F(LoopPrograms, ThatOnlyTheirEventsTell) {
  // A descriptor of the turn before, and one of a turn that comes.
  expectSame(
      scheduleOf(
          R"({"gap":5,"duration":7,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0},)"
          R"({"repeat":8,"body":[{"gap":2,"duration":3,"command":"dup","fd":"{turn}","result":"{turn+1}"}]})",
          kOneFile),
      1, 0);
  expectSame(
      scheduleOf(
          R"({"repeat":8,"body":[{"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0}]})",
          kOneFile),
      1, 0);
}

TEST_F(LoopPrograms, OfRandomNests) {
  std::mt19937_64 random(20261127);
  const auto upTo = [&random](int most) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(most + 1));
  };
  constexpr int kDocuments = 200;
  for (int i = 0; i < kDocuments; ++i) {
    const std::function<std::string(int)> loop = [&](int depth) -> std::string {
      std::string body;
      const int parts = 1 + upTo(2);
      for (int part = 0; part < parts; ++part) {
        if (!body.empty()) body += ',';
        if (depth < 3 && upTo(2) == 0) {
          body += loop(depth + 1);
          continue;
        }
        std::string offset = fmt::format("{{{}", upTo(5000));
        for (int level = 1; level <= depth; ++level) {
          if (upTo(1) == 0) continue;
          offset +=
              fmt::format("+{}*turn{}", 1 + upTo(9000), level == 1 ? "" : std::to_string(level));
        }
        const bool reads = upTo(1) == 0;
        const int count = 1 + upTo(4095);
        const std::string size = upTo(2) == 0 ? fmt::format("\"{{{}+{}*turn}}\"", count, upTo(99))
                                              : std::to_string(count);
        body += fmt::format(
            R"({{"gap":{},"duration":{},"command":"{}","fd":0,"count":{},"offset":"{}}}","result":{}{}}})",
            upTo(50) - 5, upTo(100), reads ? "pread64" : "pwrite64", size, offset, size,
            upTo(3) == 0 ? R"(,"compute":5)" : "");
      }
      const std::string gap = upTo(2) == 0 ? fmt::format(R"("gap":{},)", upTo(1000)) : "";
      return fmt::format(R"({{"repeat":{},{}"body":[{}]}})", (depth == 1 ? 4 : 1) + upTo(4), gap,
                         body);
    };
    expectSame(scheduleOf(kOpen + "," + loop(1) +
                              R"(,{"gap":5,"duration":7,"command":"close","fd":0,"result":0})",
                          kOneFile),
               1, 1);
    if (HasFatalFailure()) return;
  }
}

// Two ranks: each list of events is a thread.
std::string scheduleOfRanks(const std::string& first, const std::string& second) {
  return fmt::format(
      R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"dt","ranks":2}},"files":[{}],"ranks":[)"
      R"({{"rank":0,"threads":[{{"thread":0,"events":[{}]}}]}},{{"rank":1,"threads":[{{"thread":0,"events":[{}]}}]}}]}})",
      kOneFile, first, second);
}

std::string writes(int turns, const std::string& more, const std::string& before = "") {
  return kOpen + before +
         fmt::format(
             R"(,{{"repeat":{},"body":[{{"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":512,"offset":"{{512*turn}}","result":512{}}}]}})",
             turns, more);
}

TEST_F(LoopPrograms, OfLinesThatWaitForLines) {
  // In the same turn, both ways; a turn later; for single events; from single events.
  expectSame(
      scheduleOfRanks(
          writes(8, R"(,"compute":1,"id":"{1+2*turn}")"),
          writes(
              8,
              R"(,"compute":1,"id":"{2+2*turn}","after":[{"id":"{1+2*turn}","why":"mpi","communication":7}])")),
      2, 2);
  expectSame(
      scheduleOfRanks(
          writes(
              8,
              R"(,"compute":1,"id":"{10+turn}","after":[{"id":"{99+turn}","why":"mpi"},{"id":0,"why":"thread","compute":55}])"),
          kOpen + R"(,{"gap":1,"duration":1,"command":"delay","id":99},)" +
              writes(8, R"(,"compute":1,"id":"{100+turn}","after":["{10+turn}"])")
                  .substr(kOpen.size() + 1)),
      2, 2);
  expectSame(
      scheduleOfRanks(
          writes(8, R"(,"id":"{10+turn}")"),
          writes(
              8, R"(,"id":"{100+turn}")",
              R"(,{"gap":1,"duration":1,"command":"delay","after":[{"id":13,"why":"name","compute":5}]})")),
      2, 2);
}

TEST_F(LoopPrograms, OfWaitsForSingleEvents) {
  std::string singles;
  for (int i = 0; i < 8; ++i) {
    singles +=
        fmt::format(R"(,{{"gap":{},"duration":5,"command":"delay","id":{}}})", 100 * i, 10 + i);
  }
  expectSame(scheduleOfRanks(kOpen + singles, writes(8, R"(,"after":["{10+turn}"])")), 2, 1);
}

TEST_F(LoopPrograms, OfWaitsThatFollowNoStep) {
  expectSame(
      scheduleOfRanks(
          writes(8, R"(,"id":"{10+turn}")"),
          kOpen +
              R"(,{"repeat":4,"values":{"a":[0,3,1,7]},"body":[{"gap":1,"duration":1,"command":"delay","after":[{"id":"{10+a}","why":"mpi"}]}]})"),
      2, 2);
}

TEST_F(LoopPrograms, OfLinesOfWhichSomeHaveWork) {
  for (const char* share : {"[1,8]", "[3,8]", "[7,8]", "[8,8]", "[5,100]"}) {
    expectSame(
        scheduleOfRanks(
            writes(8, fmt::format(R"(,"compute":9,"communication":3,"share":{})", share)) + "," +
                writes(9, fmt::format(R"(,"compute":9,"share":{})", share))
                    .substr(kOpen.size() + 1),
            kOpen),
        2, 1);
  }
}

TEST_F(LoopPrograms, InACircle) {
  expectSame(scheduleOfRanks(writes(8, R"(,"id":"{10+turn}","after":["{100+turn}"])"),
                             writes(8, R"(,"id":"{100+turn}","after":["{10+turn}"])")),
             2, 2);
}

TEST_F(LoopPrograms, OfNestsWhoseRanksMeet) {
  const auto rank = [](int own, int other) {
    return kOpen +
           fmt::format(
               R"(,{{"repeat":5,"gap":10,"body":[{{"repeat":4,"body":[{{"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":512,"offset":"{{512*turn+4096*turn2}}","result":512,"compute":2,"id":"{{{}+turn+10*turn2}}"}}]}},)"
               R"({{"gap":1,"duration":2,"command":"delay","compute":3,"after":[{{"id":"{{{}+10*turn}}","why":"mpi","repeat":4,"step":1}}]}}]}})",
               own, other);
  };
  expectSame(scheduleOfRanks(rank(100, 500), rank(500, 100)), 2, 2);
}

TEST_F(LoopPrograms, ThatNameIdsThatAreNotThere) {
  expectSame(
      scheduleOfRanks(writes(8, R"(,"id":"{10+turn}")"), writes(8, R"(,"after":["{11+turn}"])")), 2,
      2);
  expectSame(scheduleOfRanks(writes(8, R"(,"id":"{10+turn}")"), writes(8, R"(,"id":"{17-turn}")")),
             2, 2);
}

TEST_F(LoopPrograms, OfMoreTurnsThanCouldBeWrittenOut) {
  const std::string events =
      R"({"repeat":1000000000,"body":[)"
      R"({"gap":2,"duration":3,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":"{turn}"},)"
      R"({"gap":1,"duration":2,"command":"write","fd":"{turn}","count":100,"offset":0,"result":100},)"
      R"({"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0}]})";
  const Compiled stay = compiled(scheduleOf(events, kOneFile), true, {});
  ASSERT_EQ(stay.refusal, "");
  ASSERT_FALSE(stay.complaint) << *stay.complaint;
  const PlannedThread& thread = stay.compiler->plan().threads.front();
  EXPECT_EQ(thread.operations, 3'000'000'000U);
  EXPECT_EQ(thread.last_end_ns, 13'000'000'000);
  EXPECT_EQ(stay.compiler->plan().phase_work.front().bytes, 100'000'000'000U);
  EXPECT_EQ(stay.compiler->plan().ranks.front().slots, 1'000'000'000U);
}

}  // namespace
}  // namespace omnio::replay
