// A trace takes rings by their names, headers and owners.
#include "core/tracefile/trace_identity.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "core/tracefile/collect.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/pack_trace.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/trace.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {

void PrintTo(tracefile::TraceIdentity::Fit fit, std::ostream* out) {
  constexpr const char* kNames[] = {"kOurs", "kOtherRun", "kOtherOwner"};
  *out << kNames[static_cast<int>(fit)];
}

namespace {

namespace fs = std::filesystem;
using Fit = tracefile::TraceIdentity::Fit;
using test::ChunkBuilder;
using test::ContainerBuilder;
using test::kToken;
using test::TemporaryDirectory;

constexpr uid_t kStranger = 54321;
constexpr wire::RunId kOtherRun{.high = 1, .low = 2};

TEST(Runs, AreWrittenAsTheyAreRead) {
  const wire::Run run = tracefile::newRun();
  EXPECT_TRUE(run.id.isSet());
  EXPECT_NE(run.id, tracefile::newRun().id);
  EXPECT_EQ(run.supervisor.pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_TRUE(tracefile::isAlive(run.supervisor.pid, run.supervisor.start));
  EXPECT_EQ(run.supervisor.boot, tracefile::bootNumber(tracefile::thisBoot()));
  const wire::Run read = wire::parseRun(tracefile::runText(run));
  EXPECT_EQ(read.id, run.id);
  EXPECT_EQ(read.supervisor, run.supervisor);
  EXPECT_EQ(tracefile::runIdText({.high = 0xAB, .low = 1}), "00000000000000ab0000000000000001");
}

TEST(Runs, AreNamedInTheSecondLineOfTheClaim) {
  const TemporaryDirectory directory;
  const auto claimed = [&directory](const std::string& text) {
    test::writeAll(directory / tracefile::kClaimFile, text);
    return tracefile::claimedRun(directory.path());
  };
  EXPECT_FALSE(tracefile::claimedRun(directory.path()).isSet());
  EXPECT_EQ(claimed("a job\n" + tracefile::runIdText(kOtherRun) + "\n"), kOtherRun);
  EXPECT_FALSE(claimed("a job\n").isSet());
  EXPECT_FALSE(claimed(tracefile::runIdText(kOtherRun) + "\n").isSet());
  EXPECT_FALSE(claimed("a job\n" + tracefile::runIdText(kOtherRun) + "0\n").isSet());
  EXPECT_FALSE(claimed("a job\n" + tracefile::runIdText(kOtherRun).substr(1) + "\n").isSet());
}

TEST(RingNames, SayRunAndToken) {
  const auto name = tracefile::ringNameOf(test::ringName(kOtherRun, 0xABC, 17));
  ASSERT_TRUE(name);
  EXPECT_EQ(name->run, kOtherRun);
  EXPECT_EQ(name->token, 0xABCU);
  const std::string run = tracefile::runIdText(kOtherRun);
  EXPECT_TRUE(tracefile::ringNameOf("omnio-" + run + "-0000000000000abc-lost"));
  for (const std::string& other :
       {std::string("omnio-"), "omnio-" + run, "omnio-" + run + "-0000000000000abc",
        "omnio-" + run + "-abc-0", "omnio-" + run + "-00000000000000abc-0",
        "omnio-" + run + "_0000000000000abc-0", "omnio" + run + "-0000000000000abc-0",
        "Omnio-" + run + "-0000000000000abc-0", std::string("omnio-0000000000000abc-0"),
        "omnio-x" + run.substr(1) + "-0000000000000abc-0"}) {
    EXPECT_FALSE(tracefile::ringNameOf(other)) << other;
  }
}

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() {
    setenv("OMNIO_RING_DIR", rings_.path().c_str(), 1);
    fs::create_directory(trace_);
    fs::permissions(trace_, fs::perms::owner_all);
  }
  ~IdentityTest() override { unsetenv("OMNIO_RING_DIR"); }

  // The ring as it is read again.
  tracefile::RingContent ring(test::RingSpec spec = {}) const {
    spec.token = kToken;
    spec.pid = test::kDeadPid;
    if (spec.trace_directory.empty()) spec.trace_directory = trace_;
    const fs::path path = rings_ / "ring";
    test::saveRing(path, spec);
    auto content = tracefile::readRing(path);
    fs::remove(path);
    if (!content) throw std::runtime_error("no ring");
    return std::move(*content);
  }
  void claim(const wire::RunId& run) const {
    test::writeAll(trace_ / tracefile::kClaimFile, "a job\n" + tracefile::runIdText(run) + "\n");
  }
  Fit fit(const tracefile::RingContent& ring, bool token_is_known = false) const {
    return tracefile::TraceIdentity::of(trace_).fit(ring, token_is_known);
  }

  TemporaryDirectory place_;
  TemporaryDirectory rings_;
  fs::path trace_ = place_ / "trace";
};

TEST_F(IdentityTest, WithoutAClaimTheDirectoryItselfSaysWhichRun) {
  EXPECT_EQ(fit(ring()), Fit::kOurs);
  EXPECT_EQ(fit(ring({.run = kOtherRun})), Fit::kOtherRun);
  EXPECT_EQ(fit(ring({.run = kOtherRun}), true), Fit::kOtherRun);
  const tracefile::TraceIdentity identity = tracefile::TraceIdentity::of(trace_);
  EXPECT_TRUE(identity.isCandidate({.run = test::runOf(trace_), .token = kToken}));
  EXPECT_FALSE(identity.isCandidate({.run = kOtherRun, .token = kToken}));
}

TEST_F(IdentityTest, TheClaimedRunIsTheTracesAndSoIsThatOfTheDirectory) {
  claim(kOtherRun);
  EXPECT_EQ(fit(ring({.run = kOtherRun})), Fit::kOurs);
  EXPECT_EQ(fit(ring()), Fit::kOurs);
  EXPECT_EQ(fit(ring({.run = wire::RunId{.high = 1, .low = 3}})), Fit::kOtherRun);
}

TEST_F(IdentityTest, ADirectoryMadeAgainUnderTheSamePathIsAnother) {
  const tracefile::RingContent before = ring();
  fs::rename(trace_, place_ / "before");  // so that its inode is not used again
  fs::create_directory(trace_);
  EXPECT_EQ(fit(before, true), Fit::kOtherRun);
  claim(kOtherRun);
  EXPECT_EQ(fit(before, true), Fit::kOtherRun);
}

TEST_F(IdentityTest, AMovedDirectoryKeepsItsRings) {
  const tracefile::RingContent before = ring();
  fs::rename(trace_, place_ / "moved");
  EXPECT_EQ(tracefile::TraceIdentity::of(place_ / "moved").fit(before, false), Fit::kOurs);
}

TEST_F(IdentityTest, ACopyTakesRingsOnlyWhenTheOriginalIsGone) {
  claim(kOtherRun);
  const tracefile::RingContent before = ring({.run = kOtherRun});
  const fs::path copy = place_ / "copy";
  fs::copy(trace_, copy, fs::copy_options::recursive);
  EXPECT_EQ(tracefile::TraceIdentity::of(copy).fit(before, true), Fit::kOtherRun);
  EXPECT_EQ(fit(before), Fit::kOurs);
  fs::rename(trace_, place_ / "elsewhere");
  // Another directory is now where the original was.
  fs::create_directory(trace_);
  EXPECT_EQ(tracefile::TraceIdentity::of(copy).fit(before, true), Fit::kOurs);
  EXPECT_EQ(tracefile::TraceIdentity::of(copy).fit(before, false), Fit::kOtherRun);
}

TEST_F(IdentityTest, AProcessThatCouldNotLookAtTheDirectoryIsOfTheRunThatItWasTold) {
  claim(kOtherRun);
  const test::RingSpec blind{.run = kOtherRun, .directory_device = 0, .directory_inode = 0};
  EXPECT_EQ(fit(ring(blind)), Fit::kOurs);
}

TEST_F(IdentityTest, RingsOfUsersWhoMayNotWriteTheTraceAreNotTaken) {
  tracefile::RingContent planted = ring();
  planted.uid = kStranger;
  planted.stated_uid = kStranger;
  EXPECT_EQ(fit(planted), Fit::kOtherOwner);
  tracefile::TraceIdentity identity = tracefile::TraceIdentity::of(trace_);
  identity.admitOwner(kStranger);
  EXPECT_EQ(identity.fit(planted, false), Fit::kOurs);
  // Anyone may write there.
  fs::permissions(trace_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(fit(planted), Fit::kOurs);
  planted.run = kOtherRun;
  EXPECT_EQ(fit(planted), Fit::kOtherRun);
}

TEST_F(IdentityTest, AFileThatIsNotItsMakersIsNotTaken) {
  tracefile::RingContent given = ring();
  given.stated_uid = kStranger;
  EXPECT_EQ(fit(given), Fit::kOtherOwner);
  fs::permissions(trace_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(fit(given), Fit::kOtherOwner);
}

TEST_F(IdentityTest, WhoHasAContainerThereMayHaveRings) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  tracefile::RingContent theirs = ring();
  theirs.uid = kStranger;
  theirs.stated_uid = kStranger;
  test::writeAll(trace_ / "node1.1.0.omnio", "");
  EXPECT_EQ(fit(theirs), Fit::kOtherOwner);
  ASSERT_EQ(chown((trace_ / "node1.1.0.omnio").c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(fit(theirs), Fit::kOurs);
}

TEST_F(IdentityTest, OfADirectoryThatIsGoneOnlyOwnRingsAreTaken) {
  const tracefile::RingContent own = ring();
  tracefile::RingContent planted = ring();
  planted.uid = kStranger;
  planted.stated_uid = kStranger;
  fs::rename(trace_, place_ / "gone");
  const tracefile::TraceIdentity of_run = tracefile::TraceIdentity::ofRun(own.run);
  EXPECT_EQ(of_run.fit(own, false), Fit::kOurs);
  EXPECT_EQ(of_run.fit(planted, false), Fit::kOtherOwner);
  EXPECT_EQ(tracefile::TraceIdentity::ofRun(kOtherRun).fit(own, false), Fit::kOtherRun);
  EXPECT_EQ(tracefile::TraceIdentity::ofGone(trace_).fit(own, false), Fit::kOurs);
  EXPECT_EQ(tracefile::TraceIdentity::ofGone(trace_).fit(planted, false), Fit::kOtherOwner);
  EXPECT_EQ(tracefile::TraceIdentity::ofGone(place_ / "other").fit(own, false), Fit::kOtherRun);
}

// A trace of one killed process with a ring that is its own.
class ForeignRingsTest : public IdentityTest {
 protected:
  ForeignRingsTest() {
    container().save(trace_ / "node1.1.0.omnio");
    save(0, {.open = &tail_});
  }
  ContainerBuilder container(std::map<std::string, std::string> facts = {}) const {
    facts.merge(test::usualFacts());
    ContainerBuilder container(kToken, test::kDeadPid);
    container.facts(facts).running();
    return container;
  }
  fs::path save(unsigned number, test::RingSpec spec) const {
    spec.token = kToken;
    spec.pid = test::kDeadPid;
    if (spec.trace_directory.empty()) spec.trace_directory = trace_;
    fs::path path = rings_ / test::ringName(spec.run.value_or(test::runOf(trace_)), kToken, number);
    test::saveRing(path, spec);
    return path;
  }
  std::uint64_t events() const { return tracefile::assess(*tracefile::Trace::open(trace_)).events; }

  static ChunkBuilder chunk(std::uint32_t sequence) {
    ChunkBuilder chunk(kToken, 0, sequence, sequence);
    chunk.write(2000, 2050, 512);
    return chunk;
  }
  const ChunkBuilder tail_ = chunk(0);
  const ChunkBuilder more_ = chunk(1);
};

TEST_F(ForeignRingsTest, AreNeitherReadNorCollectedNorRemoved) {
  TemporaryDirectory other;
  const fs::path foreign[] = {
      save(1, {.open = &more_, .run = kOtherRun}),  // of an earlier run with this directory
      save(2, {.trace_directory = other.path(), .open = &more_}),  // its header names another run
      save(3, {.open = &more_, .uid = kStranger}),                 // a copy
  };
  EXPECT_EQ(events(), 1U);
  EXPECT_EQ(tracefile::deadRingsOf(tracefile::TraceIdentity::of(trace_)).rings.size(), 1U);
  EXPECT_EQ(tracefile::deadRingsOf(tracefile::TraceIdentity::of(trace_)).of_others, 1U);
  const tracefile::CollectReport report = tracefile::collectRings(trace_);
  EXPECT_EQ(report.rings, 1U);
  EXPECT_EQ(report.events, 1U);
  EXPECT_EQ(report.of_others, 1U);
  EXPECT_TRUE(report.troubles.empty());
  for (const fs::path& path : foreign) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_EQ(events(), 1U);
}

TEST_F(ForeignRingsTest, OfAUserThatTheProcessBecameAreItsOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const fs::path later = save(1, {.open = &more_, .uid = kStranger});
  ASSERT_EQ(chown(later.c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(events(), 1U);
  EXPECT_EQ(tracefile::collectRings(trace_).of_others, 1U);
  container({{"owner.54321", "1"}}).chunk(tail_).save(trace_ / "node1.1.0.omnio");
  EXPECT_EQ(events(), 2U);
  EXPECT_EQ(tracefile::packTrace(trace_, {.assume_ended = true}).failure().sentence,
            fmt::format("{}: events of process {} are still in memory: run `omnio collect` first",
                        trace_.native(), test::kDeadPid));
  const tracefile::CollectReport report = tracefile::collectRings(trace_);
  EXPECT_EQ(report.of_others, 0U);
  EXPECT_EQ(report.events, 1U);
  EXPECT_FALSE(fs::exists(later));
}

TEST_F(ForeignRingsTest, UnfinishedOnesOfTheRunAreRemoved) {
  const fs::path unfinished = rings_ / test::ringName(trace_, kToken, 7);
  test::writeAll(unfinished, std::string(20000, '\0'));
  const fs::path other = rings_ / test::ringName(kOtherRun, kToken, 7);
  test::writeAll(other, std::string(20000, '\0'));
  if (!tracefile::hasWriter(unfinished)) GTEST_SKIP() << "leases are not given here";
  EXPECT_EQ(tracefile::deadRingsOf(tracefile::TraceIdentity::of(trace_)).rings.size(), 2U);
  EXPECT_EQ(tracefile::collectRings(trace_).rings, 2U);
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace omnio
