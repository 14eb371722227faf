// Files of a job: the job is this process.
#include "prefetch/job_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "prefetch/page_fetcher.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::prefetch {
namespace {

constexpr std::int64_t kBytes = 1 << 20;

class JobFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    const Storage storage(directory.path(), 0);
    if (!storage.isCoherent()) GTEST_SKIP() << "needs a directory on a local disk";
  }
  JobDescriptor opened(const std::string& name) {
    const std::string path = directory / name;
    if (!std::filesystem::exists(path)) test::writeAll(path, std::string(kBytes, 'x'));
    descriptors_.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    fstat(descriptors_.back().get(), &facts);
    return {.pid = static_cast<std::uint32_t>(getpid()),
            .fd = descriptors_.back().get(),
            .file = {.device = facts.st_dev, .inode = facts.st_ino}};
  }
  // How many descriptors of this process are the file's.
  std::size_t openCount(const std::string& name) const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      if (std::filesystem::read_symlink(entry.path(), error) == directory / name) ++count;
    }
    return count;
  }

  const test::TemporaryDirectory directory;

 private:
  std::vector<base::Descriptor> descriptors_;
};

// Fixture that sends a request for the first block.
class PageFetcherTest : public JobFilesTest {
 protected:
  PageFetcher::Request request(const JobDescriptor& opener) const {
    return {.file = 1,
            .opener = opener,
            .kept = {},
            .let_go = {},
            .storage = std::make_shared<Storage>(opener.path(), opener.file.device),
            .ranges = {{.begin = 0, .end = kBytes / 2}},
            .cause_ns = 0};
  }
  static PageFetcher::Came cameOf(PageFetcher::Request request) {
    PageFetcher fetcher;
    EXPECT_TRUE(fetcher.add(std::move(request)));
    std::vector<PageFetcher::Done> done;
    while ((done = fetcher.takeDone()).empty()) std::this_thread::yield();
    EXPECT_EQ(done.size(), 1);
    return done.front().came;
  }
};

TEST_F(PageFetcherTest, KeepsNothingOpen) {
  const JobDescriptor file = opened("file");
  EXPECT_NE(cameOf(request(file)), PageFetcher::Came::kNothing);
  EXPECT_EQ(openCount("file"), 1);
}

TEST_F(PageFetcherTest, AFileThatWasClosedIsNotOpened) {
  const JobDescriptor file = opened("file");
  const PageFetcher::Request asked = request(file);
  close(file.fd);
  EXPECT_EQ(cameOf(asked), PageFetcher::Came::kNothing);
  // The number is another file's by now.
  const JobDescriptor other = opened("other");
  EXPECT_EQ(dup2(other.fd, file.fd), file.fd);
  EXPECT_EQ(cameOf(asked), PageFetcher::Came::kNothing);
}

TEST_F(PageFetcherTest, AFileThatWasLetGoIsLeftAlone) {
  const JobDescriptor file = opened("file");
  std::stop_source source;
  PageFetcher::Request asked = request(file);
  asked.let_go = source.get_token();
  source.request_stop();
  EXPECT_EQ(cameOf(asked), PageFetcher::Came::kNothing);
  auto kept = std::make_shared<const base::Descriptor>(file.open());
  asked = request(file);
  asked.kept = PageFetcher::KeptOpen{.descriptor = kept, .changed_ns = *changeTimeOf(kept->get())};
  kept.reset();
  EXPECT_EQ(openCount("file"), 1);
  EXPECT_EQ(cameOf(asked), PageFetcher::Came::kNothing);
}

TEST_F(PageFetcherTest, StorageIsNotJudgedByARequestThatWasStopped) {
  const JobDescriptor file = opened("file");
  Storage storage(file.path(), file.file.device);
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(storage.fetch(file.fd, {.begin = 0, .end = kBytes}, source.get_token()));
  EXPECT_EQ(storage.method(), Storage::Method::kUntried);
  EXPECT_TRUE(storage.fetch(file.fd, {.begin = 0, .end = kBytes}, {}));
  EXPECT_EQ(storage.method(), Storage::Method::kReadahead);
}

TEST_F(PageFetcherTest, ALeaseIsNotBroken) {
  const JobDescriptor file = opened("file");
  if (fcntl(file.fd, F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases here";
  EXPECT_FALSE(file.open());
  fcntl(file.fd, F_SETLEASE, F_UNLCK);
  EXPECT_TRUE(file.open());
}

class HeldFilesTest : public JobFilesTest {
 protected:
  HeldFilesTest() { figures.budget_bytes = kBytes; }
  void operate(std::uint64_t process, const JobDescriptor& by, predict::Kind kind,
               unsigned open_flags = O_RDONLY) {
    const predict::Operation operation{.kind = kind, .has_offset = true, .bytes = 1};
    files.take(process,
               {.thread = 0, .operation = operation, .opener = by, .open_flags = open_flags});
  }
  void fetch(const JobDescriptor& by, std::int64_t begin, std::int64_t bytes) {
    EXPECT_TRUE(files.fetch({.opener = by,
                             .range = {.begin = begin, .end = begin + bytes},
                             .owner = {},
                             .cause_ns = 0}));
    files.sendAll();
  }

  PageFetcher fetcher;
  Figures figures;
  JobFiles files{fetcher, -1, 0, figures, [](const FetchedRanges::Owner&, bool) {}};
};

TEST_F(HeldFilesTest, TheLastCloseEndsAFile) {
  const JobDescriptor first = opened("file");
  const JobDescriptor second = opened("file");
  operate(1, first, predict::Kind::kRead);
  operate(2, second, predict::Kind::kRead);
  fetch(first, 4096, 8192);
  operate(1, first, predict::Kind::kClose);
  EXPECT_EQ(figures.wasted_bytes, 0);
  operate(1, first, predict::Kind::kClose);
  EXPECT_EQ(figures.wasted_bytes, 0);
  operate(2, second, predict::Kind::kClose);
  EXPECT_EQ(figures.wasted_bytes, 8192);
  EXPECT_EQ(figures.fetched_bytes, 8192);
}

TEST_F(HeldFilesTest, ACloseThatWasMissedIsSeenByTheNextFileOfItsNumber) {
  const JobDescriptor file = opened("file");
  operate(1, file, predict::Kind::kRead);
  fetch(file, 4096, 8192);
  JobDescriptor other = opened("other");
  other.fd = file.fd;
  operate(1, other, predict::Kind::kRead);
  EXPECT_EQ(figures.wasted_bytes, 8192);
}

TEST_F(HeldFilesTest, TheEndOfAProcessEndsItsFilesAlone) {
  const JobDescriptor file = opened("file");
  const JobDescriptor other = opened("other");
  operate(1, file, predict::Kind::kRead);
  operate(1, other, predict::Kind::kRead);
  operate(2, other, predict::Kind::kRead);
  fetch(file, 4096, 8192);
  fetch(other, 4096, 4096);
  files.gone(1);
  EXPECT_EQ(figures.wasted_bytes, 8192);
  files.gone(2);
  EXPECT_EQ(figures.wasted_bytes, 8192 + 4096);
}

TEST_F(HeldFilesTest, NothingIsFetchedPastThePageCache) {
  const JobDescriptor file = opened("file");
  operate(1, file, predict::Kind::kRead, O_RDONLY | O_DIRECT);
  fetch(file, 4096, 8192);
  operate(1, file, predict::Kind::kRead);  // F_SETFL
  fetch(file, 65536, 4096);
  files.finish();
  EXPECT_EQ(figures.fetched_bytes, 4096);
}

TEST_F(HeldFilesTest, WhatIsBehindTheEndOfAFileIsNotFetched) {
  const JobDescriptor file = opened("file");
  operate(1, file, predict::Kind::kRead);
  fetch(file, kBytes - 4096, 8192);
  fetch(file, 2 * kBytes, 4096);
  files.finish();
  EXPECT_EQ(figures.fetched_bytes, 4096);
}

}  // namespace
}  // namespace omnio::prefetch
