// Numbers of the flags that threads wait by (run/flags.hpp).
#pragma once

#include <cstdint>

namespace omnio::replay {

inline constexpr std::uint32_t kNoFlag = 0xFFFFFFFF;
// Those of lines of loops have numbers from here on.
inline constexpr std::uint32_t kFirstLoopFlag = 0x80000000;
constexpr bool isLoopFlag(std::uint32_t flag) { return flag >= kFirstLoopFlag && flag != kNoFlag; }

}  // namespace omnio::replay
