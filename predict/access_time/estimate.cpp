#include "predict/access_time/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/repeats.hpp"
#include "core/base/text_table.hpp"
#include "core/model/phase_model.hpp"
#include "predict/access_time/phase_program.hpp"

namespace omnio::access_time {

namespace {

// The spread of the errors of totals that docs/prediction.md has measured, in twice their standard
// deviation, which no part of a calibration tells.
constexpr double kStructure = 0.15;
// Twice a standard deviation has 95 of 100 values.
constexpr double kSpread = 2;
// A standard deviation over the median of the absolute values, where these are normal.
constexpr double kOfNormal = 1.4826;

std::string nameOfFile(const std::filesystem::path& path) { return base::printable(path.native()); }

// A phase model with its schedule is as good as that schedule, which has all calls in their order.
struct Subject {
  Program program;
  std::string method;
};

base::Result<Subject> programOfFile(const EstimateRequest& request) {
  const auto ofSchedule = [&](const std::filesystem::path& path,
                              std::string_view of) -> base::Result<Subject> {
    auto program = readProgram(path, request.most_steps);
    if (!program) return program.failure();
    const std::string method =
        program->isCounted()
            ? fmt::format("the calls of {}, counted", of)
            : fmt::format("the calls of {}, in their order and with their waits", of);
    return Subject{std::move(*program), method};
  };
  const auto model = model::readPhaseModel(request.subject);
  if (!model) {
    // Which of the two documents it is, is told by the first key.
    auto schedule = ofSchedule(request.subject, "the schedule");
    if (schedule) return schedule;
    const bool is_neither = model.failure().code == base::Code::kNotOurs &&
                            schedule.failure().code == base::Code::kNotOurs;
    if (is_neither) {
      return base::fileFailure(request.subject, base::Code::kNotOurs,
                               "neither a phase model nor a schedule");
    }
    return model.failure().code == base::Code::kNotOurs ? schedule.failure() : model.failure();
  }
  if (!model->schedule.empty()) {
    const auto path = request.subject.parent_path() / model->schedule;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return ofSchedule(path, "the model's schedule");
  }
  Subject subject{programOf(*model), "the phases, the processes of each at once"};
  if (!model->schedule.empty()) {
    subject.program.notes.push_back(
        fmt::format("the model's schedule, {}, is not beside it: phases have mean sizes and no "
                    "order",
                    base::printable(model->schedule)));
  }
  return subject;
}

// Why the estimate cannot be made; empty: it can.
std::string problemOf(const EstimateRequest& request, const predict::Calibration& calibration,
                      const Program& program) {
  const std::string name = nameOfFile(request.calibration);
  if (request.cache && *request.cache != calibration.cache) {
    return fmt::format("{}: it was measured with the cache state {}, and --cache wants {}", name,
                       predict::nameOf(calibration.cache), predict::nameOf(*request.cache));
  }
  const auto has = [&program](CellOperation operation) {
    return std::ranges::find(program.accesses, operation, &Access::operation) !=
           program.accesses.end();
  };
  return mismatchOf(calibration, name, nameOfFile(request.subject),
                    {.bytes = program.moved_bytes,
                     .direct_bytes = program.direct_bytes,
                     .has_reads = has(CellOperation::kRead),
                     .has_writes = has(CellOperation::kWrite)});
}

// How much the total differs from round to round, as a part of it: a standard deviation of the mean
// of the rounds, and of one more round, which the application is. Rounds weigh by their accesses:
// the first ones have few.
double spreadOfRounds(const AccessTimes& times, const IoProfile& profile) {
  // A round with less of the total than this tells too little of it.
  constexpr double kLeastPart = 0.5;
  double all = 0;
  for (const AccessUse& use : profile.uses) all += use.count * times.seconds(use.access);
  std::vector<std::pair<double, double>> rounds;  // weight, and what the total would be of it
  double weights = 0;
  for (std::size_t round = 0; round < times.rounds(); ++round) {
    double in_round = 0, of_these = 0, weight = 0;
    for (const AccessUse& use : profile.uses) {
      const auto found = times.inRound(round, use.access);
      if (!found) continue;
      const double seconds = use.count * times.seconds(use.access);
      in_round += use.count * found->seconds;
      of_these += seconds;
      weight += found->share * seconds;
    }
    if (of_these <= kLeastPart * all || of_these == 0) continue;
    rounds.emplace_back(weight, in_round / of_these);
    weights += weight;
  }
  if (rounds.size() < 2) return 0;
  double middle = 0, squares = 0, of_weights = 0;
  for (const auto& [weight, ratio] : rounds) middle += weight / weights * ratio;
  for (const auto& [weight, ratio] : rounds) {
    const double part = weight / weights;
    squares += part * part * (ratio / middle - 1) * (ratio / middle - 1);
    of_weights += part * part;
  }
  const auto n = static_cast<double>(rounds.size());
  return std::sqrt(n / (n - 1) * squares * (1 + 1 / of_weights));
}

// The part of the total that few measured accesses leave open. Errors of one curve, which
// may be those of the same cells, add; those of others add as squares.
double errorOfMeans(const AccessTimes& times, const IoProfile& profile) {
  double all = 0;
  std::map<decltype(Access().curve()), double> by_curve;
  for (const AccessUse& use : profile.uses) {
    all += use.count * times.seconds(use.access);
    if (const auto error = times.errorOf(use.access)) {
      by_curve[error->curve] += use.count * error->seconds;
    }
  }
  double squares = 0;
  for (const auto& [curve, error] : by_curve) squares += error * error;
  return all > 0 ? std::sqrt(squares) / all : 0;
}

// A standard deviation, from the median of the absolute errors.
double spreadOfErrors(std::vector<double> errors) {
  if (errors.empty()) return 0;
  for (double& error : errors) error = std::abs(error);
  return kOfNormal * base::medianOf(std::move(errors));
}

Uncertainty uncertaintyOf(const AccessTimes& times, const IoProfile& profile) {
  double all = 0, between = 0;
  for (const AccessUse& use : profile.uses) {
    all += use.seconds;
    if (use.access.movesData() && !times.isOnGrid(use.access)) between += use.seconds;
  }
  Uncertainty result{
      .rounds = kSpread * std::max(spreadOfRounds(times, profile), errorOfMeans(times, profile)),
      .structure = kStructure};
  if (all > 0) {
    result.model =
        kSpread * TotalErrors::kPartOfGap * between / all * spreadOfErrors(times.errors().cells);
  }
  if (times.noise()) result.noise = kSpread * times.noise()->floor_percent / 100;
  return result;
}

// Time within reach of the calibration and beyond it, by operation.
void sumUp(CalibratedEstimate& estimate, const AccessTimes& times) {
  std::map<CellOperation, OperationTotal> totals;
  double all = 0, inside = 0;
  for (const AccessUse& use : estimate.profile.uses) {
    OperationTotal& total = totals[use.access.operation];
    total.operation = use.access.operation;
    total.count += use.count;
    total.seconds += use.seconds;
    total.processes += use.seconds * use.access.processes;
    all += use.seconds;
    if (!times.covers(use.access)) continue;
    total.inside_seconds += use.seconds;
    inside += use.seconds;
  }
  for (auto& [operation, total] : totals) {
    total.processes = total.seconds > 0 ? (total.processes - 1) / total.seconds : 1;
    if (total.count > 0) estimate.operations.push_back(total);
  }
  estimate.inside_share = all > 0 ? inside / all : 1;
}

void addNotes(CalibratedEstimate& estimate, const Program& program,
              const predict::Calibration& calibration) {
  estimate.notes = program.notes;
  for (const OperationTotal& total : estimate.operations) {
    if (total.seconds > 0) continue;
    estimate.notes.push_back(fmt::format("no {} was measured: {:.0f} of them count as no time",
                                         predict::nameOf(total.operation), total.count));
  }
  if (program.mpi_calls > 0) {
    estimate.notes.push_back(
        "calls of MPI-IO count as one access each: what the library makes of them is not known; a "
        "schedule of --layer posix has it");
  }
  if (calibration.cache != predict::CacheState::kDirect) {
    // About what the kernel keeps of dirty pages before writers wait for storage.
    constexpr double kDirtyPart = 0.1;
    double written = 0;
    for (const AccessUse& use : estimate.profile.uses) {
      if (use.access.operation == CellOperation::kWrite) written += use.count * use.access.bytes;
    }
    const auto memory = static_cast<double>(calibration.target.memory_bytes);
    if (memory > 0 && written > kDirtyPart * memory) {
      estimate.notes.push_back(fmt::format(
          "{} are written, and the calibrated node has {} of memory: writers that fill the page "
          "cache wait for storage, which the estimate does not have",
          base::humanBytes(written), base::humanBytes(memory)));
    }
  }
  if (estimate.profile.given_up_waits > 0) {
    estimate.notes.push_back(
        fmt::format("{} that wait for each other in a circle were let go on",
                    base::counted(estimate.profile.given_up_waits, "thread", "threads")));
  }
}

std::string secondsText(double seconds) { return fmt::format("{:.6f}", seconds); }

}  // namespace

double Uncertainty::total() const {
  return std::sqrt(rounds * rounds + model * model + noise * noise + structure * structure);
}

base::Result<CalibratedEstimate> estimate(const EstimateRequest& request) {
  const auto calibration = predict::readCalibration(request.calibration);
  if (!calibration) return calibration.failure();
  const std::string name = nameOfFile(request.calibration);
  const auto times = AccessTimes::learned(*calibration, name, request.model);
  if (!times) return times.failure();
  auto subject = programOfFile(request);
  if (!subject) return subject.failure();
  for (Access& access : subject->program.accesses) access.is_by_turns = times->isByTurns(access);
  const Program& program = subject->program;
  if (const std::string problem = problemOf(request, *calibration, program); !problem.empty()) {
    return base::Failure{base::Code::kInvalid, problem};
  }
  const SecondsOf seconds_of = [&times](const Access& access) { return times->seconds(access); };
  CalibratedEstimate result{
      .calibration = name,
      .target = targetOf(*calibration),
      .source = program.source,
      .method = subject->method,
      .profile = program.isCounted() ? balance(program, seconds_of) : simulate(program, seconds_of),
      .uncertainty = {},
      .operations = {},
      .model = times->kind(),
      .total_errors = {},
      .noise = times->noise(),
      .has_mpi_calls = program.mpi_calls > 0,
      .notes = {},
      .beside = {},
      .model_errors = {}};
  result.uncertainty = uncertaintyOf(*times, result.profile);
  for (const auto& [kind, errors] : times->models()) {
    result.total_errors.emplace_back(kind, errors.mean());
  }
  sumUp(result, *times);
  addNotes(result, program, *calibration);
  return result;
}

std::string textOf(const CalibratedEstimate& estimate) {
  std::string out = fmt::format("I/O time on {}, by {}\n", base::printable(estimate.target),
                                estimate.calibration);
  const RankTime& slowest = estimate.profile.slowest();
  const auto range = [&estimate](double seconds) {
    const double all = estimate.seconds();
    const double part = all > 0 ? seconds / all : 0;
    return fmt::format("{} .. {}", secondsText(part * estimate.leastSeconds()),
                       secondsText(part * estimate.mostSeconds()));
  };
  std::vector<std::vector<std::string>> rows{
      {"slowest process", "I/O time s", "least .. most s"},
      {"total", secondsText(slowest.total()), range(slowest.total())},
      {"  reads and writes", secondsText(slowest.data_s), range(slowest.data_s)},
      {"  metadata", secondsText(slowest.metadata_s), range(slowest.metadata_s)},
      {"  sync", secondsText(slowest.sync_s), range(slowest.sync_s)}};
  for (const Beside& beside : estimate.beside) {
    rows.push_back({"beside: " + base::printable(beside.name), secondsText(beside.io_s),
                    fmt::format("the estimate is {:+.1f} % of it",
                                beside.io_s > 0 ? 100 * (slowest.total() / beside.io_s - 1) : 0)});
  }
  base::appendTable(out, rows, base::Align::kLeft);
  out += fmt::format("rank {} of {} is the slowest; accesses: {}\n", estimate.profile.slowest_rank,
                     estimate.profile.ranks.size(), estimate.method);
  out += fmt::format("{:.1f} % of the time is within the calibrated range\n",
                     100 * estimate.inside_share);
  const Uncertainty& parts = estimate.uncertainty;
  out += fmt::format(
      "interval +-{:.1f} %: rounds or few accesses {:.1f} %, sizes between measured ones {:.1f} %, "
      "noise {:.1f} %, "
      "what a calibration does not have {:.1f} %\n",
      100 * parts.total(), 100 * parts.rounds, 100 * parts.model, 100 * parts.noise,
      100 * parts.structure);
  out += estimate.noise ? fmt::format("noise floor {:.1f} %, drift {:.1f} %\n",
                                      estimate.noise->floor_percent, estimate.noise->drift_percent)
                        : std::string("noise floor not known: fewer than three references\n");
  out += fmt::format("model: {} (errors of totals that were held out:", nameOf(estimate.model));
  for (const auto& [kind, error] : estimate.total_errors) {
    out += fmt::format(" {} {:.1f} %", nameOf(kind), 100 * error);
  }
  out += ")\n\n";
  rows = {{"operation", "calls", "time s", "mean", "at once", "within range"}};
  for (const OperationTotal& total : estimate.operations) {
    rows.push_back(
        {std::string(predict::nameOf(total.operation)), fmt::format("{:.0f}", total.count),
         secondsText(total.seconds), base::humanNs(total.seconds / total.count * 1e9),
         fmt::format("{:.1f}", total.processes),
         fmt::format("{:.1f} %",
                     total.seconds > 0 ? 100 * total.inside_seconds / total.seconds : 100)});
  }
  base::appendTable(out, rows, base::Align::kLeft);
  for (const std::string& note : estimate.notes) out += note + "\n";
  return out;
}

std::string jsonOf(const CalibratedEstimate& estimate) {
  return base::jsonDocument("omnio-calibrated-estimate", 1, {.indent = 1}, [&](auto& json) {
    json.put("calibration", estimate.calibration);
    json.put("target", base::printable(estimate.target));
    json.put("source", base::printable(estimate.source));
    json.put("accesses", estimate.method);
    json.object("io_s", [&] {
      json.put("total", estimate.seconds());
      json.put("least", estimate.leastSeconds());
      json.put("most", estimate.mostSeconds());
      json.put("data", estimate.profile.slowest().data_s);
      json.put("metadata", estimate.profile.slowest().metadata_s);
      json.put("sync", estimate.profile.slowest().sync_s);
      json.put("slowest_rank", estimate.profile.slowest_rank);
    });
    json.put("ranks", estimate.profile.ranks.size());
    json.put("inside_share", estimate.inside_share);
    json.object("uncertainty", [&] {
      json.put("total", estimate.uncertainty.total());
      json.put("rounds", estimate.uncertainty.rounds);
      json.put("model", estimate.uncertainty.model);
      json.put("noise", estimate.uncertainty.noise);
      json.put("structure", estimate.uncertainty.structure);
    });
    json.put("noise_floor_percent",
             estimate.noise ? std::optional(estimate.noise->floor_percent) : std::nullopt);
    json.put("drift_percent",
             estimate.noise ? std::optional(estimate.noise->drift_percent) : std::nullopt);
    json.put("model", nameOf(estimate.model));
    json.list("models", estimate.total_errors, [&](const auto& model) {
      json.object([&] {
        json.put("model", nameOf(model.first));
        json.put("total_error", model.second);
      });
    });
    json.list("operations", estimate.operations, [&](const OperationTotal& total) {
      json.object([&] {
        json.put("operation", predict::nameOf(total.operation));
        json.put("calls", total.count);
        json.put("time_s", total.seconds);
        json.put("inside_s", total.inside_seconds);
        json.put("processes", total.processes);
      });
    });
    json.list("beside", estimate.beside, [&](const Beside& beside) {
      json.object([&] {
        json.put("name", base::printable(beside.name));
        json.put("io_s", beside.io_s);
      });
    });
    json.put("notes", estimate.notes);
    if (!estimate.model_errors.empty()) putErrors(json, "model_errors", estimate.model_errors);
  });
}

}  // namespace omnio::access_time
