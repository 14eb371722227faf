#include "ior_bridge/ior/mdtest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"

namespace omnio::ior {
namespace {

using calls::Class;
using calls::Effect;

constexpr std::string_view kDirectoryCreation = "Directory creation";
constexpr std::string_view kDirectoryStat = "Directory stat";
constexpr std::string_view kDirectoryRename = "Directory rename";
constexpr std::string_view kDirectoryRemoval = "Directory removal";
constexpr std::string_view kFileCreation = "File creation";
constexpr std::string_view kFileStat = "File stat";
constexpr std::string_view kFileRead = "File read";
constexpr std::string_view kFileRemoval = "File removal";

// The calls of a phase by what they are to mdtest.
struct Work {
  std::uint64_t made_files = 0;
  std::uint64_t opened_files = 0;  // that are there
  std::uint64_t looks = 0;
  std::uint64_t removed_files = 0;
  std::uint64_t made_directories = 0;
  std::uint64_t renames = 0;
  std::uint64_t removed_directories = 0;
  std::vector<std::string> as_creation;  // "12 symlink": run as the creation of files
  std::vector<std::string> as_stat;      // the same
  std::vector<std::string> left_out;
};

Work workOf(const model::Phase& phase) {
  Work work;
  std::uint64_t opens = 0;
  for (const auto& [name, count] : phase.calls) {
    const calls::Row* row = calls::rowNamed(name);
    const std::string text = fmt::format("{} {}", count, name);
    if (row == nullptr) {
      work.left_out.push_back(text);
    } else if (calls::does(*row, Effect::kMakesDirectory)) {
      work.made_directories += count;
    } else if (calls::does(*row, Effect::kRemovesDirectory)) {
      work.removed_directories += count;
    } else if (calls::does(*row, Effect::kRenames)) {
      work.renames += count;
    } else if (calls::does(*row, Effect::kMakesName)) {
      work.made_files += count;
      if (!calls::does(*row, Effect::kMakesNode)) work.as_creation.push_back(text);
    } else if (calls::does(*row, Effect::kRemovesName)) {
      work.removed_files += count;
    } else if (row->call_class == Class::kOpen) {
      opens += count;
    } else if (row->call_class == Class::kClose) {
      continue;  // part of the step that opened
    } else if (calls::does(*row, Effect::kSeesSize)) {
      work.looks += count;
    } else if (row->call_class == Class::kMetadata && calls::has(*row, calls::Role::kPath)) {
      work.looks += count;
      work.as_stat.push_back(text);
    } else {
      work.left_out.push_back(text);
    }
  }
  work.made_files += phase.metadata.creates;
  work.opened_files += opens - std::min(opens, phase.metadata.creates);
  return work;
}

}  // namespace

MdtestPlan mdtestFor(const model::PhaseModel& model, const model::Phase& phase, int iterations) {
  const Work work = workOf(phase);
  const std::uint64_t tasks = phase.ranks.size();
  const bool is_shared = model.files[static_cast<std::size_t>(phase.file)].shared;
  MdtestPlan plan;
  MdtestRun& run = plan.run;
  run.tasks = static_cast<int>(tasks);
  run.unique = !is_shared && tasks > 1;
  run.iterations = iterations;
  run.name = fmt::format("phase-{}", phase.id);
  run.directories = work.made_directories + work.removed_directories + work.renames > 0;
  run.files = work.made_files + work.opened_files + work.removed_files > 0 || !run.directories;
  run.stats = work.looks > 0;
  run.reads = work.opened_files > 0;
  run.renames = work.renames > 0;
  std::uint64_t most = 0;
  const auto step = [&](std::string_view row, std::uint64_t items) {
    if (items == 0) return;
    run.steps.push_back({row, items});
    most = std::max(most, items);
  };
  step(kDirectoryCreation, work.made_directories);
  // Where both are made, what was looked at is taken for files.
  if (!run.files) step(kDirectoryStat, work.looks);
  step(kDirectoryRename, work.renames);
  step(kDirectoryRemoval, work.removed_directories);
  step(kFileCreation, work.made_files);
  if (run.files) step(kFileStat, work.looks);
  step(kFileRead, work.opened_files);
  step(kFileRemoval, work.removed_files);

  const std::uint64_t items = std::max<std::uint64_t>((most + tasks - 1) / tasks, 1);
  const std::uint64_t sharers = run.unique ? tasks : 1;
  run.directories_in_tree =
      std::max<std::uint64_t>((phase.metadata.directories + sharers - 1) / sharers, 1);
  run.items = (items + run.directories_in_tree - 1) / run.directories_in_tree;

  const auto say = [&plan](std::string sentence) {
    plan.approximations.push_back(std::move(sentence));
  };
  if (tasks != static_cast<std::uint64_t>(model.processes)) {
    say(
        fmt::format("{} of {} processes take part; mdtest has {} tasks, wherever the launcher puts "
                    "them",
                    tasks, model.processes, tasks));
  }
  if (run.steps.size() > 1) {
    say(
        fmt::format("its {} steps may take turns; mdtest runs one after the other, and their times "
                    "add",
                    run.steps.size()));
  }
  if (run.directories_in_tree > 1) {
    say(fmt::format("its {} directories are leaves of a tree of depth 1, with as many items each",
                    phase.metadata.directories));
  }
  const auto list = [](const std::vector<std::string>& calls) {
    return fmt::format("{}", fmt::join(calls, ", "));
  };
  if (run.renames && run.files) say("names are renamed as directories");
  if (!work.as_creation.empty()) say(list(work.as_creation) + ": run as the creation of files");
  if (!work.as_stat.empty()) say(list(work.as_stat) + ": run as stat");
  if (!work.left_out.empty()) say(list(work.left_out) + ": not run");
  return plan;
}

std::vector<std::string> argumentsOf(const MdtestRun& run) {
  std::vector<std::string> words;
  const auto flag = [&](bool wanted, const char* word) {
    if (wanted) words.emplace_back(word);
  };
  const auto number = [&](const char* option, std::uint64_t value) {
    words.insert(words.end(), {option, fmt::format("{}", value)});
  };
  flag(!run.directories, "-F");
  flag(!run.files, "-D");
  words.emplace_back("-C");
  flag(run.stats, "-T");
  flag(run.renames, "-U");
  flag(run.reads, "-E");
  words.emplace_back("-r");
  if (run.directories_in_tree > 1) {
    number("-b", run.directories_in_tree);
    number("-z", 1);
    words.emplace_back("-L");
    number("-I", run.items);
  } else {
    number("-n", run.items);
  }
  flag(run.unique, "-u");
  number("-i", static_cast<std::uint64_t>(run.iterations));
  words.insert(words.end(), {"-d", "\"$DIR\""});
  return words;
}

std::string outputOf(const MdtestRun& run) { return run.name + ".txt"; }

std::string commandLineOf(const MdtestRun& run) {
  return fmt::format("mdtest {} > \"$RESULTS\"/{}", fmt::join(argumentsOf(run), " "),
                     outputOf(run));
}

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;
constexpr std::string_view kHeading = "SUMMARY rate";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r:";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// "   File creation     : 12.000 11.000 11.500 0.500": the name, and its numbers.
std::optional<std::pair<std::string, std::vector<double>>> rowIn(std::string_view line) {
  const std::size_t first = line.find_first_of("0123456789");
  if (first == std::string_view::npos || first == 0) return {};
  std::vector<double> numbers;
  std::string_view rest = line.substr(first);
  while (!(rest = trimmed(rest)).empty()) {
    double value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) return {};
    numbers.push_back(value);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  return std::pair(std::string(trimmed(line.substr(0, first))), std::move(numbers));
}

}  // namespace

base::Result<MdtestSummary> readMdtest(const std::filesystem::path& path) {
  const base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const std::string name = base::printable(path.native());
  if (file->size() > kMaxBytes) {
    return base::failure(base::Code::kNotOurs, "{}: {} bytes; mdtest prints at most {}", name,
                         file->size(), kMaxBytes);
  }
  std::string text(file->size(), '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  const std::size_t heading = text.rfind(kHeading);
  if (heading == std::string::npos) {
    return base::failure(base::Code::kNotOurs,
                         "{}: it has no \"{}\", which mdtest prints at its end: not a result of "
                         "mdtest, or the run was aborted",
                         name, kHeading);
  }
  MdtestSummary summary;
  std::string_view rest = std::string_view(text).substr(heading);
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (is_first) {
      // "SUMMARY rate (in ops/sec): (of 3 iterations)"
      const std::size_t of = line.find("(of ");
      int iterations = 0;
      if (of != std::string_view::npos) {
        std::from_chars(line.data() + of + 4, line.data() + line.size(), iterations);
      }
      summary.iterations = std::max(iterations, 1);
      continue;
    }
    const auto row = rowIn(line);
    if (!row || row->second.size() < 3) continue;
    const MdtestRate rate{.most = row->second[0], .least = row->second[1], .mean = row->second[2]};
    if (std::isfinite(rate.most) && std::isfinite(rate.mean) && rate.least > 0) {
      summary.rates.emplace(row->first, rate);
    }
  }
  return summary;
}

}  // namespace omnio::ior
