#include "core/storage/storage_watch.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace omnio::storage {
namespace {

StorageRecord watched(const std::filesystem::path& directory, double interval_s) {
  StorageWatch watch(directory);
  watch.begin(interval_s);
  return watch.end();
}

TEST(StorageWatch, KnowsFilesInMemory) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  const StorageRecord record = watched("/dev/shm", 1);
  EXPECT_EQ(record.kind, SourceKind::kMemory) << record.mount;
  EXPECT_GT(record.capacity_bytes, 0U);
  EXPECT_FALSE(record.busy);
}

TEST(StorageWatch, SaysWhyADirectoryIsUnknown) {
  EXPECT_EQ(watched("/there/is/none", 1).why_unknown, "the directory cannot be looked up");
  const StorageRecord record = watched("/proc", 1);
  EXPECT_EQ(record.kind, SourceKind::kUnknown);
  EXPECT_EQ(record.why_unknown, "the kernel does not count what proc does");
}

TEST(StorageWatch, SamplesAddUpToTheWhole) {
  const StorageRecord record = watched(std::filesystem::temp_directory_path(), 1e-3);
  ASSERT_FALSE(record.samples.empty());
  Moved sum;
  for (const StorageSample& sample : record.samples) sum += sample.moved;
  EXPECT_EQ(sum.read_bytes, record.moved.read_bytes);
  EXPECT_EQ(sum.written_bytes, record.moved.written_bytes);
  EXPECT_DOUBLE_EQ(record.samples.back().end_s, record.seconds);
}

TEST(StorageSamples, AreJoinedInPairsByTheirTime) {
  std::vector<StorageSample> samples(3);
  samples[0] = {
      .end_s = 1, .moved = {.read_bytes = 1, .written_bytes = 10}, .busy = 1, .memory = {}};
  samples[1] = {.end_s = 4,
                .moved = {.read_bytes = 2, .written_bytes = 20},
                .busy = 0.2,
                .memory = {.dirty_bytes = 7, .cached_bytes = 8}};
  samples[2] = {
      .end_s = 5, .moved = {.read_bytes = 4, .written_bytes = 40}, .busy = 0.5, .memory = {}};
  joinPairs(samples);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].end_s, 4);
  EXPECT_EQ(samples[0].moved.written_bytes, 30U);
  EXPECT_DOUBLE_EQ(samples[0].busy, (1 * 1 + 0.2 * 3) / 4);
  EXPECT_EQ(samples[0].memory.dirty_bytes, 7U);
  EXPECT_EQ(samples[1].moved.read_bytes, 4U);
}

TEST(StorageRecord, GoesOnWithALaterPartOfTheTime) {
  const auto part = [](double seconds, std::uint64_t bytes, double busy) {
    StorageRecord record;
    record.seconds = seconds;
    record.moved.written_bytes = bytes;
    record.own = {.read_bytes = 0, .written_bytes = bytes / 2};
    record.busy = busy;
    record.busiest = busy > 0.5 ? "sdb" : "sda";
    record.memory_end.dirty_bytes = bytes;
    record.samples.push_back({.end_s = seconds, .moved = record.moved, .busy = busy, .memory = {}});
    return record;
  };
  StorageRecord record = part(1, 100, 0.2);
  append(record, part(3, 10, 0.6));
  EXPECT_DOUBLE_EQ(record.seconds, 4);
  EXPECT_EQ(record.moved.written_bytes, 110U);
  EXPECT_EQ(record.own->written_bytes, 55U);
  EXPECT_DOUBLE_EQ(*record.busy, (1 * 0.2 + 3 * 0.6) / 4);
  EXPECT_EQ(record.busiest, "sdb");
  EXPECT_EQ(record.memory_end.dirty_bytes, 10U);
  ASSERT_EQ(record.samples.size(), 2U);
  EXPECT_DOUBLE_EQ(record.samples[1].end_s, 4);
}

}  // namespace
}  // namespace omnio::storage
