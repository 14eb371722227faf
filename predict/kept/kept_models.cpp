#include "predict/kept/kept_models.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "core/base/printable.hpp"
#include "core/wire/checksum.hpp"
#include "predict/kept/model_archive.hpp"

namespace omnio::predict {
namespace {

std::string nameOf(RankKey rank) {
  return rank < 0 ? fmt::format("process {} without a rank", -rank) : fmt::format("rank {}", rank);
}

// Fewer bytes where the file cannot be read.
std::string bytesAt(const base::File& file, std::uint64_t begin, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  text.resize(file.readAt(begin, text.data(), text.size()));
  return text;
}

}  // namespace

base::Failure KeptModels::damaged(std::uint64_t byte, std::string_view why) const {
  return base::failure(base::Code::kDamaged, "{}: the prediction model is damaged at byte {}: {}",
                       base::printable(path_.native()), byte, why);
}

base::Result<std::unique_ptr<KeptModels>> KeptModels::open(const std::filesystem::path& path) {
  base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  std::unique_ptr<KeptModels> models(new KeptModels(path, std::move(*file)));
  if (const base::Result<void> read = models->readIndex(); !read) return read.failure();
  return models;
}

base::Result<void> KeptModels::readIndex() {
  const std::uint64_t size = file_.size();
  const std::string head = bytesAt(file_, 0, std::min<std::uint64_t>(size, kept::kHeadBytes));
  if (!head.starts_with(kept::kMagic) || head.size() < kept::kHeadBytes) {
    return base::fileFailure(path_, base::Code::kNotOurs,
                             "not a prediction model: omnio predict --save-model writes one");
  }
  std::uint32_t version = 0;
  std::memcpy(&version, head.data() + kept::kMagic.size(), sizeof version);
  if (version != kept::kVersion) {
    return base::failure(base::Code::kOtherVersion,
                         "{}: a prediction model of version {}, and this omnio reads version {}",
                         base::printable(path_.native()), version, kept::kVersion);
  }
  if (size < kept::kHeadBytes + kept::kTrailerBytes) return damaged(size, "it ends too early");
  const std::uint64_t end = size - kept::kTrailerBytes;
  const std::string trailer = bytesAt(file_, end, kept::kTrailerBytes);
  if (!trailer.ends_with(kept::kMagic)) return damaged(end, "its end is missing");
  std::uint64_t begin = 0;
  std::uint64_t checksum = 0;
  std::memcpy(&begin, trailer.data(), sizeof begin);
  std::memcpy(&checksum, trailer.data() + sizeof begin, sizeof checksum);
  if (begin < kept::kHeadBytes || begin > end) return damaged(end, "the index is nowhere");
  const std::string text = bytesAt(file_, begin, end - begin);
  if (wire::checksum(text.data(), text.size()) != checksum) {
    return damaged(begin, "the checksum of the index is another one");
  }
  ModelReader reader(text);
  reader(index_);
  if (!reader.isGood()) return damaged(begin + reader.offset(), reader.problem());
  std::uint64_t place = kept::kHeadBytes;
  for (const kept::Part& part : index_.parts) {
    begins_.push_back(place);
    if (part.stored > begin - place || part.bytes / kept::kMostRatio > part.stored) {
      return damaged(begin, "a part has a size that it cannot have");
    }
    place += part.stored;
  }
  if (place != begin || !reader.isAtEnd()) return damaged(begin, "the parts are not all of it");
  for (const auto& [rank, parts] : index_.ranks) {
    if (parts.contexts >= begins_.size() || parts.models >= begins_.size()) {
      return damaged(begin, "a rank has a part that does not exist");
    }
  }
  return {};
}

std::vector<RankKey> KeptModels::ranks() const {
  std::vector<RankKey> ranks;
  for (const auto& [rank, parts] : index_.ranks) ranks.push_back(rank);
  return ranks;
}

base::Result<std::string> KeptModels::unpacked(std::uint64_t number, std::string_view name) const {
  const kept::Part& part = index_.parts[number];
  std::string stored = bytesAt(file_, begins_[number], part.stored);
  if (wire::checksum(stored.data(), stored.size()) != part.checksum) {
    return damaged(begins_[number], fmt::format("the checksum of {} is another one", name));
  }
  if (part.stored == part.bytes) return stored;
  std::string text(part.bytes, '\0');
  if (ZSTD_decompress(text.data(), text.size(), stored.data(), stored.size()) != text.size()) {
    return damaged(begins_[number], fmt::format("{} cannot be unpacked", name));
  }
  return text;
}

template <typename Kept>
base::Result<void> KeptModels::read(std::uint64_t part, std::string_view name, Kept& into) const {
  const base::Result<std::string> text = unpacked(part, name);
  if (!text) return text.failure();
  ModelReader reader(*text);
  reader(into);
  if (reader.isGood()) reader.require(reader.isAtEnd(), "it goes on");
  if (reader.isGood()) return {};
  return damaged(begins_[part], fmt::format("{}, in byte {} when unpacked: {}", name,
                                            reader.offset(), reader.problem()));
}

base::Result<std::unique_ptr<RankModels>> KeptModels::of(RankKey rank) const {
  const auto found = index_.ranks.find(rank);
  if (found == index_.ranks.end()) return std::unique_ptr<RankModels>();
  auto models = std::make_unique<RankModels>();
  const auto contexts =
      read(found->second.contexts, "the contexts of " + nameOf(rank), models->contexts);
  if (!contexts) return contexts.failure();
  kept::Models rest{*models};
  const auto others = read(found->second.models, "the part of " + nameOf(rank), rest);
  if (!others) return others.failure();
  return models;
}

}  // namespace omnio::predict
