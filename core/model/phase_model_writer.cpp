#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::model {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void key(Writer& out, std::string_view name) {
  out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

// A model that was read is written unchanged, but for what a terminal must not see.
void text(Writer& out, std::string_view value) {
  const std::string safe = base::safeText(value);
  out.String(safe.data(), static_cast<rapidjson::SizeType>(safe.size()));
}

void text(Writer& out, std::string_view name, std::string_view value) {
  key(out, name);
  text(out, value);
}

void number(Writer& out, std::string_view name, std::uint64_t value) {
  key(out, name);
  out.Uint64(value);
}

void integer(Writer& out, std::string_view name, std::int64_t value) {
  key(out, name);
  out.Int64(value);
}

void flag(Writer& out, std::string_view name, bool value) {
  key(out, name);
  out.Bool(value);
}

void initOffset(Writer& out, const OffsetFunction& f) {
  key(out, "init_offset");
  if (!f.known) {
    out.Null();
    return;
  }
  out.StartObject();
  if (f.affine) {
    integer(out, "base", f.base);
    integer(out, "per_rank", f.per_rank);
  } else {
    key(out, "table");
    out.StartArray();
    for (const auto& [rank, offset] : f.table) {
      out.StartArray();
      out.Int(rank);
      out.Int64(offset);
      out.EndArray();
    }
    out.EndArray();
  }
  out.EndObject();
}

void operation(Writer& out, const PhaseOperation& o) {
  out.StartObject();
  text(out, "operation", nameOf(o.operation));
  number(out, "request_bytes", o.request_bytes);
  number(out, "repetitions", o.repetitions);
  integer(out, "displacement_bytes", o.displacement_bytes);
  initOffset(out, o.init_offset);
  if (o.varying) {
    key(out, "varying");
    out.StartObject();
    number(out, "smallest_bytes", o.smallest_bytes);
    number(out, "largest_bytes", o.largest_bytes);
    number(out, "requests", o.requests);
    number(out, "weight_bytes", o.weight_bytes);
    out.EndObject();
  }
  out.EndObject();
}

void randomAccess(Writer& out, const RandomAccess& random) {
  out.StartObject();
  integer(out, "rank", random.rank);
  integer(out, "operation", random.operation);
  key(out, "requests");
  out.StartArray();
  for (const auto& [offset, bytes] : random.requests) {
    out.StartArray();
    out.Int64(offset);
    out.Uint64(bytes);
    out.EndArray();
  }
  out.EndArray();
  number(out, "left_out", random.left_out);
  out.EndObject();
}

void phase(Writer& out, const Phase& p) {
  out.StartObject();
  integer(out, "id", p.id);
  integer(out, "file", p.file);
  key(out, "operations");
  out.StartArray();
  for (const PhaseOperation& o : p.operations) operation(out, o);
  out.EndArray();
  key(out, "ranks");
  out.StartArray();
  for (const int rank : p.ranks) out.Int(rank);
  out.EndArray();
  number(out, "weight_bytes", p.weight_bytes);
  number(out, "first_tick", p.first_tick);
  number(out, "last_tick", p.last_tick);
  text(out, "mode", nameOf(p.mode));
  text(out, "interface", nameOf(p.interface));
  text(out, "pointer", nameOf(p.pointer));
  flag(out, "collective", p.collective);
  flag(out, "blocking", p.blocking);
  flag(out, "view", p.has_view);
  number(out, "etype_bytes", p.etype_bytes);
  key(out, "measured");
  out.StartObject();
  integer(out, "begin_ns", p.begin_ns);
  integer(out, "end_ns", p.end_ns);
  integer(out, "io_time_ns", p.io_time_ns);
  out.EndObject();
  if (!p.random.empty()) {
    key(out, "random");
    out.StartArray();
    for (const RandomAccess& random : p.random) randomAccess(out, random);
    out.EndArray();
  }
  out.EndObject();
}

}  // namespace

std::string jsonOf(const PhaseModel& model) {
  rapidjson::StringBuffer buffer;
  Writer out(buffer);
  out.SetIndent(' ', 1);
  // Lists of ranks and requests on one line each; objects keep theirs.
  out.SetFormatOptions(rapidjson::kFormatSingleLineArray);
  out.StartObject();
  text(out, "format", "omnio-phases");
  integer(out, "version", kPhaseModelVersion);
  key(out, "source");
  out.StartObject();
  text(out, "trace", model.source);
  flag(out, "whole", model.source_whole);
  key(out, "command");
  out.StartArray();
  for (const std::string& word : model.command) text(out, word);
  out.EndArray();
  out.EndObject();
  integer(out, "processes", model.processes);
  key(out, "files");
  out.StartArray();
  for (const ModelFile& file : model.files) {
    out.StartObject();
    text(out, "path", file.path);
    flag(out, "shared", file.shared);
    number(out, "size_bytes", file.size_bytes);
    out.EndObject();
  }
  out.EndArray();
  key(out, "phases");
  out.StartArray();
  for (const Phase& p : model.phases) phase(out, p);
  out.EndArray();
  key(out, "left_out");
  out.StartArray();
  for (const std::string& sentence : model.left_out) text(out, sentence);
  out.EndArray();
  out.EndObject();
  std::string json(buffer.GetString(), buffer.GetSize());
  json += '\n';
  return json;
}

std::optional<base::Failure> writePhaseModel(const std::filesystem::path& path,
                                             const PhaseModel& model) {
  return base::writeDocument(path, jsonOf(model));
}

}  // namespace omnio::model
