#include "ior_bridge/ior/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ior_bridge/ior/family_rate.hpp"

namespace omnio::ior {

std::string_view nameOf(Api api) { return api == Api::kMpiIo ? "MPIIO" : "POSIX"; }

std::uint64_t transfersOf(const IorRun& run) {
  const std::uint64_t all = run.segments * (run.block_bytes / run.transfer_bytes);
  return run.transfers_of_task == 0 ? all : std::min(all, run.transfers_of_task);
}

std::uint64_t offsetOf(const IorRun& run, int task, std::uint64_t n) {
  const std::uint64_t per_block = run.block_bytes / run.transfer_bytes;
  const std::uint64_t segment = n / per_block;
  const std::uint64_t block =
      run.file_per_process
          ? segment
          : segment * static_cast<std::uint64_t>(run.tasks) + static_cast<std::uint64_t>(task);
  return block * run.block_bytes + n % per_block * run.transfer_bytes;
}

std::string dataOf(const IorRun& run) { return (run.data.empty() ? run.name : run.data) + ".dat"; }
std::string summaryOf(const IorRun& run) { return run.name + ".json"; }

std::string argumentsOf(const IorRun& run) {
  std::string words = fmt::format("-a {}", nameOf(run.api));
  const auto flag = [&](bool wanted, const char* word) {
    if (wanted) words += fmt::format(" {}", word);
  };
  flag(run.writes, "-w");
  flag(run.reads, "-r");
  words += fmt::format(" -N {} -t {} -b {} -s {} -i {}", run.tasks, run.transfer_bytes,
                       run.block_bytes, run.segments, run.iterations);
  flag(run.file_per_process, "-F");
  flag(run.collective, "-c");
  flag(run.random, "-z");
  flag(run.fsync, "-e");
  flag(run.fsync_each, "-Y");
  flag(run.barriers, "-g");
  flag(run.keep, "-k");
  flag(run.reordered, "-C");
  flag(run.several_files, "-m");
  if (run.transfers_of_task > 0) {
    words += fmt::format(" -O stoneWallingWearOutIterations={}", run.transfers_of_task);
  }
  return words + fmt::format(" -o \"$DIR\"/{} -O summaryFile=\"$RESULTS\"/{} -O summaryFormat=JSON",
                             dataOf(run), summaryOf(run));
}

std::uint64_t roundedUp(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

namespace {

using model::nameOf;
using model::Operation;
using model::Phase;
using model::PhaseOperation;
using model::Series;

// IOR takes sizes in multiples of its own integer.
constexpr std::uint64_t kIorUnit = 8;
// A stream of the C library gathers this much before it writes, unless the file system says else.
constexpr std::uint64_t kStreamBuffer = 4096;

// Why the first cannot be done by the start that is the second; empty where it can.
std::string whyApart(const IorRun& a, const IorRun& b) {
  if (a.file != b.file) return fmt::format("its file is not that of {}", b.name);
  for (const auto& [name, one, other] :
       std::initializer_list<std::tuple<const char*, std::uint64_t, std::uint64_t>>{
           {"-N", static_cast<std::uint64_t>(a.tasks), static_cast<std::uint64_t>(b.tasks)},
           {"-t", a.transfer_bytes, b.transfer_bytes},
           {"-b", a.block_bytes, b.block_bytes},
           {"-s", a.segments, b.segments}}) {
    if (one != other) return fmt::format("{} is {}, and {} in {}", name, one, other, b.name);
  }
  const auto how = [](const IorRun& run) {
    return std::tie(run.api, run.file_per_process, run.collective, run.random, run.filled,
                    run.transfers_of_task, run.hints);
  };
  if (how(a) != how(b)) return fmt::format("its calls, order or hints are not those of {}", b.name);
  const bool is_other_sync = a.fsync != b.fsync || a.fsync_each != b.fsync_each;
  if (a.writes && b.writes && is_other_sync) {
    return fmt::format("it syncs at other times than {}", b.name);
  }
  return "";
}

class FamilyPlanner {
 public:
  FamilyPlanner(const model::PhaseModel& model, Series phases, IorPlan& plan)
      : model_(model),
        plan_(plan),
        first_(*phases.front()),
        shared_(model.files[static_cast<std::size_t>(first_.file)].shared),
        tasks_(first_.ranks.size()) {
    family_.phases = std::move(phases);
    std::set<int> files;
    for (const Phase* phase : family_.phases) files.insert(phase->file);
    files_ = files.size();
    // A start has the phases of one file; what it measures counts for the others, too.
    for (const Phase* phase : family_.phases) {
      if (phase->file == first_.file) in_run_.push_back(phase);
    }
  }

  FamilyPlan plan() {
    sayWhatHoldsForAll();
    for (std::size_t i = 0; i < first_.operations.size(); ++i) {
      const IorRun run = runOf(i);
      sayOffsets(i, run);
      sayBytes(i, run);
      family_.runs.push_back(startOf(run, i));
    }
    return std::move(family_);
  }

 private:
  template <typename... T>
  void say(fmt::format_string<T...> format, T&&... values) {
    std::string sentence = fmt::format(format, std::forward<T>(values)...);
    auto& said = family_.approximations;
    if (std::find(said.begin(), said.end(), sentence) == said.end()) said.push_back(sentence);
  }

  Api api() const {
    return plan_.options.api.value_or(first_.interface == model::Interface::kMpiIo ? Api::kMpiIo
                                                                                   : Api::kPosix);
  }

  bool isStream() const { return first_.interface == model::Interface::kStdio; }
  bool isRandom() const { return first_.mode == model::AccessMode::kRandom; }

  void sayWhatHoldsForAll() {
    const bool mpi_io = first_.interface == model::Interface::kMpiIo;
    if (mpi_io && api() == Api::kPosix) say("the phase's MPI-IO calls are run as POSIX calls");
    if (!mpi_io && api() == Api::kMpiIo) say("the phase's POSIX calls are run as MPI-IO calls");
    if (first_.collective && api() == Api::kPosix)
      say("its collective calls are run by themselves");
    if (isStream()) say("buffered streams are run as the unbuffered calls that they end in");
    if (!first_.blocking) say("its nonblocking calls are run as blocking ones");
    if (first_.pointer == model::PointerKind::kShared) {
      say("its shared file pointer is run with the offsets that IOR gives each task");
    }
    if (first_.has_view) say("its file view is run with offsets given in each call");
    if (tasks_ != static_cast<std::size_t>(model_.processes)) {
      say("{} of {} processes take part; IOR starts {} tasks, wherever the launcher puts them",
          tasks_, model_.processes, tasks_);
    }
    if (first_.operations.size() > 1) {
      say("its {} operations take turns; IOR runs one after the other, and their times add",
          first_.operations.size());
    }
    if (first_.opened.atomic) say("its file is atomic (MPI_File_set_atomicity), IOR's is not");
    if (files_ > 1) {
      say("its {} phases are of {} files{}; IOR runs one file, whose time counts for each",
          family_.phases.size(), files_,
          in_run_.size() * files_ == family_.phases.size() ? "" : ", not as many in each");
    }
  }

  // A request size that IOR takes.
  std::uint64_t transferOf(const PhaseOperation& operation) {
    const std::uint64_t size = operation.request_bytes;
    if (operation.varying) {
      say("the {}s are of {} to {} bytes, IOR's all of one size", nameOf(operation.operation),
          operation.smallest_bytes, operation.largest_bytes);
    }
    if (isStream() && size < kStreamBuffer) {
      say("requests of {} bytes reach the storage a buffer at a time: IOR transfers {} bytes", size,
          kStreamBuffer);
      return kStreamBuffer;
    }
    const std::uint64_t taken = roundedUp(std::max<std::uint64_t>(size, 1), kIorUnit);
    if (taken != size) {
      say("requests of {} bytes are run as {}: IOR takes multiples of {}", size, taken, kIorUnit);
    }
    return taken;
  }

  // Sums the phases of one start, over all processes.
  std::uint64_t weightInRun(std::size_t index) const {
    std::uint64_t bytes = 0;
    for (const Phase* phase : in_run_) bytes += weightOf(*phase, phase->operations[index]);
    return bytes;
  }

  IorRun runOf(std::size_t index) {
    const PhaseOperation& operation = first_.operations[index];
    IorRun run;
    run.file = first_.file;
    run.api = api();
    (operation.operation == Operation::kWrite ? run.writes : run.reads) = true;
    run.tasks = static_cast<int>(tasks_);
    run.file_per_process = !shared_;
    run.collective = first_.collective && run.api == Api::kMpiIo;
    run.barriers = true;
    run.iterations = plan_.options.iterations;
    if (run.api == Api::kMpiIo) run.hints = first_.opened.hints;
    run.transfer_bytes = transferOf(operation);
    setRegion(index, run);
    if (run.writes) {
      setFsync(index, run);
      if (isOverwriting(index)) {
        say("the writes replace what the application wrote before, IOR's make a file");
      }
    } else if (!isWrittenBefore() || (run.random && run.file_per_process)) {
      // In files of each process, IOR reads at other random offsets than it wrote at.
      run.filled = run.several_files = true;
      run.cold = !isWrittenBefore();
    }
    return run;
  }

  void setRegion(std::size_t index, IorRun& run) {
    const PhaseOperation& operation = first_.operations[index];
    const std::uint64_t phases = in_run_.size();
    const auto rs = static_cast<std::int64_t>(operation.request_bytes);
    // Whole transfers, so that IOR moves at least what the process that moved most did.
    const auto blocksOf = [&](std::uint64_t bytes) {
      return roundedUp(std::max<std::uint64_t>(bytes, 1), run.transfer_bytes);
    };
    const std::uint64_t weight = (weightInRun(index) + tasks_ - 1) / tasks_;
    run.block_bytes = blocksOf(weight);
    if (isRandom()) {
      if (run.collective) return say("its order is random, and IOR's collective calls have none");
      setRandom(index, run);
      return;
    }
    if (!operation.nested.empty() || operation.varying) return;
    if (shared_ && tasks_ > 1 && operation.repetitions > 1 && operation.displacement_bytes > rs) {
      run.block_bytes = run.transfer_bytes;
      run.segments = operation.repetitions * phases;
    } else if (phases > 1 &&
               usualStep(index) != static_cast<std::int64_t>(operation.repetitions) * rs) {
      // Each phase is a segment; else the phases of a process are one block.
      run.block_bytes = blocksOf(operation.repetitions * run.transfer_bytes);
      run.segments = phases;
    }
  }

  // Over the extent of the file, of which the phase moves a part.
  void setRandom(std::size_t index, IorRun& run) {
    const std::uint64_t extent = model_.files[static_cast<std::size_t>(first_.file)].size_bytes;
    const std::uint64_t requests = run.block_bytes / run.transfer_bytes;
    const std::uint64_t sharers = run.file_per_process ? 1 : tasks_;
    run.block_bytes =
        std::max(run.block_bytes, roundedUp((extent + sharers - 1) / sharers, run.transfer_bytes));
    run.random = run.block_bytes > run.transfer_bytes;
    if (!run.random) return;
    if (requests < run.block_bytes / run.transfer_bytes) run.transfers_of_task = requests;
    say("the {}s are at random over the {} bytes of the file; IOR deals out by lot which of them a "
        "task does, none of them twice, and in which order",
        nameOf(first_.operations[index].operation), extent);
  }

  // From a phase to the next one in the same file, as it is most often.
  std::int64_t usualStep(std::size_t index) const {
    std::map<std::int64_t, std::size_t> times;
    for (std::size_t i = 1; i < in_run_.size(); ++i) {
      ++times[baseOf(i, index) - baseOf(i - 1, index)];
    }
    const auto most = std::ranges::max_element(
        times, {}, [](const auto& step_and_times) { return step_and_times.second; });
    return most == times.end() ? 0 : most->first;
  }

  std::int64_t baseOf(std::size_t phase, std::size_t index) const {
    return in_run_[phase]->operations[index].init_offset.at(first_.ranks.front());
  }

  // Where the writes go, the application wrote before: up to the end of the last one, at least.
  bool isOverwriting(std::size_t index) const {
    const auto endOf = [](const Phase& phase, const PhaseOperation& operation) {
      std::int64_t end = 0;
      for (const int rank : phase.ranks) {
        end = std::max(end, operation.init_offset.at(rank));
      }
      const auto turns = static_cast<std::int64_t>(operation.repetitions) - 1;
      return end + turns * operation.displacement_bytes;
    };
    std::int64_t before = -1;
    for (const Phase& phase : model_.phases) {
      if (phase.id >= first_.id || phase.file != first_.file) continue;
      for (const PhaseOperation& operation : phase.operations) {
        if (operation.operation != Operation::kWrite) continue;
        before = std::max(before, endOf(phase, operation));
      }
    }
    return endOf(*in_run_.back(), in_run_.back()->operations[index]) <= before;
  }

  void setFsync(std::size_t index, IorRun& run) {
    run.fsync = plan_.options.fsync == Fsync::kAlways;
    if (plan_.options.fsync != Fsync::kModel) return;
    const std::uint64_t syncs = callsOf(family_.phases).syncs;
    if (syncs == 0) return;
    std::uint64_t requests = 0;
    for (const Phase* phase : family_.phases) {
      requests += requestsOf(*phase, phase->operations[index]);
    }
    run.fsync_each = syncs >= requests && requests > tasks_ * files_;
    run.fsync = !run.fsync_each;
    const std::uint64_t once = tasks_ * files_;
    if (run.fsync && syncs > once) {
      say("the processes sync {} times, IOR {} times", syncs, once);
    }
  }

  // The application wrote the file that it reads, so that its pages may be in memory.
  bool isWrittenBefore() const {
    return std::ranges::any_of(model_.phases, [this](const Phase& phase) {
      return phase.id <= first_.id && phase.file == first_.file &&
             std::ranges::any_of(phase.operations, [](const PhaseOperation& operation) {
               return operation.operation == Operation::kWrite;
             });
    });
  }

  // The start that does this: an earlier one, or a new one.
  std::size_t startOf(IorRun run, std::size_t index) {
    std::string why;  // not an earlier one: the last on the same file, if any is
    for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
      IorRun& other = plan_.runs[i];
      const std::string apart = whyApart(run, other);
      if (!apart.empty()) {
        if (why.empty() || other.file == run.file) why = apart;
        continue;
      }
      other.writes = other.writes || run.writes;
      other.reads = other.reads || run.reads;
      return i;
    }
    if (!why.empty()) {
      family_.remarks.push_back(fmt::format("its {} is a start of its own: {}",
                                            nameOf(first_.operations[index].operation), why));
    }
    run.name = fmt::format("phase-{}", first_.id);
    if (index > 0) run.name += fmt::format("-{}", index + 1);
    // It reads what it has just written, as the application does.
    if (run.reads && !run.filled) run.writes = true;
    plan_.runs.push_back(std::move(run));
    return plan_.runs.size() - 1;
  }

  void sayOffsets(std::size_t index, const IorRun& run) {
    if (isRandom()) return;  // said already
    const PhaseOperation& operation = first_.operations[index];
    const std::string_view name = nameOf(operation.operation);
    if (!operation.init_offset.known) {
      say("where the {}s go in the file is not known; IOR's tasks do theirs one behind another",
          name);
      return;
    }
    if (operation.several_blocks) {
      say("the {}s are of several blocks of the view, IOR's of one", name);
    }
    if (!operation.nested.empty()) {
      say("the {}s of a process are nested strides; IOR's are in one block", name);
      return;
    }
    const bool is_exact = run.transfer_bytes == operation.request_bytes && !operation.varying;
    const auto begin = [&run](std::uint64_t n) {
      return static_cast<std::int64_t>(offsetOf(run, 0, n));
    };
    if (operation.repetitions > 1 && is_exact && operation.displacement_bytes != begin(1)) {
      say("the {}s of a process begin {} bytes apart, IOR's {}", name, operation.displacement_bytes,
          begin(1));
    }
    const std::optional<std::int64_t> step = model::stepOf(in_run_, index);
    if (in_run_.size() > 1 && is_exact && step != begin(operation.repetitions)) {
      say("the {}s of a phase begin {} those of the phase before, IOR's {}", name,
          step ? fmt::format("{} bytes after", *step) : "at no constant distance from",
          begin(operation.repetitions));
    }
    for (std::size_t task = 0; task < tasks_; ++task) {
      const std::int64_t own = operation.init_offset.at(first_.ranks[task]);
      const auto given = static_cast<std::int64_t>(offsetOf(run, static_cast<int>(task), 0));
      if (own == given) continue;
      say("process {} begins to {} at offset {}, IOR's task {} at {}", first_.ranks[task], name,
          own, task, given);
      break;
    }
  }

  void sayBytes(std::size_t index, const IorRun& run) {
    const std::uint64_t run_bytes = transfersOf(run) * run.transfer_bytes * tasks_;
    if (run_bytes == weightInRun(index)) return;
    say("the processes {} {} bytes, IOR {}", nameOf(first_.operations[index].operation),
        weightInRun(index), run_bytes);
  }

  const model::PhaseModel& model_;
  IorPlan& plan_;
  const Phase& first_;
  bool shared_;
  std::size_t tasks_;
  std::size_t files_ = 1;
  Series in_run_;  // the phases that one start does
  FamilyPlan family_;
};

}  // namespace

IorPlan planFor(const model::PhaseModel& model, const PlanOptions& options) {
  IorPlan plan{.source = model.source,
               .model = model::digestOf(model),
               .options = options,
               .runs = {},
               .families = {}};
  for (Series& family : model::seriesOf(model)) {
    if (!family.front()->isMetadata()) {
      plan.families.push_back(FamilyPlanner(model, std::move(family), plan).plan());
      continue;
    }
    MdtestPlan mdtest = mdtestFor(model, *family.front(), options.iterations);
    plan.families.push_back({.phases = std::move(family),
                             .runs = {},
                             .mdtest = std::move(mdtest.run),
                             .remarks = {},
                             .approximations = std::move(mdtest.approximations)});
  }
  return plan;
}

}  // namespace omnio::ior
