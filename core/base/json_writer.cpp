#include "core/base/json_writer.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::base {

JsonWriter JsonWriter::inObject(std::string& out) {
  return JsonWriter(out, Level{.on_one_line = true, .has_items = !out.ends_with('{')});
}

void JsonWriter::key(std::string_view name) {
  separate();
  appendJsonText(out_, name);
  out_ += ':';
  if (layout_.indent > 0) out_ += ' ';
  after_key_ = true;
}

void JsonWriter::begin(char bracket, bool on_one_line) {
  separate();
  out_ += bracket;
  levels_.push_back({on_one_line});
}

void JsonWriter::end(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.has_items && !level.on_one_line) newLine();
  out_ += bracket;
}

void JsonWriter::separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  const bool is_first = !std::exchange(level.has_items, true);
  if (!is_first) out_ += ',';
  if (!level.on_one_line) {
    newLine();
  } else if (!is_first && layout_.indent > 0) {
    out_ += ' ';
  }
}

void JsonWriter::newLine() {
  if (layout_.indent == 0) return;
  out_ += '\n';
  out_.append(levels_.size() * static_cast<std::size_t>(layout_.indent), ' ');
}

void JsonWriter::raw(std::string_view token) {
  separate();
  out_ += token;
}

// RapidJSON writes the shortest number that reads back as the same.
void JsonWriter::real(double number) {
  if (!std::isfinite(number)) return null();
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.SetMaxDecimalPlaces(layout_.decimals);
  writer.Double(number);
  raw({buffer.GetString(), buffer.GetSize()});
}

void JsonWriter::text(std::string_view text) {
  separate();
  appendJsonText(out_, text);
}

}  // namespace omnio::base
