#include "core/calls/words/values.hpp"

#include <fcntl.h>

#include <charconv>
#include <map>
#include <string>

#include "core/calls/words/names.hpp"

namespace omnio::calls {
namespace {

using Names = std::map<std::string, std::int64_t, std::less<>>;

// The names are stated once, in core/calls/words/names.cpp: what it says of each number is turned
// round here.
template <typename Append>
void addName(Names& names, Append append, std::int64_t number) {
  std::string name;
  append(name, number);
  if (!name.empty() && (name[0] < '0' || name[0] > '9') && name[0] != '-') {
    names.emplace(std::move(name), number);
  }
}

const Names& openFlagNames() {
  static const Names kNames = [] {
    Names names;
    const auto flag = [](std::string& out, std::int64_t number) {
      appendOpenFlags(out, static_cast<std::uint64_t>(number));
      constexpr std::string_view kReading = "O_RDONLY|";  // which has no bit of its own
      if (out.starts_with(kReading)) out.erase(0, kReading.size());
    };
    for (const std::int64_t mode : {O_RDONLY, O_WRONLY, O_RDWR}) addName(names, flag, mode);
    // Two flags consist of more than one bit; the names of their parts must not hide them.
    for (const std::int64_t whole : {O_SYNC, O_TMPFILE}) addName(names, flag, whole);
    for (int bit = 2; bit < 31; ++bit) addName(names, flag, std::int64_t{1} << bit);
    return names;
  }();
  return kNames;
}

template <typename Append>
Names namesUpTo(Append append, std::int64_t limit) {
  Names names;
  for (std::int64_t number = 0; number < limit; ++number) addName(names, append, number);
  return names;
}

std::optional<std::int64_t> find(const Names& names, std::string_view text) {
  const auto found = names.find(text);
  if (found != names.end()) return found->second;
  return numberIn(text);
}

}  // namespace

std::optional<std::int64_t> numberIn(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> openFlagsOf(std::string_view text) {
  std::int64_t flags = 0;
  while (true) {
    const std::size_t bar = text.find('|');
    const auto flag = find(openFlagNames(), text.substr(0, bar));
    if (!flag) return std::nullopt;
    flags |= *flag;
    if (bar == std::string_view::npos) return flags;
    text.remove_prefix(bar + 1);
  }
}

std::optional<std::int64_t> whenceOf(std::string_view text) {
  static const Names kNames = namesUpTo(appendWhence, 8);
  return find(kNames, text);
}

std::optional<std::int64_t> commandOf(std::string_view text) {
  static const Names kNames = namesUpTo(appendCommand, 2048);
  return find(kNames, text);
}

std::optional<std::int64_t> errnoOf(std::string_view text) {
  static const Names kNames = namesUpTo(appendErrno, 256);
  return find(kNames, text);
}

}  // namespace omnio::calls
