#include "ior_bridge/ior/summary_reader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>

#include "core/base/file.hpp"
#include "core/base/json_document.hpp"
#include "core/base/printable.hpp"
#include "ior_bridge/runner/phase_results.hpp"

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

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view text) : path_(path), text_(text) {}

  base::Result<Summary> read() {
    auto parsed = readLooseJson(text_);
    if (const LooseError* error = std::get_if<LooseError>(&parsed)) {
      return at(error->offset, "not JSON: " + error->reason);
    }
    document_ = std::move(std::get<LooseDocument>(parsed));
    Summary summary;
    summary.path = path_;
    summary.mended = document_.mended;
    if (auto failure = readKind(summary)) return *failure;
    const LooseValue* tests = document_.root.find("tests");
    if (tests == nullptr || tests->kind != LooseValue::Kind::kArray) {
      return at(document_.root.offset, "not a summary of IOR: it has no \"tests\"");
    }
    for (const LooseValue& value : tests->items) {
      base::Result<SummaryTest> test = readTest(value, static_cast<int>(summary.tests.size()));
      if (!test) return test.failure();
      if (summary.ours && !test->phase) return at(value.offset, "a test without its \"phase\"");
      summary.tests.push_back(std::move(*test));
    }
    if (summary.tests.empty()) return at(tests->offset, "no test is in it: the run was aborted");
    if (document_.ends_early) return at(*document_.ends_early, "the text ends too early");
    return summary;
  }

 private:
  base::Failure at(std::size_t offset, std::string_view reason) const {
    return base::failureAt(path_, base::placeOf(text_, offset), reason);
  }

  // IOR's summaries name no format; what names another one is none.
  std::optional<base::Failure> readKind(Summary& summary) const {
    const LooseValue& root = document_.root;
    summary.version = root.stringAt("Version").value_or("");
    const LooseValue* format = root.find("format");
    if (format == nullptr) return std::nullopt;
    if (format->string != kPhaseResultsFormat) {
      return at(format->offset,
                fmt::format("neither a summary of IOR nor {}", kPhaseResultsFormat));
    }
    if (root.numberAt("version") != kPhaseResultsVersion) {
      const LooseValue* version = root.find("version");
      base::Failure failure = at(
          (version != nullptr ? version : format)->offset,
          fmt::format("another version of {} than {}", kPhaseResultsFormat, kPhaseResultsVersion));
      failure.code = base::Code::kOtherVersion;
      return failure;
    }
    // Nobody's bug but a damaged file.
    if (document_.mended > 0 && !document_.ends_early) {
      return at(root.offset, fmt::format("damaged {}: it is not JSON", kPhaseResultsFormat));
    }
    summary.ours = true;
    return std::nullopt;
  }

  base::Result<SummaryTest> readTest(const LooseValue& value, int index) {
    SummaryTest test;
    test.id = static_cast<int>(value.numberAt("TestID").value_or(index));
    const auto count = [](std::optional<double> number) -> std::optional<std::uint64_t> {
      if (!number || !(*number >= 0) || *number > 9e18) return std::nullopt;
      return static_cast<std::uint64_t>(*number);
    };
    if (const auto phase = value.numberAt("phase")) {
      if (!(*phase >= 1 && *phase <= 1e9)) {
        return at(value.offset,
                  fmt::format("\"phase\" is {}; it has to be from 1 to 1000000000", *phase));
      }
      test.phase = static_cast<int>(*phase);
    }
    std::optional<double> writes, reads;
    if (const LooseValue* parameters = value.find("Parameters")) {
      test.api = parameters->stringAt("api").value_or("");
      test.transfer_bytes = count(parameters->numberAt("transferSize"));
      test.block_bytes = count(parameters->numberAt("blockSize"));
      test.segments = count(parameters->numberAt("segmentCount"));
      test.tasks = count(parameters->numberAt("numTasks"));
      if (const auto fsync = parameters->numberAt("fsync")) test.fsync = *fsync != 0;
      const auto repetitions = parameters->numberAt("repetitions");
      const auto writes_file = parameters->numberAt("writeFile");
      const auto reads_file = parameters->numberAt("readFile");
      if (repetitions && writes_file) writes = *writes_file != 0 ? *repetitions : 0;
      if (repetitions && reads_file) reads = *reads_file != 0 ? *repetitions : 0;
    }
    if (const LooseValue* options = value.find("Options"); options && !test.tasks) {
      test.tasks = count(options->numberAt("tasks"));
    }
    if (auto failure = readResults(value, test)) return *failure;
    for (const auto& [expected, operation] :
         {std::pair(writes, model::Operation::kWrite), std::pair(reads, model::Operation::kRead)}) {
      const std::size_t found = test.bandwidth_mib_s.of(operation).size();
      if (expected && static_cast<double>(found) != *expected) {
        return at(value.find("Results")->offset,
                  fmt::format("test {} has {} of {:.0f} results of its {}s: the run was aborted",
                              test.id, found, *expected, name(operation)));
      }
    }
    return test;
  }

  static std::string_view name(model::Operation operation) {
    return operation == model::Operation::kWrite ? "write" : "read";
  }

  std::optional<base::Failure> readResults(const LooseValue& value, SummaryTest& test) {
    const LooseValue* results = value.find("Results");
    if (results == nullptr) {
      return at(value.offset,
                fmt::format("test {} has no \"Results\": the run was aborted", test.id));
    }
    if (auto failure = readResultList(*results, test)) return failure;
    if (test.bandwidth_mib_s.write.empty() && test.bandwidth_mib_s.read.empty()) {
      return at(
          results->offset,
          fmt::format("test {} has nothing in its \"Results\": the run was aborted", test.id));
    }
    return std::nullopt;
  }

  // Flat in newer releases; in IOR 3.2 a list for each iteration.
  std::optional<base::Failure> readResultList(const LooseValue& list, SummaryTest& test) {
    for (const LooseValue& entry : list.items) {
      if (entry.kind == LooseValue::Kind::kArray) {
        if (auto failure = readResultList(entry, test)) return failure;
        continue;
      }
      const std::optional<std::string> access = entry.stringAt("access");
      if (!access) return at(entry.offset, "a result without \"access\"");
      if (*access != "write" && *access != "read") continue;  // "remove"
      const auto operation =
          *access == "write" ? model::Operation::kWrite : model::Operation::kRead;
      const LooseValue* bandwidth = entry.find("bwMiB");
      if (bandwidth == nullptr) {
        return at(entry.offset, fmt::format("a result of {} without \"bwMiB\"", *access));
      }
      if (bandwidth->kind != LooseValue::Kind::kNumber || !std::isfinite(bandwidth->number) ||
          !(bandwidth->number > 0)) {
        return at(bandwidth->offset,
                  fmt::format("\"bwMiB\" of iteration {} of {} is not a number above 0",
                              test.bandwidth_mib_s.of(operation).size() + 1, *access));
      }
      test.bandwidth_mib_s.of(operation).push_back(bandwidth->number);
    }
    return std::nullopt;
  }

  const std::filesystem::path& path_;
  std::string_view text_;
  LooseDocument document_;
};

}  // namespace

base::Result<Summary> readSummary(const std::filesystem::path& path) {
  const base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const std::uint64_t size = file->size();
  if (size == 0)
    return base::Failure{base::Code::kNotOurs, base::printable(path.native()) + ": empty"};
  if (size > kMaxBytes) {
    return base::Failure{base::Code::kNotOurs,
                         fmt::format("{}: {} bytes; a summary of IOR has at most {} bytes",
                                     base::printable(path.native()), size, kMaxBytes)};
  }
  std::string text(size, '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  return Reader(path, text).read();
}

}  // namespace omnio::ior
