#include "ior_bridge/ior/loose_json.hpp"

#include <charconv>
#include <cstdint>
#include <limits>

namespace omnio::ior {
namespace {

constexpr int kMaxDepth = 64;

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool isWordCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

void appendUtf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// A number, true, false, null, nan or inf. False for any other word.
bool valueOfWord(std::string_view word, LooseValue& value) {
  using Kind = LooseValue::Kind;
  if (word == "null") return true;
  if (word == "true" || word == "false") {
    value.kind = Kind::kBool;
    value.boolean = word == "true";
    return true;
  }
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value.number);
  if (error == std::errc::result_out_of_range) {
    value.number = std::numeric_limits<double>::infinity();
  } else if (error != std::errc() || stop != end) {
    return false;
  }
  value.kind = Kind::kNumber;
  return true;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::variant<LooseDocument, LooseError> parse() {
    findRoot();
    if (at_ >= text_.size()) return LooseError{0, "no JSON object is in it"};
    document_.root = object(0);
    if (error_) return *error_;
    skipSeparators();
    if (at_ < text_.size()) ++document_.mended;  // what IOR 3.2 prints behind the end
    return std::move(document_);
  }

 private:
  // IOR 3.2 writes a title line first, and its ranks write over the beginning of the one file.
  void findRoot() {
    skipBlanks();
    if (at_ < text_.size() && text_[at_] == '{') return;
    ++document_.mended;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] != '{') continue;
      const std::size_t begin = at_++;
      skipBlanks();
      const bool is_object = at_ < text_.size() && text_[at_] == '"';
      at_ = begin;
      if (is_object) return;
    }
  }

  void skipBlanks() {
    while (at_ < text_.size() && isBlank(text_[at_])) ++at_;
  }

  // Commas tell nothing that the values do not tell by themselves.
  void skipSeparators() {
    while (at_ < text_.size() && (isBlank(text_[at_]) || text_[at_] == ',')) ++at_;
  }

  bool ended() {
    if (at_ < text_.size()) return false;
    if (!document_.ends_early) document_.ends_early = text_.size();
    return true;
  }

  void fail(std::string reason) {
    if (!error_) error_ = LooseError{at_, std::move(reason)};
  }

  // Whether a "name": comes next.
  bool atKey() {
    const std::size_t begin = at_;
    bool is_key = false;
    if (at_ < text_.size() && text_[at_] == '"') {
      string();
      skipBlanks();
      is_key = at_ < text_.size() && text_[at_] == ':';
    }
    at_ = begin;
    return is_key;
  }

  // Progress that IOR prints into its summary with -v: the rest of the line is no part of it.
  void skipLine() {
    ++document_.mended;
    const std::size_t newline = text_.find('\n', at_);
    at_ = newline == std::string_view::npos ? text_.size() : newline;
  }

  std::string string() {
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
        out += text_[at_];
        continue;
      }
      const char escaped = text_[++at_];
      std::uint32_t code = 0;
      if (escaped == 'u' && at_ + 4 < text_.size() &&
          std::from_chars(text_.data() + at_ + 1, text_.data() + at_ + 5, code, 16).ptr ==
              text_.data() + at_ + 5) {
        appendUtf8(out, code);
        at_ += 4;
      } else {
        out += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
      }
    }
    if (!ended()) ++at_;
    return out;
  }

  LooseValue value(int depth) {
    skipBlanks();
    if (ended()) return {};
    if (depth > kMaxDepth) {
      fail("nested too deeply");
      return {};
    }
    if (text_[at_] == '{') return object(depth);
    if (text_[at_] == '[') return array(depth);
    LooseValue result;
    result.offset = at_;
    if (text_[at_] == '"') {
      result.kind = LooseValue::Kind::kString;
      result.string = string();
      return result;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && isWordCharacter(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (at_ == text_.size()) ended();  // the number may have been longer
    if (!valueOfWord(word, result)) {
      at_ = begin;
      fail("a value is expected");
    }
    return result;
  }

  LooseValue object(int depth) {
    LooseValue result;
    result.kind = LooseValue::Kind::kObject;
    result.offset = at_++;
    while (!error_) {
      skipSeparators();
      if (ended()) break;
      const char c = text_[at_];
      if (c == '}') {
        ++at_;
        break;
      }
      if (c == ']') {
        // IOR 4.0 with -v closes an array twice: then this object goes on with a name. Else its
        // own bracket is missing.
        ++document_.mended;
        const std::size_t bracket = at_++;
        skipSeparators();
        if (atKey()) continue;
        at_ = bracket;
        break;
      }
      if (c == '"') {
        std::string name = string();
        skipBlanks();
        if (ended()) break;
        if (text_[at_] != ':') {
          fail("a colon is expected behind the name");
          break;
        }
        ++at_;
        result.members.emplace_back(std::move(name), value(depth + 1));
      } else if (isWordCharacter(c)) {
        skipLine();
      } else {
        fail("a name or a closing brace is expected");
      }
    }
    return result;
  }

  LooseValue array(int depth) {
    LooseValue result;
    result.kind = LooseValue::Kind::kArray;
    result.offset = at_++;
    while (!error_) {
      skipSeparators();
      if (ended()) break;
      const char c = text_[at_];
      if (c == ']') {
        ++at_;
        break;
      }
      // A release of 2020 forgot to close "Results": the next name belongs to the object around.
      if (c == '}' || atKey()) {
        ++document_.mended;
        break;
      }
      LooseValue item;
      const std::size_t begin = at_;
      while (at_ < text_.size() && isWordCharacter(text_[at_])) ++at_;
      const bool is_text = at_ > begin && !valueOfWord(text_.substr(begin, at_ - begin), item);
      at_ = begin;
      if (is_text) {
        skipLine();
      } else {
        result.items.push_back(value(depth + 1));
      }
    }
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  LooseDocument document_;
  std::optional<LooseError> error_;
};

}  // namespace

const LooseValue* LooseValue::find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::optional<double> LooseValue::numberAt(std::string_view name) const {
  const LooseValue* value = find(name);
  if (value == nullptr || value->kind != Kind::kNumber) return std::nullopt;
  return value->number;
}

std::optional<std::string> LooseValue::stringAt(std::string_view name) const {
  const LooseValue* value = find(name);
  if (value == nullptr || value->kind != Kind::kString) return std::nullopt;
  return value->string;
}

std::variant<LooseDocument, LooseError> readLooseJson(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace omnio::ior
