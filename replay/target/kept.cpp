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
#include <variant>

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

// A file, as the note has it. All of it has to be as it was for the file to be kept, and no file
// has it all again once it was changed: an entry that is out of date does no harm.
struct Entry {
  std::string recipe;
  std::uint64_t size = 0;
  std::int64_t written_ns = 0;  // time of the last write
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;  // of the last change to the inode
};
// By location. A file that was moved has an entry for the time before and one for the time after.
using Note = std::multimap<std::string, Entry, std::less<>>;

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

std::string entryText(const std::string& location, const Entry& entry) {
  return fmt::format("{} {} {} {} {} {}", entry.recipe, entry.size, entry.written_ns, entry.inode,
                     entry.changed_ns, location) +
         '\0';
}

base::Result<void> writeNote(const fs::path& target, const Note& note) {
  std::string text;
  for (const auto& [location, entry] : note) text += entryText(location, entry);
  const fs::path path = target / kNewInputsName;
  const int fd = raw::openAt(AT_FDCWD, path.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return base::systemFailure(path, errno);
  const bool is_written = raw::writeWholeAt(fd, text.data(), text.size(), 0);
  const int error = errno;
  raw::closeFd(fd);
  if (!is_written) return base::systemFailure(path, error);
  if (raw::renameAt(AT_FDCWD, path.c_str(), AT_FDCWD, (target / kInputsName).c_str()) != 0) {
    return base::systemFailure(path, errno);
  }
  return {};
}

// Adds entries to the note of a target, each at once.
class NoteAppender {
 public:
  explicit NoteAppender(const fs::path& target) : path_(target / kInputsName) {}
  NoteAppender(const NoteAppender&) = delete;
  NoteAppender& operator=(const NoteAppender&) = delete;
  ~NoteAppender() {
    if (fd_ >= 0) raw::closeFd(fd_);
  }

  base::Result<void> append(const std::string& location, const Entry& entry) {
    if (fd_ < 0) {
      fd_ = raw::openAt(AT_FDCWD, path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
      const std::int64_t end = fd_ < 0 ? -1 : raw::seek(fd_, 0, SEEK_END);
      if (end < 0) return base::systemFailure(path_, errno);
      end_ = static_cast<std::uint64_t>(end);
    }
    // The first byte ends an entry of which a kill has left a part.
    const std::string text = '\0' + entryText(location, entry);
    if (!raw::writeWholeAt(fd_, text.data(), text.size(), end_)) {
      return base::systemFailure(path_, errno);
    }
    end_ += text.size();
    return {};
  }

 private:
  const fs::path path_;
  int fd_ = -1;
  std::uint64_t end_ = 0;
};

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

// Modes, owners, attributes and further names change the last of these, and not the time of the
// last write. So does moving the file, but not moving a directory that it is in.
bool isAsNoted(const Entry& now, const Entry& noted) {
  return now.size == noted.size && now.written_ns == noted.written_ns && now.inode == noted.inode &&
         now.changed_ns == noted.changed_ns;
}

// The trees that were put aside: one, and more where replays were killed before they had taken
// what they wanted.
std::vector<Tree> treesAside(const fs::path& target) {
  std::vector<Tree> trees;
  std::error_code error;
  for (fs::directory_iterator entry(target / kKeptName, error), end; !error && entry != end;
       entry.increment(error)) {
    if (base::Result<Tree> tree = Tree::open(entry->path())) trees.push_back(std::move(*tree));
  }
  return trees;
}

base::Result<void> removeAside(const fs::path& target) {
  std::error_code error;
  fs::remove_all(target / kKeptName, error);  // removes links as such
  if (error) return base::systemFailure(target / kKeptName, error.value(), "cannot remove");
  return {};
}

// Returns an errno value, or 0.
int moveFile(const Tree& from, const Tree& to, const std::string& location) {
  const auto [old_parent, name] = openParent(from, location);
  if (old_parent < 0) return errno;
  const auto [parent, same_name] = openParent(to, location);
  const bool is_moved =
      parent >= 0 && raw::renameAt(old_parent, name.c_str(), parent, name.c_str()) == 0;
  const int error = is_moved ? 0 : errno;
  raw::closeFd(old_parent);
  if (parent >= 0) raw::closeFd(parent);
  return error;
}

// Moves a file that was kept to its location in the new tree. Returns its facts there, or why it is
// made anew.
std::variant<Entry, std::string> takeInput(const std::vector<Tree>& aside, const Tree& tree,
                                           const std::string& location, const Note& note,
                                           const std::string& recipe, std::uint64_t size) {
  const auto [first, last] = note.equal_range(location);
  const auto is_wanted = [&recipe](const auto& noted) { return noted.second.recipe == recipe; };
  if (std::none_of(first, last, is_wanted)) {
    const std::uint64_t old_size = first->second.size;
    return old_size != size ? fmt::format("it had {} bytes, and has {} now", old_size, size)
                            : std::string("its content is made otherwise now");
  }
  for (const Tree& old : aside) {
    std::optional<Entry> now = factsIn(old, location);
    const auto is_same = [&](const auto& noted) {
      return is_wanted(noted) && isAsNoted(*now, noted.second);
    };
    if (!now || std::none_of(first, last, is_same)) continue;
    if (const int error = moveFile(old, tree, location)) {
      return "it could not be moved: " + std::generic_category().message(error);
    }
    // Moving has set the time of the last change.
    now = factsIn(tree, location);
    if (!now) break;
    now->recipe = recipe;
    return std::move(*now);
  }
  return "it was changed since it was made";
}

// Whether a replay may keep the file: nothing but reads changes it.
bool isKeepable(const Plan& plan, std::size_t number) {
  const PlannedFile& file = plan.files[number];
  return file.origin == Origin::kKept && !isTreeOfNode(file.tree) && wantedSize(plan, file);
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
         ((name == kInputsName || name == kNewInputsName) && type == fs::file_type::regular);
}

namespace {

// Removes the files of trees that were put aside which no note knows. They are of no use, and a
// target that they fill has no room for the new tree.
void removeUnknown(const fs::path& aside, const Note& note) {
  std::error_code ignored;
  std::error_code error;
  for (fs::directory_iterator tree(aside, error), end; !error && tree != end;
       tree.increment(error)) {
    std::error_code reading;
    for (fs::recursive_directory_iterator at(tree->path(), reading), none; !reading && at != none;
         at.increment(reading)) {
      if (fs::is_directory(at->symlink_status(ignored))) continue;
      const std::string location = at->path().lexically_relative(tree->path()).native();
      if (!note.contains(location)) fs::remove(at->path(), ignored);
    }
  }
}

}  // namespace

base::Result<void> putInputsAside(const fs::path& target) {
  const Note note = readNote(target / kInputsName);
  if (note.empty()) return {};
  const fs::path aside = target / kKeptName;
  if (raw::mkdirAt(AT_FDCWD, aside.c_str(), 0755) != 0 && errno != EEXIST) {
    return base::systemFailure(aside, errno);
  }
  const fs::path tree = target / kTreeName;
  int error = EEXIST;
  for (int number = 1; error == EEXIST || error == ENOTEMPTY; ++number) {
    const fs::path name = aside / std::to_string(number);
    error = raw::renameAt(AT_FDCWD, tree.c_str(), AT_FDCWD, name.c_str()) == 0 ? 0 : errno;
  }
  if (error == 0) {
    removeUnknown(aside, note);
    return {};
  }
  raw::systemCall(SYS_unlinkat, AT_FDCWD, aside.c_str(), AT_REMOVEDIR);  // if it is empty
  // As where directories have got another project id (EXDEV).
  return base::failure(base::Code::kSystem,
                       "{} cannot be moved to {}, from where --inputs keep takes the inputs: {}; "
                       "replay once with --inputs make",
                       base::printable(tree.native()), base::printable(aside.native()),
                       std::generic_category().message(error));
}

base::Result<void> forgetInputs(const fs::path& target) {
  std::error_code ignored;
  fs::remove(target / kInputsName, ignored);
  fs::remove(target / kNewInputsName, ignored);
  return removeAside(target);
}

base::Result<KeptInputs> takeInputs(const Targets& targets, const Plan& plan, const Trees& trees,
                                    const Content& content) {
  KeptInputs inputs{.is_kept = std::vector<bool>(plan.files.size(), false), .remade = {}};
  for (std::uint32_t tree = 0; tree < targets.size(); ++tree) {
    const fs::path& target = targets[tree].directory;
    const std::vector<Tree> aside = treesAside(target);
    if (aside.empty()) continue;
    const Note note = readNote(target / kInputsName);
    NoteAppender appender(target);
    for (std::size_t i = 0; i < plan.files.size(); ++i) {
      const PlannedFile& file = plan.files[i];
      if (file.tree != tree || !isKeepable(plan, i) || !note.contains(file.location)) continue;
      const auto taken = takeInput(aside, trees[tree], file.location, note,
                                   recipeOf(plan, i, content), *wantedSize(plan, file));
      if (const auto* why_not = std::get_if<std::string>(&taken)) {
        inputs.remade.push_back(base::printable(file.location) + ": " + *why_not);
        continue;
      }
      // At once: whenever this replay is killed, the next one finds what was moved so far. On a
      // full disk it may not; the whole note comes later.
      (void)appender.append(file.location, std::get<Entry>(taken));
      inputs.is_kept[i] = true;
    }
  }
  // Before other files are made, which may need the room.
  for (const Target& target : targets) {
    if (const auto removed = removeAside(target.directory); !removed) return removed.failure();
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
    const fs::path& target = targets[i].directory;
    const auto written = notes[i].empty() ? forgetInputs(target) : writeNote(target, notes[i]);
    if (!written) return written.failure();
  }
  return {};
}

}  // namespace omnio::replay
