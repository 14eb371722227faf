#include "core/wire/path_pattern.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace omnio::wire {
namespace {

bool matches(std::string_view pattern, std::string_view path) {
  return matchesPattern(pattern, {.directory = {}, .name = path});
}

bool anyMatches(std::string_view patterns, std::string_view path) {
  return matchesAny(patterns, {.directory = {}, .name = path});
}

TEST(PathPattern, WithoutWildcardIsTheWholePath) {
  EXPECT_TRUE(matches("/data/out", "/data/out"));
  EXPECT_FALSE(matches("/data/out", "/data/out.1"));
  EXPECT_FALSE(matches("/data/out", "/more/data/out"));
  EXPECT_FALSE(matches("/data/out", "/data/ou"));
}

TEST(PathPattern, WithoutSlashIsHeldAgainstTheLastComponent) {
  EXPECT_TRUE(matches("out", "/data/out"));
  EXPECT_TRUE(matches("*.log", "/data/run.log"));
  EXPECT_FALSE(matches("data", "/data/out"));
  EXPECT_FALSE(matches("*.log", "/data.log/out"));
}

TEST(PathPattern, StarTakesSlashesToo) {
  EXPECT_TRUE(matches("/data/*", "/data/a/b/c"));
  EXPECT_TRUE(matches("/data/*", "/data/"));
  EXPECT_FALSE(matches("/data/*", "/data"));
  EXPECT_TRUE(matches("*/b/*", "/data/b/c"));
  EXPECT_TRUE(matches("*", "/anything/at/all"));
}

TEST(PathPattern, StarsSlideUntilTheRestFits) {
  EXPECT_TRUE(matches("/a*b*c", "/a-b-b-c-c"));
  EXPECT_FALSE(matches("/a*b*c", "/a-b-b-c-d"));
  EXPECT_TRUE(matches("/**/x", "/1/2/x"));
  EXPECT_TRUE(matches("/x**", "/x"));
}

TEST(PathPattern, ManyStarsAreNoTrouble) {
  // Quadratic at worst: backtracking over each star anew would never come to an end.
  std::string pattern = "/";
  for (int i = 0; i < 40; ++i) pattern += "*a";
  const std::string path = "/" + std::string(4000, 'a') + "b";
  EXPECT_FALSE(matches(pattern, path));
}

TEST(PathPattern, QuestionMarkTakesOneCharacter) {
  EXPECT_TRUE(matches("out.?", "/data/out.1"));
  EXPECT_FALSE(matches("out.?", "/data/out."));
  EXPECT_FALSE(matches("out.?", "/data/out.12"));
}

TEST(PathPattern, SetsAndRanges) {
  EXPECT_TRUE(matches("out.[0-9]", "/data/out.7"));
  EXPECT_FALSE(matches("out.[0-9]", "/data/out.x"));
  EXPECT_TRUE(matches("out.[xy7]", "/data/out.7"));
  EXPECT_TRUE(matches("out.[!0-9]", "/data/out.x"));
  EXPECT_FALSE(matches("out.[!0-9]", "/data/out.7"));
  EXPECT_FALSE(matches("out.[^0-9]", "/data/out.7"));
}

TEST(PathPattern, SetsTakeBracketsAndDashesLiterallyAtTheirEnds) {
  EXPECT_TRUE(matches("[]a]", "/data/]"));
  EXPECT_TRUE(matches("[!]a]", "/data/b"));
  EXPECT_FALSE(matches("[!]a]", "/data/]"));
  EXPECT_TRUE(matches("[a-]", "/data/-"));
}

TEST(PathPattern, SetWithoutEndIsABracket) {
  EXPECT_TRUE(matches("a[b", "/data/a[b"));
  EXPECT_FALSE(matches("a[b", "/data/ab"));
  EXPECT_TRUE(matches("[", "/data/["));
}

TEST(PathPattern, BackslashTakesTheNextCharacterAsItIs) {
  EXPECT_TRUE(matches("a\\*", "/data/a*"));
  EXPECT_FALSE(matches("a\\*", "/data/ab"));
  EXPECT_TRUE(matches("a\\[b\\]", "/data/a[b]"));
  EXPECT_TRUE(matches("a\\", "/data/a\\"));
}

TEST(PathPattern, ListsAreSeparatedByColons) {
  EXPECT_TRUE(anyMatches("*.log:/scratch/*", "/scratch/x"));
  EXPECT_TRUE(anyMatches("*.log:/scratch/*", "/data/x.log"));
  EXPECT_FALSE(anyMatches("*.log:/scratch/*", "/data/x"));
  EXPECT_TRUE(anyMatches("::x:", "/data/x"));
}

TEST(PathPattern, EmptyListsMatchNothing) {
  EXPECT_FALSE(anyMatches("", "/data/x"));
  EXPECT_FALSE(anyMatches(":", "/data/x"));
  EXPECT_FALSE(anyMatches("::", ""));
}

TEST(PathPattern, AColonInAPathIsEscaped) {
  EXPECT_TRUE(anyMatches("y:a\\:b", "/data/a:b"));
  EXPECT_FALSE(anyMatches("y:a\\:b", "/data/b"));
  EXPECT_TRUE(anyMatches("a\\:b", "/data/a:b"));
}

TEST(PathPattern, TwoPartsReadAsOnePath) {
  const PathParts parts{.directory = "/data/run", .name = "sub/out"};
  ASSERT_EQ(parts.size(), std::string_view("/data/run/sub/out").size());
  std::string whole;
  for (std::size_t i = 0; i < parts.size(); ++i) whole += parts[i];
  EXPECT_EQ(whole, "/data/run/sub/out");
  EXPECT_TRUE(matchesPattern("/data/run/sub/out", parts));
  EXPECT_TRUE(matchesPattern("out", parts));
  EXPECT_TRUE(matchesPattern("*/run/sub/*", parts));
  EXPECT_TRUE(matchesPattern("/data/ru?/su[b]/out", parts));
  EXPECT_FALSE(matchesPattern("sub", parts));
}

TEST(PathPattern, TheRootIsAnEmptyDirectoryPart) {
  const PathParts parts{.directory = std::string_view("/").substr(0, 0), .name = "proc/self/maps"};
  EXPECT_TRUE(parts.isJoined());
  EXPECT_EQ(parts.nameOffset(), 1U);
  EXPECT_TRUE(matchesPattern("/proc/*", parts));
  EXPECT_FALSE((PathParts{.directory = {}, .name = "/x"}).isJoined());
}

TEST(DefaultFilters, LeaveOutTheSystemsOwnAndMpisFiles) {
  for (const char* path :
       {"/proc/self/maps", "/sys/fs/cgroup/x", "/dev", "/dev/shm", "/dev/null", "/dev/sda1",
        "/dev/shmem", "/usr/lib/libm.so", "/usr/lib/libm.so.6", "/etc/ld.so.cache",
        "/tmp/ompi.host.0/pid.1/x", "/tmp/openmpi-sessions-0/x", "/run/pmix-1/x",
        "/local/job.1/ompi.n1.7/pid.1/1/0", "/local/job.1/ompi.n1.7/jf.0/x",
        "/local/job.1/openmpi-sessions-0/x", "/local/job.1/prte.n1.99.7/dvm/x",
        "/usr/share/openmpi/help.txt", "/home/me/.openmpi/mca-params.conf"}) {
    EXPECT_TRUE(anyMatches(kDefaultExclude, path)) << path;
  }
}

TEST(DefaultFilters, LeaveOutWhatLibrariesKeepInMemory) {
  for (const char* path :
       {"/dev/shm/omnio-00112233445566778899aabbccddeeff-0123456789abcdef-0",
        "/dev/shm/omnio-00112233445566778899aabbccddeeff-0123456789abcdef-lost",
        "/dev/shm/sem.mp-1", "/dev/shm/vader_segment.n1.1000.abc.0", "/dev/shm/osc_rdma.n1.abc.1",
        "/dev/shm/mpich_shar_tmpXa", "/dev/shm/ucx_shm_posix_1f", "/dev/shm/psm2_shm.1000",
        "/dev/shm/psm_shm.1", "/dev/shm/nccl-abc123", "/dev/shm/Intel_MPI_x"}) {
    EXPECT_TRUE(anyMatches(kDefaultExclude, path)) << path;
  }
  // Python's multiprocessing.shared_memory has the names psm_...; pymp-... are its directories.
  for (const char* path : {"/dev/shm/x", "/dev/shm/stage/in.dat", "/dev/shm/psm_1a2b3c4d",
                           "/dev/shm/pymp-abc/x", "/dev/shm/torch_1_2_3", "/dev/shm/omnio-files",
                           "/dev/shm/replay-omnio-1/tree/@memory/dev/shm/x"}) {
    EXPECT_FALSE(anyMatches(kDefaultExclude, path)) << path;
  }
}

TEST(PathPattern, ListsAreKnownByPlace) {
  EXPECT_EQ(countPatterns("a:b\\:c:d"), 3U);
  EXPECT_EQ(patternAt("a:b\\:c:d", 1), "b\\:c");
  EXPECT_EQ(patternAt("a:b\\:c:d", 2), "d");
  EXPECT_EQ(firstMatch("x:/a/*:*.log", {.directory = {}, .name = "/a/b.log"}), 1U);
  EXPECT_EQ(firstMatch("x", {.directory = {}, .name = "/a"}), kNoPattern);
}

// A path that fits the pattern, or would but for one character.
std::string pathLike(std::string_view pattern, std::mt19937& random) {
  std::string path;
  bool is_in_set = false;
  for (const char c : pattern) {
    if (c == '[') is_in_set = true;
    if (c == '*') {
      for (const char* more : {"", "/a.so", "x", "/home/me", "7"}) {
        if (random() % 3 == 0) path += more;
      }
    } else if (!is_in_set) {
      path += c;
    } else if (c == ']') {
      path += "7s!"[random() % 3];
    }
    if (c == ']') is_in_set = false;
  }
  if (!path.starts_with('/')) path.insert(0, "/");
  if (random() % 2 == 0) path[1 + random() % (path.size() - 1)] = "/.x-s"[random() % 5];
  return path;
}

TEST(DefaultFilters, AreFoundAsInTheList) {
  std::mt19937 random(1);
  std::size_t found = 0;
  for (int i = 0; i < 40'000; ++i) {
    const std::string path =
        pathLike(patternAt(kDefaultExclude, random() % kDefaultPatterns), random);
    const PathParts whole{.directory = {}, .name = path};
    const std::size_t place = firstMatch(kDefaultExclude, whole);
    found += place == kNoPattern ? 0 : 1;
    ASSERT_EQ(firstDefaultMatch(whole), place) << path;
    for (std::size_t cut = path.find('/', 1); cut != std::string::npos;
         cut = path.find('/', cut + 1)) {
      const std::string_view view = path;
      const PathParts parts{.directory = view.substr(0, cut), .name = view.substr(cut + 1)};
      ASSERT_EQ(firstDefaultMatch(parts), place) << path << " cut at " << cut;
    }
  }
  EXPECT_GT(found, 10'000U);
  EXPECT_LT(found, 35'000U);
}

TEST(DefaultFilters, KeepTheApplicationsFiles) {
  for (const char* path : {"/data/out", "/home/me/dump.so.txt", "/scratch/process/x",
                           "/data/proc/x", "/devices/x", "/tmp/x", "/data/file.sol", "/data/a.so.b",
                           "/data/ompi.results", "/data/ompi.run.1/out", "/data/prte.log"}) {
    EXPECT_FALSE(anyMatches(kDefaultExclude, path)) << path;
  }
}

}  // namespace
}  // namespace omnio::wire
