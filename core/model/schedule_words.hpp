// The words of a schedule for its enumerations; shared by reader and writer.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "core/model/schedule.hpp"

namespace omnio::model {

inline constexpr std::string_view kScheduleFormat = "omnio-schedule";

inline constexpr std::pair<Timing, std::string_view> kTimings[] = {
    {Timing::kAsap, "asap"}, {Timing::kDelta, "dt"}, {Timing::kStart, "start"}};

inline constexpr std::pair<FileRole, std::string_view> kRoles[] = {
    {FileRole::kInput, "input"},
    {FileRole::kOutput, "output"},
    {FileRole::kUpdated, "updated"},
    {FileRole::kDirectory, "directory"},
    {FileRole::kAbsent, "absent"}};

// Steps that are no calls, as their `command`.
inline constexpr std::pair<Step, std::string_view> kSteps[] = {
    {Step::kPreopened, "preopened"}, {Step::kInherited, "inherited"}, {Step::kDelay, "delay"}};

template <typename Value, std::size_t kCount>
constexpr std::string_view wordOf(const std::pair<Value, std::string_view> (&words)[kCount],
                                  Value value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return {};
}

template <typename Value, std::size_t kCount>
constexpr std::optional<Value> valueOf(const std::pair<Value, std::string_view> (&words)[kCount],
                                       std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace omnio::model
