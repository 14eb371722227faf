#include "core/model/compact/loop_builder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/work_share.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonReader;

class LoopBuilder {
 public:
  LoopBuilder(JsonReader& in, TurnValues& values, const Locations& locations, const MpiTables* mpi,
              bool has_exact)
      : in_(in), values_(values), locations_(locations), mpi_(mpi), has_exact_(has_exact) {}

  std::unique_ptr<EventLoop> built(const Repeat& repeat) {
    goToFirstTurn(repeat);
    first_ = values_;
    // Each sample has all values.
    if (first_.size() > kMostValues) return nullptr;
    auto loop = std::make_unique<EventLoop>();
    return build(repeat, *loop) ? std::move(loop) : nullptr;
  }
  const std::optional<base::Failure>& refusal() const { return refusal_; }

 private:
  static constexpr std::size_t kDeepest = 6;  // has 64 corners
  static constexpr std::int64_t kMostNames = 1 << 22;
  static constexpr std::size_t kMostValues = 1024;

  void goToFirstTurn(const Repeat& repeat) {
    values_[repeat.place()] = 0;
    for (std::size_t i = 0; i < repeat.lists().size(); ++i) {
      values_[repeat.place() + 1 + i] = repeat.lists()[i].front();
    }
    for (const Repeat::Part& part : repeat.body()) {
      if (part.loop) goToFirstTurn(*part.loop);
    }
  }

  bool build(const Repeat& repeat, EventLoop& loop) {
    loop.turns = repeat.turns();
    loop.place = repeat.place();
    for (const auto& list : repeat.lists()) loop.lists.push_back(&list);
    if (const JsonNode* gap = repeat.node().find("gap")) {
      const auto* number = gap->as<std::int64_t>();
      if (number == nullptr || *number < -kTenYears || *number > kTenYears) return false;
      loop.gap_ns = *number;
    }
    path_.push_back(&loop);
    if (path_.size() > kDeepest || !passesOf(path_)) return false;
    for (const Repeat::Part& part : repeat.body()) {
      EventLoop::Part& made = loop.body.emplace_back();
      if (part.loop) {
        made.loop = std::make_unique<EventLoop>();
        if (!build(*part.loop, *made.loop)) return false;
      } else {
        made.line = std::make_unique<LoopLine>();
        if (!build(*part.item, *made.line)) return false;
      }
    }
    path_.pop_back();
    // Turns without an event are not to be gone through.
    return std::ranges::any_of(loop.body, [](const EventLoop::Part& part) {
      return part.line != nullptr || part.loop != nullptr;
    });
  }

  bool build(TurnNode& item, LoopLine& line) {
    line.is_relative = isRelative(item.node());
    line.place = item.node().place;
    if (!sample(item, first_, line.samples)) return false;
    const ScheduleEvent& first = line.first();
    if (first.step != Step::kCall && first.step != Step::kDelay) return false;
    // Groups count how often their files are opened.
    if (first.step == Step::kCall && calls::isMpiIo(*first.row) &&
        first.row->call_class == calls::Class::kOpen) {
      return false;
    }
    LoopPath changing;
    for (const EventLoop* loop : path_) {
      bool is_used = loop->turns > 1 && item.dependsOn(loop->place);
      if (is_used && !sampleWith(item, loop->place, 1, line.samples)) return false;
      for (std::size_t i = 0; i < loop->lists.size(); ++i) {
        const std::size_t place = loop->place + 1 + i;
        if (!item.dependsOn(place)) continue;
        is_used = true;
        const auto [least, most] = std::ranges::minmax(*loop->lists[i]);
        if (!sampleWith(item, place, least, line.samples) ||
            !sampleWith(item, place, most, line.samples)) {
          return false;
        }
      }
      if (is_used) changing.push_back(loop);
    }
    if (!has_exact_) takeShare(item, line);
    return sampleCorners(item, changing, line) && sampleLists(item, changing, line) &&
           takeWaits(item, line) && areNamesAsTold(item, line);
  }

  // Which a sample would have refused where it is none.
  static void takeShare(const TurnNode& item, LoopLine& line) {
    const JsonNode* share = item.node().find(kShareKey);
    const auto* numbers = share == nullptr ? nullptr : share->as<JsonNode::List>();
    if (numbers == nullptr || numbers->size() != 2) return;
    const auto* with_work = (*numbers)[0].as<std::int64_t>();
    const auto* all = (*numbers)[1].as<std::int64_t>();
    if (with_work == nullptr || all == nullptr) return;
    line.share = WorkShare{.with_work = static_cast<std::uint64_t>(*with_work),
                           .all = static_cast<std::uint64_t>(*all)};
  }

  // Each event waits for as many, for the same reasons.
  static bool takeWaits(const TurnNode& item, LoopLine& line) {
    const std::vector<Wait>& waits = line.first().after;
    for (const auto* samples : {&line.samples, &line.corners}) {
      for (const auto& [values, event] : *samples) {
        const bool is_same =
            std::ranges::equal(event.after, waits, [](const Wait& a, const Wait& b) {
              return a.reason == b.reason && a.work == b.work && (a.id == 0) == (b.id == 0);
            });
        if (!is_same || event.own != line.first().own) return false;
      }
    }
    const JsonNode* after = item.node().find("after");
    const auto* list = after == nullptr ? nullptr : after->as<JsonNode::List>();
    if (list == nullptr) return true;
    std::uint32_t at = 0;
    for (const JsonNode& wait : *list) {
      const JsonNode* repeat = wait.find("repeat");
      const auto* number = repeat == nullptr ? nullptr : repeat->as<std::int64_t>();
      const auto count = static_cast<std::uint32_t>(number == nullptr ? 1 : *number);
      if (wait.find("compute") != nullptr) line.timed_waits.push_back({at, count});
      at += count;
    }
    return true;
  }

  static bool isRelative(const JsonNode& node) {
    return node.find("gap") != nullptr || node.find("duration") != nullptr;
  }

  bool sampleWith(TurnNode& item, std::size_t place, std::int64_t value,
                  std::vector<LoopLine::Sample>& samples) {
    if (value == first_[place]) return true;
    TurnValues values = first_;
    values[place] = value;
    return sample(item, values, samples);
  }

  bool sampleCorners(TurnNode& item, const LoopPath& changing, LoopLine& line) {
    for (std::size_t corner = 0; corner < std::size_t{1} << changing.size(); ++corner) {
      TurnValues values = first_;
      for (std::size_t i = 0; i < changing.size(); ++i) {
        if ((corner >> i & 1U) == 0) continue;
        const EventLoop& loop = *changing[i];
        values[loop.place] = loop.turns - 1;
        for (std::size_t k = 0; k < loop.lists.size(); ++k) {
          values[loop.place + 1 + k] = loop.lists[k]->back();
        }
      }
      if (!sample(item, values, line.corners)) return false;
    }
    return true;
  }

  // Numbers of lists go up and down: all of their turns are looked at, with the first and last
  // turns of the other loops. Those events stay that have the most of something.
  bool sampleLists(TurnNode& item, const LoopPath& changing, LoopLine& line) {
    LoopPath listed;
    LoopPath others;
    for (const EventLoop* loop : changing) {
      bool has_list = false;
      for (std::size_t i = 1; i <= loop->lists.size(); ++i) {
        has_list = has_list || item.dependsOn(loop->place + i);
      }
      (has_list ? listed : others).push_back(loop);
    }
    if (listed.empty()) return true;
    const auto passes = passesOf(listed);
    if (!passes || *passes > kMostNames >> others.size()) return false;
    const std::size_t count = numbersOf(line.first()).size();
    std::vector<TurnNumber> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = line.number([&](const ScheduleEvent& event) {
        const std::vector<std::int64_t> all = numbersOf(event);
        return all.size() == count ? all[i] : 0;
      });
      if (!number) return false;
      numbers.push_back(*number);
    }
    TurnValues turns = first_;
    std::vector<std::optional<LoopLine::Sample>> least(count);
    std::vector<std::optional<LoopLine::Sample>> most(count);
    const bool are_as_told = forTurnsWhile(listed, turns, [&](const TurnValues& now) {
      for (std::size_t corner = 0; corner < std::size_t{1} << others.size(); ++corner) {
        TurnValues values = now;
        for (std::size_t i = 0; i < others.size(); ++i) {
          if ((corner >> i & 1U) != 0) values[others[i]->place] = others[i]->turns - 1;
        }
        std::vector<LoopLine::Sample> one;
        if (!sample(item, values, one)) return false;
        const std::vector<std::int64_t> all = numbersOf(one.front().event);
        if (all.size() != count) return false;
        for (std::size_t i = 0; i < count; ++i) {
          if (numbers[i].at(values, first_) != all[i]) return false;
          if (numbers[i].steps.empty()) continue;
          const auto of = [&](const LoopLine::Sample& other) {
            return numbers[i].at(other.values, first_);
          };
          if (!least[i] || all[i] < of(*least[i])) least[i] = one.front();
          if (!most[i] || all[i] > of(*most[i])) most[i] = one.front();
        }
      }
      return true;
    });
    if (!are_as_told) return false;
    for (auto* samples : {&least, &most}) {
      for (auto& kept : *samples) {
        if (kept) line.corners.push_back(std::move(*kept));
      }
    }
    // The last one stays the last.
    std::swap(line.corners[(std::size_t{1} << changing.size()) - 1], line.corners.back());
    return true;
  }

  // All that changes of an event from turn to turn, and what counts of it besides.
  static std::vector<std::int64_t> numbersOf(const ScheduleEvent& event) {
    std::vector<std::int64_t> numbers(event.arguments.begin(), event.arguments.end());
    const auto add = [&numbers](auto... values) {
      (numbers.push_back(static_cast<std::int64_t>(values)), ...);
    };
    add(event.start_ns, event.end_ns, event.result, event.fd, event.source, event.replaced,
        event.new_fd, event.directory, event.new_directory, event.file, event.new_file,
        event.lookups, event.new_lookups, event.request, event.offset, event.phase, event.id,
        event.row == nullptr ? 0 : bytesMoved(event));
    std::uint64_t pieces = 0;
    for (const std::uint64_t piece : event.pieces) pieces += piece;
    add(pieces);
    for (const std::uint64_t piece : event.pieces) add(piece);
    for (const Wait& wait : event.after) add(wait.id);
    return numbers;
  }

  // False where such an event would be refused.
  bool sample(TurnNode& item, const TurnValues& values, std::vector<LoopLine::Sample>& samples) {
    values_ = values;
    std::optional<ScheduleEvent> event;
    const auto taken = in_.attempt([&] {
      const JsonNode& node = item.now();
      if (in_.failed()) return;
      ThreadTimes none;
      event = readEvent(in_, node, locations_, mpi_, none, nullptr);
      if (!isRelative(node) || in_.failed()) return;
      event->start_ns = base::integerOf(in_, "gap", *node.find("gap"), {});
      event->end_ns = base::integerOf(in_, "duration", *node.find("duration"), {});
    });
    if (!taken) {
      refusal_ = taken.failure();
      return false;
    }
    samples.push_back({.values = values, .event = std::move(*event)});
    return true;
  }

  // Names are no numbers: those of all turns are looked up.
  bool areNamesAsTold(TurnNode& item, const LoopLine& line) {
    LoopPath naming;
    for (const EventLoop* loop : path_) {
      bool is_named = false;
      for (std::size_t i = 0; i <= loop->lists.size(); ++i) {
        is_named = is_named || item.hasNameOf(loop->place + i);
      }
      if (is_named) naming.push_back(loop);
    }
    if (naming.empty()) return true;
    const auto passes = passesOf(naming);
    const auto file = line.number([](const ScheduleEvent& event) { return event.file; });
    const auto new_file = line.number([](const ScheduleEvent& event) { return event.new_file; });
    if (!passes || *passes > kMostNames || !file || !new_file) return false;
    TurnValues values = first_;
    const bool is_as_told = forTurnsWhile(naming, values, [&](const TurnValues& now) {
      values_ = now;
      const std::pair<FileNumber, FileNumber> names{
          static_cast<FileNumber>(file->at(now, first_)),
          static_cast<FileNumber>(new_file->at(now, first_))};
      return in_.attempt([&] { item.now(); }).ok() && isNamed(item, "location", names.first) &&
             isNamed(item, "newlocation", names.second);
    });
    return is_as_told;
  }

  bool isNamed(const TurnNode& item, std::string_view key, FileNumber file) const {
    const JsonNode* node = item.node().find(key);
    const auto* text = node == nullptr ? nullptr : node->as<std::string>();
    if (text == nullptr) return file == kNoFileNumber;
    const auto found = locations_.find(base::bytesOf(*text));
    return found == locations_.end() ? file == kNoFileNumber : found->second == file;
  }

  JsonReader& in_;
  TurnValues& values_;
  const Locations& locations_;
  const MpiTables* const mpi_;
  TurnValues first_;
  std::optional<base::Failure> refusal_;
  const bool has_exact_;
  LoopPath path_;
};

}  // namespace

BuiltLoop builtLoop(JsonReader& in, const Repeat& repeat, TurnValues& values,
                    const Locations& locations, const MpiTables* mpi, bool has_exact) {
  LoopBuilder builder(in, values, locations, mpi, has_exact);
  std::unique_ptr<EventLoop> loop = builder.built(repeat);
  return {.loop = std::move(loop), .refusal = builder.refusal()};
}

}  // namespace omnio::model
