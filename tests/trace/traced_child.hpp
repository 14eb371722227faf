// A process in which the tracer's runtime records without being preloaded: a forked child, since
// its state is one for each process.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace omnio::test {

using Environment = std::map<std::string, std::string>;

// Runs `body` in a child with `variables` set, and waits for it. The child ends by _exit, with 0
// unless an expectation of the test has failed in it; returns its status as waitpid gives it.
int runInChild(const std::function<void()>& body, const Environment& variables = {});

// The same with a trace directory. The body has to start the runtime itself.
int runTraced(const std::filesystem::path& trace, const std::function<void()>& body,
              Environment variables = {});

}  // namespace omnio::test
