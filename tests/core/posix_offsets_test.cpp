// Which file a name, an inode and a descriptor stand for: how long it is decides where appended
// bytes lie.
#include "core/tracefile/posix_offsets.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <string>
#include <string_view>

#include "tests/core/trace_builder.hpp"

namespace omnio::tracefile {
namespace {

using calls::Role;

class PosixOffsetsOf : public testing::Test {
 protected:
  event::Event eventOf(std::string_view symbol, std::string_view path = {}) {
    event::Event event;
    event.row = &calls::kTable[test::numberOf(symbol)];
    if (!path.empty()) event.file = paths_.idOf(path);
    return event;
  }

  // A handle for an inode, by one name of it.
  event::Handle open(std::string_view path, std::uint64_t inode, int flags,
                     std::int64_t size = wire::kUnknownSize) {
    event::Handle handle;
    handle.definition.handle = handle.definition.description = ++handles_;
    handle.definition.open_flags = static_cast<std::uint32_t>(flags);
    handle.definition.device = 1;
    handle.definition.inode = inode;
    handle.definition.size = size;
    handle.path.absolute = path;
    handle.path.file = paths_.idOf(path);
    event::Event event = eventOf("open", path);
    event.new_handle = &handle;
    take(event);
    return handle;
  }

  // The offset; "12+" where it was the end, and "12?" where that is not known.
  std::string write(const event::Handle& handle, std::int64_t bytes) {
    event::Event event = eventOf("write", paths_.path(handle.path.file));
    event.handle = &handle;
    event.result = bytes;
    event.bytes = static_cast<std::uint64_t>(bytes);
    const auto located = take(event);
    if (!located) return "none";
    return std::to_string(located->transfer.offset) + (located->transfer.at_end ? "+" : "") +
           (located->is_behind_unknown ? "?" : "");
  }

  void names(std::string_view symbol, std::string_view from, std::string_view to = {},
             unsigned flags = 0) {
    event::Event event = eventOf(symbol, from);
    if (!to.empty()) {
      event.texts[static_cast<std::size_t>(calls::indexOf(*event.row, Role::kPathNew))].absolute =
          to;
    }
    if (flags != 0) {
      event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, Role::kFlags))] = flags;
    }
    take(event);
  }

  std::optional<PosixOffsets::Located> take(const event::Event& event) {
    return offsets_.take(process_, event);
  }

  // A file of that length, which is known.
  void make(std::string_view path, std::uint64_t inode, std::int64_t bytes) {
    const event::Handle handle = open(path, inode, O_WRONLY | O_CREAT | O_TRUNC);
    write(handle, bytes);
    event::Event event = eventOf("close", path);
    event.handle = &handle;
    take(event);
  }

  std::string append(std::string_view path, std::uint64_t inode, std::int64_t bytes) {
    return write(open(path, inode, O_WRONLY | O_APPEND), bytes);
  }

  Process process_;
  event::PathTable paths_;
  std::uint64_t sessions_ = 0;
  std::uint32_t handles_ = 0;
  PosixOffsets offsets_{{&process_}, paths_, sessions_};
};

TEST_F(PosixOffsetsOf, ALinkIsTheSameFile) {
  make("/a", 1, 10);
  names("link", "/a", "/b");
  EXPECT_EQ(append("/b", 1, 5), "10+");
  EXPECT_EQ(append("/a", 1, 5), "15+");
}

TEST_F(PosixOffsetsOf, ALinkThatWasThereBeforeIsKnownByItsInode) {
  make("/a", 1, 10);
  EXPECT_EQ(append("/b", 1, 5), "10+");
  EXPECT_EQ(append("/a", 1, 5), "15+");
}

TEST_F(PosixOffsetsOf, FilesOfARenamedDirectoryStayTheSame) {
  make("/old/a", 1, 10);
  names("rename", "/old", "/new");
  EXPECT_EQ(append("/new/a", 1, 5), "10+");
}

TEST_F(PosixOffsetsOf, ARenamedFileStaysTheSameAndItsNameIsFree) {
  make("/a", 1, 10);
  names("rename", "/a", "/b");
  make("/a", 2, 3);
  EXPECT_EQ(append("/b", 1, 5), "10+");
  EXPECT_EQ(append("/a", 2, 5), "3+");
}

TEST_F(PosixOffsetsOf, ADescriptorStaysWithTheFileThatLosesItsName) {
  const event::Handle old = open("/log", 1, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  EXPECT_EQ(write(old, 10), "0+");
  names("rename", "/log", "/log.1");
  const event::Handle fresh = open("/log", 2, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  EXPECT_EQ(write(fresh, 4), "0+");
  EXPECT_EQ(write(old, 1), "10+");
  EXPECT_EQ(write(fresh, 1), "4+");
}

TEST_F(PosixOffsetsOf, NamesAreExchanged) {
  make("/a", 1, 10);
  make("/b", 2, 20);
  names("renameat2", "/a", "/b", RENAME_EXCHANGE);
  EXPECT_EQ(append("/a", 2, 1), "20+");
  EXPECT_EQ(append("/b", 1, 1), "10+");
}

TEST_F(PosixOffsetsOf, ANameThatAnotherProcessGaveToAnotherFileIsAnother) {
  make("/a", 1, 10);
  EXPECT_EQ(append("/a", 2, 5), "0+?");
}

TEST_F(PosixOffsetsOf, AnInodeThatIsUsedAgainIsANewFile) {
  make("/a", 1, 10);
  names("unlink", "/a");
  EXPECT_EQ(append("/b", 1, 5), "0+?");
  EXPECT_EQ(write(open("/e", 1, O_WRONLY | O_CREAT | O_APPEND, 0), 5), "0+?");
  make("/c", 3, 10);
  const event::Handle made = open("/d", 3, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  EXPECT_EQ(write(made, 5), "0+");
}

TEST_F(PosixOffsetsOf, WithoutInodesNamesTellFilesApart) {
  make("/a", 0, 10);
  names("link", "/a", "/b");
  EXPECT_EQ(append("/b", 0, 5), "10+");
  EXPECT_EQ(append("/c", 0, 5), "0+?");
}

TEST_F(PosixOffsetsOf, NamesFromOpenDirectoriesAreFollowed) {
  make("/d/a", 1, 10);
  event::Handle directory;
  directory.definition.handle = directory.definition.description = ++handles_;
  directory.definition.kind = wire::FileKind::kDirectory;
  directory.path.file = paths_.idOf("/d");
  event::Event event = eventOf("unlinkat", "/d/a");
  event.handle = &directory;
  take(event);
  EXPECT_EQ(append("/d/b", 1, 5), "0+?");
}

TEST_F(PosixOffsetsOf, ADuplicateHasTheFlagThatFsetflGave) {
  make("/a", 1, 10);
  const event::Handle handle = open("/a", 1, O_WRONLY);
  event::Event set = eventOf("fcntl", "/a");
  set.handle = &handle;
  set.arguments[static_cast<std::size_t>(calls::indexOf(*set.row, Role::kCommand))] = F_SETFL;
  set.arguments[static_cast<std::size_t>(calls::indexOf(*set.row, Role::kNumber))] = O_APPEND;
  take(set);
  event::Handle copy = handle;
  copy.definition.handle = ++handles_;
  copy.definition.origin = wire::Origin::kDuplicated;
  event::Event dup = eventOf("dup", "/a");
  dup.handle = &handle;
  dup.new_handle = &copy;
  take(dup);
  EXPECT_EQ(write(copy, 5), "10+");
  EXPECT_EQ(write(handle, 5), "15+");
}

}  // namespace
}  // namespace omnio::tracefile
