// Finds the files that are one to the phase model: a file that ranks share, and the files of each
// rank (N-N), since the phases over them are the same but for the name.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::phases {

struct TouchedFile {
  std::string path;
  std::set<int> ranks;  // that read or wrote it; never empty
  std::uint64_t size_bytes = 0;
};

struct Families {
  std::vector<model::ModelFile> files;
  std::vector<std::size_t> family;  // of each touched file, its index in `files`
};

// Files that one rank alone touched are of one family when their names differ in the rank's number
// alone ("out.0007" of rank 7), or else in any numbers: then the first of each rank belong
// together, the second of each, and so on, in the order given.
Families findFamilies(const std::vector<TouchedFile>& touched);

}  // namespace omnio::phases
