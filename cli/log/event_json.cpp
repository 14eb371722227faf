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
  const std::string safe = base::printable(value);
  out.String(safe.data(), static_cast<rapidjson::SizeType>(safe.size()));
}

void writeArguments(Writer& out, const event::Event& event) {
  out.StartObject();
  for (const calls::Item& item : calls::layoutOf(*event.row)) {
    switch (item.kind) {
      case calls::ItemKind::kNone:
      case calls::ItemKind::kFd:
      case calls::ItemKind::kDepth:
      case calls::ItemKind::kErrno:
      case calls::ItemKind::kResult:
        break;  // these stand beside the arguments
      case calls::ItemKind::kText:
      case calls::ItemKind::kHandlePath:
        if (const auto value = event::textOf(event, item)) {
          key(out, item.key);
          text(out, *value);
        }
        break;
      case calls::ItemKind::kPieces:
        key(out, item.key);
        out.StartArray();
        for (const std::uint64_t size : event::pieceSizes(event)) out.Uint64(size);
        out.EndArray();
        break;
      case calls::ItemKind::kNumber:
      case calls::ItemKind::kOpenFlags:
      case calls::ItemKind::kOctal:
      case calls::ItemKind::kHex:
      case calls::ItemKind::kAmode:
      case calls::ItemKind::kWhence:
      case calls::ItemKind::kCommand:
      case calls::ItemKind::kDirFd:
      case calls::ItemKind::kPieceCount:
      case calls::ItemKind::kFileHandle:
      case calls::ItemKind::kLineLength:
        if (const auto value = event::numberOf(event, item)) {
          key(out, item.key);
          out.Int64(*value);
        }
        break;
    }
  }
  out.EndObject();
}

}  // namespace

void appendJsonOpen(std::string& out, const event::Event& event, const EventOrigin& origin,
                    const event::PathTable& paths) {
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
  text(json, calls::className(event.row->call_class));
  json.Key("depth");
  json.Uint(event.depth);
  if (event.file != event::kNoFile) {
    json.Key("file");
    text(json, paths.path(event.file));
  }
  if (event.fd() >= 0) {
    json.Key("fd");
    json.Int(event.fd());
  }
  json.Key("args");
  writeArguments(json, event);
  if (const auto result = event::resultOf(event)) {
    json.Key("result");
    json.Int64(*result);
  }
  if (event::countsBytes(*event.row)) {
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
    calls::appendErrno(name, event.result);
    json.Key("errno");
    text(json, name);
  }
  out.append(buffer.GetString(), buffer.GetSize());
}

}  // namespace omnio::cli
