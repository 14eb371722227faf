// What has to be in a command's environment for it to be traced.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace omnio::cli {

enum class Flavour { kAuto, kSerial, kOpenmp, kMpi, kHybrid };

struct TraceSettings {
  std::filesystem::path directory;  // absolute
  Flavour flavour = Flavour::kAuto;
  std::vector<std::string> exclude;  // patterns, as core/wire/path_pattern.hpp describes them
  std::vector<std::string> include;
};

const char* nameOf(Flavour flavour);
Flavour flavourOf(std::string_view name);  // kAuto for any other word

// The library to preload for a flavour: for `auto` the one that can be all of them, and finds out
// in each process what that is. Looked for in OMNIO_LIBRARY_DIR, then beside this program as it is
// built or installed.
Result<std::filesystem::path> findLibrary(Flavour flavour);

// Sets the variables in this process's environment, for the command to inherit. What LD_PRELOAD and
// the patterns already hold stays, behind ours.
void setEnvironment(const TraceSettings& settings, const std::filesystem::path& library);

}  // namespace omnio::cli
