// Which names are one file, by the inodes that opens found and the links and renames between them.
#include "core/tracefile/file_names.hpp"

#include <gtest/gtest.h>
#include <stdio.h>

#include <string>
#include <string_view>

#include "core/wire/info.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::tracefile {
namespace {

using calls::Role;

Process onNode(const char* boot) {
  Process process;
  process.info.take(std::string(wire::info::kBoot) + '\0' + boot + '\0');
  return process;
}

// The events of some ranks, with the paths of one worker.
class Seen {
 public:
  void open(std::string_view path, std::uint64_t inode, const Process& process) {
    event::Handle handle;
    handle.definition.device = 1;
    handle.definition.inode = inode;
    handle.path.file = paths_.idOf(path);
    event::Event event;
    event.row = &calls::kTable[test::numberOf("open")];
    event.file = handle.path.file;
    event.new_handle = &handle;
    names_.take(process, event);
  }
  void open(std::string_view path, std::uint64_t inode) { open(path, inode, node_); }

  void call(std::string_view symbol, std::string_view from, std::string_view to = {},
            bool failed = false, std::int64_t flags = 0) {
    event::Event event;
    event.row = &calls::kTable[test::numberOf(symbol)];
    event.file = paths_.idOf(from);
    event.failed = failed;
    const auto at = [&event](Role role) {
      return static_cast<std::size_t>(calls::indexOf(*event.row, role));
    };
    if (!to.empty()) event.texts[at(Role::kPathNew)].absolute = to;
    if (flags != 0) event.arguments[at(Role::kFlags)] = flags;
    names_.take(node_, event);
  }

  // "a=b" for each name that another one stands for, by the order in which they came up.
  std::string joined() {
    std::string text;
    const std::vector<event::FileId> standing = names_.standing();
    for (std::size_t i = 0; i < standing.size(); ++i) {
      const auto file = static_cast<event::FileId>(i);
      if (standing[i] == file) continue;
      if (!text.empty()) text += ' ';
      text += std::string(paths_.path(file)) + '=' + std::string(paths_.path(standing[i]));
    }
    return text;
  }

  void add(const Seen& other) { names_.add(other.names_); }

 private:
  Process node_ = onNode("one");
  event::PathTable paths_;
  FileNames names_{paths_};
};

TEST(FileNames, ALinkIsAnotherName) {
  Seen seen;
  seen.open("/b", 1);
  seen.call("link", "/b", "/a");
  seen.open("/a", 1);
  EXPECT_EQ(seen.joined(), "/b=/a");
}

TEST(FileNames, TheNameThatIsLeftStands) {
  Seen seen;
  seen.open("/a", 1);
  seen.call("link", "/a", "/b");
  seen.call("unlink", "/a");
  seen.open("/b", 1);
  EXPECT_EQ(seen.joined(), "/a=/b");
}

TEST(FileNames, WithoutALinkTheInodeDecides) {
  Seen seen;
  seen.open("/a", 1);
  seen.open("/links/a", 1);
  seen.open("/b", 2);
  EXPECT_EQ(seen.joined(), "/links/a=/a");
}

TEST(FileNames, AnInodeThatWasFreeIsAnotherFile) {
  Seen seen;
  seen.open("/a", 1);
  seen.call("unlink", "/a");
  seen.open("/b", 1);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, AFileWithoutANameLeavesItsInode) {
  Seen seen;
  seen.open("/tmp/#1 (deleted)", 1);
  seen.open("/b", 1);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, ACallThatFailedRemovesNothing) {
  Seen seen;
  seen.open("/a", 1);
  seen.call("unlink", "/a", {}, true);
  seen.open("/b", 1);
  EXPECT_EQ(seen.joined(), "/b=/a");
}

TEST(FileNames, FilesFollowTheirDirectory) {
  Seen seen;
  seen.open("/old/sub/a", 1);
  seen.call("rename", "/old", "/new");
  seen.open("/new/sub/a", 1);
  seen.open("/new/sub/b", 2);
  EXPECT_EQ(seen.joined(), "/old/sub/a=/new/sub/a");
}

TEST(FileNames, ARenamedFileHasItsNewName) {
  Seen seen;
  seen.open("/a", 1);
  seen.call("rename", "/a", "/b");
  seen.open("/b", 1);
  EXPECT_EQ(seen.joined(), "/a=/b");
}

TEST(FileNames, ANameOfSeveralFilesStandsForNone) {
  Seen seen;
  seen.open("/temporary", 1);
  seen.call("rename", "/temporary", "/1");
  seen.open("/temporary", 2);
  seen.call("rename", "/temporary", "/2");
  seen.open("/1", 1);
  seen.open("/2", 2);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, AnInodeThatComesAgainByWayOfATemporaryName) {
  Seen seen;
  seen.open("/temporary", 1);
  seen.call("rename", "/temporary", "/1");
  seen.open("/1", 1);
  seen.call("unlink", "/1");
  seen.open("/temporary", 1);
  seen.call("rename", "/temporary", "/2");
  seen.open("/2", 1);
  EXPECT_EQ(seen.joined(), "/temporary=/2");
}

// As programs replace a file: two inodes by turns.
TEST(FileNames, TemporaryNamesOfAFileThatIsReplacedAreFiles) {
  Seen seen;
  seen.open("/t1", 1);
  seen.call("rename", "/t1", "/state");
  seen.open("/t2", 2);
  seen.call("rename", "/t2", "/state");
  seen.open("/t3", 1);
  seen.call("rename", "/t3", "/state");
  seen.open("/state", 1);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, AnInodeThatAnotherProcessHasFreed) {
  Seen seen;
  Seen other;
  other.open("/index.lock", 2);
  other.call("rename", "/index.lock", "/index");
  seen.open("/index", 1);
  seen.open("/message", 1);
  seen.add(other);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, WhatIsRemovedFromARenamedDirectory) {
  Seen seen;
  seen.open("/old/a", 1);
  seen.call("rename", "/old", "/new");
  seen.call("unlink", "/new/a");
  seen.open("/b", 1);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, ExchangedNamesAreTwoFiles) {
  Seen seen;
  seen.open("/a", 1);
  seen.open("/b", 2);
  seen.call("renameat2", "/a", "/b", false, RENAME_EXCHANGE);
  EXPECT_EQ(seen.joined(), "");
}

TEST(FileNames, InodesOfTwoNodesAreTwoFiles) {
  Seen seen;
  const Process other = onNode("two");
  seen.open("/a", 1);
  seen.open("/b", 1, other);
  EXPECT_EQ(seen.joined(), "");
  // A link that was recorded is proof enough: both see it.
  seen.call("link", "/a", "/b");
  EXPECT_EQ(seen.joined(), "/b=/a");
}

TEST(FileNames, WorkersPutTogetherWhatTheirRanksHaveSeen) {
  Seen one;
  Seen two;
  one.open("/x", 7);
  one.open("/a", 1);
  one.call("link", "/a", "/b");
  two.open("/b", 1);
  two.open("/c", 2);
  one.add(two);
  EXPECT_EQ(one.joined(), "/b=/a");
  Seen three;
  three.open("/c", 3);
  three.call("rename", "/c", "/d");
  three.open("/d", 3);
  one.add(three);
  EXPECT_EQ(one.joined(), "/b=/a");
}

}  // namespace
}  // namespace omnio::tracefile
