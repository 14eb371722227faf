#include "ior_bridge/ior/summary_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "ior_bridge/runner/phase_results.hpp"

namespace omnio::ior {
namespace {

using base::JsonNode;

constexpr int kMaxDepth = 64;

// Programs of a locale with decimal commas write others.
constexpr std::string_view kNumberRule =
    "; a number is digits with a point before the decimals, and has no comma";

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

// The number of bytes at the start of `text` that are digits.
std::size_t digitsOf(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

// Whether the word is a number as RFC 8259 has it, or one that printf() makes of what is none.
bool isNumber(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  if (word == "nan" || word == "inf") return true;
  std::size_t digits = digitsOf(word);
  if (digits == 0 || (digits > 1 && word[0] == '0')) return false;
  word.remove_prefix(digits);
  if (word.starts_with('.')) {
    digits = digitsOf(word.substr(1));
    if (digits == 0) return false;
    word.remove_prefix(1 + digits);
  }
  if (word.starts_with('e') || word.starts_with('E')) {
    word.remove_prefix(1);
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    digits = digitsOf(word);
    if (digits == 0) return false;
    word.remove_prefix(digits);
  }
  return word.empty();
}

// A number, true, false, null, nan or inf. Nothing for any other word.
std::optional<JsonNode> nodeOfWord(std::string_view word) {
  if (word == "null") return JsonNode{};
  if (word == "true" || word == "false") return JsonNode{word == "true"};
  if (!isNumber(word)) return std::nullopt;
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    number = std::numeric_limits<double>::infinity();
  } else if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return JsonNode{number};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  LooseDocument parse() {
    findRoot();
    if (at_ >= text_.size()) {
      at_ = 0;
      fail("no JSON object is in it");
    } else {
      document_.root = object(0);
      skipSeparators();
      if (at_ < text_.size()) ++document_.mended;  // what IOR 3.2 prints behind the end
    }
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
    if (!document_.ends_early) document_.ends_early = placeAt(text_.size());
    return true;
  }

  bool failed() const { return document_.error_place.has_value(); }
  void fail(std::string reason) {
    if (failed()) return;
    document_.error_place = placeAt(at_);
    document_.error = std::move(reason);
  }

  // Offsets are asked for in ascending order, mostly.
  base::TextPlace placeAt(std::size_t offset) {
    if (offset < counted_) counted_ = line_start_ = 0, line_ = 1;
    for (; counted_ < offset; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    return {.line = line_, .column = offset - line_start_ + 1};
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

  // Progress that IOR prints into its summary with -v: the rest of the line does not belong to it.
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

  // A word, which is a value or something else.
  std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && isWordCharacter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // Whether nothing but blanks is before this in its line: IOR prints its progress in lines.
  bool isFirstOfLine() const {
    const std::size_t before = text_.find_last_not_of(" \t", at_ == 0 ? 0 : at_ - 1);
    return before == std::string_view::npos || text_[before] == '\n';
  }

  // Whether digits follow the number that was read behind a comma, as in "2,50" of a locale with
  // decimal commas and in "1,000".
  bool goesOn() const {
    return at_ + 1 < text_.size() && text_[at_] == ',' && text_[at_ + 1] >= '0' &&
           text_[at_ + 1] <= '9';
  }

  JsonNode value(int depth, bool is_in_list) {
    skipBlanks();
    if (ended()) return {};
    if (depth > kMaxDepth) {
      fail("nested too deeply");
      return {};
    }
    if (text_[at_] == '{') return object(depth);
    if (text_[at_] == '[') return array(depth);
    const base::TextPlace place = placeAt(at_);
    if (text_[at_] == '"') return {string(), place};
    const std::size_t begin = at_;
    const std::string_view text = word();
    std::optional<JsonNode> result = nodeOfWord(text);
    at_ += text.size();
    (void)ended();  // the number may have been longer
    if (!result && !text.empty() && at_ == text_.size()) return {};  // it was cut
    if (!result || (!is_in_list && isNumber(text) && goesOn())) {
      const std::size_t after = std::min(text_.find_first_of(" \t\r\n\"]}", at_), text_.size());
      const std::size_t end = text_.find_last_not_of(',', after - 1) + 1;
      at_ = begin;
      fail(text.empty()
               ? "a value is expected"
               : fmt::format("{} is not a value of JSON{}",
                             base::inBrief(text_.substr(begin, end - begin)), kNumberRule));
      return {};
    }
    result->place = place;
    return std::move(*result);
  }

  JsonNode object(int depth) {
    JsonNode result{JsonNode::Members(), placeAt(at_++)};
    auto& members = std::get<JsonNode::Members>(result.value);
    while (!failed()) {
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
        members.push_back({std::move(name), value(depth + 1, false)});
      } else if (digitsOf(text_.substr(at_)) > 0 && !isFirstOfLine()) {
        // The rest of a number such as "2 500".
        fail(fmt::format("{} is not a name{}", base::inBrief(word()), kNumberRule));
      } else if (isWordCharacter(c)) {
        skipLine();
      } else {
        fail("a name or a closing brace is expected");
      }
    }
    return result;
  }

  JsonNode array(int depth) {
    JsonNode result{JsonNode::List(), placeAt(at_++)};
    auto& items = std::get<JsonNode::List>(result.value);
    while (!failed()) {
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
      if (const std::string_view text = word(); !text.empty() && !nodeOfWord(text)) {
        skipLine();
      } else {
        items.push_back(value(depth + 1, true));
      }
    }
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  LooseDocument document_;
  std::size_t counted_ = 0;  // up to where lines are counted
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
};

}  // namespace

LooseDocument readLooseJson(std::string_view text) { return Parser(text).parse(); }

namespace {

constexpr std::uint64_t kMaxMovedBytes = std::uint64_t{64} << 20;

std::optional<double> numberAt(const JsonNode& node, std::string_view key) {
  const JsonNode* value = node.find(key);
  return value == nullptr ? std::nullopt : value->number();
}

// Empty when there is none.
std::string textAt(const JsonNode& node, std::string_view key) {
  const JsonNode* value = node.find(key);
  const auto* text = value == nullptr ? nullptr : value->as<std::string>();
  return text == nullptr ? std::string() : *text;
}

// What a member can be at most, without a doubt: a value beyond is that of another quantity, such
// as the time of a clock.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 60;  // bytes
constexpr std::uint64_t kMaxCount = 1'000'000'000;          // tasks, tests, phases, repetitions
constexpr std::uint64_t kMaxSegments = std::uint64_t{1} << 50;
constexpr std::uint64_t kMaxFlag = 1000;   // IOR counts how often an option is given
constexpr double kMaxBandwidthMibS = 1e9;  // the memory of 5,000 nodes
constexpr double kMaxSeconds = 1e9;        // 31 years

// Whole numbers of members that may be missing. What is there and is none is refused by name; the
// first refusal is kept.
class Counts {
 public:
  explicit Counts(const std::filesystem::path& path) : path_(path) {}

  std::optional<std::uint64_t> at(const JsonNode& node, std::string_view key, std::uint64_t least,
                                  std::uint64_t most) {
    const JsonNode* const value = node.find(key);
    if (value == nullptr) return std::nullopt;
    const std::optional<double> number = value->number();
    if (number && *number >= static_cast<double>(least) && *number <= static_cast<double>(most) &&
        *number == std::floor(*number)) {
      return static_cast<std::uint64_t>(*number);
    }
    if (!refused_) {
      refused_ = base::failureAt(
          path_, value->place,
          fmt::format("\"{}\" is {}; it has to be a whole number from {} to {}", key,
                      number ? fmt::format("{:.15g}", *number) : std::string(value->kind()), least,
                      most));
    }
    return std::nullopt;
  }

  const std::optional<base::Failure>& refused() const { return refused_; }

 private:
  const std::filesystem::path& path_;
  std::optional<base::Failure> refused_;
};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path) {}

  base::Result<Summary> read(std::string_view text) {
    const LooseDocument document = readLooseJson(text);
    if (document.error_place) {
      return at(*document.error_place, "not JSON: " + document.error);
    }
    Summary summary;
    summary.mended = document.mended;
    const JsonNode* format = document.root.find("format");
    if (format != nullptr) {
      if (auto ours = checkOurs(document, *format); !ours) return ours.failure();
    }
    if (format != nullptr) {
      if (auto read = readIdentity(document.root, summary.of); !read) return read.failure();
      if (auto read = readRuns(document.root, summary.runs); !read) return read.failure();
    }
    const JsonNode* tests = document.root.find("tests");
    if (tests == nullptr || tests->as<JsonNode::List>() == nullptr) {
      return at(document.root.place, "not a summary of IOR: it has no \"tests\"");
    }
    for (const JsonNode& node : *tests->as<JsonNode::List>()) {
      SummaryTest test;
      test.id = static_cast<int>(summary.tests.size());
      if (auto read = readTest(node, test); !read) return read.failure();
      if (format != nullptr) test.columns = {};  // what our own results measure is as it was
      if (format != nullptr && !test.phase) return at(node.place, "a test without its \"phase\"");
      summary.tests.push_back(std::move(test));
    }
    if (summary.tests.empty()) return at(tests->place, "no test is in it: the run was aborted");
    if (document.ends_early) return at(*document.ends_early, "the text ends too early");
    return summary;
  }

 private:
  base::Failure at(base::TextPlace place, std::string_view reason) const {
    return base::failureAt(path_, place, reason);
  }

  // IOR's summaries name no format; what names another one is none.
  base::Result<void> checkOurs(const LooseDocument& document, const JsonNode& format) const {
    const JsonNode& root = document.root;
    if (textAt(root, "format") != kPhaseResultsFormat) {
      return at(format.place, fmt::format("neither a summary of IOR nor {}", kPhaseResultsFormat));
    }
    if (numberAt(root, "version") != kPhaseResultsVersion) {
      const JsonNode* version = root.find("version");
      return base::failureAt(
          path_, version != nullptr ? version->place : format.place,
          fmt::format("another version of {} than {}", kPhaseResultsFormat, kPhaseResultsVersion),
          base::Code::kOtherVersion);
    }
    // Not a bug of IOR but a damaged file.
    if (document.mended > 0 && !document.ends_early) {
      return at(root.place, fmt::format("damaged {}: it is not JSON", kPhaseResultsFormat));
    }
    return {};
  }

  base::Result<void> readIdentity(const JsonNode& root, SummaryIdentity& of) const {
    const JsonNode* node = root.find("of");
    if (node == nullptr) return at(root.place, "it does not say what it is \"of\"");
    of.model = textAt(*node, "model");
    if (of.model.empty()) return at(node->place, "it does not say of which \"model\" it is");
    of.target = textAt(*node, "target");
    const std::string mount = textAt(*node, "mount");
    if (!mount.empty()) of.target += fmt::format(" ({})", mount);
    const JsonNode* hosts = node->find("hosts");
    const auto* list = hosts == nullptr ? nullptr : hosts->as<JsonNode::List>();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto* host = (*list)[i].as<std::string>();
      if (host != nullptr) of.target += (i == 0 ? " from " : ", ") + *host;
    }
    return {};
  }

  static bool isTime(double seconds) { return seconds >= 0 && seconds <= kMaxSeconds; }
  base::Failure notATime(const JsonNode& run, std::string_view key) const {
    const JsonNode* value = run.find(key);
    return at(value == nullptr ? run.place : value->place,
              fmt::format("\"{}\" of a run is not a time: it has to be from 0 to {:.0f} seconds",
                          key, kMaxSeconds));
  }

  base::Result<void> readRuns(const JsonNode& root, std::vector<SummaryRun>& runs) const {
    const JsonNode* node = root.find("runs");
    const auto* list = node == nullptr ? nullptr : node->as<JsonNode::List>();
    if (list == nullptr) return {};
    for (const JsonNode& entry : *list) {
      SummaryRun& run = runs.emplace_back();
      for (const auto& [key, value] :
           {std::pair("io_s", &run.io_s), std::pair("data_s", &run.data_s),
            std::pair("metadata_s", &run.metadata_s), std::pair("sync_s", &run.sync_s),
            std::pair("waiting_s", &run.waiting_s), std::pair("sum_s", &run.sum_s)}) {
        const std::optional<double> number = numberAt(entry, key);
        if (!number || !isTime(*number)) return notATime(entry, key);
        *value = *number;
      }
      run.chain_s = numberAt(entry, "chain_s");
      if (run.chain_s && !isTime(*run.chain_s)) return notATime(entry, "chain_s");
      Counts counts(path_);
      run.differences = counts.at(entry, "differences", 0, kMaxSize).value_or(0);
      if (counts.refused()) return *counts.refused();
    }
    return {};
  }

  base::Result<void> readTest(const JsonNode& node, SummaryTest& test) const {
    Counts counts(path_);
    test.id = static_cast<int>(counts.at(node, "TestID", 0, kMaxCount).value_or(test.id));
    if (const auto phase = counts.at(node, "phase", 1, kMaxCount)) {
      test.phase = static_cast<int>(*phase);
    }
    std::optional<std::uint64_t> writes, reads;
    if (const JsonNode* parameters = node.find("Parameters")) {
      const auto flag = [&](std::string_view key) {
        return counts.at(*parameters, key, 0, kMaxFlag);
      };
      test.transfer_bytes = counts.at(*parameters, "transferSize", 1, kMaxSize);
      test.tasks = counts.at(*parameters, "numTasks", 1, kMaxCount);
      if (counts.at(*parameters, "beyondCache", 0, kMaxCount).value_or(0) > 0) {
        return at(parameters->place,
                  fmt::format("test {} was run beyond the cache: its bandwidth is that of the "
                              "storage, from which no Time_io follows",
                              test.id));
      }
      const auto repetitions = counts.at(*parameters, "repetitions", 1, kMaxCount);
      const auto writes_file = flag("writeFile");
      const auto reads_file = flag("readFile");
      if (repetitions && writes_file) writes = *writes_file != 0 ? *repetitions : 0;
      if (repetitions && reads_file) reads = *reads_file != 0 ? *repetitions : 0;
      test.parameters = {.block_bytes = counts.at(*parameters, "blockSize", 1, kMaxSize),
                         .segments = counts.at(*parameters, "segmentCount", 1, kMaxSegments),
                         .file_per_process = flag("filePerProc"),
                         .collective = flag("collective"),
                         .random = flag("randomOffset"),
                         .fsync = flag("fsync"),
                         .reordered = flag("reorderTasks"),
                         .several_files = flag("multiFile"),
                         .fsync_each = flag("fsyncperwrite")};
      test.api = textAt(*parameters, "api");
      test.data_file = textAt(*parameters, "testFileName");
    }
    if (const JsonNode* options = node.find("Options"); options != nullptr && !test.tasks) {
      test.tasks = counts.at(*options, "tasks", 1, kMaxCount);
    }
    if (counts.refused()) return *counts.refused();
    const JsonNode* results = node.find("Results");
    if (results == nullptr) {
      return at(node.place,
                fmt::format("test {} has no \"Results\": the run was aborted", test.id));
    }
    if (auto read = readResults(*results, test); !read) return read;
    if (test.bandwidth_mib_s.write.empty() && test.bandwidth_mib_s.read.empty() &&
        test.operations_per_s.empty()) {
      return at(
          results->place,
          fmt::format("test {} has nothing in its \"Results\": the run was aborted", test.id));
    }
    for (const auto& [expected, operation] :
         {std::pair(writes, model::Operation::kWrite), std::pair(reads, model::Operation::kRead)}) {
      const std::size_t found = test.bandwidth_mib_s.of(operation).size();
      if (expected && found != *expected) {
        return at(results->place,
                  fmt::format("test {} has {} of {} results of its {}s: the run was aborted",
                              test.id, found, *expected, model::nameOf(operation)));
      }
    }
    return {};
  }

  // Of our own results.
  base::Result<void> readRate(const JsonNode& entry, SummaryTest& test) const {
    const JsonNode* rate = entry.find("operationsPerSecond");
    const double number = rate == nullptr ? 0 : rate->number().value_or(0);
    if (!std::isfinite(number) || !(number > 0)) {
      return at(rate == nullptr ? entry.place : rate->place,
                fmt::format("\"operationsPerSecond\" of iteration {} is not a number above 0",
                            test.operations_per_s.size() + 1));
    }
    test.operations_per_s.push_back(number);
    return {};
  }

  // Flat in newer releases; in IOR 3.2 a list for each iteration.
  base::Result<void> readResults(const JsonNode& node, SummaryTest& test) const {
    const auto* list = node.as<JsonNode::List>();
    if (list == nullptr) return {};
    for (const JsonNode& entry : *list) {
      if (entry.as<JsonNode::List>() != nullptr) {
        if (auto read = readResults(entry, test); !read) return read;
        continue;
      }
      const std::string access = textAt(entry, "access");
      if (access.empty()) return at(entry.place, "a result without \"access\"");
      if (access == model::kMetadataName) {
        if (auto read = readRate(entry, test); !read) return read;
        continue;
      }
      if (access != "write" && access != "read") continue;  // "remove"
      const model::Operation operation =
          access == "write" ? model::Operation::kWrite : model::Operation::kRead;
      std::vector<double>& bandwidths = test.bandwidth_mib_s.of(operation);
      const JsonNode* bandwidth = entry.find("bwMiB");
      if (bandwidth == nullptr) {
        return at(entry.place, fmt::format("a result of {} without \"bwMiB\"", access));
      }
      const double number = bandwidth->number().value_or(0);
      if (!std::isfinite(number) || !(number > 0)) {
        return at(bandwidth->place,
                  fmt::format("\"bwMiB\" of iteration {} of {} is not a number above 0",
                              bandwidths.size() + 1, access));
      }
      if (number > kMaxBandwidthMibS) {
        return at(bandwidth->place,
                  fmt::format("\"bwMiB\" of iteration {} of {} is {:.10g}, more than any storage "
                              "has ({:.0f} MiB/s): it is another quantity, or in another unit",
                              bandwidths.size() + 1, access, number, kMaxBandwidthMibS));
      }
      bandwidths.push_back(number);
      std::vector<Columns>& columns = test.columns.of(operation);
      const std::optional<Columns> found = columnsOf(entry, number, test);
      if (found && columns.size() + 1 == bandwidths.size()) columns.push_back(*found);
    }
    for (const model::Operation operation : {model::Operation::kWrite, model::Operation::kRead}) {
      std::vector<Columns>& columns = test.columns.of(operation);
      if (columns.size() != test.bandwidth_mib_s.of(operation).size()) columns.clear();
    }
    return {};
  }

  // The times have four digits behind the point, so a short run is told better by its requests.
  static std::optional<Columns> columnsOf(const JsonNode& entry, double mib_s,
                                          const SummaryTest& test) {
    const std::optional<double> open_s = numberAt(entry, "openTime");
    const std::optional<double> data_s = numberAt(entry, "wrRdTime");
    const std::optional<double> close_s = numberAt(entry, "closeTime");
    const std::optional<double> total_s = numberAt(entry, "totalTime");
    const std::optional<double> iops = numberAt(entry, "iops");
    const auto is_good = [](const std::optional<double>& value) {
      return value && std::isfinite(*value) && *value >= 0;
    };
    if (!is_good(open_s) || !is_good(close_s)) return std::nullopt;
    Columns columns{.open_s = *open_s, .close_s = *close_s};
    if (is_good(iops) && *iops > 0 && test.transfer_bytes) {
      columns.data_mib_s = *iops * static_cast<double>(*test.transfer_bytes) / model::kMiB;
    } else if (is_good(data_s) && *data_s > 0 && is_good(total_s)) {
      columns.data_mib_s = mib_s * *total_s / *data_s;
    } else {
      return std::nullopt;
    }
    return columns;
  }

  const std::filesystem::path& path_;
};

}  // namespace

base::Result<Summary> readSummary(const std::filesystem::path& path) {
  const base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  const std::uint64_t size = file->size();
  if (size == 0)
    return base::failure(base::Code::kNotOurs, "{}: empty", base::printable(path.native()));
  if (size > kMaxMovedBytes) {
    return base::failure(base::Code::kNotOurs,
                         "{}: {} bytes; a summary of IOR has at most {} bytes",
                         base::printable(path.native()), size, kMaxMovedBytes);
  }
  std::string text(size, '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  return Reader(path).read(text);
}

}  // namespace omnio::ior
