// Bytes that are packed with zstd: much of plans and programs comes again and again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace omnio::replay {

std::string packed(std::string_view bytes);
// Nothing where these are not such bytes.
std::optional<std::string> unpacked(std::string_view bytes);

}  // namespace omnio::replay
