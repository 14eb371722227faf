#include "core/pattern/grammar_predictor.hpp"

#include <algorithm>
#include <map>

namespace omnio::pattern {

void GrammarPredictor::append(std::uint64_t symbol) {
  const bool was_expected = update(symbol);
  grammar_.append(symbol);
  if (!was_expected || !next()) discover();
}

void GrammarPredictor::shrink(std::size_t symbols) {
  grammar_.shrink(symbols);
  forgetSteps();
}

bool GrammarPredictor::restore(const StarSequitur::Kept& kept) {
  if (!grammar_.restore(kept)) return false;
  forgetSteps();
  return true;
}

void GrammarPredictor::forgetSteps() {
  // These hold for one step, or one call, and are made as large as the grammar then.
  old_ = {};
  uses_ = {};
  for (std::vector<SymbolId>* const list : {&advancing_, &keeping_, &counting_}) {
    std::vector<SymbolId>().swap(*list);
  }
  std::vector<std::uint64_t>().swap(old_turns_);
  std::vector<RuleState>().swap(rules_);
  std::vector<PathCount>().swap(path_counts_);
}

void GrammarPredictor::MarkedUses::begin(std::size_t symbol_ids, std::size_t name_ids) {
  // The number of a step may come again after 2^32 steps, when no entry may have it.
  if (++step_ == 0) {
    symbols_.clear();
    names_.clear();
    step_ = 1;
  }
  symbols_.resize(symbol_ids);
  names_.resize(name_ids);
}

void GrammarPredictor::MarkedUses::add(NameId name, SymbolId symbol) {
  symbols_[symbol] = {step_, first(name)};
  names_[name] = {step_, symbol};
}

StarSequitur::SymbolId GrammarPredictor::MarkedUses::first(NameId name) const {
  return names_[name].step == step_ ? names_[name].id : StarSequitur::kNone;
}

void GrammarPredictor::beginStep() {
  ++step_;
  old_.begin(grammar_.symbolIds(), grammar_.nameIds());
  old_turns_.resize(grammar_.symbolIds());
  rules_.resize(grammar_.nameIds());
  advancing_.clear();
}

void GrammarPredictor::setOld(SymbolId symbol, std::uint64_t turn) {
  old_.add(grammar_.name(symbol), symbol);
  old_turns_[symbol] = turn;
}

bool GrammarPredictor::update(std::uint64_t symbol) {
  beginStep();
  const NameId name = grammar_.nameOf(symbol);
  for (const SymbolId marked : grammar_.marked()) {
    const std::uint64_t turn = grammar_.markOf(marked);
    if (turn == StarSequitur::kNotMarked || old_.has(marked)) continue;
    setOld(marked, turn);
    if (grammar_.name(marked) == name) advancing_.push_back(marked);
  }
  grammar_.clearMarks();
  const bool was_expected = !advancing_.empty();
  advanceAll();
  return was_expected;
}

void GrammarPredictor::discover() {
  SymbolId last = grammar_.last(StarSequitur::kStart);
  if (grammar_.isGuard(last)) return;
  beginStep();
  grammar_.clearMarks();
  // The last symbol of the sequence is at the end of all rules that end with it.
  const SymbolId own = last;
  while (grammar_.isRule(grammar_.name(last))) {
    last = grammar_.last(grammar_.name(last));
  }
  const NameId name = grammar_.name(last);
  const std::uint64_t run = own == last ? grammar_.exponent(own) : 0;
  for (SymbolId use = grammar_.firstUse(name); use != StarSequitur::kNone;
       use = grammar_.nextUse(use)) {
    if (advancing_.size() == kMostDiscovered) break;  // the latest come first
    const std::uint64_t exponent = grammar_.exponent(use);
    std::uint64_t turn = exponent == 1 ? 0 : StarSequitur::kAnyTurn;
    if (run > 0 && use != own) {
      if (exponent < run) continue;
      turn = run - 1;
    }
    setOld(use, turn);
    advancing_.push_back(use);
    discoverAround(grammar_.ruleAround(use));
  }
  advanceAll();
}

// All instances of the rule, and those of the rules around them, in any turn.
void GrammarPredictor::discoverAround(NameId rule) {
  keeping_.assign(1, rule);
  while (!keeping_.empty()) {
    const NameId around = keeping_.back();
    keeping_.pop_back();
    if (old_.first(around) != StarSequitur::kNone) continue;  // they all were, together
    std::size_t count = 0;
    for (SymbolId use = grammar_.firstUse(around);
         use != StarSequitur::kNone && count < kMostDiscovered; use = grammar_.nextUse(use)) {
      ++count;
      setOld(use, grammar_.exponent(use) == 1 ? 0 : StarSequitur::kAnyTurn);
      keeping_.push_back(grammar_.ruleAround(use));
    }
  }
}

void GrammarPredictor::advanceAll() {
  while (!advancing_.empty()) {
    const SymbolId symbol = advancing_.back();
    advancing_.pop_back();
    advance(symbol);
  }
}

void GrammarPredictor::advance(SymbolId symbol) {
  const std::uint64_t turn = old_turns_[symbol];
  const std::uint64_t exponent = grammar_.exponent(symbol);
  const NameId rule = grammar_.ruleAround(symbol);
  const bool is_open = turn == StarSequitur::kAnyTurn;
  if (is_open ? exponent > 1 : turn + 1 < exponent) {
    enter(symbol, is_open ? turn : turn + 1);
    keepAround(rule);
  }
  if (!is_open && turn + 1 < exponent) return;
  const SymbolId following = grammar_.next(symbol);
  if (grammar_.isGuard(following)) {
    endRule(rule);
  } else {
    enter(following, 0);
    keepAround(rule);
  }
}

// Marks a symbol, and what its rule begins with.
void GrammarPredictor::enter(SymbolId symbol, std::uint64_t turn) {
  grammar_.mark(symbol, turn);
  while (grammar_.isRule(grammar_.name(symbol))) {
    RuleState& rule = rules_[grammar_.name(symbol)];
    if (rule.entered_step == step_) return;
    rule.entered_step = step_;
    symbol = grammar_.first(grammar_.name(symbol));
    grammar_.mark(symbol, 0);
  }
}

// Marks the instances by which a predictor came into the rule.
void GrammarPredictor::keepAround(NameId rule) {
  keeping_.assign(1, rule);
  while (!keeping_.empty()) {
    const NameId around = keeping_.back();
    keeping_.pop_back();
    if (rules_[around].kept_step == step_) continue;
    rules_[around].kept_step = step_;
    for (SymbolId use = old_.first(around); use != StarSequitur::kNone; use = old_.next(use)) {
      grammar_.mark(use, old_turns_[use]);
      keeping_.push_back(grammar_.ruleAround(use));
    }
  }
}

void GrammarPredictor::endRule(NameId rule) {
  if (rules_[rule].ended_step == step_) return;
  rules_[rule].ended_step = step_;
  for (SymbolId use = old_.first(rule); use != StarSequitur::kNone; use = old_.next(use)) {
    advancing_.push_back(use);
  }
}

// Weights.

double GrammarPredictor::turnsOf(SymbolId symbol) const {
  const bool is_open = grammar_.markOf(symbol) == StarSequitur::kAnyTurn;
  return is_open ? static_cast<double>(grammar_.exponent(symbol)) : 1;
}

void GrammarPredictor::beginRound() const {
  ++round_;
  uses_.begin(grammar_.symbolIds(), grammar_.nameIds());
  path_counts_.resize(grammar_.nameIds());
  for (const SymbolId symbol : grammar_.marked()) {
    if (grammar_.markOf(symbol) == StarSequitur::kNotMarked || uses_.has(symbol)) continue;
    uses_.add(grammar_.name(symbol), symbol);
  }
}

// Paths from the start rule to this one, by marked instances. What this round has counted is not
// counted again.
double GrammarPredictor::pathsTo(NameId rule) const {
  counting_.assign(1, rule);
  while (!counting_.empty()) {
    const NameId around = counting_.back();
    double paths = around == StarSequitur::kStart ? 1 : 0;
    bool is_known = path_counts_[around].round == round_;
    if (!is_known) {
      is_known = true;
      for (SymbolId use = uses_.first(around); use != StarSequitur::kNone; use = uses_.next(use)) {
        const PathCount& outer = path_counts_[grammar_.ruleAround(use)];
        if (outer.round == round_) {
          paths += turnsOf(use) * outer.paths;
        } else {
          counting_.push_back(grammar_.ruleAround(use));
          is_known = false;
        }
      }
      if (is_known) path_counts_[around] = {round_, paths};
    }
    if (is_known) counting_.pop_back();
  }
  return path_counts_[rule].paths;
}

std::vector<StarSequitur::SymbolId> GrammarPredictor::markedTerminals() const {
  std::vector<SymbolId> symbols;
  for (const SymbolId symbol : grammar_.marked()) {
    if (grammar_.markOf(symbol) == StarSequitur::kNotMarked) continue;
    if (!grammar_.isRule(grammar_.name(symbol))) symbols.push_back(symbol);
  }
  std::ranges::sort(symbols);
  const auto twice = std::ranges::unique(symbols);
  symbols.erase(twice.begin(), twice.end());
  return symbols;
}

std::vector<GrammarPredictor::Expected> GrammarPredictor::expected() const {
  beginRound();
  std::map<std::uint64_t, double> weights;
  for (const SymbolId symbol : markedTerminals()) {
    const double weight = turnsOf(symbol) * pathsTo(grammar_.ruleAround(symbol));
    if (weight > 0) weights[grammar_.terminal(grammar_.name(symbol))] += weight;
  }
  std::vector<Expected> expected;
  for (const auto& [symbol, weight] : weights) expected.push_back({symbol, weight});
  std::ranges::stable_sort(expected, std::ranges::greater(), &Expected::weight);
  return expected;
}

std::optional<std::uint64_t> GrammarPredictor::next() const {
  // In regular input all predictors are for one symbol, and it needs no weights.
  beginRound();
  NameId only = StarSequitur::kNone;
  for (const SymbolId symbol : grammar_.marked()) {
    const NameId name = grammar_.name(symbol);
    if (grammar_.markOf(symbol) == StarSequitur::kNotMarked || grammar_.isRule(name)) continue;
    if (name == only || pathsTo(grammar_.ruleAround(symbol)) == 0) continue;
    if (only != StarSequitur::kNone) return expected().front().symbol;
    only = name;
  }
  return only == StarSequitur::kNone ? std::nullopt : std::optional(grammar_.terminal(only));
}

GrammarPredictor::Iterator GrammarPredictor::iterator() const {
  const std::optional<std::uint64_t> first = next();
  return first ? iterator(*first) : Iterator(grammar_);
}

GrammarPredictor::Iterator GrammarPredictor::iterator(std::uint64_t first) const {
  Iterator iterator(grammar_);
  beginRound();
  SymbolId best = StarSequitur::kNone;
  double best_weight = 0;
  const auto weigh = [&](SymbolId symbol) {
    const double weight = turnsOf(symbol) * pathsTo(grammar_.ruleAround(symbol));
    if (weight > best_weight) {
      best = symbol;
      best_weight = weight;
    }
  };
  for (const SymbolId symbol : markedTerminals()) {
    if (grammar_.terminal(grammar_.name(symbol)) == first) weigh(symbol);
  }
  while (best != StarSequitur::kNone) {
    const std::uint64_t turn = grammar_.markOf(best);
    iterator.begin_.push_back({best, turn == StarSequitur::kAnyTurn ? 0 : turn});
    const NameId rule = grammar_.ruleAround(best);
    if (rule == StarSequitur::kStart) break;
    best = StarSequitur::kNone;
    best_weight = 0;
    for (SymbolId use = uses_.first(rule); use != StarSequitur::kNone; use = uses_.next(use)) {
      weigh(use);
    }
  }
  std::ranges::reverse(iterator.begin_);
  iterator.stack_ = iterator.begin_;
  return iterator;
}

std::optional<std::uint64_t> GrammarPredictor::Iterator::next() {
  if (stack_.empty()) stack_ = begin_;
  if (stack_.empty()) return std::nullopt;
  const std::uint64_t symbol = grammar_->terminal(grammar_->name(stack_.back().symbol));
  advance();
  return symbol;
}

void GrammarPredictor::Iterator::advance() {
  while (!stack_.empty()) {
    Level& level = stack_.back();
    if (level.turn + 1 < grammar_->exponent(level.symbol)) {
      ++level.turn;
    } else if (grammar_->isGuard(grammar_->next(level.symbol))) {
      stack_.pop_back();
      continue;
    } else {
      level = {grammar_->next(level.symbol), 0};
    }
    break;
  }
  if (stack_.empty()) return;
  while (grammar_->isRule(grammar_->name(stack_.back().symbol))) {
    stack_.push_back({grammar_->first(grammar_->name(stack_.back().symbol)), 0});
  }
}

std::size_t GrammarPredictor::memoryBytes() const {
  return grammar_.memoryBytes() + old_.bytes() + uses_.bytes() +
         old_turns_.capacity() * sizeof(std::uint64_t) + rules_.capacity() * sizeof(RuleState) +
         path_counts_.capacity() * sizeof(PathCount) +
         (advancing_.capacity() + keeping_.capacity() + counting_.capacity()) *
             sizeof(std::uint32_t);
}

}  // namespace omnio::pattern
