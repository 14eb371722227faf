// Order that starts and waits of processes put the steps of a schedule into, in cases whose edges
// and delays were drawn by hand. The files are different ones.
#include <fstream>

#include "core/order/process_tree.hpp"
#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

using model::Reason;
using model::Work;

// Of the processes that start others. Threads of the test's traces have this id too.
constexpr std::uint32_t kShell = 5000;

class ProcessOrder : public TracedRun {
 protected:
  // A line of notes, as the tracer writes it.
  void note(const std::string& line) {
    std::ofstream(directory_ / "trace" / "node1.processes", std::ios::app) << line << '\n';
  }
  void start(std::uint32_t pid, std::uint32_t child, int begin, int end) {
    note(fmt::format("fork {} 1 {} {} {} {}", pid, pid, child, begin, end));
  }
  void wait(std::uint32_t pid, std::uint32_t child, int begin, int end) {
    note(fmt::format("wait {} 1 {} {} {} {}", pid, pid, child, begin, end));
  }
  // A program that opens a file of its own 100 after it began, and then writes for 1000.
  void command(std::uint32_t pid, std::uint64_t begin, std::uint32_t parent = kShell) {
    Thread thread(token(0) + pid);
    thread.open(begin + 100, begin + 110, fmt::format("/run/file{}", pid), O_RDWR | O_CREAT, 1)
        .data("pwrite", begin + 200, begin + 1200, 1, 100, 0);
    save(0, 1, {&thread}, pid, parent, begin);
  }
  // Events of the program with that file.
  static const std::vector<ScheduleEvent>& eventsOf(const Kept& kept, std::uint32_t pid) {
    for (std::size_t i = 0; i < kept.headers.size(); ++i) {
      if (kept.headers[i].pid == pid) return kept.threads[i];
    }
    throw std::runtime_error("no such process");
  }
  static model::Wait after(const ScheduleEvent& event, std::int64_t compute) {
    return {event.id, Reason::kThread, {.compute_ns = compute}};
  }
};

TEST_F(ProcessOrder, CommandsOfAShellFollowEachOther) {
  start(kShell, 901, 1000, 1010);
  wait(kShell, 901, 1020, 2250);
  start(kShell, 902, 2260, 2270);
  wait(kShell, 902, 2280, 3900);
  start(kShell, 903, 3910, 3920);
  command(901, 1030);
  command(902, 2300);
  command(903, 4000);
  const Kept kept = schedule();
  const auto& first = eventsOf(kept, 901);
  const auto& second = eventsOf(kept, 902);
  const auto& third = eventsOf(kept, 903);
  EXPECT_TRUE(first.at(0).after.empty());
  EXPECT_EQ(second.at(0).own, Work{});
  // 20 until the first command has ended, 10 of the shell, 140 of the second command.
  EXPECT_EQ(second.at(0).after, std::vector{after(first.at(1), 170)});
  EXPECT_FALSE(second.at(1).own.has_value());
  // That it waits for the first command too follows from the second.
  EXPECT_EQ(third.at(0).after, std::vector{after(second.at(1), 400 + 10 + 190)});
}

TEST_F(ProcessOrder, CommandsInTheBackgroundAreInNoOrderUntilTheyAreWaitedFor) {
  start(kShell, 901, 1000, 1010);
  start(kShell, 902, 1020, 1030);
  wait(kShell, 902, 1050, 2300);
  wait(kShell, 901, 2310, 2315);
  start(kShell, 903, 2320, 2330);
  command(901, 1040);
  command(902, 1045);
  command(903, 2400);
  const Kept kept = schedule();
  EXPECT_TRUE(eventsOf(kept, 901).at(0).after.empty());
  EXPECT_EQ(eventsOf(kept, 902).at(0).after, std::vector<model::Wait>{});
  // The first had ended when it was waited for, and did nothing after its write.
  const std::vector expected{after(eventsOf(kept, 901).at(1), 10 + 180),
                             after(eventsOf(kept, 902).at(1), 55 + 20 + 180)};
  std::vector<model::Wait> found = eventsOf(kept, 903).at(0).after;
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.work.compute_ns < b.work.compute_ns; });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, expected[0].id);
  EXPECT_EQ(found[1], expected[1]);
}

TEST_F(ProcessOrder, AShellInAShellPassesTheOrderOn) {
  start(kShell, 910, 1000, 1010);
  note("exec 910 0 0 901 1020 1020");
  note("exec 910 0 0 901 1025 1025");  // as a shell looks for a program along its path
  wait(910, 901, 1030, 2250);
  wait(kShell, 910, 1015, 2270);
  start(kShell, 902, 2280, 2290);
  command(901, 1030, 910);
  command(902, 2300);
  const Kept kept = schedule();
  EXPECT_EQ(eventsOf(kept, 902).at(0).after,
            std::vector{after(eventsOf(kept, 901).at(1), 20 + 20 + 10 + 120)});
}

TEST_F(ProcessOrder, AProgramWithoutIoBetweenTwoCommandsIsADelay) {
  start(kShell, 901, 1000, 1010);
  wait(kShell, 901, 1020, 2250);
  start(kShell, 920, 2260, 2270);  // sleep, say
  wait(kShell, 920, 2280, 502260);
  start(kShell, 902, 502270, 502280);
  command(901, 1030);
  command(902, 502300);
  const Kept kept = schedule();
  EXPECT_EQ(eventsOf(kept, 902).at(0).after,
            std::vector{after(eventsOf(kept, 901).at(1), 20 + 10 + 500000 + 10 + 130)});
}

TEST_F(ProcessOrder, AParentWithIoComesBeforeItsChildAndGoesOnAfterIt) {
  Thread parent(token(0) + kShell);
  parent.open(1000, 1010, "/run/own", O_RDWR | O_CREAT, 1)
      .data("pwrite", 1020, 1100, 1, 100, 0)
      .data("pwrite", 1160, 1200, 1, 100, 100)
      .data("pwrite", 2500, 2600, 1, 100, 200);
  save(0, 1, {&parent}, kShell, 1);
  start(kShell, 901, 1120, 1130);
  wait(kShell, 901, 1210, 2450);
  command(901, 1200);
  const Kept kept = schedule();
  const auto& own = eventsOf(kept, kShell);
  const auto& child = eventsOf(kept, 901);
  EXPECT_EQ(child.at(0).after, std::vector{after(own.at(1), 200)});
  EXPECT_TRUE(own.at(2).after.empty());
  // 10 before it waited, and 50 afterwards.
  EXPECT_EQ(own.at(3).own, (Work{60, 0}));
  EXPECT_EQ(own.at(3).after, std::vector{after(child.at(1), 50 + 50)});
}

// As Python's Popen.poll() in a loop with I/O: what the parent does meanwhile is not the child's.
TEST_F(ProcessOrder, AParentThatPollsAndWorksWaitsSinceItsLastCall) {
  Thread parent(token(0) + kShell);
  parent.open(1000, 1010, "/run/own", O_RDWR | O_CREAT, 1)
      .data("pwrite", 1500, 401900, 1, 100, 0)
      .data("pwrite", 402200, 402300, 1, 100, 100);
  save(0, 1, {&parent}, kShell, 1);
  start(kShell, 901, 1120, 1130);
  wait(kShell, 901, 1140, 402000);
  command(901, 1200);
  const Kept kept = schedule();
  const auto& own = eventsOf(kept, kShell);
  // It had ended long before it was found, so that it adds nothing but the way back to the parent.
  const std::uint64_t last = eventsOf(kept, 901).at(1).id;
  ASSERT_EQ(own.at(2).after.size(), 1U);
  EXPECT_EQ(own.at(2).after.front().id, last);
  EXPECT_LE(own.at(2).after.front().work.compute_ns, 300);
}

// Each child is taken by one start alone, also where the C library names none of them.
TEST_F(ProcessOrder, ChildrenOfPopenFollowTheirOwnStart) {
  Thread parent(token(0) + kShell);
  parent.open(1000, 1010, "/run/own", O_RDWR | O_CREAT, 1)
      .data("pwrite", 3000, 3100, 1, 100, 0)
      .data("pwrite", 6000, 6100, 1, 100, 100);
  save(0, 1, {&parent}, kShell, 1);
  note(fmt::format("fork {} 1 {} 0 1020 1030", kShell, kShell));
  note(fmt::format("fork {} 1 {} 0 3120 3130", kShell, kShell));
  command(901, 1200);
  command(902, 3200);
  const Kept kept = schedule();
  const auto& own = eventsOf(kept, kShell);
  EXPECT_EQ(eventsOf(kept, 901).at(0).after.at(0).id, own.at(0).id);
  EXPECT_EQ(eventsOf(kept, 902).at(0).after.at(0).id, own.at(1).id);
}

TEST_F(ProcessOrder, SystemNamesNoChildAndIsFollowedAllTheSame) {
  Thread parent(token(0) + kShell);
  parent.open(1000, 1010, "/run/own", O_RDWR | O_CREAT, 1).data("pwrite", 2500, 2600, 1, 100, 0);
  save(0, 1, {&parent}, kShell, 1);
  note(fmt::format("run {} 1 {} 0 1020 2450", kShell, kShell));
  // The shell runs it in a child of its own, and says first what it is about to run.
  note("exec 899 0 0 901 1190 1190");
  note("wait 899 5000 899 901 1195 2420");
  command(901, 1200, 899);
  const Kept kept = schedule();
  const auto& child = eventsOf(kept, 901);
  EXPECT_EQ(child.at(0).after, std::vector{after(eventsOf(kept, kShell).at(0), 290)});
  EXPECT_EQ(eventsOf(kept, kShell).at(1).after, std::vector{after(child.at(1), 20 + 30 + 50)});
}

TEST_F(ProcessOrder, AProgramFollowsTheOneThatItsProcessWasBefore) {
  Thread first(1);
  first.open(1000, 1010, "/run/first", O_RDWR | O_CREAT, 1);
  Thread second(2);
  second.open(2000, 2010, "/run/second", O_RDWR | O_CREAT, 1);
  for (const auto& [thread, begin, name] : {std::tuple(&first, 500U, "node1.4711.0.omnio"),
                                            std::tuple(&second, 1500U, "node1.4711.1.omnio")}) {
    ContainerBuilder container(begin == 500 ? 1 : 2, 4711);
    container.header.begin.ticks = container.header.begin.monotonic_ns = begin;
    auto facts = test::usualFacts();
    facts[wire::info::kDirectory] = "/run";
    facts[wire::info::kProcessStart] = "77";
    container.facts(facts).chunk(thread->chunk()).ended(1);
    container.save(directory_ / "trace" / name);
  }
  const Kept kept = schedule();
  EXPECT_EQ(kept.threads.at(1).at(0).after, std::vector{after(kept.threads.at(0).at(0), 990)});
}

TEST_F(ProcessOrder, ANumberThatIsUsedAgainIsAnotherProcess) {
  start(kShell, 901, 1000, 1010);
  start(kShell, 902, 1020, 1030);
  wait(kShell, 902, 1030, 2300);
  start(kShell, 902, 2310, 2320);
  wait(kShell, 902, 2330, 2335);
  wait(kShell, 901, 2340, 5000);
  start(kShell, 903, 5010, 5020);
  command(901, 3000);
  command(902, 1045);
  command(903, 5030);
  const Kept kept = schedule();
  EXPECT_TRUE(eventsOf(kept, 901).at(0).after.empty());
  EXPECT_EQ(eventsOf(kept, 903).at(0).after.size(), 2U);
}

TEST_F(ProcessOrder, AThreadFollowsItsCreatorAndComesBeforeWhoJoinsIt) {
  Thread main(token(0) + kShell);
  main.open(1000, 1010, "/run/own", O_RDWR | O_CREAT, 1).data("pwrite", 3000, 3100, 1, 100, 0);
  Thread other(token(0) + kShell, 1);
  other.open(1200, 1210, "/run/other", O_RDWR | O_CREAT, 2).data("pwrite", 1300, 2300, 2, 100, 0);
  Thread third(token(0) + kShell, 2);
  third.open(3300, 3310, "/run/third", O_RDWR | O_CREAT, 3);
  save(0, 1, {&main, &other, &third}, kShell, 1);
  // The handle of a thread that was joined is used again.
  note("create 5000 0 5000 140000000000000 1030 1040");
  note("self 5000 0 5001 140000000000000 1195 1195");
  note("join 5000 0 5000 140000000000000 1050 2500");
  note("create 5000 0 5000 140000000000000 3150 3160");
  note("self 5000 0 5002 140000000000000 3290 3290");
  const Kept kept = schedule();
  const auto& first = kept.threads.at(0);
  const auto& second = kept.threads.at(1);
  EXPECT_EQ(second.at(0).own, Work{});
  EXPECT_EQ(second.at(0).after, std::vector{after(first.at(0), 20 + 170)});
  // Its own 540 are less than what the other thread waited for.
  EXPECT_EQ(first.at(1).own, Work{});
  EXPECT_EQ(first.at(1).after, std::vector{after(second.at(1), 200 + 500)});
  EXPECT_EQ(kept.threads.at(2).at(0).after, std::vector{after(first.at(1), 50 + 150)});
}

TEST_F(ProcessOrder, AThreadWithoutEventsPassesTheOrderOn) {
  Thread main(token(0) + kShell);
  main.open(1000, 1010, "/run/own", O_RDWR | O_CREAT, 1).data("pwrite", 3000, 3100, 1, 100, 0);
  Thread inner(token(0) + kShell, 1);
  inner.open(1200, 1210, "/run/other", O_RDWR | O_CREAT, 2);
  save(0, 1, {&main, &inner}, kShell, 1);
  note("create 5000 0 5000 77 1030 1040");
  note("self 5000 0 5099 77 1055 1055");
  note("create 5000 0 5099 88 1060 1070");
  note("self 5000 0 5001 88 1195 1195");
  note("join 5000 0 5099 88 1080 1300");
  note("join 5000 0 5000 77 1050 1400");
  const Kept kept = schedule();
  EXPECT_EQ(kept.threads.at(1).at(0).after,
            std::vector{after(kept.threads.at(0).at(0), 20 + 30 + 140)});
  EXPECT_EQ(kept.threads.at(0).at(1).after,
            std::vector{after(kept.threads.at(1).at(0), 90 + 100 + 1600)});
}

TEST_F(ProcessOrder, AChildThatIsStartedDuringAWaitIsNotStartedAfterIt) {
  // make asks for an ended child, finds none, and starts another one first.
  start(kShell, 901, 1000, 1010);
  wait(kShell, 901, 1012, 2300);
  start(kShell, 902, 1020, 1030);
  wait(kShell, 902, 2310, 2320);
  command(901, 1040);
  command(902, 1045);
  const Kept kept = schedule();
  EXPECT_TRUE(eventsOf(kept, 902).at(0).after.empty());
}

TEST_F(ProcessOrder, WithoutThatOrderNothingOfItIsKept) {
  start(kShell, 901, 1000, 1010);
  wait(kShell, 901, 1020, 2250);
  start(kShell, 902, 2260, 2270);
  command(901, 1030);
  command(902, 2300);
  for (const model::Order order : {model::Order::kFile, model::Order::kNone}) {
    const Kept kept = schedule({.order = order});
    EXPECT_TRUE(eventsOf(kept, 902).at(0).after.empty());
  }
  EXPECT_EQ(eventsOf(schedule({.order = model::Order::kMpi}), 902).at(0).after.size(), 1U);
}

TEST_F(ProcessOrder, ManyCommandsInTheBackgroundMeetOnce) {
  constexpr std::uint32_t kMany = 40;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    const int at = 1000 + 10 * static_cast<int>(i);
    start(kShell, 1000 + i, at, at + 5);
    wait(kShell, 1000 + i, 5000 + at, 5000 + at + 5);
    start(kShell, 2000 + i, 9000 + at, 9000 + at + 5);
    command(1000 + i, 2000 + i);
    command(2000 + i, 20000 + i);
  }
  const Kept kept = schedule();
  std::size_t waits = 0;
  for (const auto& thread : kept.threads) {
    for (const ScheduleEvent& event : thread) waits += event.after.size();
  }
  // Each of the second forty would wait for each of the first without a meeting.
  EXPECT_LT(waits, 3 * kMany);
  EXPECT_GE(waits, 2 * kMany - 1);
}

TEST(ChildNotes, LinesThatAreNoNotesMeanNothing) {
  EXPECT_TRUE(order::parseChildNote("fork 1 2 3 4 5 6"));
  for (const char* line :
       {"", "fork", "fork 1 2 3 4 5", "fork 1 2 3 4 5 6 7", "fork 1 2 3 4 6 5", "spawn 1 2 3 4 5 6",
        "fork 1 2 3 4 5 -6", "fork -1 2 3 4 5 6", "fork  1 2 3 4 5 6", "fork 1 2 3 4 5 6x",
        "fork 99999999999 2 3 4 5 6", "forks 1 2 3 4 5 6"}) {
    EXPECT_FALSE(order::parseChildNote(line)) << line;
  }
}

}  // namespace
}  // namespace omnio::preprocess
