#include "core/tracefile/untraced.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/wire/program_file.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;
using wire::UntracedReason;
using Counts = std::map<std::pair<std::string, UntracedReason>, std::uint64_t>;

void count(std::string_view record, Counts& counts) {
  if (record.size() < 2) return;
  ++counts[{std::string(record.substr(1)), static_cast<UntracedReason>(record.front())}];
}

// Whether the loader runs the program in its secure mode, as the tracer judges it of children
// (trace/wrap/next_image.cpp).
bool isSecure(const fs::path& program) {
  struct stat status {};
  if (stat(program.c_str(), &status) != 0) return false;
  const bool is_other = ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid()) ||
                        ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid());
  return (is_other && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) ||
         (geteuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0);
}

}  // namespace

std::string UntracedProgram::sentence() const {
  return fmt::format("{} was started {} and not traced: {}", base::printable(program),
                     starts == 1 ? "once" : fmt::format("{} times", starts),
                     wire::describe(reason));
}

std::vector<UntracedProgram> readUntraced(const fs::path& directory) {
  Counts counts;
  for (const fs::directory_entry& entry : entriesOf(directory)) {
    if (entry.path().extension() != wire::kUntracedSuffix) continue;
    std::error_code link_error;
    if (entry.is_symlink(link_error)) {
      count(fs::read_symlink(entry.path(), link_error).native(), counts);
      continue;
    }
    // A pipe would be waited for.
    if (!entry.is_regular_file(link_error)) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    for (std::string record; std::getline(in, record, '\0');) count(record, counts);
  }
  std::vector<UntracedProgram> programs;
  for (const auto& [what, starts] : counts) {
    programs.push_back({.program = what.first, .reason = what.second, .starts = starts});
  }
  return programs;
}

bool noteUntraced(const fs::path& directory, const std::string& host, UntracedReason reason,
                  const fs::path& program) {
  std::error_code error;
  std::string record(1, static_cast<char>(reason));
  record += fs::absolute(program, error).native();
  record += '\0';
  std::ofstream out(directory / (host + wire::kUntracedSuffix), std::ios::binary | std::ios::app);
  out.write(record.data(), static_cast<std::streamsize>(record.size()));
  out.close();
  return static_cast<bool>(out);
}

ProgramCheck checkProgram(const fs::path& program) {
  fs::path path = program;
  for (int depth = 0; depth < 4; ++depth) {
    const base::Result<base::File> file = base::File::open(path);
    wire::ProgramFacts facts;
    if (!file || !wire::examineProgram(
                     [&file](std::uint64_t offset, char* out, std::size_t bytes) {
                       return file->readAt(offset, out, bytes);
                     },
                     facts)) {
      return {};
    }
    if (facts.interpreter[0] != '\0') {
      path = facts.interpreter;
      continue;
    }
    ProgramCheck check{.reason = {}, .wants_asan = facts.wants_asan};
    if (facts.is_static) {
      check.reason = UntracedReason::kStatic;
    } else if (facts.is_other_word) {
      check.reason = UntracedReason::kOtherWord;
    } else if (isSecure(path)) {
      check.reason = UntracedReason::kSetUser;
    }
    return check;
  }
  return {};
}

}  // namespace omnio::tracefile
