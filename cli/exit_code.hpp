// Exit statuses of `omnio`. `omnio trace` alone returns the application's instead.
#pragma once

namespace omnio::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kDifferences = 3;  // done, with differences the caller asked to be told of

}  // namespace omnio::cli
