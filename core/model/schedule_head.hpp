// Reads what a schedule has in front of its ranks.
#pragma once

#include "core/base/json_reader.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

// Both refuse what a schedule cannot have.
ScheduleGlobal globalOf(base::JsonReader& in, const base::JsonNode& node);
ScheduleFile fileOf(base::JsonReader& in, const base::JsonNode& node);

}  // namespace omnio::model
