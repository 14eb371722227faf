#include "core/storage/target_storage.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace omnio::storage {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TargetStorage known(Moved moved, Moved synced = {}) {
  TargetStorage storage;
  storage.is_known = true;
  storage.moved = moved;
  storage.synced = synced;
  return storage;
}

MeasuredPart partOf(const Moved& calls, const std::vector<TargetStorage>& targets,
                    MeasuredUntil until = MeasuredUntil::kLastCall) {
  return measuredPart(calls, targets, until);
}

TEST(MeasuredPart, IsMemoryWhereLessThanHalfOfTheBytesCrossed) {
  const Moved calls{.read_bytes = 0, .written_bytes = 100};
  EXPECT_EQ(partOf(calls, {known({.read_bytes = 0, .written_bytes = 49})}), MeasuredPart::kMemory);
  EXPECT_EQ(partOf(calls, {known({.read_bytes = 0, .written_bytes = 50})}), MeasuredPart::kStorage);
  EXPECT_EQ(partOf({.read_bytes = 60, .written_bytes = 40},
                   {known({.read_bytes = 20, .written_bytes = 29})}),
            MeasuredPart::kMemory);
}

TEST(MeasuredPart, IsStorageWithTheSyncThatWritesTheRest) {
  const Moved calls{.read_bytes = 0, .written_bytes = 100};
  const auto target =
      known({.read_bytes = 0, .written_bytes = 10}, {.read_bytes = 0, .written_bytes = 90});
  EXPECT_EQ(partOf(calls, {target}), MeasuredPart::kMemory);
  EXPECT_EQ(partOf(calls, {target}, MeasuredUntil::kSync), MeasuredPart::kStorage);
}

TEST(MeasuredPart, DoesNotTakeOneDirectionForTheOther) {
  // What was read is all from memory, whatever else reaches the device.
  EXPECT_EQ(partOf({.read_bytes = 100, .written_bytes = 10},
                   {known({.read_bytes = 0, .written_bytes = 5000})}),
            MeasuredPart::kMemory);
}

TEST(MeasuredPart, IsUnknownWhereNothingIsCounted) {
  const Moved calls{.read_bytes = 1, .written_bytes = 1};
  EXPECT_EQ(partOf(calls, {TargetStorage()}), MeasuredPart::kUnknown);
  EXPECT_EQ(partOf(calls, {known({.read_bytes = 1, .written_bytes = 1}), TargetStorage()}),
            MeasuredPart::kUnknown);
  EXPECT_EQ(partOf(calls, {}), MeasuredPart::kUnknown);
  EXPECT_EQ(partOf({}, {known({.read_bytes = 7, .written_bytes = 7})}), MeasuredPart::kUnknown);
}

TEST(MeasuredPart, IsMemoryOnAFileSystemInMemory) {
  TargetStorage memory;
  memory.is_known = memory.is_memory = true;
  memory.moved = {.read_bytes = 100, .written_bytes = 100};
  EXPECT_EQ(partOf({.read_bytes = 100, .written_bytes = 100}, {memory}), MeasuredPart::kMemory);
  // Most went to the other target.
  EXPECT_EQ(partOf({.read_bytes = 0, .written_bytes = 100},
                   {memory, known({.read_bytes = 0, .written_bytes = 70})}),
            MeasuredPart::kStorage);
}

TEST(TargetStorage, IsReadAsItWasWritten) {
  TargetStorage storage =
      known({.read_bytes = 1, .written_bytes = 2}, {.read_bytes = 3, .written_bytes = 4});
  storage.target = "fast";
  storage.calls = {.read_bytes = 5, .written_bytes = 6};
  storage.busy = 0.25;
  storage.dirty_bytes = 7;
  const auto path = std::filesystem::path(testing::TempDir()) / "target_storage_test.json";
  const auto text = [](const TargetStorage& one) {
    const TargetStorage all[] = {one};
    std::string out;
    base::JsonWriter json(out);
    json.object([&] { putStorage(json, all); });
    return out;
  };
  std::ofstream(path) << text(storage);
  base::JsonReader in(path);
  const base::JsonNode document = in.value();
  ASSERT_NE(document.find("storage"), nullptr);
  const TargetStorage read =
      targetStorageOf(in, document.find("storage")->as<base::JsonNode::List>()->front());
  EXPECT_TRUE(in.finish());
  EXPECT_EQ(text(read), text(storage));
  EXPECT_FALSE(read.own);
}

TEST(TargetStorage, OfSeveralRunsAddsUp) {
  TargetStorage first =
      known({.read_bytes = 1, .written_bytes = 2}, {.read_bytes = 0, .written_bytes = 5});
  first.calls = {.read_bytes = 10, .written_bytes = 20};
  first.own = {.read_bytes = 1, .written_bytes = 1};
  first.busy = 0.5;
  TargetStorage second = first;
  second.own.reset();
  second.busy = 0.25;
  const TargetStorage all[] = {first, second};
  const TargetStorage sum = sumOf(all);
  EXPECT_TRUE(sum.is_known);
  EXPECT_EQ(sum.calls->written_bytes, 40U);
  EXPECT_EQ(sum.moved.written_bytes, 4U);
  EXPECT_EQ(sum.synced.written_bytes, 10U);
  EXPECT_FALSE(sum.own);
  EXPECT_DOUBLE_EQ(sum.busy, 0.5);
  EXPECT_FALSE(sumOf({}).is_known);
}

TEST(StorageText, SaysWhatReachedStorageAndWhatItMeans) {
  const Moved calls{.read_bytes = 0, .written_bytes = 40 * kGiB};
  TargetStorage storage = known({.read_bytes = 0, .written_bytes = 3 * kGiB},
                                {.read_bytes = 0, .written_bytes = 37 * kGiB});
  storage.calls = calls;
  storage.busy = 0.934;
  const TargetStorage all[] = {storage};
  EXPECT_EQ(
      storageText(calls, all),
      "Storage: calls read 0 B and wrote 40.0 GiB; 0 B came from storage and 3.00 GiB reached "
      "it in the time; 37.0 GiB more reached it in the sync; the busiest device worked for "
      "93 % of the time\n"
      "Less than half of the bytes of the calls came from storage or reached it in the time: it "
      "is the time of memory, and with the final sync that of the storage\n");
}

TEST(StorageText, SaysWhichShareBelongsToOthers) {
  const Moved calls{.read_bytes = 0, .written_bytes = kGiB};
  TargetStorage storage = known({.read_bytes = kGiB, .written_bytes = 3 * kGiB});
  storage.target = "fast";
  storage.own = {.read_bytes = 0, .written_bytes = kGiB};
  const TargetStorage all[] = {storage};
  EXPECT_EQ(storageText(calls, all),
            "Storage of fast: 1.00 GiB came from storage and 3.00 GiB reached it in the time; of "
            "these 1.00 GiB read and 2.00 GiB written outside the run's control group\n");
}

TEST(StorageText, SaysWhereNothingIsCounted) {
  TargetStorage memory;
  memory.is_known = memory.is_memory = true;
  const TargetStorage of_memory[] = {memory};
  const Moved calls{.read_bytes = 1, .written_bytes = 1};
  EXPECT_EQ(storageText(calls, of_memory), "Storage: the memory of the node\n");
  TargetStorage unknown[] = {TargetStorage()};
  EXPECT_EQ(storageText(calls, unknown), "Storage: a node does not count what it did\n");
  unknown[0].why_unknown = "the kernel does not count what fuse.sshfs does";
  EXPECT_EQ(storageText(calls, unknown),
            "Storage: the kernel does not count what fuse.sshfs does\n");
}

}  // namespace
}  // namespace omnio::storage
