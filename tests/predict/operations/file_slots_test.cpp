#include "predict/operations/file_slots.hpp"

#include <gtest/gtest.h>

namespace omnio::predict {
namespace {

TEST(FileSlots, FilesOneAfterTheOtherHaveOneSlot) {
  event::PathTable paths;
  FileSlots slots(paths);
  const event::FileId one = paths.idOf("/run7/dump.1.txt");
  const event::FileId other = paths.idOf("/run7/dump.22.txt");
  const Slot slot = slots.opened(one);
  EXPECT_EQ(slots.used(one), slot);
  slots.closed(one);
  EXPECT_EQ(slots.used(one), slot);  // its pages, through a mapping
  EXPECT_EQ(slots.opened(other), slot);
  EXPECT_EQ(slots.nameOf(slots.familyOf(slot)), "/run7/dump.#.txt");
  EXPECT_EQ(slots.families(), 1U);
}

TEST(FileSlots, FilesOpenAtOneTimeHaveSlotsOfTheirOwn) {
  event::PathTable paths;
  FileSlots slots(paths);
  const event::FileId a = paths.idOf("/part.0");
  const event::FileId b = paths.idOf("/part.1");
  const event::FileId c = paths.idOf("/part.2");
  const Slot first = slots.opened(a);
  const Slot second = slots.opened(b);
  EXPECT_NE(first, second);
  EXPECT_EQ(slots.opened(a), first);  // a second descriptor
  slots.closed(a);
  const Slot third = slots.opened(c);
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  slots.closed(a);
  slots.closed(c);
  EXPECT_EQ(slots.opened(c), third);
  EXPECT_EQ(slots.used(b), second);
}

TEST(FileSlots, FilesThatWereOpenBeforeKeepTheirSlots) {
  event::PathTable paths;
  FileSlots slots(paths);
  const event::FileId a = paths.idOf("/in.1");
  const event::FileId b = paths.idOf("/in.2");
  const Slot first = slots.used(a);
  const Slot second = slots.used(b);
  EXPECT_NE(first, second);
  EXPECT_EQ(slots.used(a), first);
  slots.closed(a);
  EXPECT_EQ(slots.opened(paths.idOf("/in.3")), first);
  EXPECT_EQ(slots.used(b), second);
}

TEST(FileSlots, OtherNamesAreOtherFamilies) {
  event::PathTable paths;
  FileSlots slots(paths);
  const Slot a = slots.opened(paths.idOf("/a.1"));
  const Slot b = slots.opened(paths.idOf("/b.1"));
  EXPECT_NE(slots.familyOf(a), slots.familyOf(b));
  EXPECT_EQ(slots.nameOf(slots.familyOf(b)), "/b.1");
}

TEST(FileSlots, ALaterRunGoesOnWithTheSlotsOfAnEarlierOne) {
  event::PathTable paths;
  FileSlots slots(paths);
  const Slot log = slots.opened(paths.idOf("/run7/log"));
  const Slot first = slots.opened(paths.idOf("/run7/part.0"));
  const Slot second = slots.opened(paths.idOf("/run7/part.1"));
  const Slot other_log = slots.opened(paths.idOf("/other/log"));

  event::PathTable later_paths;
  FileSlots later(later_paths);
  later.goOnWith(slots.kept());
  const Slot added = later.opened(later_paths.idOf("/new/notes"));
  EXPECT_GT(added, other_log);
  EXPECT_EQ(later.opened(later_paths.idOf("/run9/log")), log);  // "/run#/log"
  EXPECT_EQ(later.opened(later_paths.idOf("/moved/log")), other_log);
  EXPECT_EQ(later.opened(later_paths.idOf("/moved/log2")), added + 1);
  // A family that has moved, and has more files open than before.
  EXPECT_EQ(later.opened(later_paths.idOf("/moved/part.3")), first);
  EXPECT_EQ(later.opened(later_paths.idOf("/moved/part.4")), second);
  EXPECT_EQ(later.opened(later_paths.idOf("/moved/part.5")), added + 2);
  EXPECT_EQ(later.nameOf(later.familyOf(first)), "/moved/part.#");
}

}  // namespace
}  // namespace omnio::predict
