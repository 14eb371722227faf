#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "cli/trace/setting_values.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::cli {
namespace {

using wire::SettingId;

class ConfigFile : public testing::Test {
 protected:
  // Empty when the document was taken.
  std::string read(const std::string& text) {
    test::writeAll(path_, text);
    const auto failure = readConfig(path_, values_);
    if (!failure) return {};
    const std::string prefix = path_.native() + ": ";
    EXPECT_TRUE(failure->sentence.starts_with(prefix)) << failure->sentence;
    return failure->sentence.substr(prefix.size());
  }
  std::string readTrace(const std::string& members) {
    return read(R"({"format": "omnio-config", "version": 1, "trace": {)" + members + "}}");
  }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "config.json";
  SettingValues values_;
};

TEST_F(ConfigFile, GivesEachSettingItsValue) {
  EXPECT_EQ(readTrace(R"("flavour": "mpi", "exclude": ["a:b", "c"], "start_stopped": true,
                         "toggle_signal": 12, "max_log_size": 4096, "output": "there")"),
            "");
  EXPECT_EQ(values_.word(SettingId::kFlavour), "mpi");
  EXPECT_EQ(values_.of(SettingId::kExclude).words, (std::vector<std::string>{"a:b", "c"}));
  EXPECT_EQ(values_.variableOf(SettingId::kExclude), "a\\:b:c");
  EXPECT_EQ(values_.word(SettingId::kStartStopped), "yes");
  EXPECT_EQ(values_.word(SettingId::kToggleSignal), "12");
  EXPECT_EQ(values_.word(SettingId::kMaxLogSize), "4096");
  EXPECT_EQ(values_.of(SettingId::kMaxLogSize).sources, std::vector<std::string>{path_.native()});
  EXPECT_EQ(values_.of(SettingId::kInclude).sources, std::vector<std::string>{"default"});
}

TEST_F(ConfigFile, IsRefusedWithThePlace) {
  EXPECT_EQ(readTrace("\n\"max_log_sise\": 1"),
            "line 2, column 17: unknown key \"max_log_sise\"; the nearest known one is "
            "\"max_log_size\"");
  EXPECT_EQ(readTrace(R"("exclude": "x")"),
            "line 1, column 65: \"exclude\" has to be a list of texts, not a text");
  EXPECT_EQ(readTrace("\n\"exclude\": [\"x\", 1]"),
            "line 2, column 18: \"exclude\" has to be a text, not a whole number");
  EXPECT_EQ(readTrace("\n\"max_log_size\": -1"),
            "line 2, column 18: \"max_log_size\": \"-1\" is not a size: use a whole number of "
            "bytes, or of "
            "K, M, G or T (10G)");
  EXPECT_EQ(readTrace("\n\"toggle_signal\": \"KILL\""),
            "line 2, column 23: \"toggle_signal\": \"KILL\" cannot be used as a signal: use none, "
            "USR1, USR2, URG, VTALRM, PROF, WINCH, IO, PWR, or a number from 34 to 64");
  EXPECT_EQ(readTrace("\n\"flavour\": \"auto\",\n\"flavour\": \"mpi\""),
            "line 3, column 16: \"flavour\" appears twice in one object");
}

TEST_F(ConfigFile, KnowsNoKeysBesideItsOwn) {
  for (const char* key : {"traces", "trace_output", "trace.max_log_size"}) {
    EXPECT_NE(read(fmt::format(R"({{"format": "omnio-config", "version": 1, "{}": "x"}})", key))
                  .find(fmt::format("unknown key \"{}\"", key)),
              std::string::npos)
        << key;
  }
}

TEST_F(ConfigFile, IsADocumentOfItsKindAndNoOther) {
  EXPECT_NE(read("").find("empty"), std::string::npos);
  EXPECT_NE(read("[]").find("has to be an object"), std::string::npos);
  EXPECT_NE(read("{").find("not JSON"), std::string::npos);
  EXPECT_NE(read(R"({"format": "omnio-schedule", "version": 1})").find("not a configuration file"),
            std::string::npos);
  EXPECT_NE(read(R"({"format": "omnio-config"})").find("no \"version\": 1"), std::string::npos);
  EXPECT_NE(read(R"({"format": "omnio-config", "version": 1, "replay": 1})")
                .find("unknown key \"replay\""),
            std::string::npos);
  EXPECT_EQ(read(R"({"format": "omnio-config", "version": 1})"), "");
}

TEST_F(ConfigFile, WhatIsPrintedCanBeReadBack) {
  ASSERT_EQ(readTrace(R"("exclude": ["a\\:b", "c:d", "*\u00e9"], "max_log_size": "3G",
                         "start_stopped": true, "toggle_signal": "SIGUSR1")"),
            "");
  const std::string printed = configText(values_);
  SettingValues again;
  test::writeAll(path_, printed);
  ASSERT_FALSE(readConfig(path_, again));
  for (const wire::Setting& setting : wire::kSettings) {
    EXPECT_EQ(again.of(setting.id).words, values_.of(setting.id).words) << setting.key;
  }
}

TEST_F(ConfigFile, IsFoundInTheUsualPlaces) {
  unsetenv("OMNIO_CONFIG");
  setenv("XDG_CONFIG_HOME", directory_.path().c_str(), 1);
  const std::filesystem::path own = directory_ / "omnio/config.json";
  std::filesystem::create_directories(own.parent_path());
  EXPECT_NE(findConfig(""), own);
  test::writeAll(own, "{}");
  EXPECT_EQ(findConfig(""), own);
  setenv("OMNIO_CONFIG", "/named", 1);
  EXPECT_EQ(findConfig(""), "/named");
  EXPECT_EQ(findConfig("/asked"), "/asked");
  unsetenv("OMNIO_CONFIG");
  unsetenv("XDG_CONFIG_HOME");
  setenv("HOME", directory_.path().c_str(), 1);
  std::filesystem::create_directories(directory_ / ".config/omnio");
  test::writeAll(directory_ / ".config/omnio/config.json", "{}");
  EXPECT_EQ(findConfig(""), directory_ / ".config/omnio/config.json");
}

}  // namespace
}  // namespace omnio::cli
