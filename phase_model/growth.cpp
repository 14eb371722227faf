#include "phase_model/growth.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/pattern/part.hpp"
#include "phase_model/file_family.hpp"

namespace omnio::phases {
namespace {

using model::Phase;
using model::PhaseModel;
using model::PhaseOperation;
using pattern::Part;

using Wide = __int128;

// Offsets may grow as a + b * np, because headers and shares add up. Amounts may not.
enum class Growth : std::uint8_t { kAmount, kPlace };

// Grows the numbers of models. Keeps the first reason for a refusal.
class Grower {
 public:
  Grower(const std::vector<PhaseModel>& models, int processes, Scaling scaling)
      : first_(models.front()),
        last_(models.back()),
        is_alone_(models.size() == 1),
        processes_(processes),
        scaling_(scaling) {}

  base::Result<PhaseModel> grow() {
    checkModels();
    if (why_.empty()) matchFiles();
    if (why_.empty()) matchPhases();
    PhaseModel grown;
    grown.source = first_.source;
    grown.source_whole = first_.source_whole && last_.source_whole;
    grown.command = first_.command;
    grown.processes = processes_;
    grown.files = first_.files;
    for (std::size_t i = 0; i < first_.phases.size() && why_.empty(); ++i) {
      growPhase(first_.phases[i], *partners_[i]);
      grown.phases.push_back(grown_);
    }
    for (std::size_t i = 0; i < grown.files.size() && why_.empty(); ++i) growFile(grown, i);
    if (!why_.empty()) return base::failure(base::Code::kInvalid, "{}", why_);
    grown.left_out = first_.left_out;
    grown.left_out.push_back(
        fmt::format("times: the model is of {} processes, of which {} were "
                    "traced ({} scaling)",
                    processes_, counts(), word()));
    for (const auto& [law, numbers] : laws_) {
      grown.left_out.push_back(
          fmt::format("how these grow between the models' numbers of processes: {}, {}",
                      fmt::join(numbers, ", "), law));
    }
    return grown;
  }

 private:
  std::string counts() const {
    return is_alone_ ? fmt::format("{}", first_.processes)
                     : fmt::format("{} and {}", first_.processes, last_.processes);
  }
  std::string_view word() const { return scaling_ == Scaling::kWeak ? "weak" : "strong"; }

  void refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  void refusePhase(std::string_view why) {
    const model::ModelFile& file = first_.files[static_cast<std::size_t>(grown_.file)];
    refuse(fmt::format("phase {} ({}): {}", grown_.id, file.path, why));
  }
  // A number that the models do not decide.
  void refuseNumber(std::string_view what, std::int64_t a, std::int64_t b) {
    refusePhase(is_alone_
                    ? fmt::format("{} is {}, which may be a matter of the {} processes; a model of "
                                  "another number of processes decides it",
                                  what, a, first_.processes)
                    : fmt::format("{} is {} with {} processes and {} with {}, and that does not "
                                  "say what it is with {}",
                                  what, a, first_.processes, b, last_.processes, processes_));
  }

  void checkModels() {
    if (is_alone_) {
      if (scaling_ == Scaling::kStrong) {
        refuse(
            "strong scaling: one model does not tell whether requests become smaller or fewer; "
            "two are needed");
      }
      return;
    }
    if (first_.processes == last_.processes) {
      refuse(fmt::format("both models are of {} processes", first_.processes));
    }
    const auto differ = [this](std::size_t a, std::size_t b, std::string_view what) {
      if (a == b) return;
      refuse(fmt::format("there are {} {} with {} processes, and {} with {}", a, what,
                         first_.processes, b, last_.processes));
    };
    differ(first_.files.size(), last_.files.size(), "files");
    differ(first_.phases.size(), last_.phases.size(), "phases");
    const auto program = [](const PhaseModel& model) {
      const std::string word = model.command.empty() ? "" : model.command.front();
      return word.substr(word.rfind('/') + 1);
    };
    if (program(first_) != program(last_)) {
      refuse(fmt::format("the models are of two programs, {} and {}", program(first_),
                         program(last_)));
    }
  }

  // Files match by name, else by index if their names differ in numbers alone.
  void matchFiles() {
    const auto name = [](const model::ModelFile& file) {
      return file.path.substr(file.path.rfind('/') + 1);
    };
    for (std::size_t i = 0; i < first_.files.size() && why_.empty(); ++i) {
      const std::string wanted = name(first_.files[i]);
      std::optional<std::size_t> same;
      for (std::size_t j = 0; j < last_.files.size(); ++j) {
        if (name(last_.files[j]) == wanted) same = j;
      }
      if (!same && event::withoutNumbers(name(last_.files[i])) == event::withoutNumbers(wanted)) {
        same = i;
      }
      if (!same) {
        refuse(fmt::format("{}: the model of {} processes has no file of this name",
                           first_.files[i].path, last_.processes));
      }
      file_of_.push_back(same.value_or(0));
    }
  }

  // Phases on the same file match in their order among phases alike. Their ids may differ, because
  // a header and the data of other ranks come in any order.
  void matchPhases() {
    std::vector<bool> taken(last_.phases.size(), false);
    for (const Phase& phase : first_.phases) {
      const Phase* partner = nullptr;
      for (std::size_t i = 0; i < last_.phases.size() && partner == nullptr; ++i) {
        if (taken[i] || !areAlike(phase, last_.phases[i])) continue;
        taken[i] = true;
        partner = &last_.phases[i];
      }
      if (partner == nullptr) {
        refuse(
            fmt::format("phase {} ({}): the model of {} processes has no phase that is made in "
                        "the same way",
                        phase.id, fileOf(first_, phase).path, last_.processes));
        return;
      }
      partners_.push_back(partner);
    }
  }

  static const std::string& nameOfCall(const std::pair<std::string, std::uint64_t>& call) {
    return call.first;
  }

  bool areAlike(const Phase& a, const Phase& b) const {
    const auto is_whole = [](const Phase& phase, const PhaseModel& model) {
      return phase.ranks.size() == static_cast<std::size_t>(model.processes);
    };
    if (a.isMetadata() != b.isMetadata()) return false;
    if (a.isMetadata() && !std::ranges::equal(a.calls, b.calls, {}, nameOfCall, nameOfCall)) {
      return false;
    }
    const auto same_operation = [](const PhaseOperation& x, const PhaseOperation& y) {
      return x.operation == y.operation && x.nominal == y.nominal &&
             x.init_offset.known == y.init_offset.known && x.nested.empty() == y.nested.empty();
    };
    return static_cast<const model::Manner&>(a) == b && a.mode == b.mode &&
           file_of_[static_cast<std::size_t>(a.file)] == static_cast<std::size_t>(b.file) &&
           fileOf(first_, a).shared == fileOf(last_, b).shared &&
           is_whole(a, first_) == is_whole(b, last_) &&
           std::ranges::equal(a.operations, b.operations, same_operation);
  }

  struct Grown {
    std::int64_t number = 0;
    std::string_view law;  // nothing for a number that does not change
  };

  // Extrapolates a number that is `a` in the first model and `b` in the last one. Returns nothing
  // when it follows none of the laws.
  std::optional<Grown> lawOf(std::int64_t a, std::int64_t b, Growth growth) const {
    const Wide np = processes_;
    const Wide np_a = first_.processes;
    const Wide np_b = last_.processes;
    Wide grown = a;
    std::string_view law;
    if (a != b) {
      if (a * np_b == b * np_a) {
        if (a * np % np_a != 0) return {};
        law = "as np";
        grown = a * np / np_a;
      } else if (a * np_a == b * np_b) {
        if (a * np_a % np != 0) return {};
        law = "as 1 / np";
        grown = a * np_a / np;
      } else {
        const Wide rise = static_cast<Wide>(b) - a;
        // With strong scaling, headers and shares add up to a + b / np, rounded: two numbers do not
        // tell what was rounded.
        if (growth != Growth::kPlace || scaling_ == Scaling::kStrong || rise % (np_b - np_a) != 0) {
          return {};
        }
        law = "as a + b * np";
        grown = a + rise / (np_b - np_a) * (np - np_a);
      }
    }
    constexpr Wide kMost = Wide{1} << 60;
    if (grown > kMost || grown < -kMost) return {};
    return Grown{static_cast<std::int64_t>(grown), law};
  }

  std::int64_t grow(std::string_view what, std::int64_t a, std::int64_t b, Growth growth) {
    const std::optional<Grown> grown = lawOf(a, b, growth);
    if (!grown) {
      refuseNumber(what, a, b);
      return a;
    }
    // Two numbers do not prove a law, so the model names the laws that were assumed.
    if (!grown->law.empty()) {
      std::vector<std::string>& numbers = laws_[grown->law];
      std::string one = fmt::format("{} of phase {}", what, grown_.id);
      if (std::ranges::find(numbers, one) == numbers.end()) numbers.push_back(std::move(one));
    }
    return grown->number;
  }

  std::uint64_t growAmount(std::string_view what, std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(
        grow(what, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), Growth::kAmount));
  }

  void growPhase(const Phase& a, const Phase& b) {
    grown_ = a;
    grown_.io = {};
    grown_.begin_ns = grown_.end_ns = 0;
    grown_.ranks_per_node = 0;
    grown_.ticks.clear();
    for (PhaseOperation& o : grown_.operations) o.in_view.reset();
    if (a.isMetadata()) return growMetadata(a, b);
    growCalls(a.calls, b.calls);
    if (a.mode == model::AccessMode::kRandom) return refusePhase("its requests are random");
    growRanks(a.ranks, b.ranks);
    for (std::size_t i = 0; i < a.operations.size() && why_.empty(); ++i) {
      growOperation(a, a.operations[i], b, b.operations[i], grown_.operations[i]);
    }
    if (!why_.empty()) return;
    grown_.weight_bytes = 0;
    for (const PhaseOperation& o : grown_.operations) grown_.weight_bytes += weightOf(grown_, o);
    const auto tick = [this](std::uint64_t x, std::uint64_t y) {
      const auto law =
          lawOf(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y), Growth::kPlace);
      return static_cast<std::uint64_t>(law ? std::max<std::int64_t>(law->number, 0) : 0);
    };
    grown_.first_tick = tick(a.first_tick, b.first_tick);
    grown_.last_tick = std::max(tick(a.last_tick, b.last_tick), grown_.first_tick);
  }

  // Each call as often as before by each process (weak), or by all together (strong).
  void growMetadata(const Phase& a, const Phase& b) {
    const bool is_whole = a.ranks.size() == static_cast<std::size_t>(first_.processes);
    if (is_alone_ && !is_whole) {
      return refusePhase(
          fmt::format("only some of the {} processes take part, and what they do may be a matter "
                      "of their number; a model of another number of processes decides it",
                      first_.processes));
    }
    growRanks(a.ranks, b.ranks);
    const auto number = [&](std::string_view what, std::uint64_t in_a, std::uint64_t in_b) {
      if (!is_alone_) return growAmount(what, in_a, in_b);
      const auto np = static_cast<std::uint64_t>(first_.processes);
      if (in_a % np != 0) {
        refuseNumber(what, static_cast<std::int64_t>(in_a), static_cast<std::int64_t>(in_b));
      }
      return in_a / np * static_cast<std::uint64_t>(processes_);
    };
    grown_.metadata.operations = 0;
    for (std::size_t i = 0; i < a.calls.size() && why_.empty(); ++i) {
      auto& [name, count] = grown_.calls[i];
      const std::string what = fmt::format("the number of its {} calls", name);
      count = number(what, a.calls[i].second, b.calls[i].second);
      grown_.metadata.operations += count;
      if (!is_whole || is_alone_) continue;
      const bool weak = scaling_ == Scaling::kWeak;
      const auto share = [weak](std::uint64_t calls, const PhaseModel& model) {
        return weak ? static_cast<Wide>(calls) / model.processes : static_cast<Wide>(calls);
      };
      if (share(a.calls[i].second, first_) != share(b.calls[i].second, last_)) {
        refusePhase(fmt::format(
            "it does not scale {}ly: {} calls of {} with {} processes, and {} "
            "with {}",
            word(), a.calls[i].second, name, first_.processes, b.calls[i].second, last_.processes));
      }
    }
    if (!why_.empty()) return;
    grown_.metadata.creates =
        number("the number of its opens that make files", a.metadata.creates, b.metadata.creates);
    // One of all processes, or as many for each.
    const bool is_shared = a.metadata.directories == b.metadata.directories &&
                           (!is_alone_ || fileOf(first_, a).shared);
    grown_.metadata.directories = is_shared
                                      ? a.metadata.directories
                                      : number("the number of its directories",
                                               a.metadata.directories, b.metadata.directories);
  }

  // Counts that follow none of the laws are left out: they are information only.
  using Calls = std::vector<std::pair<std::string, std::uint64_t>>;
  void growCalls(const Calls& a, const Calls& b) {
    grown_.calls.clear();
    Calls calls;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a.size() != b.size() || a[i].first != b[i].first) return;
      const auto in_a = static_cast<std::int64_t>(a[i].second);
      const auto in_b = static_cast<std::int64_t>(b[i].second);
      std::optional<Grown> grown = lawOf(in_a, in_b, Growth::kAmount);
      // All processes of one model: each makes its share.
      if (is_alone_) {
        if (in_a % first_.processes != 0) return;
        grown = Grown{in_a / first_.processes * processes_, {}};
      }
      if (!grown) return;
      calls.emplace_back(a[i].first, static_cast<std::uint64_t>(grown->number));
    }
    grown_.calls = std::move(calls);
  }

  // The ranks of a phase: all, or the same ones, or every n-th.
  void growRanks(const std::vector<int>& a, const std::vector<int>& b) {
    const auto step = [](const std::vector<int>& ranks) {
      const int first = ranks.size() > 1 ? ranks[1] - ranks[0] : 0;
      for (std::size_t i = 1; i < ranks.size(); ++i) {
        if (ranks[i] - ranks[i - 1] != first) return 0;
      }
      return first;
    };
    const bool whole = a.size() == static_cast<std::size_t>(first_.processes) &&
                       b.size() == static_cast<std::size_t>(last_.processes);
    if (!whole && a == b) {
      if (a.back() >= processes_) refusePhase("it does not tell which ranks take part");
      return;
    }
    const int distance = whole ? 1 : step(a);
    if (!whole && (distance == 0 || distance != step(b) || a.front() != b.front())) {
      return refusePhase("it does not tell which ranks take part");
    }
    const std::uint64_t all =
        whole ? static_cast<std::uint64_t>(processes_)
              : growAmount("the number of ranks that take part", a.size(), b.size());
    if (a.front() + static_cast<std::int64_t>(all - 1) * distance >= processes_) {
      return refusePhase("it does not tell which ranks take part");
    }
    grown_.ranks.clear();
    for (std::uint64_t i = 0; i < all; ++i) {
      grown_.ranks.push_back(a.front() + static_cast<int>(i) * distance);
    }
  }

  void growOperation(const Phase& phase_a, const PhaseOperation& a, const Phase& phase_b,
                     const PhaseOperation& b, PhaseOperation& grown) {
    if (a.varying || b.varying) return refusePhase("its requests differ in size");
    if (a.several_blocks || b.several_blocks) {
      return refusePhase(
          "its requests are of several blocks of a view, of which a model has no law");
    }
    if (a.nested.size() > 1 || b.nested.size() > 1) {
      return refusePhase("its strides differ from rank to rank");
    }
    if (!a.init_offset.table.empty() || !b.init_offset.table.empty()) {
      return refusePhase("f(initOffset) is a table");
    }
    // MPI_Dims_create keeps one side from 4 to 8 processes, and another one from 8 to 16.
    if (!a.init_offset.grid.empty() || !b.init_offset.grid.empty()) {
      return refusePhase("its ranks make a grid, of which two models do not tell the sides");
    }
    grown.request_bytes = growAmount("rs", a.request_bytes, b.request_bytes);
    // A share of a domain is a whole number of items (of doubles, mostly).
    constexpr std::uint64_t kLargestItem = 16;
    const std::uint64_t item =
        phase_a.has_view ? phase_a.etype_bytes
                         : std::gcd(std::gcd(a.request_bytes, b.request_bytes), kLargestItem);
    if (grown.request_bytes % item != 0) {
      refusePhase(fmt::format("rs would be {} bytes, which are not whole items of {}",
                              grown.request_bytes, item));
    }
    grown.repetitions = growAmount("rep", a.repetitions, b.repetitions);
    checkScaling(phase_a, a, phase_b, b);
    if (is_alone_) checkAlone(phase_a, a);
    grown.displacement_bytes =
        grow("disp", a.displacement_bytes, b.displacement_bytes, Growth::kPlace);
    grown.init_offset.base =
        grow("f(initOffset) of rank 0", a.init_offset.base, b.init_offset.base, Growth::kPlace);
    grown.init_offset.per_rank =
        grow("the distance of ranks in f(initOffset)", a.init_offset.per_rank,
             b.init_offset.per_rank, Growth::kPlace);
    if (why_.empty()) checkBegin(grown);
    if (!a.nested.empty()) {
      grown.nested.front().ranks = grown_.ranks;
      growPart(a.nested.front().part, b.nested.front().part, grown.nested.front().part);
    }
  }

  void checkScaling(const Phase& phase_a, const PhaseOperation& a, const Phase& phase_b,
                    const PhaseOperation& b) {
    // Some ranks write for all (a header, say): their bytes may grow with the number of ranks.
    if (phase_a.ranks.size() != static_cast<std::size_t>(first_.processes)) return;
    const bool weak = scaling_ == Scaling::kWeak;
    const std::uint64_t in_a = weak ? a.request_bytes * a.repetitions : weightOf(phase_a, a);
    const std::uint64_t in_b = weak ? b.request_bytes * b.repetitions : weightOf(phase_b, b);
    if (in_a == in_b) return;
    refusePhase(
        fmt::format("it does not scale {}ly: {} {} {} bytes with {} processes, and {} with {}",
                    word(), weak ? "each" : "all", weak ? "moves" : "move", in_a, first_.processes,
                    in_b, last_.processes));
  }

  void checkBegin(const PhaseOperation& grown) {
    for (const int rank : {grown_.ranks.front(), grown_.ranks.back()}) {
      if (!grown.init_offset.known || grown.init_offset.at(rank) >= 0) continue;
      refusePhase(
          fmt::format("process {} would begin at offset {}", rank, grown.init_offset.at(rank)));
    }
  }

  // With one model, any number other than 0 and the block of a process may depend on np.
  void checkAlone(const Phase& phase, const PhaseOperation& a) {
    const auto rs = static_cast<std::int64_t>(a.request_bytes);
    const std::int64_t block = rs * static_cast<std::int64_t>(a.repetitions);
    if (phase.ranks.size() != static_cast<std::size_t>(first_.processes)) {
      return refusePhase(
          fmt::format("only some of the {} processes take part, and what they do may be a matter "
                      "of their number; a model of another number of processes decides it",
                      first_.processes));
    }
    if (!a.nested.empty() || (a.repetitions > 1 && a.displacement_bytes != rs)) {
      return refuseNumber("disp", a.displacement_bytes, 0);
    }
    if (a.init_offset.base != 0) {
      return refuseNumber("f(initOffset) of rank 0", a.init_offset.base, 0);
    }
    if (a.init_offset.per_rank != (fileOf(first_, phase).shared ? block : 0)) {
      refuseNumber("the distance of ranks in f(initOffset)", a.init_offset.per_rank, 0);
    }
  }

  void growPart(const Part& a, const Part& b, Part& grown) {
    if (a.body.size() != b.body.size()) return refusePhase("its loops differ");
    grown.offset = grow("the offset of a request", a.offset, b.offset, Growth::kPlace);
    if (!a.isLoop()) {
      grown.bytes = growAmount("rs", a.bytes, b.bytes);
      return;
    }
    grown.stride = grow("the stride of a loop", a.stride, b.stride, Growth::kPlace);
    grown.count = growAmount("the turns of a loop", a.count, b.count);
    for (std::size_t i = 0; i < a.body.size() && why_.empty(); ++i) {
      growPart(a.body[i], b.body[i], grown.body[i]);
    }
    grown = pattern::loopOf(grown.offset, grown.count, grown.stride, std::move(grown.body));
  }

  static const model::ModelFile& fileOf(const PhaseModel& model, const Phase& phase) {
    return model.files[static_cast<std::size_t>(phase.file)];
  }

  // The furthest byte that a phase touches.
  void growFile(PhaseModel& grown, std::size_t index) {
    model::ModelFile& file = grown.files[index];
    if (file.directory) return;
    Wide size = 0;
    bool known = true;
    for (const Phase& phase : grown.phases) {
      if (static_cast<std::size_t>(phase.file) != index) continue;
      for (const PhaseOperation& o : phase.operations) {
        known = known && o.init_offset.known;
        Wide end = o.request_bytes;
        if (!o.nested.empty()) {
          end = pattern::summaryOf(o.nested.front().part).end;
        } else {
          end += std::max<Wide>(static_cast<Wide>(o.repetitions - 1) * o.displacement_bytes, 0);
        }
        // Tables and grids are refused: the first or the last rank is the furthest.
        for (const int rank : {phase.ranks.front(), phase.ranks.back()}) {
          size = std::max<Wide>(size, o.init_offset.at(rank) + end);
        }
      }
    }
    const auto a = static_cast<std::int64_t>(file.size_bytes);
    const auto b = static_cast<std::int64_t>(last_.files[file_of_[index]].size_bytes);
    if (known) {
      file.size_bytes = static_cast<std::uint64_t>(std::min<Wide>(size, Wide{1} << 60));
    } else if (const auto law = lawOf(a, b, Growth::kPlace); law && !is_alone_) {
      file.size_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(law->number, 0));
    } else {
      refuse(fmt::format("{}: its size follows from no phase", file.path));
    }
  }

  const PhaseModel& first_;
  const PhaseModel& last_;
  bool is_alone_;
  int processes_;
  Scaling scaling_;
  std::vector<std::size_t> file_of_;    // by file of the first model, that of the last
  std::vector<const Phase*> partners_;  // by phase of the first model
  std::map<std::string_view, std::vector<std::string>> laws_;  // the numbers that follow each
  Phase grown_;
  std::string why_;
};

}  // namespace

base::Result<model::PhaseModel> growModel(const std::vector<model::PhaseModel>& models,
                                          int processes, Scaling scaling) {
  return Grower(models, processes, scaling).grow();
}

}  // namespace omnio::phases
