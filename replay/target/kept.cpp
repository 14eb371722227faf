#include "replay/target/kept.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/wire/checksum.hpp"
#include "replay/issue/libc.hpp"
#include "replay/target/prepare.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

// The next version of made-up content is another recipe.
constexpr int kVersion = 1;

// A file, as the note has it. All of it has to be as it was for the file to be kept.
struct Entry {
  std::string recipe;
  std::uint64_t size = 0;
  std::int64_t written_ns = 0;  // time of the last write
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;  // of the last change to the inode
};
using Note = std::map<std::string, Entry, std::less<>>;  // by location

bool isRecipe(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Entries end with NUL: recipe, size, time of the last write, inode, time of the last change, and
// location, with a blank between two.
Note readNote(const fs::path& path) {
  std::error_code error;
  if (fs::symlink_status(path, error).type() != fs::file_type::regular) return {};
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Note note;
  for (std::size_t begin = 0, end = 0; (end = text.find('\0', begin)) != std::string::npos;
       begin = end + 1) {
    std::string_view rest = std::string_view(text).substr(begin, end - begin);
    const auto word = [&rest] {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      const std::string_view taken = rest.substr(0, blank);
      rest.remove_prefix(std::min(blank + 1, rest.size()));
      return taken;
    };
    Entry entry{.recipe = std::string(word())};
    const auto size = base::wholeNumber<std::uint64_t>(word());
    const auto written_ns = base::wholeNumber<std::int64_t>(word());
    const auto inode = base::wholeNumber<std::uint64_t>(word());
    const auto changed_ns = base::wholeNumber<std::int64_t>(word());
    const bool is_whole = size && written_ns && inode && changed_ns && !rest.empty();
    if (!isRecipe(entry.recipe) || !is_whole) continue;
    entry.size = *size;
    entry.written_ns = *written_ns;
    entry.inode = *inode;
    entry.changed_ns = *changed_ns;
    note.emplace(rest, std::move(entry));
  }
  return note;
}

base::Result<void> writeNote(const fs::path& path, const Note& note) {
  std::string text;
  for (const auto& [location, entry] : note) {
    text += fmt::format("{} {} {} {} {} {}", entry.recipe, entry.size, entry.written_ns,
                        entry.inode, entry.changed_ns, location);
    text += '\0';
  }
  const int fd = raw::openAt(AT_FDCWD, path.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return base::systemFailure(path, errno);
  const bool is_written = raw::writeWholeAt(fd, text.data(), text.size(), 0);
  const int error = errno;
  raw::closeFd(fd);
  if (!is_written) return base::systemFailure(path, error);
  return {};
}

// The directory and the name of a location in the tree; -1 where a directory is not there.
std::pair<int, std::string> openParent(const Tree& tree, const std::string& location) {
  const std::size_t slash = location.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : location.substr(0, slash);
  return {tree.openFile(parent, O_PATH | O_DIRECTORY),
          slash == std::string::npos ? location : location.substr(slash + 1)};
}

std::optional<Entry> factsOf(int directory, const std::string& name) {
  // An open has network file systems ask the server.
  const int fd =
      raw::openAt(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat facts {};
  const long status = raw::systemCall(SYS_fstat, fd, &facts);
  raw::closeFd(fd);
  if (status != 0 || !S_ISREG(facts.st_mode) || facts.st_nlink != 1) return std::nullopt;
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  const auto ns = [](const timespec& time) { return time.tv_sec * kNsPerS + time.tv_nsec; };
  return Entry{.recipe = {},
               .size = static_cast<std::uint64_t>(facts.st_size),
               .written_ns = ns(facts.st_mtim),
               .inode = facts.st_ino,
               .changed_ns = ns(facts.st_ctim)};
}

std::optional<Entry> factsIn(const Tree& tree, const std::string& location) {
  const auto [parent, name] = openParent(tree, location);
  if (parent < 0) return std::nullopt;
  std::optional<Entry> facts = factsOf(parent, name);
  raw::closeFd(parent);
  return facts;
}

// The facts that a rename leaves as they were. It sets the time of the last change: that one is
// compared before.
bool isSameFile(const Entry& now, const Entry& noted) {
  return now.size == noted.size && now.written_ns == noted.written_ns && now.inode == noted.inode;
}

// Modes, owners, attributes and further names change that time, and not that of the last write.
bool isAsNoted(const Entry& now, const Entry& noted) {
  return isSameFile(now, noted) && now.changed_ns == noted.changed_ns;
}

// The directory beside the tree, open; -1 and errno.
int openKept(const fs::path& target) {
  return raw::openAt(AT_FDCWD, (target / kKeptName).c_str(),
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int renameAt(int from, const std::string& name, int to, const std::string& new_name) {
  const long status = raw::systemCall(SYS_renameat2, from, name.c_str(), to, new_name.c_str(), 0U);
  return status == 0 ? 0 : errno;
}

// Moves a file that was put aside to its location. Returns an errno value, or 0.
int moveInto(const Tree& tree, const std::string& location, int kept, const std::string& name) {
  const auto [parent, last] = openParent(tree, location);
  if (parent < 0) return errno;
  const int error = renameAt(kept, name, parent, last);
  raw::closeFd(parent);
  return error;
}

// Whether a replay may keep the file: nothing but reads changes it.
bool isKeepable(const Plan& plan, std::size_t number) {
  const PlannedFile& file = plan.files[number];
  return file.origin == Origin::kKept && file.tree != kNodeTree && wantedSize(plan, file);
}

}  // namespace

std::string recipeOf(const Plan& plan, std::size_t number, const Content& content) {
  const PlannedFile& file = plan.files[number];
  std::string text = fmt::format("{} {} {} {} {}\n", kVersion, number,
                                 wantedSize(plan, file).value_or(0), file.size, file.lines);
  text.append(content.word()).append("\n").append(file.delimiters);
  for (const model::Hole& hole : file.holes) text += fmt::format("\n{}-{}", hole.begin, hole.end);
  const std::uint64_t ends = wire::checksum(reinterpret_cast<const char*>(file.line_ends.data()),
                                            file.line_ends.size() * sizeof(std::uint64_t));
  return fmt::format("{:016x}", base::mixed(wire::checksum(text.data(), text.size()), ends));
}

bool isOfKeptInputs(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::path name = entry.path().filename();
  const fs::file_type type = entry.symlink_status(error).type();
  return (name == kKeptName && type == fs::file_type::directory) ||
         (name == kInputsName && type == fs::file_type::regular);
}

base::Result<void> putInputsAside(const fs::path& target) {
  const Note note = readNote(target / kInputsName);
  if (note.empty()) return {};
  // One that is there was not finished: the note is moved last.
  if (raw::mkdirAt(AT_FDCWD, (target / kKeptName).c_str(), 0755) != 0 && errno != EEXIST) {
    return base::systemFailure(target / kKeptName, errno);
  }
  const int kept = openKept(target);
  if (kept < 0) return base::systemFailure(target / kKeptName, errno);
  const base::Result<Tree> tree = Tree::open(target / kTreeName);
  if (tree) {
    for (const auto& [location, entry] : note) {
      const auto [parent, name] = openParent(*tree, location);
      if (parent < 0) continue;
      const std::optional<Entry> now = factsOf(parent, name);
      if (now && isAsNoted(*now, entry)) renameAt(parent, name, kept, entry.recipe);
      raw::closeFd(parent);
    }
  }
  raw::closeFd(kept);
  std::error_code error;
  fs::rename(target / kInputsName, target / kKeptName / kInputsName, error);
  if (error) return base::systemFailure(target / kInputsName, error.value());
  return {};
}

void forgetInputs(const fs::path& target) {
  std::error_code ignored;
  fs::remove(target / kInputsName, ignored);
  fs::remove_all(target / kKeptName, ignored);  // removes links as such
}

base::Result<KeptInputs> takeInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                                    const Content& content) {
  KeptInputs inputs{.is_kept = std::vector<bool>(plan.files.size(), false), .remade = {}};
  for (std::uint32_t tree = 0; tree < targets.size(); ++tree) {
    const fs::path& target = targets[tree].directory;
    const int kept = openKept(target);
    if (kept < 0) continue;
    const Note note = readNote(target / kKeptName / kInputsName);
    Note taken;
    for (std::size_t i = 0; i < plan.files.size(); ++i) {
      const PlannedFile& file = plan.files[i];
      const auto noted = note.find(file.location);
      if (file.tree != tree || !isKeepable(plan, i) || noted == note.end()) continue;
      const std::string recipe = recipeOf(plan, i, content);
      const std::string name = base::printable(file.location);
      if (noted->second.recipe != recipe) {
        const std::uint64_t size = *wantedSize(plan, file);
        inputs.remade.push_back(
            noted->second.size != size
                ? fmt::format("{}: it had {} bytes, and has {} now", name, noted->second.size, size)
                : fmt::format("{}: its content is made otherwise now", name));
        continue;
      }
      const std::optional<Entry> now = factsOf(kept, recipe);
      if (!now || !isSameFile(*now, noted->second)) {
        inputs.remade.push_back(fmt::format("{}: it was changed since it was made", name));
        continue;
      }
      if (const int error = moveInto(trees[tree], file.location, kept, recipe)) {
        inputs.remade.push_back(fmt::format("{}: it could not be moved: {}", name,
                                            std::generic_category().message(error)));
        continue;
      }
      inputs.is_kept[i] = true;
      // Moving has set the time of the last change.
      if (auto entry = factsIn(trees[tree], file.location)) {
        entry->recipe = recipe;
        taken.emplace(file.location, std::move(*entry));
      }
    }
    raw::closeFd(kept);
    // At once: preparing the others may take long, and be interrupted.
    if (!taken.empty()) {
      const auto noted = writeNote(target / kInputsName, taken);
      if (!noted) return noted.failure();
    }
    std::error_code ignored;
    fs::remove_all(target / kKeptName, ignored);  // removes links as such
  }
  return inputs;
}

base::Result<void> noteInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                              const Content& content) {
  std::vector<Note> notes(targets.size());
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& file = plan.files[i];
    if (!isKeepable(plan, i)) continue;
    std::optional<Entry> entry = factsIn(trees[file.tree], file.location);
    if (!entry || entry->size != *wantedSize(plan, file)) continue;
    entry->recipe = recipeOf(plan, i, content);
    notes[file.tree].emplace(file.location, std::move(*entry));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (notes[i].empty()) continue;
    const auto written = writeNote(targets[i].directory / kInputsName, notes[i]);
    if (!written) return written.failure();
  }
  return {};
}

}  // namespace omnio::replay
