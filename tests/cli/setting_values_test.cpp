#include "cli/trace/setting_values.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>
#include <vector>

namespace omnio::cli {
namespace {

using wire::SettingId;
using Words = std::vector<std::string>;

TEST(SettingValues, LaterOnesTakeThePlaceOfEarlierOnes) {
  SettingValues values;
  EXPECT_EQ(values.word(SettingId::kFlavour), "auto");
  values.take(SettingId::kFlavour, {"mpi"}, "a file");
  values.take(SettingId::kFlavour, {"serial"}, "--flavour");
  EXPECT_EQ(values.word(SettingId::kFlavour), "serial");
  EXPECT_EQ(values.of(SettingId::kFlavour).sources, Words{"--flavour"});
}

TEST(SettingValues, PatternsAddUpAndStandOnce) {
  SettingValues values;
  values.take(SettingId::kExclude, {"a", "b"}, "a file");
  values.take(SettingId::kExclude, {"c", "a"}, "OMNIO_EXCLUDE");
  EXPECT_EQ(values.of(SettingId::kExclude).words, (Words{"c", "a", "b"}));
  EXPECT_EQ(values.of(SettingId::kExclude).sources, (Words{"OMNIO_EXCLUDE", "a file"}));
}

TEST(SettingValues, PatternsGoThroughTheEnvironmentUnchanged) {
  for (const Words& patterns :
       {Words{"plain"}, Words{"a:b", "c"}, Words{"\\*", "\\\\", "x"}, Words{"[:]", "end\\:"}}) {
    SettingValues values;
    values.take(SettingId::kInclude, patterns, "--include");
    setenv("OMNIO_INCLUDE", values.variableOf(SettingId::kInclude).c_str(), 1);
    SettingValues inner;
    ASSERT_TRUE(inner.takeEnvironment());
    EXPECT_EQ(inner.variableOf(SettingId::kInclude), values.variableOf(SettingId::kInclude));
    EXPECT_EQ(inner.of(SettingId::kInclude).words.size(), patterns.size());
  }
  unsetenv("OMNIO_INCLUDE");
}

TEST(SettingValues, AVariableThatMeansNothingIsNamed) {
  setenv("OMNIO_START_STOPPED", "maybe", 1);
  SettingValues values;
  const auto taken = values.takeEnvironment();
  unsetenv("OMNIO_START_STOPPED");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.failure().sentence, "OMNIO_START_STOPPED: \"maybe\" is neither yes nor no");
}

TEST(SettingValues, ASwitchIsYesOrNo) {
  for (const char* word : {"1", "on", "true", "yes"}) {
    SettingValues values;
    values.take(SettingId::kExplain, {word}, "--explain");
    EXPECT_EQ(values.word(SettingId::kExplain), "yes") << word;
  }
}

TEST(SettingValues, NamesAreOneEach) {
  std::set<std::string> names;
  for (const wire::Setting& setting : wire::kSettings) {
    EXPECT_TRUE(std::string(setting.variable).starts_with("OMNIO_"));
    EXPECT_TRUE(names.insert(setting.option).second);
    EXPECT_TRUE(names.insert(setting.variable).second);
    EXPECT_TRUE(std::string(setting.option).starts_with("--"));
    if (setting.type != wire::SettingType::kPatterns) {
      EXPECT_EQ(complaintAbout(setting, setting.fallback), "") << setting.option;
    }
  }
}

}  // namespace
}  // namespace omnio::cli
