#include "core/pattern/star_sequitur.hpp"

#include <algorithm>

namespace omnio::pattern {

StarSequitur::StarSequitur(std::size_t most_symbols)
    : most_symbols_(std::max(most_symbols, kLeastSymbols)) {
  newRule(0);
}

void StarSequitur::append(std::uint64_t terminal) {
  ++length_;
  NameId name = nameOf(terminal);
  if (name == kNone) {
    name = newName(terminal, 1);
    terminals_.emplace(terminal, name);
  }
  const SymbolId before = last(kStart);
  insertAfter(before, name, 1);
  check(before);
  settle();
  while (symbol_count_ > most_symbols_) dropOldest();
}

StarSequitur::NameId StarSequitur::nameOf(std::uint64_t terminal) const {
  const auto found = terminals_.find(terminal);
  return found == terminals_.end() ? kNone : found->second;
}

std::size_t StarSequitur::memoryBytes() const {
  // An entry is a node with its value, a pointer and its hash, in a block of the heap.
  constexpr std::size_t kNode = 3 * sizeof(void*);
  const auto table = [](const auto& map, std::size_t value) {
    return map.bucket_count() * sizeof(void*) + map.size() * (value + kNode);
  };
  return symbols_.capacity() * sizeof(Symbol) + names_.capacity() * sizeof(Name) +
         (free_symbols_.capacity() + free_names_.capacity() + pending_.capacity() +
          unsure_.capacity() + marked_.capacity()) *
             sizeof(std::uint32_t) +
         table(pairs_, sizeof(decltype(pairs_)::value_type)) +
         table(terminals_, sizeof(decltype(terminals_)::value_type));
}

// Names and symbols.

StarSequitur::NameId StarSequitur::newName(std::uint64_t terminal, std::uint64_t length) {
  NameId name = static_cast<NameId>(names_.size());
  if (free_names_.empty()) {
    names_.emplace_back();
  } else {
    name = free_names_.back();
    free_names_.pop_back();
  }
  names_[name] = {.terminal = terminal, .length = length};
  return name;
}

StarSequitur::NameId StarSequitur::newRule(std::uint64_t length) {
  const NameId rule = newName(0, length);
  const SymbolId guard = newSymbol(rule, 0);
  symbols_[guard].rule = rule;
  names_[rule].guard = guard;
  link(guard, guard);
  ++rule_count_;
  return rule;
}

void StarSequitur::freeName(NameId name) {
  if (isRule(name)) {
    freeSymbol(names_[name].guard);
    --rule_count_;
  } else {
    terminals_.erase(names_[name].terminal);
  }
  names_[name] = {};
  free_names_.push_back(name);
}

StarSequitur::SymbolId StarSequitur::newSymbol(NameId name, std::uint64_t exponent) {
  SymbolId symbol = static_cast<SymbolId>(symbols_.size());
  if (free_symbols_.empty()) {
    symbols_.emplace_back();
  } else {
    symbol = free_symbols_.back();
    free_symbols_.pop_back();
  }
  symbols_[symbol] = {.exponent = exponent, .name = name};
  return symbol;
}

StarSequitur::SymbolId StarSequitur::insertAfter(SymbolId before, NameId name,
                                                 std::uint64_t exponent) {
  const SymbolId symbol = newSymbol(name, exponent);
  symbols_[symbol].rule = ruleAround(before);
  link(symbol, next(before));
  link(before, symbol);
  addUse(symbol);
  ++symbol_count_;
  return symbol;
}

void StarSequitur::addUse(SymbolId symbol) {
  Name& name = names_[symbols_[symbol].name];
  symbols_[symbol].previous_use = kNone;
  symbols_[symbol].next_use = name.first_use;
  if (name.first_use != kNone) symbols_[name.first_use].previous_use = symbol;
  name.first_use = symbol;
  ++name.use_count;
}

void StarSequitur::removeUse(SymbolId symbol) {
  const Symbol& gone = symbols_[symbol];
  Name& name = names_[gone.name];
  if (gone.previous_use == kNone) {
    name.first_use = gone.next_use;
  } else {
    symbols_[gone.previous_use].next_use = gone.next_use;
  }
  if (gone.next_use != kNone) symbols_[gone.next_use].previous_use = gone.previous_use;
  --name.use_count;
}

// Takes a symbol out of its rule. Its digrams have been forgotten before.
void StarSequitur::remove(SymbolId symbol) {
  const NameId name = symbols_[symbol].name;
  link(previous(symbol), next(symbol));
  removeUse(symbol);
  freeSymbol(symbol);
  --symbol_count_;
  if (isRule(name)) {
    unsure_.push_back(name);
  } else if (names_[name].use_count == 0) {
    freeName(name);
  }
}

void StarSequitur::freeSymbol(SymbolId symbol) {
  symbols_[symbol] = {};
  free_symbols_.push_back(symbol);
}

void StarSequitur::link(SymbolId left, SymbolId right) {
  symbols_[left].next = right;
  symbols_[right].previous = left;
}

bool StarSequitur::isUsedOnce(NameId name) const {
  return names_[name].use_count == 1 && exponent(firstUse(name)) == 1;
}

// Digrams. Where the table has one, it is there: a digram is forgotten before it changes, and
// checked after. Twins and guards are never in the table.

StarSequitur::Pair StarSequitur::pairAt(SymbolId left) const {
  const Symbol& one = symbols_[left];
  const Symbol& two = symbols_[one.next];
  return {.left = one.name,
          .right = two.name,
          .left_exponent = one.exponent,
          .right_exponent = two.exponent};
}

void StarSequitur::forget(SymbolId left) {
  if (isGuard(left) || isGuard(next(left))) return;
  const auto found = pairs_.find(pairAt(left));
  if (found != pairs_.end() && found->second == left) pairs_.erase(found);
}

void StarSequitur::settle() {
  while (true) {
    if (!pending_.empty()) {
      const SymbolId left = pending_.back();
      pending_.pop_back();
      checkPair(left);
    } else if (!unsure_.empty()) {
      const NameId name = unsure_.back();
      unsure_.pop_back();
      checkUtility(name);
    } else {
      return;
    }
  }
}

// The symbol may be free by now, or another one.
void StarSequitur::checkPair(SymbolId left) {
  if (name(left) == kNone || isGuard(left) || isGuard(next(left))) return;
  if (name(left) == name(next(left))) {
    mergeTwins(left);
    return;
  }
  const auto [found, is_new] = pairs_.try_emplace(pairAt(left), left);
  if (!is_new && found->second != left) join(found->second, left);
}

// The name may be free by now, or another one.
void StarSequitur::checkUtility(NameId name) {
  if (name == kStart || !isRule(name)) return;
  if (names_[name].use_count == 0) {
    removeRule(name);
  } else if (isUsedOnce(name)) {
    inlineRule(name);
  }
}

void StarSequitur::mergeTwins(SymbolId left) {
  const SymbolId right = next(left);
  forget(previous(left));
  forget(right);
  const std::uint64_t turn = markOf(right);
  const std::uint64_t before = exponent(left);
  symbols_[left].exponent += exponent(right);
  if (turn != kNotMarked) mark(left, turn == kAnyTurn ? turn : before + turn);
  remove(right);
  check(previous(left));
  check(left);
}

// Two digrams that are alike become one rule, or the whole rule that one of them is.
void StarSequitur::join(SymbolId one, SymbolId other) {
  if (const NameId rule = wholeRule(one); rule != kNone) {
    substitute(other, rule);
    return;
  }
  if (const NameId rule = wholeRule(other); rule != kNone) {
    substitute(one, rule);
    check(other);
    return;
  }
  if (extend(one, other)) return;
  const NameId rule = newRule(lengthOf(one) + lengthOf(next(one)));
  const SymbolId head = insertAfter(names_[rule].guard, name(one), exponent(one));
  insertAfter(head, name(next(one)), exponent(next(one)));
  substitute(one, rule);
  substitute(other, rule);
  check(head);
}

std::uint64_t StarSequitur::lengthOf(SymbolId symbol) const {
  return names_[name(symbol)].length * exponent(symbol);
}

// The rule that is this digram and nothing else.
StarSequitur::NameId StarSequitur::wholeRule(SymbolId left) const {
  const NameId rule = ruleAround(left);
  const bool is_whole = rule != kStart && isGuard(previous(left)) && isGuard(next(next(left)));
  return is_whole ? rule : kNone;
}

// A rule that is used in these two digrams alone takes its neighbours in. A new rule would come to
// the same, since the old one would then be inlined; but each symbol of it would move.
bool StarSequitur::extend(SymbolId one, SymbolId other) {
  const SymbolId one_right = next(one);
  const SymbolId other_right = next(other);
  if (areAllUses(one, other)) {
    const NameId rule = name(one);
    const SymbolId tail = last(rule);
    names_[rule].length += lengthOf(one_right);
    const SymbolId inside = insertAfter(tail, name(one_right), exponent(one_right));
    absorbAfter(one, inside);
    absorbAfter(other, inside);
    check(tail);
    return true;
  }
  if (areAllUses(one_right, other_right)) {
    const NameId rule = name(one_right);
    names_[rule].length += lengthOf(one);
    const SymbolId inside = insertAfter(names_[rule].guard, name(one), exponent(one));
    absorbBefore(one_right, inside);
    absorbBefore(other_right, inside);
    check(inside);
    return true;
  }
  return false;
}

bool StarSequitur::areAllUses(SymbolId one, SymbolId other) const {
  return isRule(name(one)) && names_[name(one)].use_count == 2 && exponent(one) == 1 &&
         exponent(other) == 1;
}

// The symbol after an instance is now inside of its rule.
void StarSequitur::absorbAfter(SymbolId instance, SymbolId inside) {
  const SymbolId symbol = next(instance);
  forget(instance);
  forget(symbol);
  moveMark(symbol, instance, inside);
  remove(symbol);
  check(instance);
}

// The same for the one before.
void StarSequitur::absorbBefore(SymbolId instance, SymbolId inside) {
  const SymbolId symbol = previous(instance);
  forget(symbol);
  forget(previous(symbol));
  moveMark(symbol, instance, inside);
  remove(symbol);
  check(previous(instance));
}

void StarSequitur::moveMark(SymbolId symbol, SymbolId instance, SymbolId inside) {
  if (markOf(symbol) == kNotMarked) return;
  mark(instance, 0);
  mark(inside, markOf(symbol));
}

void StarSequitur::substitute(SymbolId left, NameId rule) {
  forget(left);
  const SymbolId instance = insertAfter(left, rule, 1);
  absorbBefore(instance, first(rule));
  absorbAfter(instance, last(rule));
  if (ruleAround(instance) != kStart && isGuard(previous(instance)) && isGuard(next(instance))) {
    dissolve(ruleAround(instance));
  }
}

// A rule that is one symbol of one turn: that symbol takes its place everywhere.
void StarSequitur::dissolve(NameId rule) {
  const SymbolId inside = first(rule);
  const NameId other = name(inside);
  while (firstUse(rule) != kNone) {
    const SymbolId use = firstUse(rule);
    forget(previous(use));
    forget(use);
    removeUse(use);
    symbols_[use].name = other;
    addUse(use);
    check(previous(use));
    check(use);
  }
  remove(inside);
  freeName(rule);
}

void StarSequitur::inlineRule(NameId rule) {
  const SymbolId use = firstUse(rule);
  forget(previous(use));
  forget(use);
  const SymbolId head = first(rule);
  const SymbolId tail = last(rule);
  const NameId around = ruleAround(use);
  for (SymbolId symbol = head; !isGuard(symbol); symbol = next(symbol)) {
    symbols_[symbol].rule = around;
    if (markOf(use) == kNotMarked) symbols_[symbol].mark = kNotMarked;
  }
  link(previous(use), head);
  link(tail, next(use));
  freeSymbol(use);
  --symbol_count_;
  freeName(rule);
  check(previous(head));
  check(tail);
}

void StarSequitur::removeRule(NameId rule) {
  for (SymbolId symbol = first(rule); !isGuard(symbol); symbol = first(rule)) {
    forget(symbol);
    remove(symbol);
  }
  freeName(rule);
}

void StarSequitur::dropOldest() {
  const SymbolId oldest = first(kStart);
  if (isGuard(oldest)) return;
  dropped_ += lengthOf(oldest);
  forget(oldest);
  remove(oldest);
  settle();
}

void StarSequitur::shrink(std::size_t symbols) {
  while (symbol_count_ > symbols) dropOldest();
  compact();
}

// A kept grammar has no free ids, and tables and lists are made as large as they have to be.
void StarSequitur::compact() { restore(kept()); }

StarSequitur::Kept StarSequitur::kept() const {
  Kept kept;
  kept.dropped = dropped_;
  std::vector<std::uint32_t> numbers(symbols_.size());
  for (NameId name = 0; name < names_.size(); ++name) {
    if (!isRule(name) && names_[name].use_count == 0) continue;  // it is free
    kept.names.push_back({.is_rule = isRule(name),
                          .terminal = names_[name].terminal,
                          .uses = names_[name].use_count});
    SymbolId use = firstUse(name);
    while (use != kNone && nextUse(use) != kNone) use = nextUse(use);
    for (; use != kNone; use = symbols_[use].previous_use) {
      numbers[use] = static_cast<std::uint32_t>(kept.exponents.size());
      kept.exponents.push_back(exponent(use));
    }
  }
  for (NameId name = 0; name < names_.size(); ++name) {
    if (!isRule(name)) continue;
    std::vector<std::uint32_t>& rule = kept.rules.emplace_back();
    for (SymbolId symbol = first(name); !isGuard(symbol); symbol = next(symbol)) {
      rule.push_back(numbers[symbol]);
    }
  }
  std::vector<bool> has(symbols_.size());
  for (const SymbolId symbol : marked_) {
    if (markOf(symbol) == kNotMarked || has[symbol]) continue;
    has[symbol] = true;
    kept.marks.push_back({.symbol = numbers[symbol], .turn = markOf(symbol)});
  }
  return kept;
}

bool StarSequitur::restore(const Kept& kept) {
  StarSequitur made(most_symbols_);
  if (!made.restoreNames(kept) || !made.restoreRules(kept) || !made.restoreLengths()) return false;
  made.dropped_ = kept.dropped;
  if (__builtin_add_overflow(made.length_, kept.dropped, &made.length_)) return false;
  const auto guards = static_cast<SymbolId>(made.rule_count_);
  made.marked_.reserve(kept.marks.size());
  for (const auto& [symbol, turn] : kept.marks) {
    if (symbol >= kept.exponents.size()) return false;
    if (turn != kAnyTurn && turn >= kept.exponents[symbol]) return false;
    made.mark(guards + symbol, turn);
  }
  *this = std::move(made);
  return true;
}

// The guards come first among the symbols, then those of each name, from the oldest on.
bool StarSequitur::restoreNames(const Kept& kept) {
  const auto is_rule = [](const Kept::Name& name) { return name.is_rule; };
  const auto rules = static_cast<std::size_t>(std::ranges::count_if(kept.names, is_rule));
  if (kept.names.empty() || !kept.names.front().is_rule || kept.names.front().uses != 0) {
    return false;
  }
  if (kept.rules.size() != rules || kept.exponents.size() > most_symbols_) return false;
  symbols_.clear();
  symbols_.reserve(rules + kept.exponents.size());
  names_.clear();
  names_.reserve(kept.names.size());
  rule_count_ = 0;
  decltype(terminals_)(kept.names.size() - rules).swap(terminals_);
  for (const Kept::Name& name : kept.names) {
    if (name.is_rule) {
      names_.push_back({.length = 0, .guard = static_cast<SymbolId>(rule_count_++)});
      symbols_.push_back({.name = static_cast<NameId>(names_.size() - 1)});
      symbols_.back().rule = symbols_.back().name;
    } else {
      names_.push_back({.terminal = name.terminal});
      if (!terminals_.emplace(name.terminal, names_.size() - 1).second) return false;
    }
  }
  std::size_t used = 0;
  for (NameId name = 0; name < kept.names.size(); ++name) {
    const std::uint32_t uses = kept.names[name].uses;
    if (uses > kept.exponents.size() - used || (uses == 0 && !isRule(name))) return false;
    for (const std::size_t end = used + uses; used < end; ++used) {
      if (kept.exponents[used] == 0) return false;
      symbols_.push_back({.exponent = kept.exponents[used], .name = name});
      addUse(static_cast<SymbolId>(symbols_.size() - 1));
    }
  }
  symbol_count_ = used;
  return used == kept.exponents.size();
}

// Each symbol is in one rule. A rule that is empty or one symbol of one turn is none.
bool StarSequitur::restoreRules(const Kept& kept) {
  std::size_t placed = 0;
  for (SymbolId guard = 0; guard < rule_count_; ++guard) {
    const NameId rule = name(guard);
    link(guard, guard);
    for (const std::uint32_t number : kept.rules[guard]) {
      if (number >= symbol_count_) return false;
      const auto symbol = static_cast<SymbolId>(rule_count_ + number);
      if (ruleAround(symbol) != kNone) return false;
      symbols_[symbol].rule = rule;
      link(previous(guard), symbol);
      link(symbol, guard);
      ++placed;
    }
    const SymbolId head = first(rule);
    if (rule == kStart) continue;
    if (isGuard(head) || (isGuard(next(head)) && exponent(head) == 1)) return false;
  }
  decltype(pairs_)(symbol_count_).swap(pairs_);
  for (auto left = static_cast<SymbolId>(rule_count_); left < symbols_.size(); ++left) {
    if (ruleAround(left) == kNone) return false;
    if (!isGuard(next(left)) && name(left) != name(next(left))) pairs_.emplace(pairAt(left), left);
  }
  return placed == symbol_count_;
}

// From the rules that have terminals alone up to the start rule. Where rules go round in a circle,
// or derive more than can be counted, there are none.
bool StarSequitur::restoreLengths() {
  std::vector<std::size_t> unknown(names_.size());  // rules in a rule whose lengths are not known
  std::vector<NameId> known;
  for (SymbolId guard = 0; guard < rule_count_; ++guard) {
    const NameId rule = name(guard);
    for (SymbolId symbol = first(rule); !isGuard(symbol); symbol = next(symbol)) {
      if (isRule(name(symbol))) ++unknown[rule];
    }
    if (unknown[rule] == 0) known.push_back(rule);
  }
  std::size_t count = 0;
  for (; !known.empty(); ++count) {
    const NameId rule = known.back();
    known.pop_back();
    std::uint64_t length = 0;
    for (SymbolId symbol = first(rule); !isGuard(symbol); symbol = next(symbol)) {
      std::uint64_t part = 0;
      if (__builtin_mul_overflow(names_[name(symbol)].length, exponent(symbol), &part))
        return false;
      if (__builtin_add_overflow(length, part, &length)) return false;
    }
    (rule == kStart ? length_ : names_[rule].length) = length;
    for (SymbolId use = firstUse(rule); use != kNone; use = nextUse(use)) {
      if (--unknown[ruleAround(use)] == 0) known.push_back(ruleAround(use));
    }
  }
  return count == rule_count_;
}

void StarSequitur::mark(SymbolId symbol, std::uint64_t turn) {
  std::uint64_t& old = symbols_[symbol].mark;
  if (turn == kAnyTurn && exponent(symbol) == 1) turn = 0;
  if (old == kNotMarked) {
    old = turn;
    marked_.push_back(symbol);
  } else if (old != turn) {
    old = kAnyTurn;
  }
}

void StarSequitur::clearMarks() {
  for (const SymbolId symbol : marked_) symbols_[symbol].mark = kNotMarked;
  marked_.clear();
}

}  // namespace omnio::pattern
