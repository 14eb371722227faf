// Reading the logs of many ranks at once takes a file for each.
#pragma once

namespace omnio::base {

// Lets this process open as many files as the system allows it to (the hard limit of
// RLIMIT_NOFILE). Where that is not enough, what cannot be read is counted as missing.
void raiseOpenFileLimit();

}  // namespace omnio::base
