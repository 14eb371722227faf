#include "predict/operations/baselines.hpp"

#include <algorithm>

#include "core/base/text_table.hpp"

namespace omnio::predict {
namespace {

constexpr base::Word<Way> kNames[] = {
    {Way::kGrammar, "grammar"},       {Way::kSameAsLast, "same_as_last"},
    {Way::kContiguous, "contiguous"}, {Way::kSameDistance, "same_distance"},
    {Way::kPatterns, "patterns"},     {Way::kReadAhead, "read_ahead"}};
constexpr base::Word<Way> kTitles[] = {
    {Way::kGrammar, "grammar"},          {Way::kSameAsLast, "same as last"},
    {Way::kContiguous, "contiguous"},    {Way::kSameDistance, "same distance"},
    {Way::kPatterns, "access patterns"}, {Way::kReadAhead, "kernel's read-ahead"}};

// Of more than so many, drops those that were not used for longest.
template <typename Map, typename Drop>
void keepLatest(Map& map, std::size_t most, std::uint64_t count, Drop drop) {
  if (map.size() <= most) return;
  std::erase_if(map, [&](const auto& entry) {
    const bool is_old = entry.second.used + most / 2 < count;
    if (is_old) drop(entry.second);
    return is_old;
  });
}
template <typename Map>
void keepLatest(Map& map, std::size_t most, std::uint64_t count) {
  keepLatest(map, most, count, [](const auto&) {});
}

}  // namespace

std::string_view nameOf(Way way) { return base::wordOf(kNames, way); }
std::string_view titleOf(Way way) { return base::wordOf(kTitles, way); }

void Repeat::take(const Operation& operation) {
  last_ = operation;
  FilePlace& place = places_[operation.slot];
  place.used = ++count_;
  if (operation.kind == Kind::kOpen || operation.empties || place.file != operation.file) {
    place.open(operation.file, operation.empties);
  }
  if (operation.has_offset) {
    if (way_ == Way::kSameDistance) {
      distances_[operation.context] = {.distance = operation.offset - place.end, .used = count_};
      keepLatest(distances_, kMostPlaces, count_);
    }
    constexpr bool kLearnsHoles = false;
    place.transfer(operation.file, operation.offset, operation.bytes, kLearnsHoles);
  }
  keepLatest(places_, kMostPlaces, count_);
}

std::int64_t Repeat::distanceOf(std::uint64_t context) const {
  const auto known = distances_.find(context);
  return known == distances_.end() ? 0 : known->second.distance;
}

std::vector<Predicted> Repeat::path(std::size_t count) const {
  std::vector<Predicted> all;
  if (!last_) return all;
  Predicted one{.context = last_->context,
                .kind = last_->kind,
                .bytes = last_->bytes,
                .segment = segmentOf(*last_)};
  const std::int64_t step = way_ == Way::kSameAsLast ? 0 : one.bytes + distanceOf(last_->context);
  while (all.size() < count) {
    one.segment.begin += step;
    one.segment.end += step;
    all.push_back(one);
  }
  return all;
}

const FilePlace* Repeat::placeOf(const Operation& operation) const {
  const auto place = places_.find(operation.slot);
  return place == places_.end() || place->second.file != operation.file ? nullptr : &place->second;
}

std::optional<std::int64_t> Repeat::sizeOf(const Operation& operation) const {
  const FilePlace* const place = placeOf(operation);
  return place == nullptr ? std::nullopt : std::optional(place->bytes);
}

std::optional<std::int64_t> Repeat::offsetOf(const Operation& operation) const {
  const FilePlace* const place = placeOf(operation);
  if (way_ == Way::kSameAsLast) {
    return place == nullptr ? std::nullopt : std::optional(place->offset);
  }
  return (place == nullptr ? 0 : place->end) + distanceOf(operation.context);
}

void Patterns::take(const Operation& operation) {
  last_ = operation;
  if (!operation.has_offset || operation.bytes == 0) return;
  const auto found = [this](const OfFile& file) {
    if (take_found_) take_found_(file.last, file.patterns);
  };
  const auto [place, is_new] = files_.try_emplace(keyOf(operation));
  OfFile& file = place->second;
  if (!is_new && file.last.file != operation.file) {
    found(file);
    file.patterns = {};
  }
  file.last = operation;
  file.used = ++count_;
  file.patterns.add(operation.offset, static_cast<std::uint64_t>(operation.bytes));
  keepLatest(files_, kMostFiles, count_, found);
}

void Patterns::finish() {
  if (!take_found_) return;
  for (const auto& [key, file] : files_) take_found_(file.last, file.patterns);
}

std::vector<Predicted> Patterns::path(std::size_t count) const {
  std::vector<Predicted> all;
  if (!last_) return all;
  Predicted one{.context = last_->context, .kind = last_->kind};
  one.segment.slot = last_->slot;
  const auto file = files_.find(keyOf(*last_));
  if (!transfers(last_->kind) || file == files_.end() || file->second.last.file != last_->file) {
    return all;
  }
  for (const AccessPatterns::Prediction& said : file->second.patterns.predict(count)) {
    one.bytes = static_cast<std::int64_t>(said.bytes);
    one.segment.begin = said.offset;
    one.segment.end = said.offset + one.bytes;
    all.push_back(one);
  }
  return all;
}

std::optional<Patterns::AccessPatterns::Prediction> Patterns::saidOf(
    const Operation& operation) const {
  const auto file = files_.find(keyOf(operation));
  if (file == files_.end() || file->second.last.file != operation.file) return std::nullopt;
  return file->second.patterns.next();
}

std::optional<std::int64_t> Patterns::sizeOf(const Operation& operation) const {
  const auto said = saidOf(operation);
  return said ? std::optional(static_cast<std::int64_t>(said->bytes)) : std::nullopt;
}

std::optional<std::int64_t> Patterns::offsetOf(const Operation& operation) const {
  const auto said = saidOf(operation);
  return said ? std::optional(said->offset) : std::nullopt;
}

}  // namespace omnio::predict
