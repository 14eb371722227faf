#include "predict/operations/number_model.hpp"

#include <algorithm>

namespace omnio::predict {
namespace {

// A longer run of the first number is learned when it comes again.
constexpr std::uint64_t kMostOfFirstRun = 4096;

}  // namespace

void NumberModel::beginGrammar(std::int64_t number) {
  grammar_ = std::make_unique<pattern::GrammarPredictor>(kMostSymbols);
  const std::uint64_t first = static_cast<std::uint64_t>(different_.front());
  for (std::uint64_t i = std::min(run_, kMostOfFirstRun); i > 0; --i) grammar_->append(first);
  grammar_->append(static_cast<std::uint64_t>(number));
}

void NumberModel::take(std::int64_t number) {
  if (has_too_many_) return;
  if (std::ranges::find(different_, number) == different_.end()) {
    if (different_.size() == kMostDifferent) {
      giveUp();
      return;
    }
    different_.push_back(number);
  }
  if (different_.size() == 1) {
    ++run_;
    next_ = number;
    return;
  }
  if (grammar_ == nullptr) {
    beginGrammar(number);
  } else {
    grammar_->append(static_cast<std::uint64_t>(number));
  }
  const std::optional<std::uint64_t> expected = grammar_->next();
  next_ = expected ? static_cast<std::int64_t>(*expected) : number;
}

void NumberModel::takeFirst(std::int64_t number, std::uint64_t times) {
  if (times == 0) return;
  take(number);
  run_ = times;
}

void NumberModel::giveUp() {
  has_too_many_ = true;
  next_.reset();
  grammar_.reset();
  std::vector<std::int64_t>().swap(different_);
}

void NumberModel::halve() {
  if (grammar_ == nullptr) return;
  const std::size_t symbols = grammar_->grammar().symbolCount();
  if (symbols <= pattern::StarSequitur::kLeastSymbols) return;
  grammar_->shrink(symbols / 2);
  if (const std::optional<std::uint64_t> expected = grammar_->next()) {
    next_ = static_cast<std::int64_t>(*expected);
  }
}

void NumberModel::compact() {
  different_.shrink_to_fit();
  if (grammar_ != nullptr) grammar_->shrink(SIZE_MAX);
}

bool NumberModel::fitsTogether() const {
  if (different_.size() > kMostDifferent) return false;
  if (grammar_ == nullptr) return different_.size() <= 1;
  const pattern::StarSequitur& grammar = grammar_->grammar();
  for (pattern::StarSequitur::NameId name = 0; name < grammar.nameIds(); ++name) {
    if (grammar.isRule(name)) continue;
    const auto number = static_cast<std::int64_t>(grammar.terminal(name));
    if (std::ranges::find(different_, number) == different_.end()) return false;
  }
  return different_.size() > 1;
}

NumberModel::Ahead NumberModel::ahead() const {
  Ahead ahead;
  ahead.only_ = next_;
  if (grammar_ != nullptr && grammar_->next()) ahead.numbers_ = grammar_->iterator();
  return ahead;
}

std::optional<std::int64_t> NumberModel::Ahead::next() {
  if (!numbers_) return only_;
  const std::optional<std::uint64_t> number = numbers_->next();
  return number ? std::optional(static_cast<std::int64_t>(*number)) : only_;
}

std::size_t NumberModel::memoryBytes() const {
  return different_.capacity() * sizeof(std::int64_t) +
         (grammar_ == nullptr ? 0 : sizeof(*grammar_) + grammar_->memoryBytes());
}

}  // namespace omnio::predict
