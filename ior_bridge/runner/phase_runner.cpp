#include "ior_bridge/runner/phase_runner.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/node_memory.hpp"
#include "core/base/printable.hpp"
#include "ior_bridge/runner/phase_preparation.hpp"
#include "replay/run/pieces.hpp"
#include "replay/target/prepare.hpp"

namespace omnio::ior {
namespace {

MPI_Datatype typeOf(int) { return MPI_INT; }
MPI_Datatype typeOf(double) { return MPI_DOUBLE; }
MPI_Datatype typeOf(std::int64_t) { return MPI_INT64_T; }
MPI_Datatype typeOf(std::uint64_t) { return MPI_UINT64_T; }

}  // namespace

template <typename T>
T PhaseTeam::reduced(T value, MPI_Op operation) const {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, typeOf(value), operation, communicator_);
  return value;
}

PhaseTeam::PhaseTeam(MPI_Comm communicator) : communicator_(communicator) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node = 1;
  int rank_on_node = 0;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_rank(node, &rank_on_node);
  is_first_on_node_ = rank_on_node == 0;
  MPI_Comm_free(&node);
  on_one_node_ = most(size_ - on_node) == 0;
}

void PhaseTeam::barrier() const { MPI_Barrier(communicator_); }

void PhaseTeam::patientBarrier() const {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 1'000'000};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator_, &request);
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    nanosleep(&kPause, nullptr);
  }
}

std::vector<std::uint64_t> PhaseTeam::most(std::vector<std::uint64_t> values) const {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_MAX,
                communicator_);
  return values;
}

std::string PhaseTeam::broadcast(std::string text, int from) const {
  auto size = static_cast<std::uint64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_UINT64_T, from, communicator_);
  text.resize(size);
  replay::forEachPiece(size, replay::largestPiece(), [&](std::uint64_t first, int count) {
    MPI_Bcast(text.data() + first, count, MPI_CHAR, from, communicator_);
  });
  return text;
}

std::string PhaseTeam::ofFirst(std::string text) const { return broadcast(std::move(text), 0); }

base::Result<void> PhaseTeam::agreed(const base::Result<void>& result) const {
  const int who = least(result ? size_ : rank_);
  if (who == size_) return {};
  base::Failure failure = rank_ == who ? result.failure() : base::Failure{};
  failure.sentence = broadcast(std::move(failure.sentence), who);
  int code = static_cast<int>(failure.code);
  MPI_Bcast(&code, 1, MPI_INT, who, communicator_);
  failure.code = static_cast<base::Code>(code);
  return failure;
}

namespace {

namespace fs = std::filesystem;
using model::Operation;

// Linux moves no more in one call, and the count of an MPI call holds no more.
constexpr std::uint64_t kLargestRequest = 0x7ffff000;
using Wide = __int128;

constexpr std::int64_t kLargestOffset = std::int64_t{1} << 60;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// In what the run differs from the phase.
std::vector<std::string> notesOf(const model::Phase& phase) {
  std::vector<std::string> notes;
  const bool random = phase.mode == model::AccessMode::kRandom;
  for (const model::PhaseOperation& o : phase.operations) {
    if (o.several_blocks) {
      notes.push_back(fmt::format("{}s of several blocks of views were run with one block each",
                                  model::nameOf(o.operation)));
    }
    if (o.varying && !random && o.nested.empty()) {
      notes.push_back(fmt::format("{}s of {} to {} bytes were run with {}",
                                  model::nameOf(o.operation), o.smallest_bytes, o.largest_bytes,
                                  o.request_bytes));
    }
    if (!o.init_offset.known) {
      notes.push_back(fmt::format(
          "where the {}s go is not known: processes were given regions one behind another",
          model::nameOf(o.operation)));
    }
  }
  if (random && (phase.random.empty() ||
                 std::any_of(phase.random.begin(), phase.random.end(),
                             [](const auto& access) { return access.left_out > 0; }))) {
    notes.emplace_back("requests that the model has not stored were run in a shuffled order");
  }
  return notes;
}

bool has(const model::Phase& phase, Operation operation) {
  return std::any_of(phase.operations.begin(), phase.operations.end(),
                     [&](const model::PhaseOperation& o) { return o.operation == operation; });
}

bool isShared(const model::PhaseModel& model, const model::Phase& phase) {
  return model.files[static_cast<std::size_t>(phase.file)].shared;
}

RunApi apiOf(const model::Phase& phase, const RunnerOptions& options) {
  if (options.api) return *options.api;
  if (phase.interface == model::Interface::kMpiIo) return RunApi::kMpiIo;
  return phase.interface == model::Interface::kPosix ? RunApi::kPosix : RunApi::kStdio;
}

// All but the measurements, with notes on what is run otherwise than in the application.
PhaseTest describe(const model::PhaseModel& model, const model::Phase& phase,
                   const RunnerOptions& options) {
  const model::PhaseOperation& first = phase.operations.front();
  PhaseTest test;
  test.phase = phase.id;
  test.api = nameOf(apiOf(phase, options));
  test.tasks = static_cast<int>(phase.ranks.size());
  test.iterations = options.iterations;
  test.shared = isShared(model, phase);
  test.collective = phase.collective && apiOf(phase, options) == RunApi::kMpiIo;
  test.random = phase.mode == model::AccessMode::kRandom;
  test.fsync = options.fsync && has(phase, Operation::kWrite);
  test.cold = options.cold && has(phase, Operation::kRead);
  test.request_bytes = first.request_bytes;
  test.block_bytes = model::weightOf(phase, first) / phase.ranks.size();
  test.notes = notesOf(phase);
  return test;
}

// The outcome of running a phase, the same on all its processes.
struct Outcome {
  std::vector<PhaseMeasurement> measurements;
  double resident_percent = -1;
  bool one_node = true;
  std::uint64_t beyond_cache_turns = 0;
};

// When one process was through with each part, and its time in writes and reads.
struct Lap {
  double begin = 0, opened = 0, transferred = 0, closed = 0;
  double write_s = 0, read_s = 0;
  std::uint64_t written_bytes = 0, read_bytes = 0;
  std::uint64_t writes = 0, reads = 0;
};

class PhaseRunner {
 public:
  PhaseRunner(const model::PhaseModel& model, const model::Phase& phase,
              const RunnerOptions& options, const PhaseTeam& team, replay::NodeStorage& storage,
              int rank)
      : phase_(phase),
        options_(options),
        team_(team),
        storage_(storage),
        rank_(rank),
        shared_(isShared(model, phase)),
        writes_(has(phase, Operation::kWrite)),
        reads_(has(phase, Operation::kRead)),
        api_(apiOf(phase, options)),
        collective_(phase.collective && api_ == RunApi::kMpiIo),
        extent_(extentOf(phase, rank)) {
    const std::string name =
        shared_ ? fmt::format("phase-{}", phase.id) : fmt::format("phase-{}.{}", phase.id, rank);
    path_ = (options.directory / name).native();
  }

  base::Result<Outcome> run(const Progress& progress) {
    if (options_.beyond_cache) planTurns();
    if (auto done = together(check()); !done) return done.failure();
    Outcome outcome;
    if (options_.beyond_cache) outcome.beyond_cache_turns = turns_;
    outcome.one_node = team_.onOneNode();
    for (int i = 0; i < options_.iterations; ++i) {
      progress(phase_, i);
      if (auto done = together(prepare(i)); !done) return done.failure();
      if (reads_ && options_.cold) {
        outcome.resident_percent = team_.most(giveUpPages(path_).value_or(-1.0));
      }
      Lap lap;
      if (team_.isFirstOnNode()) storage_.begin();
      const auto done = together(iterate(lap));
      if (team_.isFirstOnNode()) storage_.end();
      if (!done) return done.failure();
      addTo(outcome, lap);
    }
    if (!options_.keep) removeFile();
    return outcome;
  }

 private:
  // One failure for all, with the rank that has it.
  base::Result<void> together(const base::Result<void>& mine) const {
    if (mine) return team_.agreed(mine);
    return team_.agreed(
        base::failure(mine.failure().code, "rank {}: {}", rank_, mine.failure().sentence));
  }

  // The requests again and again, each turn behind the one before, until they move twice what the
  // nodes can keep.
  void planTurns() {
    const std::uint64_t memory = team_.sum(team_.isFirstOnNode() ? base::memoryBytes() : 0);
    turns_ = 2 * memory / std::max<std::uint64_t>(phase_.weight_bytes, 1) + 1;
    shift_ = extent_.end - extent_.begin;
    if (!shared_) return;
    const bool has_any = extent_.requests > 0;
    shift_ = team_.most(has_any ? extent_.end : 0) -
             team_.least(has_any ? extent_.begin : kLargestOffset);
  }

  base::Result<void> check() {
    const Wide end = extent_.end + static_cast<Wide>(turns_ - 1) * shift_;
    if (extent_.begin < 0 || end > kLargestOffset) {
      return base::failure(
          base::Code::kInvalid, "phase {} leads from offset {} to {}, where no file is", phase_.id,
          extent_.begin, static_cast<std::int64_t>(std::min<Wide>(end, INT64_MAX)));
    }
    if (turns_ > 1) {
      // The check of room for data to read is where that data is made.
      std::uint64_t written = 0;
      for (const model::PhaseOperation& operation : phase_.operations) {
        if (operation.operation == Operation::kWrite) written += model::weightOf(phase_, operation);
      }
      if (auto fits = checkRoomFor(written * turns_); !fits) return fits;
    }
    if (extent_.largest_bytes > kLargestRequest) {
      return base::failure(base::Code::kInvalid,
                           "phase {} has a request of {} bytes, more than the {} of one call",
                           phase_.id, extent_.largest_bytes, kLargestRequest);
    }
    content_ = Content::ofRequests(extent_.largest_bytes, static_cast<std::uint64_t>(rank_) + 1);
    if (content_) return {};
    return base::failure(base::Code::kSystem, "no memory for requests of {} bytes in phase {}",
                         extent_.largest_bytes, phase_.id);
  }

  void removeFile() const {
    std::error_code ignored;
    if (!shared_ || team_.isFirst()) fs::remove(path_, ignored);
  }

  // Writes find no file, reads find all that they read.
  base::Result<void> prepare(int iteration) const {
    if (reads_) return iteration == 0 ? fillPart() : base::Result<void>();
    removeFile();
    return {};
  }

  base::Result<void> fillPart() const {
    std::int64_t begin = extent_.read_begin;
    std::int64_t end = extent_.read_end;
    if (end > begin) end += static_cast<std::int64_t>(turns_ - 1) * shift_;
    if (shared_) {
      const std::int64_t all_begin = team_.least(begin < end ? begin : kLargestOffset);
      const std::int64_t all_end = team_.most(end);
      const std::int64_t all = std::max<std::int64_t>(all_end - all_begin, 0);
      const std::int64_t part = all / team_.size() + 1;
      begin = std::min(all_end, all_begin + part * team_.rank());
      end = std::min(all_end, begin + part);
    }
    const std::uint64_t bytes = begin < end ? static_cast<std::uint64_t>(end - begin) : 0;
    if (auto fits = team_.agreed(checkRoomFor(team_.sum(bytes))); !fits) return fits;
    if (bytes == 0) return {};
    return fill(path_, begin, end, static_cast<std::uint64_t>(rank_) + 1);
  }

  // Whether the target has room for what the phase finds, or writes: both may be the same blocks.
  base::Result<void> checkRoomFor(std::uint64_t bytes) const {
    if (options_.ignores_room || !team_.isFirst()) return {};
    return replay::checkRoom({.prepared = bytes}, options_.directory.parent_path());
  }

  base::Result<void> iterate(Lap& lap) {
    PhaseFileOptions options{.path = path_,
                             .writes = writes_,
                             .reads = reads_,
                             .collective = collective_,
                             .communicator = shared_ ? team_.communicator() : MPI_COMM_SELF,
                             .opened = &phase_.opened};
    std::unique_ptr<PhaseFile> file = makePhaseFile(api_, options);
    if (collective_ && shared_) padded_ = team_.most(PhaseRequests(phase_, rank_).counts());
    team_.barrier();
    lap.begin = now();
    base::Result<void> first = file->open();  // the first failure is the one that counts
    if (api_ == RunApi::kMpiIo && shared_ && !team_.agreed(first)) {
      // Closing is collective too: where others have nothing to close, it would wait for ever.
      (void)file.release();
      return first;
    }
    lap.opened = now();
    if (!first) return first;
    for (std::uint64_t turn = 0; turn < turns_; ++turn) {
      PhaseRequests requests(phase_, rank_);
      if (collective_ && shared_) requests.padTo(padded_);
      const auto moved =
          transferAll(*file, requests, static_cast<std::int64_t>(turn) * shift_, lap);
      if (first) first = moved;
      if (!first && !collective_) break;
    }
    lap.transferred = now();
    if (options_.fsync && writes_) {
      const auto synced = file->sync();
      if (first) first = synced;
    }
    const auto closed = file->close();
    if (first) first = closed;
    lap.closed = now();
    return first;
  }

  base::Result<void> transferAll(PhaseFile& file, PhaseRequests& requests, std::int64_t shift,
                                 Lap& lap) {
    base::Result<void> first;
    const bool mixed = writes_ && reads_;
    while (std::optional<Request> request = requests.next()) {
      if (!first) request->bytes = 0;  // goes on, lest others wait for it in a collective call
      if (request->bytes == 0 && !collective_) {
        if (!first) break;
        continue;
      }
      request->offset += shift;
      const bool is_write = request->operation == Operation::kWrite;
      const double begin = mixed ? now() : 0;
      const auto result =
          // No two turns write the same: storage that knows blocks again would not write them.
          file.transfer(*request,
                        is_write ? content_->forWriting(lap.writes) : content_->forReading());
      if (mixed) (is_write ? lap.write_s : lap.read_s) += now() - begin;
      (is_write ? lap.written_bytes : lap.read_bytes) += request->bytes;
      (is_write ? lap.writes : lap.reads) += request->bytes > 0 ? 1 : 0;
      if (first) first = result;
    }
    return first;
  }

  // From the first that began to the last that ended; on several nodes, whose clocks differ, of the
  // process that took longest.
  double span(double begin, double end) const {
    return team_.onOneNode() ? team_.most(end) - team_.least(begin) : team_.most(end - begin);
  }

  void addTo(Outcome& outcome, const Lap& lap) const {
    const double total = span(lap.begin, lap.closed);
    PhaseMeasurement m{.metadata_s = span(lap.begin, lap.opened),
                       .transfer_s = span(lap.opened, lap.transferred),
                       .sync_s = span(lap.transferred, lap.closed)};
    // A mixed phase takes one time, of which each operation has its share: by the time spent in its
    // calls, and for writes in the close with its fsync.
    const double write_s =
        team_.sum(lap.write_s + (options_.fsync ? lap.closed - lap.transferred : 0));
    const double read_s = team_.sum(lap.read_s);
    const double write_share = !reads_ ? 1 : !writes_ ? 0 : write_s / (write_s + read_s);
    const auto add = [&](Operation operation, double share, std::uint64_t bytes,
                         std::uint64_t requests) {
      PhaseMeasurement one = m;
      one.operation = operation;
      one.bytes = team_.sum(bytes);
      one.requests = team_.sum(requests);
      one.transfer_s = m.transfer_s * share;
      one.total_s = total * share;
      outcome.measurements.push_back(one);
    };
    if (writes_) add(Operation::kWrite, write_share, lap.written_bytes, lap.writes);
    if (reads_) add(Operation::kRead, 1 - write_share, lap.read_bytes, lap.reads);
  }

  const model::Phase& phase_;
  const RunnerOptions& options_;
  const PhaseTeam& team_;
  replay::NodeStorage& storage_;
  const int rank_;
  const bool shared_;
  const bool writes_;
  const bool reads_;
  const RunApi api_;
  const bool collective_;
  const RequestExtent extent_;
  std::string path_;
  std::optional<Content> content_;
  std::vector<std::uint64_t> padded_;  // requests of each operation, for collective calls
  std::uint64_t turns_ = 1;
  std::int64_t shift_ = 0;  // from turn to turn, in bytes
};

// From the first process of the phase to all of the world.
Outcome broadcast(Outcome outcome, int from, MPI_Comm world) {
  auto count = static_cast<int>(outcome.measurements.size());
  MPI_Bcast(&count, 1, MPI_INT, from, world);
  outcome.measurements.resize(static_cast<std::size_t>(count));
  MPI_Bcast(outcome.measurements.data(), count * static_cast<int>(sizeof(PhaseMeasurement)),
            MPI_BYTE, from, world);
  MPI_Bcast(&outcome.resident_percent, 1, MPI_DOUBLE, from, world);
  MPI_Bcast(&outcome.beyond_cache_turns, 1, MPI_UINT64_T, from, world);
  int one_node = outcome.one_node ? 1 : 0;
  MPI_Bcast(&one_node, 1, MPI_INT, from, world);
  outcome.one_node = one_node != 0;
  return outcome;
}

}  // namespace

base::Result<std::vector<PhaseTest>> runPhases(const model::PhaseModel& model,
                                               const RunnerOptions& options, const PhaseTeam& world,
                                               replay::NodeStorage& storage,
                                               const Progress& progress) {
  std::vector<PhaseTest> tests;
  for (const model::Phase& phase : model.phases) {
    if (options.phase && phase.id != *options.phase) continue;
    if (phase.isMetadata()) continue;
    const bool member = std::binary_search(phase.ranks.begin(), phase.ranks.end(), world.rank());
    MPI_Comm members = MPI_COMM_NULL;
    MPI_Comm_split(world.communicator(), member ? 0 : MPI_UNDEFINED, world.rank(), &members);
    base::Result<void> ran;
    Outcome outcome;
    if (member) {
      const PhaseTeam team(members);
      base::Result<Outcome> result =
          PhaseRunner(model, phase, options, team, storage, world.rank()).run(progress);
      if (result) {
        outcome = std::move(*result);
      } else {
        ran = result.failure();
      }
      MPI_Comm_free(&members);
    }
    world.patientBarrier();
    if (auto agreed = world.agreed(ran); !agreed) return agreed.failure();
    outcome = broadcast(std::move(outcome), phase.ranks.front(), world.communicator());
    PhaseTest& test = tests.emplace_back(describe(model, phase, options));
    test.measurements = std::move(outcome.measurements);
    test.resident_percent = outcome.resident_percent;
    test.beyond_cache_turns = outcome.beyond_cache_turns;
    if (!outcome.one_node) {
      test.notes.emplace_back("several nodes: times are those of the slowest process");
    }
  }
  return tests;
}

}  // namespace omnio::ior
