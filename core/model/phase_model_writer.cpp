#include <array>

#include "core/base/document_file.hpp"
#include "core/base/json_writer.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::model {
namespace {

using base::JsonWriter;

void putOffset(JsonWriter& json, const OffsetFunction& f) {
  json.key("init_offset");
  if (!f.known) return json.value(std::optional<int>());
  json.object([&] {
    if (f.affine) {
      json.put("base", f.base);
      json.put("per_rank", f.per_rank);
    } else {
      json.list("table", f.table, [&](const auto& entry) {
        json.value(std::array{std::int64_t{entry.first}, entry.second});
      });
    }
  });
}

void putOperation(JsonWriter& json, const PhaseOperation& o) {
  json.object([&] {
    json.put("operation", nameOf(o.operation));
    json.put("request_bytes", o.request_bytes);
    json.put("repetitions", o.repetitions);
    json.put("displacement_bytes", o.displacement_bytes);
    putOffset(json, o.init_offset);
    if (!o.varying) return;
    json.object("varying", [&] {
      json.put("smallest_bytes", o.smallest_bytes);
      json.put("largest_bytes", o.largest_bytes);
      json.put("requests", o.requests);
      json.put("weight_bytes", o.weight_bytes);
    });
  });
}

void putRandom(JsonWriter& json, const RandomAccess& random) {
  json.object([&] {
    json.put("rank", random.rank);
    json.put("operation", random.operation);
    json.list("requests", random.requests, [&](const auto& request) {
      json.value(std::array{request.first, static_cast<std::int64_t>(request.second)});
    });
    json.put("left_out", random.left_out);
  });
}

void putPhase(JsonWriter& json, const Phase& p) {
  json.object([&] {
    json.put("id", p.id);
    json.put("file", p.file);
    json.list("operations", p.operations, [&](const auto& o) { putOperation(json, o); });
    json.put("ranks", p.ranks);
    json.put("weight_bytes", p.weight_bytes);
    json.put("first_tick", p.first_tick);
    json.put("last_tick", p.last_tick);
    json.put("mode", nameOf(p.mode));
    json.put("interface", nameOf(p.interface));
    json.put("pointer", nameOf(p.pointer));
    json.put("collective", p.collective);
    json.put("blocking", p.blocking);
    json.put("view", p.has_view);
    json.put("etype_bytes", p.etype_bytes);
    json.object("measured", [&] {
      json.put("begin_ns", p.begin_ns);
      json.put("end_ns", p.end_ns);
      json.put("io_time_ns", p.io_time_ns);
    });
    if (p.random.empty()) return;
    json.list("random", p.random, [&](const auto& random) { putRandom(json, random); });
  });
}

}  // namespace

std::string jsonOf(const PhaseModel& model) {
  std::string out;
  JsonWriter json(out, {.indent = 1, .lists_on_one_line = true});
  json.object([&] {
    json.put("format", "omnio-phases");
    json.put("version", kPhaseModelVersion);
    json.object("source", [&] {
      json.put("trace", model.source);
      json.put("whole", model.source_whole);
      json.put("command", model.command);
    });
    json.put("processes", model.processes);
    json.list("files", model.files, [&](const ModelFile& file) {
      json.object([&] {
        json.put("path", file.path);
        json.put("shared", file.shared);
        json.put("size_bytes", file.size_bytes);
      });
    });
    json.list("phases", model.phases, [&](const Phase& phase) { putPhase(json, phase); });
    json.put("left_out", model.left_out);
  });
  return out + '\n';
}

std::optional<base::Failure> writePhaseModel(const std::filesystem::path& path,
                                             const PhaseModel& model) {
  return base::writeDocument(path, jsonOf(model));
}

}  // namespace omnio::model
