#include "core/base/json_units.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <string.h>

#include <utility>
#include <vector>

#include "core/base/json_stream.hpp"
#include "core/base/printable.hpp"

namespace omnio::base {
namespace {

// No document of ours comes near to these; what does is a mistake or worse.
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxText = 16384;

// RapidJSON's handler concept: keeps the path, and gathers units.
class Handler {
 public:
  using Ch = char;
  Handler(JsonUnits& units, const JsonFileStream& stream) : units_(units), stream_(stream) {}

  const JsonUnits::Verdict& verdict() const { return verdict_; }

  // Of the last byte that was taken: where the value ends that it was part of.
  TextPlace lastPlace() const {
    TextPlace place = stream_.place();
    if (place.column > 1) --place.column;
    return place;
  }

  bool Null() { return value({}); }
  bool Bool(bool b) { return value({.kind = JsonNode::Kind::kBool, .integer = b ? 1 : 0}); }
  bool Int(int i) { return Int64(i); }
  bool Uint(unsigned u) { return Int64(u); }
  bool Int64(std::int64_t i) {
    return value({.kind = JsonNode::Kind::kInteger, .integer = i, .real = static_cast<double>(i)});
  }
  bool Uint64(std::uint64_t u) {
    if (u <= INT64_MAX) return Int64(static_cast<std::int64_t>(u));
    return Double(static_cast<double>(u));
  }
  bool Double(double d) { return value({.kind = JsonNode::Kind::kReal, .real = d}); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }  // never asked for
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (length > kMaxText) return refuse(fmt::format("a text of {} bytes", length));
    return value({.kind = JsonNode::Kind::kString, .text = std::string(text, length)});
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    if (length > kMaxText) return refuse(fmt::format("a name of {} bytes", length));
    key_.assign(text, length);
    if (open_.empty()) return true;
    if (open_.back().find(key_) != nullptr) {
      return refuse(fmt::format("\"{}\" appears twice in one object", inBrief(key_)));
    }
    keys_.back() = key_;
    return true;
  }
  bool StartObject() { return start(JsonNode::Kind::kObject); }
  bool EndObject(rapidjson::SizeType) { return end(); }
  bool StartArray() { return start(JsonNode::Kind::kArray); }
  bool EndArray(rapidjson::SizeType) { return end(); }

 private:
  struct Walk {
    std::size_t path_bytes;  // of the path before it
    bool is_array;
  };

  bool refuse(std::string reason) {
    verdict_ = JsonUnits::Complaint{std::move(reason), lastPlace()};
    return false;
  }
  bool accept(JsonUnits::Verdict verdict) {
    verdict_ = std::move(verdict);
    return !verdict_;
  }

  // Steps down to a value of what is walked through.
  std::size_t stepDown() {
    const std::size_t before = path_.size();
    if (walks_.empty()) return before;
    path_ += '/';
    path_ += walks_.back().is_array ? std::string_view("[]") : std::string_view(key_);
    return before;
  }

  bool value(JsonNode node) {
    node.place = lastPlace();
    if (!open_.empty()) {
      attach(std::move(node));
      return true;
    }
    const std::size_t before = stepDown();
    if (units_.isWalked(path_)) return refuseKind();
    const bool accepted = accept(units_.unit(path_, node));
    path_.resize(before);
    return accepted;
  }

  void attach(JsonNode node) {
    JsonNode& parent = open_.back();
    if (parent.kind == JsonNode::Kind::kArray) {
      parent.items.push_back(std::move(node));
    } else {
      parent.members.emplace_back(keys_.back(), std::move(node));
    }
  }

  bool start(JsonNode::Kind kind) {
    if (walks_.size() + open_.size() >= kMaxDepth) return refuse("nested too deeply");
    if (open_.empty()) {
      const std::size_t before = stepDown();
      if (units_.isWalked(path_)) {
        if ((kind == JsonNode::Kind::kArray) != wantsArray()) {
          return refuseKind();
        }
        walks_.push_back({before, kind == JsonNode::Kind::kArray});
        return accept(units_.enter(path_));
      }
      path_bytes_of_unit_ = before;
    }
    open_.push_back({.kind = kind});
    keys_.emplace_back();
    return true;
  }

  bool refuseKind() {
    return refuse(fmt::format("{} has to be {}", path_.empty() ? "the document" : path_,
                              wantsArray() ? "a list" : "an object"));
  }

  // What is walked through is an array when its name is in the plural.
  bool wantsArray() const { return path_.ends_with('s'); }

  bool end() {
    if (open_.empty()) {
      const bool accepted = accept(units_.leave(path_));
      path_.resize(walks_.back().path_bytes);
      walks_.pop_back();
      return accepted;
    }
    JsonNode node = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    node.place = lastPlace();
    if (!open_.empty()) {
      attach(std::move(node));
      return true;
    }
    const bool accepted = accept(units_.unit(path_, node));
    path_.resize(path_bytes_of_unit_);
    return accepted;
  }

  JsonUnits& units_;
  const JsonFileStream& stream_;
  JsonUnits::Verdict verdict_;
  std::string path_;
  std::string key_;
  std::vector<Walk> walks_;
  std::vector<JsonNode> open_;     // of the unit being gathered
  std::vector<std::string> keys_;  // the key each of them has come to
  std::size_t path_bytes_of_unit_ = 0;
};

}  // namespace

std::optional<Failure> readJsonUnits(const std::filesystem::path& path, JsonUnits& units) {
  JsonFileStream stream(path);
  if (stream.error() != 0) {
    return Failure{stream.error() == ENOENT ? Code::kNotFound : Code::kSystem,
                   fmt::format("{}: {}", printable(path.native()), strerror(stream.error()))};
  }
  if (stream.Peek() == '\0') return Failure{Code::kNotOurs, printable(path.native()) + ": empty"};
  Handler handler(units, stream);
  rapidjson::Reader reader;
  reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler);
  if (!reader.HasParseError()) return std::nullopt;
  if (handler.verdict()) {
    const JsonUnits::Complaint& complaint = *handler.verdict();
    return failureAt(path, complaint.place.value_or(handler.lastPlace()), complaint.reason);
  }
  if (stream.error() != 0) {
    return Failure{Code::kSystem,
                   fmt::format("{}: {}", printable(path.native()), strerror(stream.error()))};
  }
  std::string reason = rapidjson::GetParseError_En(reader.GetParseErrorCode());
  if (reason.ends_with('.')) reason.pop_back();
  return failureAt(path, stream.place(), "not JSON: " + reason);
}

}  // namespace omnio::base
