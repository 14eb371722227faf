#include "core/mpi/datatype.hpp"

#include <fmt/format.h>

#include "core/mpi/datatype_parser.hpp"
#include "core/wire/info.hpp"

namespace omnio::mpi {
base::Result<MpiType> parseMpiType(std::string_view text) {
  const auto layout = std::make_shared<DataLayout>();
  MpiTypeParser parser(text, *layout);
  const std::optional<MpiTypeParser::Whole> whole = parser.all();
  if (!whole) return base::Failure{base::Code::kDamaged, parser.problem()};
  return MpiType{.layout = layout,
                 .data = whole->data,
                 .tiles = whole->tiles,
                 .size = whole->size,
                 .lower_bound = whole->lower_bound,
                 .extent = whole->extent};
}

std::string mpiTypeText(const tracefile::ProcessInfo& info, std::uint64_t number) {
  const std::string key = fmt::format("{}{}", wire::info::kTypePrefix, number);
  std::string text = info.text(key);
  for (unsigned piece = 1;; ++piece) {
    const std::string& more = info.text(fmt::format("{}.{}", key, piece));
    if (more.empty()) return text;
    text += more;
  }
}

}  // namespace omnio::mpi
