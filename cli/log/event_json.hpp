// The JSON form of an event: one object a line, docs/commands/log.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/event/event.hpp"
#include "core/event/path_table.hpp"

namespace omnio::cli {

// Whose event it is.
struct EventOrigin {
  std::optional<int> rank;
  std::uint32_t thread = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
};

// Appends the object without its closing brace: more members may follow.
void appendJsonOpen(std::string& out, const event::Event& event, const EventOrigin& origin,
                    const event::PathTable& paths);

}  // namespace omnio::cli
