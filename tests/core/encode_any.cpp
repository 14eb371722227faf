#include "tests/core/encode_any.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace omnio::test {
namespace {

using Encoder = char* (*)(char*, wire::Prediction&, const EventSpec&);

template <calls::CallId kCall>
char* encodeOne(char* out, wire::Prediction& state, const EventSpec& event) {
  wire::Arguments<kCall> arguments{};
  std::copy_n(event.arguments.begin(), arguments.size() - 1, arguments.begin());
  return wire::encodeEvent<kCall>(out, state, {event.start, event.end}, event.depth, event.failed,
                                  arguments, event.request, event.result);
}

template <std::size_t kNumber>
constexpr Encoder encoderOf() {
  if constexpr (calls::kTable[kNumber].number != 0) {
    return &encodeOne<calls::CallId{kNumber}>;
  } else {
    return nullptr;
  }
}

template <std::size_t... kNumbers>
constexpr std::array<Encoder, sizeof...(kNumbers)> makeEncoders(std::index_sequence<kNumbers...>) {
  return {encoderOf<kNumbers>()...};
}

constexpr auto kEncoders = makeEncoders(std::make_index_sequence<calls::kNumberLimit>());

}  // namespace

char* encodeAny(std::uint16_t number, char* out, wire::Prediction& state, const EventSpec& event) {
  if (number >= kEncoders.size() || kEncoders[number] == nullptr) {
    throw std::invalid_argument("no call has the number " + std::to_string(number));
  }
  out = kEncoders[number](out, state, event);
  for (const std::uint64_t size : event.pieces) out = wire::putVarint(out, size);
  return out;
}

}  // namespace omnio::test
