// The parts of a schedule from their JSON values. Each returns why it is refused, and where.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/base/json_units.hpp"
#include "core/model/schedule.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {

using Locations = std::unordered_map<std::string, FileNumber>;

JsonUnits::Verdict readGlobal(const JsonNode& node, ScheduleGlobal& global);
JsonUnits::Verdict readFile(const JsonNode& node, ScheduleFile& file);

// `turn` counts from 0 how often a repeated event came before: its numbers advance by its `step`.
JsonUnits::Verdict readEvent(const JsonNode& node, const Locations& locations, std::int64_t turn,
                             ScheduleEvent& event);
JsonUnits::Verdict readRepeat(const JsonNode& node, std::int64_t& times, const JsonNode*& body);

}  // namespace omnio::model
