#include "predict/operations/baselines.hpp"

#include <algorithm>

#include "core/base/text_table.hpp"

namespace omnio::predict {
namespace {

constexpr base::Word<Way> kNames[] = {{Way::kGrammar, "grammar"},
                                      {Way::kSameAsLast, "same_as_last"},
                                      {Way::kContiguous, "contiguous"},
                                      {Way::kPatterns, "patterns"},
                                      {Way::kReadAhead, "read_ahead"}};
constexpr base::Word<Way> kTitles[] = {{Way::kGrammar, "grammar"},
                                       {Way::kSameAsLast, "same as last"},
                                       {Way::kContiguous, "contiguous"},
                                       {Way::kPatterns, "access patterns"},
                                       {Way::kReadAhead, "kernel's read-ahead"}};

}  // namespace

std::string_view nameOf(Way way) { return base::wordOf(kNames, way); }
std::string_view titleOf(Way way) { return base::wordOf(kTitles, way); }

void Repeat::take(const Operation& operation) {
  last_ = operation;
  FilePlace& place = places_[operation.slot];
  place.used = ++count_;
  if (operation.kind == Kind::kOpen) {
    place.open(operation.file);
  } else if (operation.has_offset) {
    place.transfer(operation.file, operation.offset, operation.bytes);
  }
  if (places_.size() <= kMostPlaces) return;
  std::erase_if(places_,
                [&](const auto& entry) { return entry.second.used + kMostPlaces / 2 < count_; });
}

std::vector<Predicted> Repeat::path(std::size_t count) const {
  std::vector<Predicted> all;
  if (!last_) return all;
  Predicted one{.context = last_->context,
                .kind = last_->kind,
                .bytes = last_->bytes,
                .segment = segmentOf(*last_)};
  while (all.size() < count) {
    if (goes_on_) {
      one.segment.begin += one.bytes;
      one.segment.end += one.bytes;
    }
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
  if (!goes_on_) return place == nullptr ? std::nullopt : std::optional(place->offset);
  return place == nullptr ? 0 : place->end;
}

void Patterns::take(const Operation& operation) {
  last_ = operation;
  if (!operation.has_offset || operation.bytes == 0) return;
  OfFile& file = files_[keyOf(operation)];
  if (file.file != operation.file) file = {.file = operation.file, .patterns = {}};
  file.used = ++count_;
  file.patterns.add(operation.offset, static_cast<std::uint64_t>(operation.bytes));
  if (files_.size() <= kMostFiles) return;
  std::erase_if(files_,
                [&](const auto& entry) { return entry.second.used + kMostFiles / 2 < count_; });
}

std::vector<Predicted> Patterns::path(std::size_t count) const {
  std::vector<Predicted> all;
  if (!last_) return all;
  Predicted one{.context = last_->context, .kind = last_->kind};
  one.segment.slot = last_->slot;
  const auto file = files_.find(keyOf(*last_));
  if (!transfers(last_->kind) || file == files_.end() || file->second.file != last_->file) {
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
  if (file == files_.end() || file->second.file != operation.file) return std::nullopt;
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
