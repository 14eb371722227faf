#include "core/base/path_pattern.hpp"

namespace omnio::base {

std::string withoutNumbers(std::string_view path) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string name;
  name.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_digit(path[i])) {
      name += path[i];
    } else if (i == 0 || !is_digit(path[i - 1])) {
      name += '#';
    }
  }
  return name;
}

}  // namespace omnio::base
