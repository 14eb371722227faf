// Makes of a loop what a sink may take, by events of some of its turns.
#pragma once

#include <memory>
#include <optional>

#include "core/base/json_reader.hpp"
#include "core/base/result.hpp"
#include "core/model/compact/event_loop.hpp"
#include "core/model/compact/repeat.hpp"
#include "core/model/event_reader.hpp"

namespace omnio::model {

struct BuiltLoop {
  // Nothing where only the events themselves tell what the loop does.
  std::unique_ptr<EventLoop> loop;
  // Why an event of the loop, or one with some of its numbers, would be refused.
  std::optional<base::Failure> refusal;
};

// `values`: of the scope of `repeat`, which are others afterwards. `has_exact`: the file of times
// has the times of the loop. The loop has pointers into `repeat`.
BuiltLoop builtLoop(base::JsonReader& in, const Repeat& repeat, TurnValues& values,
                    const Locations& locations, const MpiTables* mpi, bool has_exact);

}  // namespace omnio::model
