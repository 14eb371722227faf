#include "core/pattern/nest_finder.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::pattern {

using base::wrappedDifference;
using base::wrappedProduct;
using base::wrappedSum;

bool NestFinder::Element::isLike(const Element& other) const {
  if (like != other.like || kind != other.kind || count != other.count || steps != other.steps) {
    return false;
  }
  if (body == other.body) return true;
  return body && other.body &&
         std::ranges::equal(*body, *other.body,
                            [](const Element& a, const Element& b) { return a.isLike(b); });
}

void NestFinder::Element::mark() {
  like = base::mixed(kind, count, number_count);
  for (const std::int64_t step : steps) like = base::mixed(like, static_cast<std::uint64_t>(step));
  if (!body) return;
  for (const Element& part : *body) like = base::mixed(like, part.like);
}

// In two turns, parts are like each other, and so are those before them.
std::uint64_t NestFinder::keyOf(std::size_t at) const {
  return likes_[at] ^ std::rotl(at == 0 ? 0 : likes_[at - 1], 17);
}

void NestFinder::push(Element element) {
  likes_.push_back(element.like);
  elements_.push_back(std::move(element));
  pushed(keyOf(elements_.size() - 1), elements_.back().length());
}

void NestFinder::drop(std::size_t count) {
  popped(count);
  elements_.resize(elements_.size() - count);
  likes_.resize(elements_.size());
}

void NestFinder::add(std::uint32_t kind, std::span<const std::int64_t> numbers,
                     std::span<const std::int64_t> measures) {
  Element element;
  element.kind = kind;
  element.number_count = numbers.size();
  element.measure_count = measures.size();
  element.numbers.assign(numbers.begin(), numbers.end());
  element.measures.assign(measures.begin(), measures.end());
  element.mark();
  push(std::move(element));
  fold(kMostInBody);
  // The later half stays: loops go on there.
  if (elements_.size() >= kMostElements) emitUpTo(kMostElements / 2);
}

// Whether the elements after the loop are its next turn, and it may have one more.
bool NestFinder::continuesLoop(std::size_t at) const {
  const Element& loop = elements_[at];
  std::size_t number = 0;
  for (std::size_t i = 0; i < loop.body->size(); ++i) {
    const Element& element = elements_[at + 1 + i];
    if (!(*loop.body)[i].isLike(element)) return false;
    for (const std::int64_t value : element.numbers) {
      const std::int64_t step = wrappedProduct(loop.steps[number], loop.count);
      if (value != wrappedSum(loop.numbers[number], step)) return false;
      ++number;
    }
  }
  return loop.count < most_turns_ / loop.inner_turns;
}

void NestFinder::addTurn(Element& loop, std::size_t first) const {
  std::size_t at = 1;
  for (std::size_t i = first; i < first + loop.length(); ++i) {
    for (const std::int64_t measure : elements_[i].measures) {
      loop.measures[at] = base::saturatingSum(loop.measures[at], measure);
      ++at;
    }
  }
  ++loop.count;
}

void NestFinder::takeTurn(std::size_t at) {
  if (elements_[at].measures.empty()) {
    ++elements_[at].count;
  } else {
    addTurn(elements_[at], at + 1);
  }
  drop(elements_[at].length());
  popped(1);
  elements_[at].mark();
  likes_[at] = elements_[at].like;
  pushed(keyOf(at), elements_[at].length());
}

// Whether the element and those one and two turns before it have numbers at one distance.
bool NestFinder::advanceAlike(std::size_t at, std::size_t length) const {
  const std::vector<std::int64_t>& first = elements_[at - 2 * length].numbers;
  const std::vector<std::int64_t>& second = elements_[at - length].numbers;
  const std::vector<std::int64_t>& third = elements_[at].numbers;
  if (first.size() != third.size() || second.size() != third.size()) return false;
  for (std::size_t n = third.size(); n-- > 0;) {
    if (wrappedDifference(third[n], second[n]) != wrappedDifference(second[n], first[n]))
      return false;
  }
  return true;
}

bool NestFinder::areTurns(std::size_t length, std::size_t turns) const {
  const std::size_t size = elements_.size();
  const std::size_t second = size - (turns - 1) * length;
  // Where all calls are alike, their numbers are not: one of them ends most comparisons.
  if (!advanceAlike(size - 1, length)) return false;
  for (std::size_t i = second; i < size; ++i) {
    if (likes_[i] != likes_[i - length]) return false;
  }
  for (std::size_t i = second + length; i < size; ++i) {
    if (!advanceAlike(i, length)) return false;
  }
  for (std::size_t i = second; i < size; ++i) {
    if (!elements_[i].isLike(elements_[i - length])) return false;
  }
  return true;
}

// The most turns that one of these elements has.
std::uint64_t NestFinder::turnsFrom(std::size_t first, std::size_t length) const {
  std::uint64_t most = 1;
  for (std::size_t i = first; i < first + length; ++i) most = std::max(most, elements_[i].turns());
  return most;
}

bool NestFinder::makeLoop(std::size_t length, std::size_t turns) {
  const std::size_t first = elements_.size() - turns * length;
  Element loop;
  loop.inner_turns = turnsFrom(first, length);
  if (turns > most_turns_ / loop.inner_turns) return false;
  Body body;
  for (std::size_t i = first; i < first + length; ++i) {
    Element& element = elements_[i];
    const Element& next = elements_[i + length];
    loop.numbers.insert(loop.numbers.end(), element.numbers.begin(), element.numbers.end());
    for (std::size_t n = 0; n < element.numbers.size(); ++n) {
      loop.steps.push_back(wrappedDifference(next.numbers[n], element.numbers[n]));
    }
    if (!element.measures.empty()) {
      if (i == first) loop.measures.push_back(std::exchange(element.measures[0], 0));
      loop.measures.insert(loop.measures.end(), element.measures.begin(), element.measures.end());
    }
    Element part = element;
    part.numbers = {};
    part.measures = {};
    body.push_back(std::move(part));
  }
  loop.number_count = loop.numbers.size();
  loop.measure_count = loop.measures.size();
  loop.body = std::make_shared<const Body>(std::move(body));
  for (std::size_t turn = 1; turn < turns; ++turn) {
    if (loop.measures.empty()) {
      ++loop.count;
    } else {
      addTurn(loop, first + turn * length);
    }
  }
  loop.mark();
  drop(turns * length);
  push(std::move(loop));
  return true;
}

namespace {

// What a part is made of, while it becomes a Nest: its numbers and measures, and for each loop
// around it the steps of these numbers.
struct Slice {
  std::span<const std::int64_t> numbers;
  std::span<const std::int64_t> measures;
  std::vector<std::span<const std::int64_t>> steps;
  // By number: the list of the outermost loop that has its values, or kNoList.
  std::span<const std::size_t> lists;
  std::uint64_t turns = 1;  // of all loops around it
  // Turns in which the part's first measure is in its sums.
  std::uint64_t first_turns = 1;
};

template <typename Element>
Nest nestOf(const Element& element, const Slice& slice) {
  Nest nest;
  nest.measures.count = slice.turns;
  nest.measures.first_count = slice.first_turns;
  if (!element.body) {
    nest.kind = element.kind;
    nest.measures.sums.assign(slice.measures.begin(), slice.measures.end());
    for (std::size_t i = 0; i < slice.numbers.size(); ++i) {
      Field field{.base = slice.numbers[i], .steps = {}};
      for (const auto& steps : slice.steps) field.steps.push_back(steps[i]);
      if (!slice.lists.empty() && slice.lists[i] != Field::kNoList) {
        field.base = 0;
        field.list_loop = 0;
        field.list = slice.lists[i];
      }
      nest.fields.push_back(std::move(field));
    }
    return nest;
  }
  nest.count = element.count;
  if (!slice.measures.empty()) nest.measures.sums.push_back(slice.measures[0]);
  std::size_t number = 0;
  std::size_t measure = slice.measures.empty() ? 0 : 1;
  for (const Element& part : *element.body) {
    Slice inner;
    inner.numbers = slice.numbers.subspan(number, part.number_count);
    if (!slice.measures.empty())
      inner.measures = slice.measures.subspan(measure, part.measure_count);
    for (const auto& steps : slice.steps) {
      inner.steps.push_back(steps.subspan(number, part.number_count));
    }
    inner.steps.push_back(std::span(element.steps).subspan(number, part.number_count));
    if (!slice.lists.empty()) inner.lists = slice.lists.subspan(number, part.number_count);
    inner.turns = slice.turns * element.count;
    inner.first_turns = nest.body.empty() ? slice.turns * (element.count - 1) : inner.turns;
    number += part.number_count;
    measure += part.measure_count;
    nest.body.push_back(nestOf(part, inner));
  }
  return nest;
}

}  // namespace

void NestFinder::emitElement(const Element& element) {
  emit_(nestOf(element, {.numbers = element.numbers,
                         .measures = element.measures,
                         .steps = {},
                         .lists = {},
                         .turns = 1,
                         .first_turns = 1}));
}

// Emits the longest run of like turns that begins at `first`, as a loop with lists; or the element
// alone. Returns where it ends.
std::size_t NestFinder::emitRun(std::size_t first, std::size_t end) {
  std::size_t best_length = 0;
  std::size_t best_saved = 0;
  std::size_t best_turns = 0;
  for (std::size_t length = 1; length <= kMostInList && first + 2 * length <= end; ++length) {
    if (end - first - length <= best_saved) break;  // a longer one saves no more
    std::size_t matched = 0;
    while (first + length + matched < end &&
           likes_[first + matched] == likes_[first + matched + length] &&
           elements_[first + matched].isLike(elements_[first + matched + length])) {
      ++matched;
    }
    std::size_t turns = 1 + matched / length;
    if (turns >= 3) {
      turns = std::min<std::uint64_t>(turns, most_turns_ / turnsFrom(first, length));
    }
    const std::size_t saved = (turns - 1) * length;
    if (turns >= 3 && saved > best_saved) {
      best_length = length;
      best_saved = saved;
      best_turns = turns;
    }
  }
  if (best_length == 0) {
    emitElement(elements_[first]);
    return first + 1;
  }
  Element loop;
  Body body;
  loop.inner_turns = turnsFrom(first, best_length);
  for (std::size_t i = first; i < first + best_length; ++i) {
    Element part = elements_[i];
    loop.numbers.insert(loop.numbers.end(), part.numbers.begin(), part.numbers.end());
    loop.measures.insert(loop.measures.end(), part.measures.begin(), part.measures.end());
    part.numbers = {};
    part.measures = {};
    body.push_back(std::move(part));
  }
  if (!loop.measures.empty()) {
    loop.measures.insert(loop.measures.begin(), std::exchange(loop.measures[0], 0));
  }
  loop.body = std::make_shared<const Body>(std::move(body));
  // Each number by turn: the values of a number are those at its place in each turn.
  std::vector<std::vector<std::int64_t>> values(loop.numbers.size());
  for (std::size_t turn = 0; turn < best_turns; ++turn) {
    std::size_t at = 0;
    const std::size_t begin = first + turn * best_length;
    for (std::size_t i = begin; i < begin + best_length; ++i) {
      for (const std::int64_t number : elements_[i].numbers) values[at++].push_back(number);
    }
    if (turn > 0 && !loop.measures.empty()) addTurn(loop, begin);
  }
  loop.count = best_turns;
  std::vector<std::vector<std::int64_t>> lists;
  std::vector<std::size_t> list_of(values.size(), Field::kNoList);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<std::int64_t>& by_turn = values[i];
    const std::int64_t step = wrappedDifference(by_turn[1], by_turn[0]);
    bool is_affine = true;
    for (std::size_t turn = 1; turn < best_turns && is_affine; ++turn) {
      is_affine = wrappedDifference(by_turn[turn], by_turn[turn - 1]) == step;
    }
    loop.steps.push_back(is_affine ? step : 0);
    if (is_affine) continue;
    // Many calls name one value twice: what a read asked for, and what it got.
    const auto same = std::ranges::find(lists, by_turn);
    list_of[i] = static_cast<std::size_t>(same - lists.begin());
    if (same == lists.end()) lists.push_back(by_turn);
  }
  Nest nest = nestOf(loop, {.numbers = loop.numbers,
                            .measures = loop.measures,
                            .steps = {},
                            .lists = list_of,
                            .turns = 1,
                            .first_turns = 1});
  nest.lists = std::move(lists);
  emit_(nest);
  return first + best_turns * best_length;
}

void NestFinder::emitUpTo(std::size_t end) {
  std::size_t at = 0;
  // A run may go on in the part that stays, up to the last turn that is whole.
  while (at < end) at = emitRun(at, elements_.size());
  const auto gone = static_cast<std::ptrdiff_t>(at);
  popped(elements_.size());
  elements_.erase(elements_.begin(), elements_.begin() + gone);
  likes_.erase(likes_.begin(), likes_.begin() + gone);
  for (std::size_t i = 0; i < elements_.size(); ++i) pushed(keyOf(i), elements_[i].length());
}

void NestFinder::finish() { emitUpTo(elements_.size()); }

}  // namespace omnio::pattern
