#include "core/base/path_pattern.hpp"

#include <gtest/gtest.h>

namespace omnio::base {
namespace {

TEST(PathPattern, NamesWithoutNumbers) {
  EXPECT_EQ(withoutNumbers("/run/dump.0100.txt"), "/run/dump.#.txt");
  EXPECT_EQ(withoutNumbers("12/a3b"), "#/a#b");
  EXPECT_EQ(withoutNumbers("/none"), "/none");
}

}  // namespace
}  // namespace omnio::base
