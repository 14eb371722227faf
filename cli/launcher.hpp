// How MPI programs are started.
#pragma once

#include <string>
#include <vector>

namespace omnio::cli {

// The words that start a program on so many processes, without the program: those of `launcher`,
// which says itself how many, else mpirun; and `more` words for it.
std::vector<std::string> launcherWords(const std::string& launcher,
                                       const std::vector<std::string>& more, int processes);

}  // namespace omnio::cli
