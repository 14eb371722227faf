#include "core/base/result.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "core/base/printable.hpp"

namespace omnio::base {

Failure systemFailure(const std::filesystem::path& path, int error, std::string_view what) {
  return {error == ENOENT ? Code::kNotFound : Code::kSystem,
          fmt::format("{}{}{}: {}", what, what.empty() ? "" : " ", printable(path.native()),
                      std::strerror(error))};
}

}  // namespace omnio::base
