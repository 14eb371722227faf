#include "cli/trace/preload.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <ranges>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/printable.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/program_file.hpp"
#include "core/wire/run.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

// Folders that may hold the libraries, best first.
std::vector<fs::path> libraryFolders(const fs::path& wanted) {
  std::vector<fs::path> folders;
  if (!wanted.empty()) return {wanted};  // asked for: no other is a substitute
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return folders;
  const fs::path beside = program.parent_path().parent_path();
  folders.push_back(beside / "trace");  // as built
  for (const char* lib : {"lib", "lib64"}) folders.push_back(beside / lib / "omnio");
  for (const auto& entry : fs::directory_iterator(beside / "lib", error)) {
    folders.push_back(entry.path() / "omnio");  // lib/x86_64-linux-gnu
  }
  return folders;
}

}  // namespace

base::Result<fs::path> findLibrary(std::string_view flavour, const fs::path& folder) {
  std::vector<std::string> names = {fmt::format("libomnio_{}.so", flavour)};
  // Without MPI at build time, what can be everything is the OpenMP library.
  if (flavour == "auto") names = {"libomnio_hybrid.so", "libomnio_openmp.so"};
  const std::vector<fs::path> folders = libraryFolders(folder);
  std::error_code error;
  for (const std::string& name : names) {
    for (const fs::path& place : folders) {
      const fs::path library = fs::absolute(place / name, error).lexically_normal();
      if (!fs::exists(library, error)) continue;
      if (library.native().find_first_of(": \t\n") != std::string::npos) {
        return base::failure(base::Code::kInvalid,
                             "{} cannot be preloaded: LD_PRELOAD takes no path with a colon "
                             "or a blank in it",
                             base::printable(library.native()));
      }
      return library;
    }
  }
  std::vector<std::string> places;
  for (const fs::path& place : folders) places.push_back(base::printable(place.native()));
  if (places.empty()) places = {"the usual folders"};
  return base::failure(
      base::Code::kNotFound, "{} is in none of {}; set {} to its folder{}", names.front(),
      fmt::join(places, ", "), wire::settingOf(wire::SettingId::kLibraryDirectory).variable,
      flavour == "mpi" || flavour == "hybrid" ? " (omnio may have been built without MPI)" : "");
}

void setEnvironment(const SettingValues& values, const ClaimedDirectory& directory,
                    const fs::path& library) {
  std::string preload = library.native();
  if (const std::string before = variable("LD_PRELOAD"); !before.empty()) preload += ':' + before;
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(wire::kDirectoryVariable, directory.path.c_str(), 1);
  setenv(wire::kRunVariable, tracefile::runText(directory.run).c_str(), 1);
  for (const wire::Setting& setting : wire::kSettings) {
    if (!setting.reaches_processes) continue;
    std::string value = values.variableOf(setting.id);
    std::error_code error;
    // The command may be started elsewhere.
    if (setting.type == wire::SettingType::kPath && !value.empty()) {
      value = fs::absolute(value, error).native();
    }
    if (setting.type != wire::SettingType::kPatterns && value.empty()) {
      unsetenv(setting.variable);
    } else {
      setenv(setting.variable, value.c_str(), 1);
    }
  }
  // This trace's: one that the command itself makes is another.
  unsetenv(wire::settingOf(wire::SettingId::kOutput).variable);
}

namespace {

std::string inPath(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const std::string path = variable("PATH");
  for (const auto folder : std::views::split(path, ':')) {
    const std::string candidate = std::string(folder.begin(), folder.end()) + "/" + command;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return command;
}

}  // namespace

CommandCheck checkCommand(const std::string& command) {
  const fs::path program = inPath(command);
  return {.program = program, .check = tracefile::checkProgram(program)};
}

void prepareEnvironmentFor(const CommandCheck& command) {
  if (!command.check.wants_asan) return;
  std::string options = variable(wire::kAsanVariable);
  if (options.find("verify_asan_link_order") != std::string::npos) return;
  if (!options.empty()) options += ':';
  options += wire::kAsanOption;
  setenv(wire::kAsanVariable, options.c_str(), 1);
}

}  // namespace omnio::cli
