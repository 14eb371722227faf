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

base::JsonUnits::Verdict readGlobal(const base::JsonNode& node, ScheduleGlobal& global);
base::JsonUnits::Verdict readFile(const base::JsonNode& node, ScheduleFile& file);

// `turn` counts from 0 how often a repeated event came before: its numbers advance by its `step`.
base::JsonUnits::Verdict readEvent(const base::JsonNode& node, const Locations& locations,
                                   std::int64_t turn, ScheduleEvent& event);
base::JsonUnits::Verdict readRepeat(const base::JsonNode& node, std::int64_t& times,
                                    const base::JsonNode*& body);

}  // namespace omnio::model
