#include "ior_bridge/ior/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnio::ior {

std::string_view nameOf(Api api) { return api == Api::kMpiIo ? "MPIIO" : "POSIX"; }

std::uint64_t transfersOf(const IorRun& run) {
  return run.segments * (run.block_bytes / run.transfer_bytes);
}

std::uint64_t bytesOf(const IorRun& run) { return run.segments * run.block_bytes; }

std::uint64_t offsetOf(const IorRun& run, int task, std::uint64_t n) {
  const std::uint64_t per_block = run.block_bytes / run.transfer_bytes;
  const std::uint64_t segment = n / per_block;
  const std::uint64_t block =
      run.file_per_process
          ? segment
          : segment * static_cast<std::uint64_t>(run.tasks) + static_cast<std::uint64_t>(task);
  return block * run.block_bytes + n % per_block * run.transfer_bytes;
}

bool isOneStartEach(const IorRun& run) { return run.cold || run.apart; }

std::string summaryOf(const IorRun& run) {
  return run.name + (isOneStartEach(run) ? ".$i.json" : ".json");
}

std::vector<std::string> argumentsOf(const IorRun& run) {
  std::vector<std::string> words = {"-a", std::string(nameOf(run.api)),
                                    run.operation == model::Operation::kWrite ? "-w" : "-r"};
  const auto flag = [&](bool wanted, const char* word) {
    if (wanted) words.emplace_back(word);
  };
  const auto number = [&](const char* option, std::uint64_t value) {
    words.insert(words.end(), {option, fmt::format("{}", value)});
  };
  number("-N", static_cast<std::uint64_t>(run.tasks));
  number("-t", run.transfer_bytes);
  number("-b", run.block_bytes);
  number("-s", run.segments);
  number("-i", isOneStartEach(run) ? 1 : static_cast<std::uint64_t>(run.iterations));
  flag(run.file_per_process, "-F");
  flag(run.collective, "-c");
  flag(run.random, "-z");
  flag(run.fsync, "-e");
  flag(run.keep, "-k");
  flag(run.reordered, "-C");
  words.insert(words.end(),
               {"-o", fmt::format("\"$DIR\"/{}.dat", run.data.empty() ? run.name : run.data)});
  if (run.measured) {
    words.insert(words.end(),
                 {"-O", "summaryFile=\"$RESULTS\"/" + summaryOf(run), "-O", "summaryFormat=JSON"});
  }
  return words;
}

std::string commandLineOf(const IorRun& run) {
  return fmt::format("ior {}", fmt::join(argumentsOf(run), " "));
}

std::uint64_t roundedUp(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

namespace {

using model::nameOf;
using model::Operation;
using model::Phase;
using model::PhaseOperation;

// IOR takes sizes in multiples of its own integer.
constexpr std::uint64_t kIorUnit = 8;
// A stream of the C library gathers this much before it writes, unless the file system says else.
constexpr std::uint64_t kStreamBuffer = 4096;

class PhasePlanner {
 public:
  PhasePlanner(const model::PhaseModel& model, const Phase& phase, const PlanOptions& options)
      : phase_(phase),
        options_(options),
        shared_(model.files[static_cast<std::size_t>(phase.file)].shared),
        tasks_(phase.ranks.size()),
        processes_(model.processes) {
    plan_.phase = phase.id;
  }

  PhasePlan plan() {
    sayWhatHoldsForThePhase();
    if (api() == Api::kMpiIo) plan_.hints = phase_.opened.hints;
    if (phase_.opened.atomic) say("its file is atomic (MPI_File_set_atomicity), IOR's is not");
    for (std::size_t i = 0; i < phase_.operations.size(); ++i) {
      const PhaseOperation& operation = phase_.operations[i];
      IorRun run = runOf(operation);
      run.name = nameOfRun(i);
      sayOffsets(operation, run);
      sayBytes(operation, run);
      if (operation.operation == Operation::kRead) {
        // The file that it reads: of the same shape, so that no read meets a hole.
        IorRun preparation = run;
        preparation.operation = Operation::kWrite;
        preparation.collective = preparation.random = preparation.measured = false;
        preparation.fsync = preparation.keep = true;
        preparation.iterations = 1;
        plan_.runs.push_back(preparation);
        run.keep = true;  // or the second iteration would find no file
        run.cold = true;  // what was just written is read from memory, at tenfold speed
      }
      plan_.runs.push_back(run);
    }
    return std::move(plan_);
  }

 private:
  template <typename... T>
  void say(fmt::format_string<T...> format, T&&... values) {
    std::string sentence = fmt::format(format, std::forward<T>(values)...);
    auto& said = plan_.approximations;
    if (std::find(said.begin(), said.end(), sentence) == said.end()) said.push_back(sentence);
  }

  Api api() const {
    return options_.api.value_or(phase_.interface == model::Interface::kMpiIo ? Api::kMpiIo
                                                                              : Api::kPosix);
  }

  bool isStream() const { return phase_.interface == model::Interface::kStdio; }

  void sayWhatHoldsForThePhase() {
    const bool mpi_io = phase_.interface == model::Interface::kMpiIo;
    if (mpi_io && api() == Api::kPosix) say("the phase's MPI-IO calls are run as POSIX calls");
    if (!mpi_io && api() == Api::kMpiIo) say("the phase's POSIX calls are run as MPI-IO calls");
    if (phase_.collective && api() == Api::kPosix)
      say("its collective calls are run by themselves");
    if (isStream()) say("buffered streams are run as the unbuffered calls that they end in");
    if (!phase_.blocking) say("its nonblocking calls are run as blocking ones");
    if (phase_.pointer == model::PointerKind::kShared) {
      say("its shared file pointer is run with the offsets that IOR gives each task");
    }
    if (phase_.has_view) say("its file view is run with offsets given in each call");
    if (tasks_ != static_cast<std::size_t>(processes_)) {
      say("{} of {} processes take part; IOR starts {} tasks, wherever the launcher puts them",
          tasks_, processes_, tasks_);
    }
    if (phase_.operations.size() > 1) {
      say("its {} operations take turns; IOR runs one after the other, and their times add",
          phase_.operations.size());
    }
  }

  std::string nameOfRun(std::size_t index) const {
    std::string name = fmt::format("phase-{}", phase_.id);
    if (phase_.operations.size() == 1) return name;
    const Operation operation = phase_.operations[index].operation;
    name += fmt::format("-{}", nameOf(operation));
    const auto earlier = std::count_if(
        phase_.operations.begin(), phase_.operations.begin() + static_cast<std::ptrdiff_t>(index),
        [&](const PhaseOperation& other) { return other.operation == operation; });
    if (earlier > 0) name += fmt::format("-{}", earlier + 1);
    return name;
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

  IorRun runOf(const PhaseOperation& operation) {
    IorRun run;
    run.api = api();
    run.operation = operation.operation;
    run.tasks = static_cast<int>(tasks_);
    run.file_per_process = !shared_;
    run.collective = phase_.collective && run.api == Api::kMpiIo;
    run.fsync = options_.fsync && operation.operation == Operation::kWrite;
    run.iterations = options_.iterations;
    run.transfer_bytes = transferOf(operation);
    const auto rs = static_cast<std::int64_t>(operation.request_bytes);
    const bool strided = shared_ && tasks_ > 1 && operation.repetitions > 1 &&
                         operation.nested.empty() && phase_.mode != model::AccessMode::kRandom &&
                         operation.displacement_bytes > rs;
    if (strided) {
      run.block_bytes = run.transfer_bytes;
      run.segments = operation.repetitions;
    } else {
      // Whole transfers, so that IOR moves at least what the process that moved most did.
      const std::uint64_t bytes = (model::weightOf(phase_, operation) + tasks_ - 1) / tasks_;
      run.block_bytes = roundedUp(std::max<std::uint64_t>(bytes, 1), run.transfer_bytes);
    }
    const bool random =
        phase_.mode == model::AccessMode::kRandom && run.block_bytes > run.transfer_bytes;
    run.random = random && !run.collective;
    if (random && run.collective) say("its order is random, and IOR's collective calls have none");
    return run;
  }

  void sayOffsets(const PhaseOperation& operation, const IorRun& run) {
    if (phase_.mode == model::AccessMode::kRandom) {
      if (run.collective) return;  // said already
      if (run.file_per_process || tasks_ == 1) {
        say("the {}s come in another random order than the application's",
            nameOf(operation.operation));
      } else {
        say("IOR deals the {}s of all tasks out by lot, over one region without gaps",
            nameOf(operation.operation));
      }
      return;
    }
    if (!operation.init_offset.known) {
      say("where the {}s go in the file is not known; IOR's tasks do theirs one behind another",
          nameOf(operation.operation));
      return;
    }
    if (operation.several_blocks) {
      say("the {}s are of several blocks of the view, IOR's of one", nameOf(operation.operation));
    }
    if (!operation.nested.empty()) {
      say("the {}s of a process are nested strides; IOR's are in one block",
          nameOf(operation.operation));
      return;
    }
    const auto step = static_cast<std::int64_t>(offsetOf(run, 0, 1));
    if (operation.repetitions > 1 && run.transfer_bytes == operation.request_bytes &&
        transfersOf(run) > 1 && operation.displacement_bytes != step) {
      say("the {}s of a process begin {} bytes apart, IOR's {}", nameOf(operation.operation),
          operation.displacement_bytes, step);
    }
    for (std::size_t task = 0; task < tasks_; ++task) {
      const std::int64_t begin = operation.init_offset.at(phase_.ranks[task]);
      const auto given = static_cast<std::int64_t>(offsetOf(run, static_cast<int>(task), 0));
      if (begin == given) continue;
      say("process {} begins to {} at offset {}, IOR's task {} at {}", phase_.ranks[task],
          nameOf(operation.operation), begin, task, given);
      break;
    }
  }

  void sayBytes(const PhaseOperation& operation, const IorRun& run) {
    const std::uint64_t run_bytes = bytesOf(run) * tasks_;
    const std::uint64_t bytes = model::weightOf(phase_, operation);
    if (run_bytes != bytes) {
      say("the processes {} {} bytes, IOR {}", nameOf(operation.operation), bytes, run_bytes);
    }
  }

  const Phase& phase_;
  const PlanOptions& options_;
  bool shared_;
  std::size_t tasks_;
  int processes_;
  PhasePlan plan_;
};

}  // namespace

IorPlan planFor(const model::PhaseModel& model, const PlanOptions& options) {
  IorPlan plan{
      .source = model.source, .model = model::digestOf(model), .options = options, .phases = {}};
  for (const Phase& phase : model.phases) {
    if (phase.isMetadata()) {
      MdtestPlan mdtest = mdtestFor(model, phase, options.iterations);
      plan.phases.push_back({.phase = phase.id,
                             .runs = {},
                             .mdtest = std::move(mdtest.run),
                             .approximations = std::move(mdtest.approximations)});
      continue;
    }
    plan.phases.push_back(PhasePlanner(model, phase, options).plan());
  }
  return plan;
}

}  // namespace omnio::ior
