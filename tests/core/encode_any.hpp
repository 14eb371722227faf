// The encoder, which is a template over the call's number, for a number known at run time.
#pragma once

#include <cstdint>

#include "core/wire/encode.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::test {

// `out` has room for kMaxFixedRecord bytes and kMaxVarint for each piece. Returns the place behind.
char* encodeAny(std::uint16_t number, char* out, wire::Prediction& state, const EventSpec& event);

}  // namespace omnio::test
