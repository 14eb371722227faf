#include "predict/operations/operation_model.hpp"

#include <algorithm>
#include <utility>

namespace omnio::predict {
namespace {

// An entry of a hash table as libstdc++ has it: a link, the hash, and its part of the buckets.
constexpr std::size_t kEntryBytes = 3 * sizeof(void*);
constexpr std::size_t kContextsAreBelieved = 0;  // in the contest
constexpr std::uint64_t kRunBegins = 0;          // in the sequence of contexts
// Offsets beyond are of no file; sums of some of these are numbers still.
constexpr std::int64_t kFurthest = std::int64_t{1} << 60;

}  // namespace

void OperationModel::take(const Operation& operation) {
  ++count_;
  if (last_) {
    contest_.take({expected_ == operation.context ? 0.0F : 1.0F,
                   last_->context == operation.context ? 0.0F : 1.0F});
  }
  FilePlace& place = places_[operation.slot];
  place.used = count_;
  OfTransition& transition =
      transitions_[OperationModel::transition(lastContext(), operation.context)];
  OfContext& context = contexts_[operation.context];
  const auto duration = static_cast<double>(operation.end_ns - operation.start_ns);
  context.duration = context.used == 0 ? duration : (context.duration + duration) / 2;
  transition.used = context.used = count_;
  context.kind = operation.kind;
  context.slot = operation.slot;
  parts_bytes_ -= transition.offsets.memoryBytes() + context.sizes.memoryBytes();
  parts_symbols_ -= transition.offsets.symbolCount() + context.sizes.symbolCount();
  if (last_) {
    const double gap = gapBetween(*last_, operation);
    Gaps& gaps = transition.gaps;
    gaps.expected = gaps.moments.count() == 0 ? gap : (gaps.expected + gap) / 2;
    gaps.moments.add(gap);
  }
  const std::int64_t expected_bytes = context.sizes.next();
  if (operation.has_size) context.sizes.take(operation.bytes);
  parts_bytes_ -= place.holes.memoryBytes();
  // Another file of the family that was not seen to be opened, or one that was cut to nothing.
  if (operation.kind == Kind::kOpen || operation.empties || place.file != operation.file) {
    place.open(operation.file, operation.empties);
  }
  if (operation.has_offset) {
    takeOffset(transition, context, place, expected_bytes, operation);
    context.distance = operation.offset - place.end;
    context.has_offset = transition.has_offsets = true;
    place.transfer(operation.file, operation.offset, operation.bytes,
                   operation.kind == Kind::kWrite);
  }
  parts_bytes_ += place.holes.memoryBytes();
  parts_bytes_ += transition.offsets.memoryBytes() + context.sizes.memoryBytes();
  parts_symbols_ += transition.offsets.symbolCount() + context.sizes.symbolCount();
  last_ = operation;
  contexts_sequence_.append(operation.context);
  expected_ = contexts_sequence_.next();
  keepBounds();
}

void OperationModel::takeOffset(OfTransition& transition, const OfContext& context,
                                const FilePlace& place, std::int64_t expected_bytes,
                                const Operation& operation) {
  const std::int64_t offset = operation.offset;
  if (!context.has_offset) {
    new_contexts_.take({.place = place, .bytes = expected_bytes, .distance = new_distance_},
                       offset);
    new_distance_ = offset - place.end;
  }
  const OffsetModel::Known known = {
      .place = place, .bytes = expected_bytes, .distance = context.distance};
  if (context.has_offset && !transition.has_offsets) new_transitions_.take(known, offset);
  transition.offsets.take(known, offset, operation.bytes, young_transitions_);
}

Predicted OperationModel::predicted(std::uint64_t context, double weight) const {
  Predicted predicted{.context = context, .weight = weight};
  const auto known = contexts_.find(context);
  predicted.is_unknown = known == contexts_.end();
  if (predicted.is_unknown) return predicted;
  predicted.kind = known->second.kind;
  predicted.segment.slot = known->second.slot;
  if (!transfers(predicted.kind)) return predicted;
  const auto place = places_.find(known->second.slot);
  static const FilePlace kNew;
  const FilePlace& at = place == places_.end() ? kNew : place->second;
  predicted.bytes = known->second.sizes.next();
  predicted.segment.begin = offsetOf(context, predicted.bytes, at);
  predicted.segment.end = predicted.segment.begin + predicted.bytes;
  return predicted;
}

bool OperationModel::believesGrammar() const {
  return expected_ && (!last_ || contest_.best() == kContextsAreBelieved);
}

std::vector<pattern::GrammarPredictor::Expected> OperationModel::expectedContexts() const {
  if (!last_ && !expected_) return {};
  if (!believesGrammar()) return {{.symbol = last_->context, .weight = 1}};
  auto expected = contexts_sequence_.expected();
  if (expected.size() > kMostExpected) expected.resize(kMostExpected);
  double sum = 0;
  for (const auto& one : expected) sum += one.weight;
  for (auto& one : expected) one.weight /= sum;
  return expected;
}

std::vector<Predicted> OperationModel::next() const {
  std::vector<Predicted> all;
  for (const auto& one : expectedContexts()) all.push_back(predicted(one.symbol, one.weight));
  return all;
}

std::vector<Path> OperationModel::following(std::size_t count) const {
  std::vector<Path> all;
  for (const auto& one : expectedContexts()) all.push_back(path(one, count));
  return all;
}

Path OperationModel::likeliest(std::size_t count) const {
  const auto expected = expectedContexts();
  return expected.empty() ? Path() : path(expected.front(), count);
}

// Paths are short, so these are looked up by going through them.
struct OperationModel::AlongPath {
  struct Context {
    std::uint64_t key = 0;
    const OfContext* known = nullptr;
    SizeModel::Ahead sizes;
    std::int64_t distance = 0;
  };
  struct Transition {
    std::uint64_t key = 0;
    OffsetModel::Ahead offsets;
  };
  struct File {
    Slot slot = 0;
    FilePlace place;
  };
  std::vector<Context> contexts;
  std::vector<Transition> transitions;
  std::vector<File> files;
  std::uint64_t before = 0;
  std::optional<double> end_ns;  // of the one before
};

Path OperationModel::path(const pattern::GrammarPredictor::Expected& first,
                          std::size_t count) const {
  Path path{.weight = first.weight, .operations = {}};
  path.operations.reserve(count);
  AlongPath along;
  along.before = lastContext();
  if (last_) along.end_ns = 0;
  for (const std::uint64_t context : contextsFrom(first.symbol, count)) {
    path.operations.push_back(this->along(along, context));
  }
  return path;
}

std::vector<std::uint64_t> OperationModel::contextsFrom(std::uint64_t first,
                                                        std::size_t count) const {
  std::vector<std::uint64_t> contexts(count, lastContext());
  if (!believesGrammar()) return contexts;
  pattern::GrammarPredictor::Iterator sequence = contexts_sequence_.iterator(first);
  for (std::uint64_t& context : contexts) context = sequence.next().value_or(context);
  return contexts;
}

Predicted OperationModel::along(AlongPath& path, std::uint64_t context) const {
  Predicted one{.context = context};
  const std::uint64_t key = transition(std::exchange(path.before, context), context);
  auto at = std::ranges::find(path.contexts, context, &AlongPath::Context::key);
  if (at == path.contexts.end()) {
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) {
      one.is_unknown = true;
      path.end_ns.reset();
      return one;
    }
    const OfContext& known = found->second;
    path.contexts.push_back({context, &known, SizeModel::Ahead(known.sizes), known.distance});
    at = path.contexts.end() - 1;
  }
  const OfContext& known = *at->known;
  one.kind = known.kind;
  one.segment.slot = known.slot;
  const OfTransition* const transition = findTransition(key);
  if (transition == nullptr || transition->gaps.moments.count() == 0) {
    path.end_ns.reset();
  } else if (path.end_ns) {
    one.until_ns = *path.end_ns + std::max(transition->gaps.expected, 0.0);
    path.end_ns = *one.until_ns + std::max(known.duration, 0.0);
  }
  auto file = std::ranges::find(path.files, known.slot, &AlongPath::File::slot);
  if (file == path.files.end()) {
    const auto found = places_.find(known.slot);
    path.files.push_back({known.slot, found == places_.end() ? FilePlace() : found->second});
    file = path.files.end() - 1;
  }
  FilePlace& place = file->place;
  if (one.kind == Kind::kOpen) place.end = 0;
  if (!transfers(one.kind)) return one;
  one.bytes = at->sizes.next();
  const std::int64_t begin = offsetAlong(
      path, transition, key, {.place = place, .bytes = one.bytes, .distance = at->distance});
  one.segment.begin = std::clamp(begin, -kFurthest, kFurthest);
  one.segment.end = one.segment.begin + one.bytes;
  at->distance = one.segment.begin - place.end;
  place.transfer(place.file, one.segment.begin, one.bytes, one.kind == Kind::kWrite);
  return one;
}

std::int64_t OperationModel::offsetAlong(AlongPath& path, const OfTransition* transition,
                                         std::uint64_t key, const OffsetModel::Known& known) const {
  if (transition == nullptr || !transition->has_offsets) return new_transitions_.next(known);
  auto at = std::ranges::find(path.transitions, key, &AlongPath::Transition::key);
  if (at == path.transitions.end()) {
    path.transitions.push_back({key, OffsetModel::Ahead(transition->offsets, young_transitions_)});
    at = path.transitions.end() - 1;
  }
  return at->offsets.next(known);
}

std::optional<std::int64_t> OperationModel::sizeOf(const Operation& operation) const {
  const auto known = contexts_.find(operation.context);
  if (known == contexts_.end() || !known->second.sizes.isKnown()) return std::nullopt;
  return known->second.sizes.next();
}

std::optional<std::int64_t> OperationModel::offsetOf(const Operation& operation) const {
  static const FilePlace kNew;
  const auto found = places_.find(operation.slot);
  const bool is_known = found != places_.end() && found->second.file == operation.file;
  const FilePlace& place = is_known ? found->second : kNew;
  const auto known = contexts_.find(operation.context);
  return offsetOf(operation.context, known == contexts_.end() ? 0 : known->second.sizes.next(),
                  place);
}

std::int64_t OperationModel::offsetOf(std::uint64_t context, std::int64_t bytes,
                                      const FilePlace& place) const {
  const auto known = contexts_.find(context);
  if (known == contexts_.end() || !known->second.has_offset) {
    return new_contexts_.next({.place = place, .bytes = bytes, .distance = new_distance_});
  }
  const OffsetModel::Known all = {
      .place = place, .bytes = bytes, .distance = known->second.distance};
  const auto model = transitions_.find(transition(lastContext(), context));
  if (model == transitions_.end() || !model->second.has_offsets) return new_transitions_.next(all);
  return model->second.offsets.next(all, young_transitions_);
}

std::optional<double> OperationModel::gapBefore(const Operation& operation) const {
  const auto model = transitions_.find(transition(lastContext(), operation.context));
  if (model == transitions_.end() || model->second.gaps.moments.count() == 0) return std::nullopt;
  return model->second.gaps.expected;
}

std::size_t OperationModel::memoryBytes() const {
  return sizeof(*this) + contexts_sequence_.memoryBytes() + parts_bytes_ +
         contexts_.size() * (sizeof(OfContext) + sizeof(std::uint64_t) + kEntryBytes) +
         transitions_.size() * (sizeof(OfTransition) + sizeof(std::uint64_t) + kEntryBytes) +
         places_.size() * (sizeof(FilePlace) + sizeof(std::uint64_t) + kEntryBytes);
}

void OperationModel::beginRun() {
  places_.clear();
  for (auto& [key, part] : contexts_) part.sizes.compact();
  for (auto& [key, part] : transitions_) part.offsets.compact();
  countParts();
  last_.reset();
  contexts_sequence_.append(kRunBegins);
  expected_ = contexts_sequence_.next();
  contexts_sequence_.shrink(SIZE_MAX);
}

void OperationModel::keepBounds() {
  if (memoryBytes() <= kMostBytes) return;
  bool has_dropped = false;
  for (auto& [key, part] : contexts_) has_dropped |= part.sizes.dropRepeated();
  for (auto& [key, part] : transitions_) has_dropped |= part.offsets.dropRepeated();
  if (has_dropped) countParts();
  if (memoryBytes() > kMostBytes) dropUnused();
}

void OperationModel::halve() {
  const std::size_t wanted = memoryBytes() / 2;
  for (auto& [key, part] : contexts_) part.sizes.halve();
  for (auto& [key, part] : transitions_) part.offsets.halve();
  countParts();
  while (memoryBytes() > wanted) {
    const std::size_t symbols = grammar().symbolCount();
    const bool has_parts = !contexts_.empty() || !transitions_.empty() || !places_.empty();
    const bool is_large = contexts_sequence_.memoryBytes() > memoryBytes() / 2;
    if (symbols > pattern::StarSequitur::kLeastSymbols && (is_large || !has_parts)) {
      contexts_sequence_.shrink(symbols / 2);
      expected_ = contexts_sequence_.next();  // which takes memory too
    } else if (has_parts) {
      dropUnused();
    } else {
      break;  // a small grammar stays
    }
  }
  contexts_.rehash(0);
  transitions_.rehash(0);
  places_.rehash(0);
}

// Half of the parts are dropped at a time, so that this costs little for each operation.
void OperationModel::dropUnused() {
  std::vector<std::uint64_t> used;
  for (const auto& [key, part] : contexts_) used.push_back(part.used);
  for (const auto& [key, part] : transitions_) used.push_back(part.used);
  for (const auto& [key, part] : places_) used.push_back(part.used);
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::ranges::nth_element(used, middle);
  const std::uint64_t oldest = *middle;
  const auto is_old = [&](const auto& entry) { return entry.second.used <= oldest; };
  std::erase_if(contexts_, is_old);
  std::erase_if(transitions_, is_old);
  std::erase_if(places_, is_old);
  countParts();
}

void OperationModel::countParts() {
  parts_bytes_ = 0;
  parts_symbols_ = 0;
  for (const auto& [key, part] : contexts_) {
    parts_bytes_ += part.sizes.memoryBytes();
    parts_symbols_ += part.sizes.symbolCount();
  }
  for (const auto& [key, part] : transitions_) {
    parts_bytes_ += part.offsets.memoryBytes();
    parts_symbols_ += part.offsets.symbolCount();
  }
  for (const auto& [key, part] : places_) parts_bytes_ += part.holes.memoryBytes();
}

}  // namespace omnio::predict
