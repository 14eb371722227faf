#include "core/mpi/type_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace omnio::mpi {

std::string_view TypeText::word() {
  const std::size_t begin = at_;
  while (!failed() && at_ < text_.size() &&
         ((text_[at_] >= 'a' && text_[at_] <= 'z') || text_[at_] == '_')) {
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::string TypeText::letters() {
  std::string all;
  do {
    const std::string_view letter = word();
    if (letter.size() != 1) fail("no letter here");
    if (failed()) return {};
    all += letter;
  } while (takeIf(','));
  return all;
}

std::int64_t TypeText::number() {
  if (failed()) return 0;
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) {
    fail("no number here");
    return 0;
  }
  at_ += static_cast<std::size_t>(end - begin);
  return value;
}

NumberList TypeText::list() {
  NumberList numbers;
  if (isNext(';')) return numbers;
  do {
    NumberList::Run run{.first = number(), .step = 0, .count = 1};
    const bool up = takeIf('+');
    if (up || isNext('-')) run.step = number();
    if (up && run.step < 0) fail("a step has two signs");
    if (takeIf('x')) {
      run.count = count();
    } else if (run.step != 0) {
      fail("a step without a count");
    }
    std::int64_t last = 0;
    std::int64_t size = 0;
    if (__builtin_mul_overflow(run.step, run.count, &last) ||
        __builtin_add_overflow(run.first, last, &last) ||
        __builtin_add_overflow(numbers.size(), run.count, &size)) {
      fail("a list is longer than any");
    }
    if (failed()) return {};
    numbers.add(run);
  } while (takeIf(','));
  return numbers;
}

void TypeText::fail(std::string_view why) {
  if (!failed()) problem_ = fmt::format("datatype, byte {}: {}", at_, why);
}

void TypeText::take(char c) {
  if (!takeIf(c)) fail(fmt::format("no '{}' here", c));
}

}  // namespace omnio::mpi
