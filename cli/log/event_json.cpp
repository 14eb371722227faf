#include "cli/log/event_json.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "core/base/printable.hpp"
#include "core/calls/words/layout.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event_text.hpp"

namespace omnio::cli {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void key(Writer& out, std::string_view name) {
  out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

// A path is bytes, JSON is UTF-8: what does not fit is written as \xHH.
void text(Writer& out, std::string_view value) {
  const std::string safe = printable(value);
  out.String(safe.data(), static_cast<rapidjson::SizeType>(safe.size()));
}

void writeArguments(Writer& out, const Event& event) {
  out.StartObject();
  for (const Item& item : layoutOf(*event.row)) {
    switch (item.kind) {
      case ItemKind::kFd:
      case ItemKind::kDepth:
      case ItemKind::kErrno:
      case ItemKind::kResult:
        break;  // these stand beside the arguments
      case ItemKind::kText:
      case ItemKind::kHandlePath:
        if (const auto value = textOf(event, item)) {
          key(out, item.key);
          text(out, *value);
        }
        break;
      case ItemKind::kPieces:
        key(out, item.key);
        out.StartArray();
        for (const std::uint64_t size : pieceSizes(event)) out.Uint64(size);
        out.EndArray();
        break;
      default:
        if (const auto value = numberOf(event, item)) {
          key(out, item.key);
          out.Int64(*value);
        }
    }
  }
  out.EndObject();
}

}  // namespace

void appendJson(std::string& out, const Event& event, const EventOrigin& origin,
                const PathTable& paths) {
  appendJsonOpen(out, event, origin, paths);
  out += "}\n";
}

void appendJsonOpen(std::string& out, const Event& event, const EventOrigin& origin,
                    const PathTable& paths) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  json.Key("rank");
  if (origin.rank) {
    json.Int(*origin.rank);
  } else {
    json.Null();
  }
  json.Key("thread");
  json.Uint(origin.thread);
  json.Key("pid");
  json.Uint(origin.pid);
  json.Key("tid");
  json.Uint(origin.tid);
  json.Key("start_ns");
  json.Int64(event.start_ns);
  json.Key("end_ns");
  json.Int64(event.end_ns);
  json.Key("call");
  text(json, event.row->name);
  json.Key("class");
  text(json, className(event.row->call_class));
  json.Key("depth");
  json.Uint(event.depth);
  if (event.file != kNoFile) {
    json.Key("file");
    text(json, paths.path(event.file));
  }
  if (event.fd() >= 0) {
    json.Key("fd");
    json.Int(event.fd());
  }
  json.Key("args");
  writeArguments(json, event);
  if (const auto result = resultOf(event)) {
    json.Key("result");
    json.Int64(*result);
  }
  if (countsBytes(*event.row)) {
    json.Key("bytes");
    json.Uint64(event.bytes);
  }
  const bool failed = event.failed && !event.endOfFile();
  json.Key("failed");
  json.Bool(failed);
  if (event.endOfFile()) {
    json.Key("end_of_file");
    json.Bool(true);
  }
  if (failed && event.row->result != calls::Result::kMpi) {
    std::string name;
    appendErrno(name, event.result);
    json.Key("errno");
    text(json, name);
  }
  out.append(buffer.GetString(), buffer.GetSize());
}

}  // namespace omnio::cli
