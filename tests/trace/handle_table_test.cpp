#include "trace/runtime/handle_table.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/trace/started_fixture.hpp"

namespace omnio::trace {
namespace {

class HandleTable : public test::StartedFixture {
 protected:
  std::string file(const std::string& name) const { return (directory_ / name).native(); }

  // Opens a file as a wrapper would.
  static int openTraced(const std::string& path) {
    const int fd = open(path.c_str(), O_CREAT | O_RDWR, 0644);
    EXPECT_GE(fd, 0);
    openHandle(fd, {.directory = {}, .name = path}, O_CREAT | O_RDWR);
    return fd;
  }
  static void closeTraced(int fd) {
    releaseHandle(takeOut(fd));
    close(fd);
  }
  static std::string pathOfDescriptor(int fd) { return std::string(pathOf(infoOf(find(fd)))); }
};

TEST_F(HandleTable, KnowsWhatWasOpened) {
  traced([this] {
    const int fd = openTraced(file("a"));
    const Entry entry = lookUp(fd);
    ASSERT_TRUE(entry.isTraced());
    const HandleInfo& info = infoOf(entry);
    EXPECT_EQ(pathOf(info), file("a"));
    EXPECT_EQ(info.fd, fd);
    EXPECT_EQ(info.origin, wire::Origin::kOpened);
    EXPECT_EQ(info.kind, wire::FileKind::kRegular);
    EXPECT_EQ(info.description, entry.handle());
    EXPECT_TRUE(isStill(info, entry.handle()));
    closeTraced(fd);
    EXPECT_FALSE(lookUp(fd).isKnown());
    EXPECT_FALSE(isStill(info, entry.handle()));
  });
}

TEST_F(HandleTable, KeepsTheSizeThatAFileHadWhenItWasOpened) {
  traced([this] {
    const int fd = openTraced(file("sized"));
    EXPECT_EQ(infoOf(lookUp(fd)).size, 0);
    ASSERT_EQ(write(fd, "12345", 5), 5);
    const int again = openTraced(file("sized"));
    EXPECT_EQ(infoOf(lookUp(again)).size, 5);
    const int copy = dup(again);
    duplicateHandle(copy, lookUp(again));
    EXPECT_EQ(infoOf(lookUp(copy)).size, wire::kUnknownSize);
    for (const int open : {fd, again, copy}) closeTraced(open);
  });
}

TEST_F(HandleTable, FindsOutWhatAnInheritedDescriptorIs) {
  traced([this] {
    const int fd = open(file("b").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0644);
    EXPECT_FALSE(lookUp(fd).isKnown());
    ASSERT_TRUE(find(fd).isTraced());
    const HandleInfo& info = infoOf(lookUp(fd));
    EXPECT_EQ(pathOf(info), file("b"));
    EXPECT_EQ(info.origin, wire::Origin::kInherited);
    EXPECT_TRUE((info.open_flags & O_APPEND) != 0);
  });
}

TEST_F(HandleTable, SocketsAndPipesAreKnownAndNotTraced) {
  traced([] {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_FALSE(find(ends[0]).isTraced());
    EXPECT_TRUE(lookUp(ends[0]).isKnown());
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    EXPECT_FALSE(find(ends[1]).isTraced());
    EXPECT_TRUE(lookUp(ends[1]).isKnown());
  });
}

TEST_F(HandleTable, DescriptorsOutOfRangeAreNoHandles) {
  traced([] {
    for (const int fd : {-1, -100, 1 << 24, 0x7FFFFFFF, 900}) {
      EXPECT_FALSE(find(fd).isTraced()) << fd;
      EXPECT_FALSE(takeOut(fd).isKnown()) << fd;
    }
  });
}

TEST_F(HandleTable, DuplicatesShareTheDescriptionNotTheHandle) {
  traced([this] {
    const int fd = openTraced(file("c"));
    const int copy = dup(fd);
    duplicateHandle(copy, lookUp(fd));
    const int third = dup(copy);
    duplicateHandle(third, lookUp(copy));
    EXPECT_NE(lookUp(copy).handle(), lookUp(fd).handle());
    EXPECT_EQ(infoOf(lookUp(copy)).description, lookUp(fd).handle());
    EXPECT_EQ(infoOf(lookUp(third)).description, lookUp(fd).handle());
    EXPECT_EQ(infoOf(lookUp(third)).origin, wire::Origin::kDuplicated);
    EXPECT_EQ(pathOfDescriptor(third), file("c"));
    closeTraced(fd);
    EXPECT_EQ(pathOfDescriptor(third), file("c"));
  });
}

TEST_F(HandleTable, ADuplicateOverATracedDescriptorTakesItsPlace) {
  traced([this] {
    const int fd = openTraced(file("from"));
    const int over = openTraced(file("over"));
    const Entry before = lookUp(over);
    ASSERT_EQ(dup2(fd, over), over);
    duplicateHandle(over, lookUp(fd));
    EXPECT_EQ(pathOfDescriptor(over), file("from"));
    EXPECT_FALSE(isStill(infoOf(before), before.handle()));
  });
}

TEST_F(HandleTable, ANumberUsedAgainIsAnotherHandle) {
  traced([this] {
    std::set<std::uint32_t> handles;
    int first = -1;
    for (int i = 0; i < 1000; ++i) {
      const int fd = openTraced(file("again" + std::to_string(i % 3)));
      if (first < 0) first = fd;
      EXPECT_EQ(fd, first);
      EXPECT_TRUE(handles.insert(lookUp(fd).handle()).second);
      EXPECT_EQ(pathOfDescriptor(fd), file("again" + std::to_string(i % 3)));
      closeTraced(fd);
    }
  });
}

TEST_F(HandleTable, AsManyDescriptorsAsThereMayBe) {
  constexpr rlim_t kWanted = 20000;
  constexpr rlim_t kOthers = 100;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min(kWanted + kOthers, limit.rlim_max);
  const rlim_t count = limit.rlim_cur - kOthers;
  if (count < kWanted / 10) {
    GTEST_SKIP() << "no more than " << limit.rlim_max << " descriptors are allowed here";
  }
  traced([this, limit, count] {
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    std::vector<int> descriptors;
    for (rlim_t i = 0; i < count; ++i) {
      descriptors.push_back(openTraced(file("f" + std::to_string(i % 100))));
    }
    std::set<std::uint32_t> handles;
    for (rlim_t i = 0; i < count; ++i) {
      const int fd = descriptors[i];
      ASSERT_TRUE(lookUp(fd).isTraced());
      ASSERT_TRUE(handles.insert(lookUp(fd).handle()).second);
      ASSERT_EQ(pathOfDescriptor(fd), file("f" + std::to_string(i % 100)));
    }
    int closed = 0;
    TakenHandles(static_cast<unsigned>(descriptors[0]), ~0U).forEach([&closed](Entry) {
      ++closed;
    });
    EXPECT_EQ(closed, static_cast<int>(count));
    EXPECT_FALSE(lookUp(descriptors.back()).isKnown());
  });
}

TEST_F(HandleTable, LongPathsAreKeptWhole) {
  traced([this] {
    // Longer than a handle holds by itself, and given relative to a directory.
    std::string deep;
    for (int i = 0; i < 12; ++i) deep += std::string(40, static_cast<char>('a' + i)) + "/";
    std::filesystem::create_directories(file(deep));
    ASSERT_EQ(chdir(file("").c_str()), 0);
    workingDirectoryChanged();
    const std::string name = deep + "file";
    const int fd = open(name.c_str(), O_CREAT | O_RDWR, 0644);
    ASSERT_GE(fd, 0);
    openHandle(fd, resolvePath(AT_FDCWD, name.c_str()), 0);
    EXPECT_EQ(pathOfDescriptor(fd), file(name));
    const wire::PathParts parts = partsOf(infoOf(lookUp(fd)));
    EXPECT_EQ(std::string(parts.name), name);
    EXPECT_EQ(std::string(parts.directory) + "/", file(""));
    const int copy = dup(fd);
    duplicateHandle(copy, lookUp(fd));
    EXPECT_EQ(pathOfDescriptor(copy), file(name));
  });
}

TEST_F(HandleTable, MoreLongPathsThanASlabHolds) {
  traced([this] {
    const std::string base = file(std::string(100, 'x'));
    std::filesystem::create_directories(base);
    std::vector<int> descriptors;
    for (int i = 0; i < 200; ++i) {
      descriptors.push_back(openTraced(base + "/" + std::string(150, 'y') + std::to_string(i)));
    }
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(pathOfDescriptor(descriptors[static_cast<std::size_t>(i)]),
                base + "/" + std::string(150, 'y') + std::to_string(i));
    }
    for (const int fd : descriptors) closeTraced(fd);
  });
}

}  // namespace
}  // namespace omnio::trace
