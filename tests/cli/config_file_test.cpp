#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "cli/trace/setting_values.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::cli {
namespace {

using wire::SettingId;
using Words = std::vector<std::string>;

class ConfigFile : public testing::Test {
 protected:
  // Empty when the file was taken.
  std::string read(const std::string& text) {
    test::writeAll(path_, text);
    const auto taken = values_.takeFile(path_);
    if (taken) return {};
    const std::string& sentence = taken.failure().sentence;
    const std::string prefix = path_.native() + ": ";
    EXPECT_TRUE(sentence.starts_with(prefix)) << sentence;
    return sentence.substr(prefix.size());
  }
  Words excluded() const { return values_.of(SettingId::kExclude).words; }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "config.ini";
  SettingValues values_;
};

TEST_F(ConfigFile, GivesEachSettingItsValue) {
  EXPECT_EQ(
      read("flavour = mpi\nexclude = a:b\nexclude = c\nstart-stopped = true\n"
           "toggle-signal = 12\r\n\n; as of old\nmax-log-size=4096\noutput = \"there\"\nexplain"),
      "");
  EXPECT_EQ(values_.word(SettingId::kFlavour), "mpi");
  EXPECT_EQ(excluded(), (Words{"a:b", "c"}));
  EXPECT_EQ(values_.variableOf(SettingId::kExclude), "a\\:b:c");
  EXPECT_EQ(values_.word(SettingId::kStartStopped), "yes");
  EXPECT_EQ(values_.word(SettingId::kToggleSignal), "12");
  EXPECT_EQ(values_.word(SettingId::kMaxLogSize), "4096");
  EXPECT_EQ(values_.word(SettingId::kOutput), "there");
  EXPECT_EQ(values_.word(SettingId::kExplain), "yes");
  EXPECT_EQ(values_.of(SettingId::kMaxLogSize).sources, Words{path_.native()});
  EXPECT_EQ(values_.of(SettingId::kInclude).sources, Words{"default"});
}

TEST_F(ConfigFile, TakesValuesAsTheyStand) {
  EXPECT_EQ(read("exclude = a b, c\nexclude = #*#\nexclude = '[ab]*'\nexclude = \" #x\"\n"
                 "exclude = it's \"x\"\nexclude = \\*=\\\\"),
            "");
  EXPECT_EQ(excluded(), (Words{"a b, c", "#*#", "[ab]*", " #x", "it's \"x\"", "\\*=\\\\"}));
}

TEST_F(ConfigFile, IsRefusedWithTheLine) {
  const std::string options =
      "the options are output, flavour, exclude, include, start-stopped, toggle-signal, "
      "max-log-size, when-slow, system-clock, ring-directory, library-directory, explain, "
      "callstack, callstack-through";
  EXPECT_EQ(read("\nmax-log-sise = 1"), "line 2: unknown option \"max-log-sise\"; " + options);
  EXPECT_EQ(
      read("max-log-size = -1"),
      "line 1: max-log-size: \"-1\" is not a size: use a whole number of bytes, or of K, M, G "
      "or T (10G)");
  EXPECT_EQ(
      read("# on\ntoggle-signal = KILL"),
      "line 2: toggle-signal: \"KILL\" cannot be used as a signal: use none, USR1, USR2, URG, "
      "VTALRM, PROF, WINCH, IO, PWR, or a number from 34 to 64");
  EXPECT_EQ(read("flavour = auto\nexplain\nflavour = mpi"), "line 3: \"flavour\" appears twice");
  EXPECT_EQ(read("explain = perhaps"), "line 1: explain: \"perhaps\" is neither yes nor no");
  for (const char* line : {"[trace]", "{", "x", "= x", "trace.explain = yes", "\"format\": 1,"}) {
    const std::string sentence = read(line);
    EXPECT_TRUE(sentence.starts_with("line 1: unknown option \"")) << sentence;
    EXPECT_TRUE(sentence.ends_with("\"; " + options)) << sentence;
  }
}

TEST_F(ConfigFile, HasNoListsAndNoCommentsBehindValues) {
  for (const char* value : {"[\"a\", \"b\"]", "[", "*.o # objects"}) {
    EXPECT_EQ(read(std::string("exclude = ") + value),
              std::string("line 1: ") + value +
                  " looks like a list or has a comment behind it; a list has a line for each "
                  "value, a comment a line of its own, and a value with these characters is "
                  "quoted");
  }
}

TEST_F(ConfigFile, IsAFile) {
  const auto missing = values_.takeFile(directory_ / "none.ini");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().sentence,
            (directory_ / "none.ini").native() + ": No such file or directory");
  const auto folder = values_.takeFile(directory_.path());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.failure().sentence, directory_.path().native() + ": Is a directory");
}

TEST_F(ConfigFile, WhatIsPrintedCanBeReadBack) {
  ASSERT_EQ(read("exclude = a\\:b\nexclude = 'c:d \"#'\nexclude = *\u00e9\nmax-log-size = 3G\n"
                 "start-stopped\ntoggle-signal = SIGUSR1"),
            "");
  SettingValues again;
  test::writeAll(path_, values_.fileText());
  ASSERT_TRUE(again.takeFile(path_));
  for (const wire::Setting& setting : wire::kSettings) {
    EXPECT_EQ(again.of(setting.id).words, values_.of(setting.id).words) << setting.option;
  }
}

TEST_F(ConfigFile, IsFoundInTheUsualPlaces) {
  unsetenv("OMNIO_CONFIG");
  setenv("XDG_CONFIG_HOME", directory_.path().c_str(), 1);
  const std::filesystem::path own = directory_ / "omnio/config.ini";
  std::filesystem::create_directories(own.parent_path());
  EXPECT_NE(findConfig(""), own);
  test::writeAll(own, "");
  EXPECT_EQ(findConfig(""), own);
  setenv("OMNIO_CONFIG", "/named", 1);
  EXPECT_EQ(findConfig(""), "/named");
  EXPECT_EQ(findConfig("/asked"), "/asked");
  unsetenv("OMNIO_CONFIG");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", directory_.path().c_str(), 1);
  std::filesystem::create_directories(directory_ / ".config/omnio");
  test::writeAll(directory_ / ".config/omnio/config.ini", "");
  EXPECT_EQ(findConfig(""), directory_ / ".config/omnio/config.ini");
}

}  // namespace
}  // namespace omnio::cli
