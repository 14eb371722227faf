#include "replay/plan/target_rules.hpp"

#include <gtest/gtest.h>

#include "tests/replay/schedule_calls.hpp"

namespace omnio::replay {
namespace {

using model::FileNumber;
using model::ScheduleEvent;

PlannedFile named(std::string location, std::uint32_t tree = 0) {
  PlannedFile file;
  file.location = std::move(location);
  file.source = "/app/" + file.location;
  file.tree = tree;
  return file;
}

ScheduleEvent moved(std::string_view call, std::uint32_t from, std::uint32_t to) {
  ScheduleEvent event = test::call(call, 0);
  event.file = FileNumber{from};
  event.new_file = FileNumber{to};
  return event;
}

TEST(TargetRules, TheLastMapThatMatchesDecides) {
  TreeChoice choice({.names = {"", "fast", "large"},
                     .maps = {{"/app/**", "fast"}, {"*.log", "large"}, {"/app/a.log", "fast"}}});
  for (const auto& [location, tree] : {std::pair{"a", 1U}, {"d/b.log", 2U}, {"a.log", 1U}}) {
    PlannedFile file = named(location);
    EXPECT_FALSE(choice.choose(file));
    EXPECT_EQ(file.tree, tree) << location;
  }
  EXPECT_FALSE(choice.checkMaps());
}

TEST(TargetRules, AMapGoesOverWhatTheScheduleSays) {
  TreeChoice choice({.names = {"", "fast", "large"}, .maps = {{"/app/x", "large"}}});
  PlannedFile file = named("y");
  file.target = "fast";
  EXPECT_FALSE(choice.choose(file));
  EXPECT_EQ(file.tree, 1U);
  file = named("x");
  file.target = "fast";
  EXPECT_FALSE(choice.choose(file));
  EXPECT_EQ(file.tree, 2U);
  file.source = "/app/z";
  file.target = "slow";
  EXPECT_EQ(choice.choose(file),
            "location \"x\" goes to the target slow, which this replay does not have; add --target "
            "slow=DIR, or --map the file to another");
}

TEST(TargetRules, FilesOnNodesStayThereUnlessAMapMatches) {
  TreeChoice choice(
      {.names = {"", "fast"}, .maps = {{"/app/@node/h/b", "fast"}}, .has_node_trees = true});
  PlannedFile file = named("@node/h/a");
  EXPECT_FALSE(choice.choose(file));
  EXPECT_EQ(file.tree, kNodeTree);
  file = named("@node/h/b");
  EXPECT_FALSE(choice.choose(file));
  EXPECT_EQ(file.tree, 1U);
}

TEST(TargetRules, AnInputThatIsReadInPlaceNeedsNoTarget) {
  TreeChoice choice({.names = {"fast"}});
  PlannedFile file = named("a");
  EXPECT_TRUE(choice.choose(file));
  file.origin = Origin::kInPlace;
  EXPECT_FALSE(choice.choose(file));
}

TEST(TargetRules, WithoutAPlainTargetEachFileNeedsAMap) {
  TreeChoice choice({.names = {"fast"}, .maps = {{"/app/a", "fast"}, {"/none", "fast"}}});
  PlannedFile file = named("a");
  EXPECT_FALSE(choice.choose(file));
  file = named("b");
  EXPECT_EQ(choice.choose(file),
            "location \"b\" has no target: no --map matches its source \"/app/b\", and no "
            "--target DIR without a name is given");
  EXPECT_EQ(choice.checkMaps(), "no file of the schedule matches the pattern /none of --map");
}

TEST(TargetRules, NoCallMovesAFileFromOneTargetToAnother) {
  const std::vector<PlannedFile> files = {named("a"), named("b", 1), named("c", 1),
                                          named("d"), named("e"),    named("d/f", 1)};
  TreeChoice choice({.names = {"", "fast"}});
  EXPECT_FALSE(choice.checkNames(moved("rename", 1, 2), files));
  EXPECT_EQ(choice.checkNames(moved("rename", 0, 1), files),
            "rename gives \"a\", which is in the plain target, the name \"b\", which is in the "
            "target fast: no call moves or links a file from one target to another; --map both to "
            "one");
  EXPECT_TRUE(choice.checkNames(moved("linkat", 1, 0), files));
  EXPECT_FALSE(choice.checkNames(moved("symlink", 1, 0), files));
  ScheduleEvent failed = moved("rename", 0, 1);
  failed.failed = true;
  EXPECT_FALSE(choice.checkNames(failed, files));
  EXPECT_EQ(
      choice.checkNames(moved("rename", 3, 4), files),
      "rename of the directory \"d\", which is in the plain target: \"d/f\" below it is in the "
      "target fast, and would stay where it is; --map both to one");
}

}  // namespace
}  // namespace omnio::replay
