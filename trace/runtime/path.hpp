// From what an application passes as a path to an absolute one, and whether it is recorded.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/wire/path_pattern.hpp"

namespace omnio::trace {

// The working directory, known without a system call until the application changes it.
std::string_view workingDirectory();
// After a successful chdir or fchdir.
void workingDirectoryChanged();

// `name` relative to `dirfd` (AT_FDCWD: the working directory). Views into the tracer's and the
// application's memory, good until the next change of directory.
wire::PathParts resolvePath(int dirfd, const char* name);

bool isRecorded(const wire::PathParts& path);

}  // namespace omnio::trace
