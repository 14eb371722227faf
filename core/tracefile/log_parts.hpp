// Parts of logs (core/wire/log_part.hpp) that processes have left on this node: finds them, and
// writes them into their trace.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/log_part.hpp"

namespace omnio::tracefile {

// A part, by its name.
struct PartFile {
  std::filesystem::path path;
  RingName owner;
  std::uint64_t number = 0;
  std::uint64_t supervisor = 0;  // pid of the `omnio trace` that it is for
  bool is_finished = false;
};

// Nothing when it is not the name of a part.
std::optional<PartFile> partFileOf(const std::filesystem::path& path);
// The parts of the trace in these directories, by process and number.
std::vector<PartFile> partFiles(const std::vector<std::filesystem::path>& directories,
                                const TraceIdentity& trace);

class LogParts {
 public:
  using IsWanted = std::function<bool(const wire::LogPartHeader&)>;
  // Is told of each part and its owner before it is removed: until then some processes wait.
  using OnTaken = std::function<void(const wire::LogPartHeader&, uid_t)>;
  // `directory`: of the trace. `is_wanted`: whether a part is to be taken, by its supervisor.
  // `containers`: the names of those that processes which left parts may have there already.
  LogParts(std::filesystem::path directory, IsWanted is_wanted, OnTaken on_taken,
           const std::map<std::uint64_t, std::string>& containers = {});

  // Puts the parts where they belong, and removes them. Returns how many were taken. What cannot be
  // written stays, what makes no sense or may not be here is removed; with `is_last` also what has
  // no container by now.
  std::size_t take(const std::vector<PartFile>& files, bool is_last = false);
  // Removes what is left of processes that ended before their part was complete.
  static void removeUnfinished(const std::vector<PartFile>& files);

  // One sentence for each kind of trouble, once.
  std::vector<std::string> takeTroubles() { return std::exchange(troubles_, {}); }

 private:
  struct Container {
    std::string name;
    std::uint32_t last_account = 0;  // number of the part
  };

  bool takeOne(const PartFile& file, bool is_last);
  bool remove(const PartFile& file);
  bool isAllowed(uid_t user);
  // Each returns 0 or an errno value.
  int appendNotes(const char* name, const std::string& bytes) const;
  int writeLog(const wire::LogPartHeader& header, const std::string& bytes);
  int begin(const wire::LogPartHeader& header, const std::string& bytes);
  void sayOnce(std::string_view kind, std::string sentence);

  const std::filesystem::path directory_;
  const base::Descriptor opened_;  // the directory may be moved
  const IsWanted is_wanted_;
  const OnTaken on_taken_;
  std::map<std::uint64_t, Container> containers_;  // by token
  std::set<uid_t> allowed_;
  std::set<std::pair<std::uint64_t, uid_t>> refused_;  // by token: no half logs
  std::vector<std::string> troubles_;
  std::set<std::string, std::less<>> said_;
};

}  // namespace omnio::tracefile
