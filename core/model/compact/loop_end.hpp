// When the last event of a loop ends.
#pragma once

#include <cstdint>
#include <optional>

#include "core/model/compact/event_loop.hpp"
#include "core/model/event_reader.hpp"

namespace omnio::model {

// The loop's own gap is before its first event. Nothing where its lines have times of several
// kinds, or times that change from turn to turn. Reads all exact times of the loop, where there are
// some.
std::optional<std::int64_t> endOf(const EventLoop& loop, const ThreadTimes& times);

}  // namespace omnio::model
