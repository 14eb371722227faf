#include "core/base/interruption.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "core/base/document_file.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::base {
namespace {

namespace fs = std::filesystem;

TEST(InterruptionDeathTest, RemovesDraftsAndEndsByTheSignal) {
  test::TemporaryDirectory directory;
  std::ofstream(directory / "old.json") << "old";
  const auto interrupted = [&](int signal, const char* name) {
    const Interruption interruption("omnio", leftOf(directory / name));
    DocumentFile file(directory / name);
    file.write("half of it");
    raise(signal);
  };
  EXPECT_EXIT(interrupted(SIGINT, "new.json"), testing::KilledBySignal(SIGINT),
              "omnio: interrupted by SIGINT; nothing of .*/new.json is left\n");
  EXPECT_EXIT(interrupted(SIGTERM, "old.json"), testing::KilledBySignal(SIGTERM),
              "omnio: interrupted by SIGTERM; .*/old.json is as it was before\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(InterruptionDeathTest, RemovesADirectoryWithItsFilesAlone) {
  test::TemporaryDirectory directory;
  const auto interrupted = [&] {
    const fs::path programs = directory / "out" / "programs";
    const fs::path kept = directory / "kept";
    fs::create_directories(programs);
    fs::create_directories(kept);
    for (int i = 0; i < 500; ++i) {
      std::ofstream(programs / std::to_string(i)) << i;
    }
    std::ofstream(kept / "precious") << "data";
    const Interruption interruption("omnio", "");
    const RemovedIfInterrupted first(programs, Removal::kWithFiles);
    const RemovedIfInterrupted second(programs.parent_path());
    const RemovedIfInterrupted third(kept);
    { const RemovedIfInterrupted over(kept / "precious"); }
    raise(SIGHUP);
  };
  EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGHUP), "omnio: interrupted by SIGHUP\n");
  EXPECT_FALSE(fs::exists(directory / "out"));
  EXPECT_TRUE(fs::exists(directory / "kept" / "precious"));
}

TEST(InterruptionDeathTest, WhatIsIgnoredStaysIgnoredAndTheEndRestoresWhatWas) {
  const auto goes_on = [] {
    signal(SIGHUP, SIG_IGN);
    {
      const Interruption interruption("omnio", "");
      raise(SIGHUP);
    }
    raise(SIGTERM);
  };
  EXPECT_EXIT(goes_on(), testing::KilledBySignal(SIGTERM), "^$");
}

TEST(InterruptionDeathTest, ASignalWaitsWhileItIsHeldInWhateverThread) {
  test::TemporaryDirectory directory;
  const fs::path first = directory / "first";
  const fs::path second = directory / "second";
  const auto interrupted = [&](bool in_other_thread) {
    const Interruption interruption("omnio", "; nothing is left");
    std::optional<StopsHeld> held(std::in_place);
    std::ofstream(first) << 1;
    std::thread other([&] {
      if (!in_other_thread) return;
      sigset_t none;
      sigemptyset(&none);
      pthread_sigmask(SIG_SETMASK, &none, nullptr);
      raise(SIGTERM);
    });
    if (!in_other_thread) raise(SIGTERM);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ofstream(second) << 2;
    held->allIsWritten();
    held.reset();
    other.join();
  };
  for (const bool in_other_thread : {false, true}) {
    EXPECT_EXIT(interrupted(in_other_thread), testing::KilledBySignal(SIGTERM),
                "omnio: interrupted by SIGTERM when all was written\n");
    EXPECT_TRUE(fs::remove(first));
    EXPECT_TRUE(fs::remove(second)) << "what was held went on";
  }
}

}  // namespace
}  // namespace omnio::base
