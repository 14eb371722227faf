#include "ior_bridge/ior/summary_reader.hpp"

#include <fmt/format.h>

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

// A number, true, false, null, nan or inf. Nothing for any other word.
std::optional<JsonNode> nodeOfWord(std::string_view word) {
  if (word == "null") return JsonNode{};
  if (word == "true" || word == "false") return JsonNode{word == "true"};
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

  JsonNode value(int depth) {
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
    std::optional<JsonNode> result = nodeOfWord(word());
    at_ += word().size();
    (void)ended();  // the number may have been longer
    if (!result) {
      at_ = begin;
      fail("a value is expected");
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
        members.emplace_back(std::move(name), value(depth + 1));
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
        items.push_back(value(depth + 1));
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

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

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

std::optional<std::uint64_t> countAt(const JsonNode& node, std::string_view key) {
  const std::optional<double> number = numberAt(node, key);
  if (!number || !(*number >= 0) || *number > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

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
        if (!number || !std::isfinite(*number) || *number < 0) {
          return at(entry.place, fmt::format("\"{}\" of a run is not a time", key));
        }
        *value = *number;
      }
      run.chain_s = numberAt(entry, "chain_s");
      run.differences = countAt(entry, "differences").value_or(0);
    }
    return {};
  }

  base::Result<void> readTest(const JsonNode& node, SummaryTest& test) const {
    test.id = static_cast<int>(numberAt(node, "TestID").value_or(test.id));
    if (const auto phase = numberAt(node, "phase")) {
      if (!(*phase >= 1 && *phase <= 1e9)) {
        return at(node.place,
                  fmt::format("\"phase\" is {}; it has to be from 1 to 1000000000", *phase));
      }
      test.phase = static_cast<int>(*phase);
    }
    std::optional<double> writes, reads;
    if (const JsonNode* parameters = node.find("Parameters")) {
      test.transfer_bytes = countAt(*parameters, "transferSize");
      test.tasks = countAt(*parameters, "numTasks");
      if (countAt(*parameters, "beyondCache").value_or(0) > 0) {
        return at(parameters->place,
                  fmt::format("test {} was run beyond the cache: its bandwidth is that of the "
                              "storage, from which no Time_io follows",
                              test.id));
      }
      const auto repetitions = numberAt(*parameters, "repetitions");
      const auto writes_file = numberAt(*parameters, "writeFile");
      const auto reads_file = numberAt(*parameters, "readFile");
      if (repetitions && writes_file) writes = *writes_file != 0 ? *repetitions : 0;
      if (repetitions && reads_file) reads = *reads_file != 0 ? *repetitions : 0;
      test.parameters = {.block_bytes = countAt(*parameters, "blockSize"),
                         .segments = countAt(*parameters, "segmentCount"),
                         .file_per_process = countAt(*parameters, "filePerProc"),
                         .collective = countAt(*parameters, "collective"),
                         .random = countAt(*parameters, "randomOffset"),
                         .fsync = countAt(*parameters, "fsync"),
                         .reordered = countAt(*parameters, "reorderTasks")};
      test.api = textAt(*parameters, "api");
      test.data_file = textAt(*parameters, "testFileName");
    }
    if (const JsonNode* options = node.find("Options"); options != nullptr && !test.tasks) {
      test.tasks = countAt(*options, "tasks");
    }
    const JsonNode* results = node.find("Results");
    if (results == nullptr) {
      return at(node.place,
                fmt::format("test {} has no \"Results\": the run was aborted", test.id));
    }
    if (auto read = readResults(*results, test); !read) return read;
    if (test.bandwidth_mib_s.write.empty() && test.bandwidth_mib_s.read.empty()) {
      return at(
          results->place,
          fmt::format("test {} has nothing in its \"Results\": the run was aborted", test.id));
    }
    for (const auto& [expected, operation] :
         {std::pair(writes, model::Operation::kWrite), std::pair(reads, model::Operation::kRead)}) {
      const std::size_t found = test.bandwidth_mib_s.of(operation).size();
      if (expected && static_cast<double>(found) != *expected) {
        return at(results->place,
                  fmt::format("test {} has {} of {:.0f} results of its {}s: the run was aborted",
                              test.id, found, *expected, model::nameOf(operation)));
      }
    }
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
      if (access != "write" && access != "read") continue;  // "remove"
      std::vector<double>& bandwidths = test.bandwidth_mib_s.of(
          access == "write" ? model::Operation::kWrite : model::Operation::kRead);
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
      bandwidths.push_back(number);
    }
    return {};
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
  if (size > kMaxBytes) {
    return base::failure(base::Code::kNotOurs,
                         "{}: {} bytes; a summary of IOR has at most {} bytes",
                         base::printable(path.native()), size, kMaxBytes);
  }
  std::string text(size, '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  return Reader(path).read(text);
}

}  // namespace omnio::ior
