// Programs that have once lost events, been told lies about, or crashed under the tracer; each is a
// function that gets a directory to work in and returns the exit status. It prints the number of
// calls it has made, where that is what has to be found in the trace.
#pragma once

#include <fcntl.h>

#include <string>

namespace hard_cases {

inline int openFile(const std::string& path) { return open(path.c_str(), O_CREAT | O_RDWR, 0644); }

struct Case {
  const char* name;
  int (*run)(const std::string& directory);
};

int exitWhileThreadsRecord(const std::string& directory);
int execsThatFail(const std::string& directory);
int forkInHandler(const std::string& directory);
int signalsAtFirstEvent(const std::string& directory);
int forkWhileLoaderIsLocked(const std::string& directory);
int lateThreads(const std::string& directory);
int memoryRunsOut(const std::string& directory);

}  // namespace hard_cases
