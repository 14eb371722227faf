#include "predict/kept/kept_models_writer.hpp"

#include <zstd.h>

#include <string_view>

#include "core/wire/checksum.hpp"
#include "predict/kept/model_archive.hpp"

namespace omnio::predict {
namespace {

template <typename T>
std::string_view bytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

KeptModelsWriter::KeptModelsWriter(const std::filesystem::path& path,
                                   const std::set<std::string>& programs, bool is_whole)
    : file_(path), index_{.programs = {programs.begin(), programs.end()}, .is_whole = is_whole} {
  file_.write(kept::kMagic);
  file_.write(bytesOf(kept::kVersion));
}

template <typename Kept>
std::uint64_t KeptModelsWriter::add(Kept& what) {
  ModelWriter writer;
  writer(what);
  const std::string& text = writer.text();
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), ZSTD_CLEVEL_DEFAULT);
  const bool is_packed =
      ZSTD_isError(size) == 0 && size < text.size() && text.size() / kept::kMostRatio <= size;
  const std::string_view stored =
      is_packed ? std::string_view(packed).substr(0, size) : std::string_view(text);
  const kept::Part part{.stored = stored.size(),
                        .bytes = text.size(),
                        .checksum = wire::checksum(stored.data(), stored.size())};
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = numbers_.try_emplace({part.checksum, part.bytes}, numbers_.size());
  if (is_new) {
    file_.write(stored);
    index_.parts.push_back(part);
  }
  return place->second;
}

void KeptModelsWriter::add(RankKey rank, RankModels models) {
  kept::Models rest{models};
  const kept::OfRank parts{.contexts = add(models.contexts), .models = add(rest)};
  const std::lock_guard lock(mutex_);
  index_.ranks[rank] = parts;
}

base::Result<void> KeptModelsWriter::finish() {
  ModelWriter writer;
  writer(index_);
  const std::uint64_t begin = file_.bytes();
  const std::uint64_t checksum = wire::checksum(writer.text().data(), writer.text().size());
  file_.write(writer.text());
  file_.write(bytesOf(begin));
  file_.write(bytesOf(checksum));
  file_.write(kept::kMagic);
  return file_.finish();
}

}  // namespace omnio::predict
