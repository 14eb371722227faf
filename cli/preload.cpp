#include "cli/preload.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <system_error>

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array kNames = {"auto", "serial", "openmp", "mpi", "hybrid"};  // as Flavour has them

// Folders that may hold the libraries, best first.
std::vector<fs::path> libraryFolders() {
  std::vector<fs::path> folders;
  if (const char* wanted = getenv("OMNIO_LIBRARY_DIR"); wanted != nullptr && *wanted != '\0') {
    return {wanted};  // asked for: no other is a substitute
  }
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

std::string joined(const std::vector<std::string>& patterns, const char* variable) {
  std::string all;
  for (const std::string& pattern : patterns) {
    if (!all.empty()) all += ':';
    for (const char c : pattern) {
      if (c == ':') all += '\\';  // a colon of the pattern's own
      all += c;
    }
  }
  const char* before = getenv(variable);
  if (before != nullptr && *before != '\0') {
    if (!all.empty()) all += ':';
    all += before;
  }
  return all;
}

}  // namespace

const char* nameOf(Flavour flavour) { return kNames[static_cast<std::size_t>(flavour)]; }

Flavour flavourOf(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Flavour>(i);
  }
  return Flavour::kAuto;
}

Result<fs::path> findLibrary(Flavour flavour) {
  std::vector<std::string> names = {fmt::format("libomnio_{}.so", nameOf(flavour))};
  // Without MPI at build time, what can be everything is the OpenMP library.
  if (flavour == Flavour::kAuto) names = {"libomnio_hybrid.so", "libomnio_openmp.so"};
  const std::vector<fs::path> folders = libraryFolders();
  std::error_code error;
  for (const std::string& name : names) {
    for (const fs::path& folder : folders) {
      const fs::path library = fs::absolute(folder / name, error).lexically_normal();
      if (!fs::exists(library, error)) continue;
      if (library.native().find_first_of(": \t\n") != std::string::npos) {
        return Failure{Code::kInvalid,
                       fmt::format("{} cannot be preloaded: LD_PRELOAD takes no path with a colon "
                                   "or a blank in it",
                                   library.native())};
      }
      return library;
    }
  }
  std::string places;
  for (const fs::path& folder : folders)
    places += fmt::format("{}{}", places.empty() ? "" : ", ", folder.native());
  return Failure{Code::kNotFound,
                 fmt::format("{} is in none of {}; set OMNIO_LIBRARY_DIR to its folder{}",
                             names.front(), places.empty() ? "the usual folders" : places,
                             flavour == Flavour::kMpi || flavour == Flavour::kHybrid
                                 ? " (omnio may have been built without MPI)"
                                 : "")};
}

void setEnvironment(const TraceSettings& settings, const fs::path& library) {
  std::string preload = library.native();
  if (const char* before = getenv("LD_PRELOAD"); before != nullptr && *before != '\0') {
    preload += ':';
    preload += before;
  }
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv("OMNIO_DIR", settings.directory.c_str(), 1);
  setenv("OMNIO_FLAVOUR", nameOf(settings.flavour), 1);
  setenv("OMNIO_EXCLUDE", joined(settings.exclude, "OMNIO_EXCLUDE").c_str(), 1);
  setenv("OMNIO_INCLUDE", joined(settings.include, "OMNIO_INCLUDE").c_str(), 1);
}

}  // namespace omnio::cli
