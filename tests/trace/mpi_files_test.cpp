#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/trace/started_fixture.hpp"
#include "trace/runtime/mpi/objects.hpp"

namespace omnio::trace {
namespace {

class MpiFiles : public test::StartedFixture {
 protected:
  static Entry handleOf(const std::string& path, bool exists = false) {
    return openFile(path.c_str(), {.directory = {}, .name = path}, 9, exists);
  }
  // An MPI_File is the address of an object of the library's, whose content does not matter.
  static const void* mpiFile(std::uintptr_t number) {
    return reinterpret_cast<const void*>(0x1000 + 512 * number);
  }
};

TEST_F(MpiFiles, AreFoundUntilTheyAreTaken) {
  traced([] {
    EXPECT_FALSE(findMpiFile(mpiFile(1)).isTraced());
    const Entry entry = handleOf("/data/a");
    rememberMpiFile(mpiFile(1), entry);
    EXPECT_EQ(findMpiFile(mpiFile(1)).word(), entry.word());
    EXPECT_FALSE(findMpiFile(mpiFile(2)).isTraced());
    EXPECT_EQ(takeMpiFile(mpiFile(1)).word(), entry.word());
    EXPECT_FALSE(findMpiFile(mpiFile(1)).isTraced());
    EXPECT_FALSE(takeMpiFile(mpiFile(1)).isTraced());
  });
}

TEST_F(MpiFiles, AnAddressUsedAgainIsTheNewFile) {
  traced([] {
    const Entry first = handleOf("/data/a");
    rememberMpiFile(mpiFile(1), first);
    const Entry second = handleOf("/data/b");
    rememberMpiFile(mpiFile(1), second);
    EXPECT_EQ(findMpiFile(mpiFile(1)).word(), second.word());
    EXPECT_FALSE(isStill(infoOf(first), first.handle()));
    takeMpiFile(mpiFile(1));
    EXPECT_FALSE(findMpiFile(mpiFile(1)).isTraced());
  });
}

TEST_F(MpiFiles, AreWithoutBoundAndOpenedByManyThreads) {
  traced([] {
    constexpr unsigned kThreads = 4;
    constexpr unsigned kFiles = 2000;
    std::vector<std::thread> threads;
    std::vector<int> wrong(kThreads);
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([t, &wrong] {
        for (int turn = 0; turn < 3; ++turn) {
          std::vector<Entry> entries;
          for (unsigned i = 0; i < kFiles; ++i) {
            entries.push_back(handleOf("/data/x"));
            rememberMpiFile(mpiFile(i * kThreads + t), entries.back());
          }
          for (unsigned i = 0; i < kFiles; ++i) {
            const void* const file = mpiFile(i * kThreads + t);
            wrong[t] += findMpiFile(file).word() == entries[i].word() ? 0 : 1;
            wrong[t] += takeMpiFile(file).word() == entries[i].word() ? 0 : 1;
            wrong[t] += findMpiFile(file).isTraced() ? 1 : 0;
            releaseHandle(entries[i]);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(kThreads));
  });
}

TEST_F(MpiFiles, AHandleHasTheFilesIdentityAndTheKernelsWayUp) {
  const std::string path = (directory_ / "file").native();
  std::ofstream(path) << "x";
  std::filesystem::create_directory(directory_ / "turn");
  traced([&] {
    const Entry entry = handleOf((directory_ / "turn/../file").native(), true);
    ASSERT_TRUE(entry.isTraced());
    const HandleInfo& info = infoOf(entry);
    EXPECT_EQ(pathOf(info), path);
    EXPECT_EQ(info.fd, -1);
    EXPECT_EQ(info.open_flags, 9U);
    EXPECT_NE(info.inode, 0U);
    EXPECT_EQ(info.kind, wire::FileKind::kRegular);
  });
}

TEST_F(MpiFiles, AKnownPrefixIsPassedOverUnlessThereIsAFileOfThatName) {
  std::filesystem::current_path(directory_.path());
  EXPECT_STREQ(withoutFileSystem("ufs:/data/a"), "/data/a");
  EXPECT_STREQ(withoutFileSystem("lustre:a"), "a");
  EXPECT_STREQ(withoutFileSystem("other:/data/a"), "other:/data/a");
  EXPECT_STREQ(withoutFileSystem("/data/ufs:a"), "/data/ufs:a");
  EXPECT_STREQ(withoutFileSystem("ufs"), "ufs");
  EXPECT_STREQ(withoutFileSystem(""), "");
  std::ofstream("ufs:here") << "x";
  EXPECT_STREQ(withoutFileSystem("ufs:here"), "ufs:here");
}

}  // namespace
}  // namespace omnio::trace
