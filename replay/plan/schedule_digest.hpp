// A digest of what a schedule says, by which a replay is known to be of it. Two documents have the
// same digest when they differ in format alone: blanks, the order of keys and files. A loop and its
// events written out have not.
// The source of the schedule, its command and its notes do not count.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::replay {

// Passes a schedule on to another sink, and computes its digest on the way.
class DigestingSink final : public model::ScheduleSink {
 public:
  explicit DigestingSink(model::ScheduleSink& next) : next_(next) {}

  Complaint global(const model::ScheduleGlobal& global) override {
    addAll(global.timing, global.write_overwrite, global.size_scale, global.time_scale,
           global.ranks);
    for (const model::SizeScale& scale : global.size_scales) addAll(scale.pattern, scale.factor);
    if (global.keep_below > 0) add(global.keep_below);
    if (global.mpi) {
      for (const std::vector<int>& group : global.mpi->groups) {
        addAll(group.size());
        for (const int rank : group) addAll(rank);
      }
      for (const std::string& type : global.mpi->types) addAll(type);
    }
    return next_.global(global);
  }
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override {
    const std::uint64_t before = std::exchange(state_, 0);
    addAll(file.location, file.role, (file.exists ? 1U : 0U) | (file.lines ? 2U : 0U), file.size,
           file.read_before_written);
    for (const model::Hole& hole : file.holes) addAll(hole.begin, hole.end);
    if (!file.target.empty()) add(file.target);
    files_ += std::exchange(state_, before);
    locations_.push_back(digestOf(file.location));
    return next_.file(number, file);
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    addAll(thread.rank, thread.thread, thread.recorder_ns, thread.computing.value_or(-1));
    return next_.beginThread(thread);
  }
  Complaint event(const model::ScheduleEvent& event) override {
    addEvent(event);
    return next_.event(event);
  }
  bool takesLoops() const override { return true; }
  // Loops count as such: their lines, how these change, and where their times are.
  model::ScheduleSink* loop(const model::PassedLoop& passed, Complaint& complaint) override {
    addLoop(passed.loop);
    if (passed.times) addAll(passed.times->digest, passed.times->stream, passed.times->first);
    return next_.takesLoops() ? next_.loop(passed, complaint) : &next_;
  }
  Complaint endThread() override {
    add(0);
    return next_.endThread();
  }

  // When all of the schedule has been passed on: 16 hexadecimal digits.
  std::string text() const { return fmt::format("{:016x}", base::mixed(state_, files_)); }

 private:
  void addEvent(const model::ScheduleEvent& event) {
    add(event.step);
    if (event.row != nullptr) add(digestOf(event.row->name));
    addAll(event.start_ns, event.end_ns, event.failed, event.result);
    for (const std::int64_t argument : event.arguments) add(argument);
    addAll(event.fd, event.source, event.replaced, event.new_fd, locationOf(event.file),
           locationOf(event.new_file), event.text, event.request, event.offset, event.pieces,
           event.id, event.after.size());
    for (const auto& [id, reason, work] : event.after) addAll(id, reason, work);
    if (event.phase != 0) add(static_cast<std::uint64_t>(event.phase));
    addAll(event.own.has_value(), event.own.value_or(model::Work{}));
  }
  void addLoop(const model::EventLoop& loop) {
    addAll(loop.turns, loop.gap_ns.value_or(-1), loop.body.size());
    for (const auto* list : loop.lists) {
      for (const std::int64_t value : *list) add(value);
    }
    for (const model::EventLoop::Part& part : loop.body) {
      if (part.loop) {
        addLoop(*part.loop);
        continue;
      }
      if (part.line->share) {
        addAll(part.line->share->with_work, part.line->share->all, part.line->share_first);
      }
      for (const auto* samples : {&part.line->samples, &part.line->corners}) {
        for (const auto& [values, event] : *samples) addEvent(event);
      }
    }
  }

  std::uint64_t locationOf(model::FileNumber file) const {
    return file == model::kNoFileNumber ? 0 : locations_[static_cast<std::size_t>(file)];
  }
  static std::uint64_t digestOf(std::string_view text) {
    return wire::checksum(text.data(), text.size());
  }

  template <typename T>
  void add(const T& value) {
    if constexpr (std::same_as<T, std::string>) {
      addAll(value.size(), digestOf(value));
    } else if constexpr (std::same_as<T, std::vector<std::uint64_t>>) {
      add(value.size());
      for (const std::uint64_t one : value) add(one);
    } else if constexpr (std::same_as<T, model::Work>) {
      addAll(value.compute_ns, value.communication_ns);
    } else if constexpr (std::same_as<T, double>) {
      add(std::bit_cast<std::uint64_t>(value));
    } else {
      state_ = base::mixed(state_, static_cast<std::uint64_t>(value));
    }
  }
  void addAll(const auto&... values) { (add(values), ...); }

  model::ScheduleSink& next_;
  std::uint64_t state_ = 0;
  std::uint64_t files_ = 0;               // the sum of theirs
  std::vector<std::uint64_t> locations_;  // by number of the file
};

}  // namespace omnio::replay
