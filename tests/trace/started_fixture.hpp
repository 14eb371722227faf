// The fixture of tests that call the tracer's runtime without its being preloaded.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/core/temporary_directory.hpp"
#include "tests/trace/recorded.hpp"
#include "tests/trace/traced_child.hpp"
#include "trace/runtime/process.hpp"

namespace omnio::test {

class StartedFixture : public testing::Test {
 protected:
  // Runs `body` in a child process where the tracer has started.
  void traced(const std::function<void()>& body) {
    ASSERT_EQ(runTraced(directory_ / "trace",
                        [&body] {
                          ASSERT_TRUE(trace::ensureStarted());
                          body();
                        }),
              0);
  }
  RecordedTrace read() const { return readTrace(directory_ / "trace"); }

  TemporaryDirectory directory_;
};

}  // namespace omnio::test
