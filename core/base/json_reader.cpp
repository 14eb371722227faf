#include "core/base/json_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"

namespace omnio::base {
namespace {

// No document of ours comes near to these; what does is a mistake or worse.
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxText = 65536;
constexpr std::size_t kMaxMembers = 1000;

// One bit for a name: where no name of an object has it, the object does not have that name.
std::uint64_t nameBit(std::string_view name) {
  if (name.empty()) return 1;
  const auto first = static_cast<unsigned char>(name.front());
  const auto last = static_cast<unsigned char>(name.back());
  return std::uint64_t{1} << ((first * 7U + last * 3U + name.size()) % 64);
}

}  // namespace

// A file as the input of RapidJSON's reader, which knows the line and column it is at.
class JsonReader::FileStream {
 public:
  using Ch = char;

  Result<void> open(const std::filesystem::path& path, std::uint64_t most_bytes) {
    const bool is_held = most_bytes != 0;
    file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (is_held ? O_NONBLOCK : 0)));
    struct stat status {};
    if (!file_ || fstat(file_.get(), &status) != 0) return systemFailure(path, errno);
    if (S_ISDIR(status.st_mode)) return systemFailure(path, EISDIR);
    if (is_held && !S_ISREG(status.st_mode)) {
      return fileFailure(path, Code::kNotOurs, "not a regular file");
    }
    if (is_held && static_cast<std::uint64_t>(status.st_size) > most_bytes) {
      return fileFailure(path, Code::kNotOurs,
                         fmt::format("{} bytes; such a document has at most {} bytes",
                                     status.st_size, most_bytes));
    }
    fill();
    if (error_ == 0 && ended()) return fileFailure(path, Code::kNotOurs, "empty");
    return {};
  }

  bool ended() const { return at_ == end_; }
  int error() const { return error_; }  // errno of reading, 0 while all is well
  // The place of the byte that comes next.
  TextPlace place() const { return {.line = line_, .column = Tell() - line_start_ + 1}; }
  // The place of the byte that was taken last.
  TextPlace lastPlace() const {
    return {.line = line_, .column = std::max<std::size_t>(Tell() - line_start_, 1)};
  }

  // The place of the byte before that one, where the two are in one line.
  TextPlace placeBefore() const {
    TextPlace place = lastPlace();
    place.column = std::max<std::size_t>(place.column - 1, 1);
    return place;
  }

  void skipBlanks() {
    while (Peek() == ' ' || Peek() == '\n' || Peek() == '\r' || Peek() == '\t') Take();
  }

  // RapidJSON's input stream concept; the end of the file is a NUL.
  // Behind the bytes that were read, there is one.
  char Peek() const { return *at_; }
  char Take() {
    if (ended()) [[unlikely]]
      return '\0';
    const char c = *at_++;
    if (c == '\n') [[unlikely]] {
      ++line_;
      line_start_ = Tell();
    }
    if (ended()) [[unlikely]]
      fill();
    return c;
  }
  std::size_t Tell() const { return before_ + static_cast<std::size_t>(at_ - buffer_.data()); }

  // The concept asks for these too, for parsing in place, which is not done here.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  void Flush() {}
  std::size_t PutEnd(char*) { return 0; }

 private:
  void fill() {
    ssize_t bytes = 0;
    do {
      bytes = ::read(file_.get(), buffer_.data(), buffer_.size() - 1);
    } while (bytes < 0 && errno == EINTR);
    if (bytes < 0) error_ = errno;
    before_ = Tell();
    at_ = buffer_.data();
    end_ = buffer_.data() + std::max<ssize_t>(bytes, 0);
    *end_ = '\0';
  }

  Descriptor file_;
  int error_ = 0;
  std::array<char, 65536> buffer_{};
  char* at_ = buffer_.data();
  char* end_ = buffer_.data();
  std::size_t before_ = 0;  // bytes of the file before those in the buffer
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
};

// RapidJSON's handler concept: puts one value together.
class JsonReader::Builder {
 public:
  using Ch = char;
  Builder(const FileStream& stream, std::size_t most_text)
      : stream_(stream), most_text_(most_text) {}

  // `depth` counts the objects and lists that are walked through around the value.
  void begin(std::size_t depth) { depth_ = depth; }
  JsonNode take() { return std::move(root_); }
  const std::string& complaint() const { return complaint_; }
  TextPlace complaintPlace() const { return complaint_place_; }

  bool Null() { return addHere({}); }
  bool Bool(bool b) { return addHere({b}); }
  bool Int(int i) { return Int64(i); }
  bool Uint(unsigned u) { return Int64(u); }
  bool Int64(std::int64_t i) { return addHere({i}); }
  bool Uint64(std::uint64_t u) {
    return u <= INT64_MAX ? Int64(static_cast<std::int64_t>(u)) : Double(static_cast<double>(u));
  }
  bool Double(double d) { return addHere({d}); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }  // never asked for
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (length > most_text_) return refuse(fmt::format("a text of {} bytes", length));
    return addHere({std::string(text, length)});
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    if (length > kMaxText) return refuse(fmt::format("a name of {} bytes", length));
    key_.assign(text, length);
    Open& object = open_.back();
    const std::uint64_t bit = nameBit(key_);
    if ((object.name_bits & bit) != 0 && object.node.find(key_) != nullptr) {
      return refuse(fmt::format("\"{}\" appears twice in one object", inBrief(key_)));
    }
    object.name_bits |= bit;
    auto& members = std::get<JsonNode::Members>(object.node.value);
    constexpr std::size_t kAtOnce = 4;  // and then twice as many
    if (members.empty()) members.reserve(kAtOnce);
    if (members.size() < kMaxMembers) return true;
    return refuse(fmt::format("an object with more than {} members", kMaxMembers));
  }
  bool StartObject() { return start({JsonNode::Members()}); }
  bool EndObject(rapidjson::SizeType) { return end(); }
  bool StartArray() { return start({JsonNode::List()}); }
  bool EndArray(rapidjson::SizeType) { return end(); }

 private:
  bool refuse(std::string complaint) { return refuse(std::move(complaint), stream_.lastPlace()); }
  bool refuse(std::string complaint, TextPlace place) {
    complaint_ = std::move(complaint);
    complaint_place_ = place;
    return false;
  }

  bool addHere(JsonNode node) { return add(std::move(node), stream_.lastPlace()); }

  bool add(JsonNode node, TextPlace place) {
    node.place = place;
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (auto* list = std::get_if<JsonNode::List>(&open_.back().node.value)) {
      list->push_back(std::move(node));
    } else {
      std::get<JsonNode::Members>(open_.back().node.value)
          .push_back({std::move(key_), std::move(node)});
    }
    return true;
  }

  bool start(JsonNode node) {
    if (depth_ + open_.size() >= kMaxDepth) {
      return refuse("nested too deeply", stream_.placeBefore());
    }
    open_.push_back({.key = std::move(key_), .node = std::move(node)});
    return true;
  }

  bool end() {
    JsonNode node = std::move(open_.back().node);
    key_ = std::move(open_.back().key);
    open_.pop_back();
    return add(std::move(node), stream_.placeBefore());
  }

  const FileStream& stream_;
  const std::size_t most_text_;
  std::size_t depth_ = 0;
  std::string complaint_;
  TextPlace complaint_place_;
  std::string key_;  // of the value to come
  // Objects and lists around it.
  struct Open {
    std::string key;  // that it belongs to
    JsonNode node;
    std::uint64_t name_bits = 0;  // of its members' names
  };
  std::vector<Open> open_;
  JsonNode root_;
};

Failure failureAt(const std::filesystem::path& path, TextPlace place, std::string_view reason,
                  Code code) {
  return fileFailure(path, code,
                     fmt::format("line {}, column {}: {}", place.line, place.column, reason));
}

std::optional<double> JsonNode::number() const {
  if (const auto* integer = as<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* real = as<double>()) return *real;
  return std::nullopt;
}

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto* members = as<Members>();
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, key, &Members::value_type::first);
  return found == members->end() ? nullptr : &found->second;
}

std::string_view JsonNode::kind() const {
  constexpr std::string_view kNames[] = {"null",   "true or false", "a whole number", "a number",
                                         "a text", "a list",        "an object"};
  return kNames[value.index()];
}

struct JsonReader::Parser {
  // An object or list that is walked through.
  struct Level {
    char close;
    bool has_items = false;
    std::set<std::string, std::less<>> keys{};
  };

  explicit Parser(std::size_t most_text) : builder(stream, most_text) {}

  FileStream stream;
  Builder builder;
  rapidjson::Reader reader;
  std::vector<Level> levels;
  std::string name = "the document";  // of the value to come
};

JsonReader::JsonReader(std::filesystem::path path, std::uint64_t most_bytes)
    : path_(std::move(path)),
      parser_(std::make_unique<Parser>(most_bytes == 0 ? kMaxText : SIZE_MAX)),
      state_(parser_->stream.open(path_, most_bytes)) {}

JsonReader::~JsonReader() = default;

JsonNode JsonReader::value() {
  if (failed()) return {};
  Parser& p = *parser_;
  p.builder.begin(p.levels.size());
  // By recursion, which the builder stops at kMaxDepth.
  constexpr unsigned kFlags = rapidjson::kParseStopWhenDoneFlag;
  const rapidjson::ParseResult result = p.reader.Parse<kFlags>(p.stream, p.builder);
  if (!result.IsError()) return p.builder.take();
  if (p.builder.complaint().empty()) {
    const bool is_empty = result.Code() == rapidjson::kParseErrorDocumentEmpty;
    refuseSyntax(is_empty && !p.levels.empty() ? rapidjson::kParseErrorValueInvalid
                                               : result.Code());
  } else {
    refuse(p.builder.complaintPlace(), p.builder.complaint());
  }
  return {};
}

bool JsonReader::enter(char bracket) {
  if (failed()) return false;
  Parser& p = *parser_;
  p.stream.skipBlanks();
  const char next = p.stream.Peek();
  if (next == bracket && p.levels.size() < kMaxDepth) {
    p.levels.push_back({.close = bracket == '{' ? '}' : ']'});
    p.stream.Take();
    return true;
  }
  if (next != '{' && next != '[') value();  // which may be no JSON at all
  refuse(fmt::format("{} has to be {}", p.name, bracket == '{' ? "an object" : "a list"));
  return false;
}

bool JsonReader::next(std::string& key) {
  if (failed()) return false;
  Parser& p = *parser_;
  Parser::Level& level = p.levels.back();
  const bool is_object = level.close == '}';
  p.stream.skipBlanks();
  if (p.stream.Peek() == level.close) {
    p.stream.Take();
    p.levels.pop_back();
    return false;
  }
  if (std::exchange(level.has_items, true)) {
    if (p.stream.Peek() != ',') {
      refuseSyntax(is_object ? rapidjson::kParseErrorObjectMissCommaOrCurlyBracket
                             : rapidjson::kParseErrorArrayMissCommaOrSquareBracket);
      return false;
    }
    p.stream.Take();
    p.stream.skipBlanks();
  }
  p.name = "an item";
  if (!is_object) return true;
  if (p.stream.Peek() != '"') {
    refuseSyntax(rapidjson::kParseErrorObjectMissName);
    return false;
  }
  const JsonNode node = value();
  if (failed()) return false;
  key = *node.as<std::string>();
  if (!level.keys.insert(key).second) {
    refuse(fmt::format("\"{}\" appears twice in one object", inBrief(key)));
    return false;
  }
  p.stream.skipBlanks();
  if (p.stream.Peek() != ':') {
    refuseSyntax(rapidjson::kParseErrorObjectMissColon);
    return false;
  }
  p.stream.Take();
  p.stream.skipBlanks();
  p.name = fmt::format("\"{}\"", inBrief(key));
  return true;
}

void JsonReader::refuse(TextPlace place, std::string_view reason, Code code) {
  if (!failed()) state_ = failureAt(path_, place, reason, code);
}

void JsonReader::refuse(std::string_view reason, Code code) { refuse(lastPlace(), reason, code); }

TextPlace JsonReader::lastPlace() const { return parser_->stream.lastPlace(); }

void JsonReader::refuseSyntax(int parse_error) {
  if (failed()) return;
  if (const int error = parser_->stream.error()) {
    state_ = systemFailure(path_, error);
    return;
  }
  std::string_view reason =
      rapidjson::GetParseError_En(static_cast<rapidjson::ParseErrorCode>(parse_error));
  if (reason.ends_with('.')) reason.remove_suffix(1);
  refuse(parser_->stream.place(), fmt::format("not JSON: {}", reason));
}

Result<void> JsonReader::finish() {
  if (!failed()) parser_->stream.skipBlanks();
  if (!failed() && !parser_->stream.ended()) {
    refuseSyntax(rapidjson::kParseErrorDocumentRootNotSingular);
  }
  return state_;
}

std::int64_t integerOf(JsonReader& in, std::string_view name, const JsonNode& node,
                       JsonRange range) {
  constexpr JsonRange kAll;
  const auto* number = node.as<std::int64_t>();
  if (number == nullptr) {
    in.refuse(node.place,
              fmt::format("\"{}\" has to be a whole number, not {}", name, node.kind()));
  } else if (*number < range.least || *number > range.most) {
    in.refuse(node.place, fmt::format("\"{}\" is {}; it has to be {}", name, *number,
                                      range.most == kAll.most
                                          ? fmt::format("{} or more", range.least)
                                          : fmt::format("from {} to {}", range.least, range.most)));
  } else {
    return *number;
  }
  return range.least == kAll.least ? 0 : range.least;
}

std::string textOf(JsonReader& in, std::string_view name, const JsonNode& node) {
  if (const auto* text = node.as<std::string>()) return *text;
  in.refuse(node.place, fmt::format("\"{}\" has to be a text, not {}", name, node.kind()));
  return {};
}

JsonObject::JsonObject(JsonReader& in, const JsonNode& node, Others others)
    : in_(in), node_(node), others_(others) {
  const auto* members = node.as<JsonNode::Members>();
  if (members == nullptr) {
    in.refuse(node.place, "has to be an object");
    return;
  }
  for (const auto& [key, value] : *members) name_bits_ |= nameBit(key);
}

JsonObject::~JsonObject() {
  const auto* members = node_.as<JsonNode::Members>();
  if (members == nullptr || others_ == Others::kAllowed || in_.failed()) return;
  for (std::size_t i = 0; i < members->size(); ++i) {
    const auto& [key, value] = (*members)[i];
    if (i < 64 && (taken_ >> i & 1U) != 0) continue;
    in_.refuse(value.place, fmt::format("\"{}\" has no place here", inBrief(key)));
    return;
  }
}

const JsonNode* JsonObject::find(std::string_view key) {
  if ((name_bits_ & nameBit(key)) == 0) return nullptr;
  const auto* members = node_.as<JsonNode::Members>();
  if (members == nullptr) return nullptr;
  for (std::size_t i = 0; i < members->size() && i < 64; ++i) {
    if ((*members)[i].first != key) continue;
    taken_ |= std::uint64_t{1} << i;
    return &(*members)[i].second;
  }
  return nullptr;
}

const JsonNode& JsonObject::require(std::string_view key) {
  static const JsonNode kNone;
  if (const JsonNode* value = find(key)) return *value;
  refuse(fmt::format("\"{}\" is missing", key));
  return kNone;
}

template <typename T>
const T& JsonObject::get(std::string_view key, const T* fallback) {
  static const JsonNode kEmpty{T()};
  const JsonNode* node = fallback == nullptr ? &require(key) : find(key);
  if (node == nullptr) return *fallback;
  if (const T* value = node->as<T>()) return *value;
  // Where the member is missing, that is the first failure and is kept.
  in_.refuse(node->place,
             fmt::format("\"{}\" has to be {}, not {}", key, kEmpty.kind(), node->kind()));
  return *kEmpty.as<T>();
}
template const bool& JsonObject::get(std::string_view, const bool*);
template const std::string& JsonObject::get(std::string_view, const std::string*);
template const JsonNode::List& JsonObject::get(std::string_view, const JsonNode::List*);

void JsonObject::format(std::string_view format, std::int64_t version, std::string_view what) {
  const JsonNode* name = find("format");
  const auto* text = name == nullptr ? nullptr : name->as<std::string>();
  if (text == nullptr || *text != format) {
    return in_.refuse((name == nullptr ? node_ : *name).place,
                      fmt::format("not {}: \"format\" is not \"{}\"", what, format),
                      Code::kNotOurs);
  }
  const std::int64_t found = integer("version");
  if (found == version) return;
  in_.refuse(require("version").place,
             fmt::format("{} of version {}, but this omnio reads version {}", what, found, version),
             Code::kOtherVersion);
}

void JsonObject::refuse(std::string_view key, std::string_view reason) {
  in_.refuse(require(key).place, fmt::format("\"{}\" {}", key, reason));
}

void JsonObject::refuseWord(std::string_view key, const JsonNode& node, std::string_view remedy) {
  const auto* text = node.as<std::string>();
  in_.refuse(node.place, text == nullptr
                             ? fmt::format("\"{}\" has to be a text, not {}", key, node.kind())
                             : fmt::format("unknown {} \"{}\"{}", key, inBrief(*text), remedy));
}

}  // namespace omnio::base
