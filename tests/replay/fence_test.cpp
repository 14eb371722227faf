#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "replay/target/tree.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

int errorOfOpening(const fs::path& path, int flags) {
  const int fd = open(path.c_str(), flags, 0644);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

TEST(Fence, WritesWithinAndNothingOutside) {
  const test::TemporaryDirectory directory;
  fs::create_directories(directory / "inside/a");
  fs::create_directories(directory / "inside/b");
  fs::create_directory(directory / "outside");
  test::writeAll(directory / "outside/file", "canary");
  const Fence fence({directory / "inside"});
  if (fence.name() == "paths only") GTEST_SKIP() << "this kernel has no Landlock";
  // In a thread of its own: a fence is for good.
  std::thread([&] {
    ASSERT_TRUE(fence.enter());
    EXPECT_EQ(errorOfOpening(directory / "inside/a/new", O_WRONLY | O_CREAT), 0);
    EXPECT_EQ(rename((directory / "inside/a/new").c_str(), (directory / "inside/b/new").c_str()),
              0);
    EXPECT_EQ(errorOfOpening(directory / "inside/b/new", O_WRONLY | O_TRUNC), 0);
    EXPECT_EQ(unlink((directory / "inside/b/new").c_str()), 0);
    EXPECT_EQ(errorOfOpening(directory / "outside/file", O_RDONLY), 0);
    EXPECT_EQ(errorOfOpening(directory / "outside/file", O_WRONLY), EACCES);
    EXPECT_EQ(errorOfOpening(directory / "outside/new", O_WRONLY | O_CREAT), EACCES);
    EXPECT_NE(unlink((directory / "outside/file").c_str()), 0);
    EXPECT_NE(truncate((directory / "outside/file").c_str(), 0), 0);
  }).join();
  EXPECT_EQ(test::readAll(directory / "outside/file"), "canary");
  EXPECT_EQ(errorOfOpening(directory / "outside/file", O_WRONLY), 0);
}

}  // namespace
}  // namespace omnio::replay
