#include "core/tracefile/unlogged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/wire/info.hpp"
#include "core/wire/notes.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

std::uint64_t less(std::uint64_t all, std::uint64_t part) { return all > part ? all - part : 0; }

// What the notes of one host say.
struct NotesOfHost {
  struct Moved {
    std::uint32_t parent = 0;
    std::uint32_t child = 0;
    wire::MovedBytes bytes{};
    int signal = 0;
    std::string program{};
  };
  std::vector<Moved> moved;
  struct Quiet {
    wire::MovedBytes bytes{};
    bool is_traced = false;
  };
  std::map<std::uint32_t, Quiet> quiet;

  explicit NotesOfHost(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string kind;
      words >> kind;
      if (kind == wire::kMovedWord) {
        Moved note;
        words >> note.parent >> note.child >> note.bytes.read >> note.bytes.written >> note.signal;
        if (!words) continue;
        std::getline(words >> std::ws, note.program);
        moved.push_back(std::move(note));
      } else if (kind == wire::kQuietWord) {
        std::uint32_t pid = 0;
        wire::MovedBytes bytes;
        int is_traced = 0;
        if (words >> pid >> bytes.read >> bytes.written >> is_traced) {
          quiet[pid] = {.bytes = bytes, .is_traced = is_traced != 0};
        }
      }
    }
  }
};

}  // namespace

std::string EndedProcess::sentence() const {
  std::string name = fmt::format("process {} on host {}", pid, base::printable(host));
  if (!program.empty()) name += fmt::format(" ({})", base::printable(program));
  if (is_launcher) {
    return fmt::format(
        "{} is a shell or a launcher, which is not traced; it {} by calls of its own", name,
        unseenWords(moved));
  }
  if (signal != 0) {
    return fmt::format(
        "{} was ended by signal {} and left no log; it {} in all, pipes and sockets included, as "
        "the "
        "kernel counts",
        name, signal, unseenWords(moved));
  }
  return fmt::format(
      "{} left no log, and {} as the kernel counts: it ran without the tracer, or made its system "
      "calls itself (Go) and ended by one",
      name, unseenWords(moved));
}

std::string EndedProcess::endSentence() const {
  return fmt::format(
      "ended by a system call of its own, which no wrapper sees (Go); it {} in all, as the kernel "
      "counts",
      unseenWords(moved));
}

std::vector<EndedProcess> readEnded(const fs::path& directory,
                                    const std::vector<std::unique_ptr<Process>>& processes) {
  std::vector<EndedProcess> result;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : entriesOf(directory)) {
    std::error_code error;
    // A pipe would be waited for.
    if (entry.path().extension() == wire::kProcessesSuffix && entry.is_regular_file(error)) {
      paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    const std::string host = path.stem().native();
    const NotesOfHost notes(path);
    if (notes.moved.empty()) continue;
    std::set<std::uint32_t> logged;
    for (const auto& process : processes) {
      if (process->info.text(wire::info::kHost) == host) logged.insert(process->pid);
    }
    for (const NotesOfHost::Moved& note : notes.moved) {
      EndedProcess process{.host = host,
                           .pid = note.child,
                           .program = note.program,
                           .moved = note.bytes,
                           .signal = note.signal,
                           .has_log = logged.contains(note.child)};
      for (const NotesOfHost::Moved& of_child : notes.moved) {
        if (of_child.parent != note.child) continue;
        process.moved.read = less(process.moved.read, of_child.bytes.read);
        process.moved.written = less(process.moved.written, of_child.bytes.written);
      }
      if (const auto quiet = notes.quiet.find(note.child); quiet != notes.quiet.end()) {
        if (quiet->second.is_traced) continue;  // by pipes, sockets and the like
        process.is_launcher = true;
        process.moved = quiet->second.bytes;  // children that moved little are no part of it
      }
      if (process.moved.read < wire::kWorthNoting) process.moved.read = 0;
      if (process.moved.written < wire::kWorthNoting) process.moved.written = 0;
      if (process.moved == wire::MovedBytes{}) continue;
      result.push_back(std::move(process));
    }
  }
  return result;
}

bool noteMoved(const fs::path& directory, const std::string& host, std::uint32_t pid,
               const std::string& program, const wire::MovedBytes& moved, int signal) {
  if (moved.read < wire::kWorthNoting && moved.written < wire::kWorthNoting) return true;
  const std::string line = fmt::format("{} 0 {} {} {} {} {}\n", wire::kMovedWord, pid, moved.read,
                                       moved.written, signal, base::printable(program));
  std::ofstream out(directory / (host + wire::kProcessesSuffix), std::ios::binary | std::ios::app);
  out.write(line.data(), static_cast<std::streamsize>(line.size()));
  out.close();
  return static_cast<bool>(out);
}

wire::MovedBytes kernelBytesOf(std::uint32_t pid) {
  std::ifstream in(fmt::format("/proc/{}/io", pid), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  wire::MovedBytes moved;
  if (!wire::parseKernelIo(text, moved)) return {};
  return moved;
}

}  // namespace omnio::tracefile
