#include "prefetch/planner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace omnio::prefetch {

using predict::Kind;
using Coming = predict::ProcessPredictor::Coming;

void Planner::goOnWith(predict::ProcessModels models,
                       std::map<std::uint32_t, std::size_t> threads) {
  predictor_.goOnWith(std::move(models), std::move(threads));
  is_known_ = true;
}

Planner::Stream& Planner::streamOf(std::uint32_t thread, const predict::Operation& operation) {
  const auto [place, is_new] = streams_.try_emplace(keyOf(thread, operation.slot));
  Stream& stream = place->second;
  stream.used = ++count_;
  if (is_new && is_known_) stream.by_grammar.isKnown();
  if (stream.file != operation.file) {
    stream.file = operation.file;
    stream.end = -1;
    stream.in_a_row = 0;
    if (!is_new) stream.patterns = {};
  }
  if (is_new && streams_.size() > kMostStreams) {
    const auto oldest =
        std::ranges::min_element(streams_, {}, [](const auto& entry) { return entry.second.used; });
    streams_.erase(oldest);
    return streams_[keyOf(thread, operation.slot)];
  }
  return stream;
}

void Planner::forgetOldest(std::uint32_t but) {
  const auto oldest = std::ranges::min_element(threads_, {}, [but](const auto& entry) {
    return entry.first == but ? std::numeric_limits<double>::max() : entry.second.end_ns;
  });
  predictor_.end(oldest->first);
  threads_.erase(oldest);
}

void Planner::take(std::uint32_t thread, const predict::Operation& operation) {
  predictor_.take(thread, operation);
  state_ = &threads_[thread];
  if (threads_.size() > kMostThreads) forgetOldest(thread);
  state_->last_read.reset();
  if (operation.kind == Kind::kRead && operation.has_offset && operation.bytes > 0) {
    takeRead(thread, operation);
    Stream& stream = streams_[*state_->last_read];
    state_->is_trusted = is_known_ || stream.by_grammar.holds() || stream.by_pattern.holds();
  }
  state_->end_ns = static_cast<double>(operation.end_ns);
  const auto& expected = state_->expected;
  const bool came = expected && expected->kind == operation.kind &&
                    expected->slot == operation.slot &&
                    (!operation.has_offset || expected->offset == operation.offset);
  state_->left = came && state_->left > 0 ? state_->left - 1 : 0;
  // What is said of the next read, whether it is trusted or not.
  coming_ = predictor_.next(thread, 1);
  state_->expected = coming_.empty() ? std::nullopt : std::optional(coming_.front());
  until_next_ns_ = coming_.empty() ? std::nullopt : coming_.front().until_ns;
  if (coming_.empty() || coming_.front().kind != Kind::kRead) return;
  const auto next = streams_.find(keyOf(thread, coming_.front().slot));
  if (next == streams_.end()) return;
  next->second.grammar_said = {.offset = coming_.front().offset, .bytes = coming_.front().bytes};
}

std::optional<Planner::Until> Planner::until() const {
  if (state_ == nullptr || !until_next_ns_) return {};
  Until until{.next_ns = *until_next_ns_, .plan_ns = *until_next_ns_};
  if (state_->left > 0 && state_->plan_due_ns) {
    until.plan_ns = std::max(until.next_ns, *state_->plan_due_ns - state_->end_ns);
  }
  return until;
}

void Planner::takeRead(std::uint32_t thread, const predict::Operation& operation) {
  Stream& stream = streamOf(thread, operation);
  const auto is_right = [&operation](const Said& said) {
    // At the end of a file less is read than asked for.
    return said.offset == operation.offset && said.bytes >= operation.bytes;
  };
  stream.by_grammar.saw(is_right(stream.grammar_said));
  stream.by_pattern.saw(is_right(stream.pattern_said));
  const bool goes_on = operation.offset == stream.end;
  stream.in_a_row = (goes_on ? stream.in_a_row : 0) + operation.bytes;
  stream.end = operation.offset + operation.bytes;
  stream.patterns.add(operation.offset, static_cast<std::uint64_t>(operation.bytes));
  stream.grammar_said = {};
  const auto next = stream.patterns.next();
  stream.pattern_said =
      next ? Said{.offset = next->offset, .bytes = static_cast<std::int64_t>(next->bytes)} : Said{};
  state_->last_read = keyOf(thread, operation.slot);
}

const std::vector<Wanted>& Planner::plan(std::uint32_t thread) {
  wanted_.clear();
  runs_.clear();
  coming_ = predictor_.next(thread, ahead_);
  Thread& state = threads_[thread];
  state.left = std::min(ahead_ / kPlansAhead, coming_.size());
  state.plan_due_ns.reset();
  if (state.left > 0 && coming_[state.left - 1].until_ns) {
    state.plan_due_ns = state.end_ns + *coming_[state.left - 1].until_ns;
  }
  planByGrammar(thread);
  planByPatterns(thread);
  return wanted_;
}

void Planner::planByGrammar(std::uint32_t thread) {
  for (const Coming& one : coming_) {
    if (one.kind != Kind::kRead || one.may_be_another) continue;
    const auto found = streams_.find(keyOf(thread, one.slot));
    if (found == streams_.end()) {
      // Not read in this run yet.
      if (!is_known_) continue;
      Stream fresh;
      want({.thread = thread, .slot = one.slot}, fresh,
           {.file = one.file, .offset = one.offset, .bytes = one.bytes, .until_ns = one.until_ns});
      continue;
    }
    Stream& stream = found->second;
    if (!stream.by_grammar.holds()) continue;
    if (stream.by_pattern.right() > stream.by_grammar.right() && stream.by_pattern.holds()) {
      continue;
    }
    want({.thread = thread, .slot = one.slot}, stream,
         {.file = one.file, .offset = one.offset, .bytes = one.bytes, .until_ns = one.until_ns});
  }
}

// Of the file that was just read.
void Planner::planByPatterns(std::uint32_t thread) {
  const std::optional<std::uint64_t> last_read = threads_[thread].last_read;
  const auto found = last_read ? streams_.find(*last_read) : streams_.end();
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (!stream.by_pattern.holds()) return;
  if (stream.by_grammar.holds() && stream.by_grammar.right() >= stream.by_pattern.right()) return;
  const StreamKey key{
      .thread = thread, .slot = static_cast<predict::Slot>(found->first), .is_pattern = true};
  for (const auto& one : stream.patterns.predict(ahead_)) {
    want(key, stream,
         {.file = stream.file,
          .offset = one.offset,
          .bytes = static_cast<std::int64_t>(one.bytes),
          .until_ns = {}});
  }
}

void Planner::want(const StreamKey& key, const Stream& stream, Wanted wanted) {
  if (wanted.file == event::kNoFile || wanted.offset < 0) return;
  const auto [place, is_new] = runs_.try_emplace(key.slot);
  Run& run = place->second;
  if (is_new) run = {.end = stream.end, .bytes = stream.in_a_row};
  const bool goes_on = wanted.offset == run.end;
  const std::int64_t before = goes_on ? run.bytes : 0;
  run = {.end = wanted.offset + wanted.bytes, .bytes = before + wanted.bytes};
  if (wanted.bytes <= kLeastBytes || before >= kReadAheadBytes) return;
  // A reader that has gone straight on is the kernel's from its first byte on.
  if (goes_on && stream.in_a_row >= kReadAheadBytes) return;
  wanted.stream = key;
  wanted_.push_back(wanted);
}

void Planner::ended(const StreamKey& key, bool was_used) {
  const auto found = streams_.find(keyOf(key.thread, key.slot));
  if (found == streams_.end()) return;
  (key.is_pattern ? found->second.by_pattern : found->second.by_grammar).ended(was_used);
}

}  // namespace omnio::prefetch
