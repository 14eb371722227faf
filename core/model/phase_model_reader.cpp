#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/json_document.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::model {
namespace {

using Value = rapidjson::Value;

// Offsets and sizes that no file system has are a slip of the one who edited the document; below
// this limit none of the products here leaves 128 bits.
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 60;
constexpr int kMaxProcesses = 1 << 24;

// Reads values that are at known places; the first complaint is kept, and what comes after it has
// no meaning.
class Reading {
 public:
  bool failed() const { return !complaint_.empty(); }
  const std::string& complaint() const { return complaint_; }

  void complain(const std::string& place, std::string_view reason) {
    if (complaint_.empty()) {
      complaint_ = place.empty() ? std::string(reason) : fmt::format("{}: {}", place, reason);
    }
  }

  // An object with no other keys than these; those behind `required` may be missing.
  bool object(const Value& value, const std::string& place,
              std::initializer_list<std::string_view> required,
              std::initializer_list<std::string_view> optional = {}) {
    if (failed()) return false;
    if (!value.IsObject()) {
      complain(place, "has to be an object");
      return false;
    }
    for (auto member = value.MemberBegin(); member != value.MemberEnd(); ++member) {
      const std::string_view name(member->name.GetString(), member->name.GetStringLength());
      const auto is_name = [name](std::string_view known) { return known == name; };
      if (std::none_of(required.begin(), required.end(), is_name) &&
          std::none_of(optional.begin(), optional.end(), is_name)) {
        complain(place,
                 fmt::format("has an unknown key \"{}\"", base::printable(name.substr(0, 80))));
        return false;
      }
      if (value.FindMember(member->name) != member) {
        complain(place, fmt::format("has the key \"{}\" twice", name));
        return false;
      }
    }
    for (const std::string_view name : required) {
      if (find(value, name) == nullptr) {
        complain(place, fmt::format("has no \"{}\"", name));
        return false;
      }
    }
    return true;
  }

  static const Value* find(const Value& object, std::string_view name) {
    const auto member = object.FindMember(
        Value(rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))));
    return member == object.MemberEnd() ? nullptr : &member->value;
  }

  bool list(const Value& value, const std::string& place) {
    if (failed()) return false;
    if (!value.IsArray()) complain(place, "has to be a list");
    return value.IsArray();
  }

  std::int64_t integer(const Value& value, const std::string& place, std::int64_t least,
                       std::int64_t most) {
    if (failed()) return least;
    if (!value.IsInt64()) {
      complain(place, value.IsNumber()
                          ? fmt::format("has to be a whole number of {} to {}", least, most)
                          : "has to be a number");
      return least;
    }
    const std::int64_t number = value.GetInt64();
    if (number >= least && number <= most) return number;
    complain(place, fmt::format("is {}, but has to be {} to {}", number, least, most));
    return least;
  }

  std::uint64_t size(const Value& value, const std::string& place, std::int64_t least = 0) {
    return static_cast<std::uint64_t>(integer(value, place, least, kMaxOffset));
  }

  bool flag(const Value& value, const std::string& place) {
    if (!value.IsBool()) complain(place, "has to be true or false");
    return value.IsBool() && value.GetBool();
  }

  std::string text(const Value& value, const std::string& place) {
    if (!value.IsString()) {
      complain(place, "has to be a text");
      return {};
    }
    return {value.GetString(), value.GetStringLength()};
  }

  // One of an enumeration's names.
  template <typename Enum, std::size_t kCount>
  Enum word(const Value& value, const std::string& place, const std::array<Enum, kCount>& known) {
    const std::string name = text(value, place);
    if (failed()) return known.front();
    std::string names;
    for (const Enum candidate : known) {
      if (nameOf(candidate) == name) return candidate;
      names += names.empty() ? "" : ", ";
      names += nameOf(candidate);
    }
    complain(place, fmt::format("is \"{}\", but has to be one of {}",
                                base::printable(std::string_view(name).substr(0, 80)), names));
    return known.front();
  }

 private:
  std::string complaint_;
};

std::string at(const std::string& place, std::string_view name) {
  return place.empty() ? std::string(name) : fmt::format("{}.{}", place, name);
}

std::string at(const std::string& place, std::size_t index) {
  return fmt::format("{}[{}]", place, index);
}

// A pair of numbers, the first of them in 0 to `most`.
std::pair<std::int64_t, std::int64_t> readPair(Reading& in, const Value& value,
                                               const std::string& place, std::int64_t most) {
  if (!in.list(value, place)) return {};
  if (value.Size() != 2) {
    in.complain(place, "has to be a list of two numbers");
    return {};
  }
  return {in.integer(value[0], at(place, 0), 0, most),
          in.integer(value[1], at(place, 1), 0, kMaxOffset)};
}

OffsetFunction readOffset(Reading& in, const Value& value, const std::string& place,
                          const std::vector<int>& ranks, int processes) {
  OffsetFunction f;
  if (value.IsNull()) {
    f.known = false;
    return f;
  }
  if (value.IsObject() && Reading::find(value, "table") != nullptr) {
    if (!in.object(value, place, {"table"})) return f;
    f.affine = false;
    const Value& table = value["table"];
    if (!in.list(table, at(place, "table"))) return f;
    for (rapidjson::SizeType i = 0; i < table.Size() && !in.failed(); ++i) {
      const auto [rank, offset] = readPair(in, table[i], at(at(place, "table"), i), processes - 1);
      f.table.emplace_back(static_cast<int>(rank), offset);
    }
    const auto same = [](const auto& entry, int rank) { return entry.first == rank; };
    if (!in.failed() &&
        !std::equal(f.table.begin(), f.table.end(), ranks.begin(), ranks.end(), same)) {
      in.complain(at(place, "table"), "has to have the phase's ranks, each once and in order");
    }
    return f;
  }
  if (!in.object(value, place, {"base", "per_rank"})) return f;
  f.base = in.integer(value["base"], at(place, "base"), -kMaxOffset, kMaxOffset);
  f.per_rank = in.integer(value["per_rank"], at(place, "per_rank"), -kMaxOffset, kMaxOffset);
  for (const int rank : ranks) {
    const auto offset = static_cast<__int128>(f.per_rank) * rank + f.base;
    if (offset < 0 || offset > kMaxOffset) {
      in.complain(place, fmt::format("gives rank {} an offset {}", rank,
                                     offset < 0 ? "below 0" : "that no file has"));
      break;
    }
  }
  return f;
}

PhaseOperation readOperation(Reading& in, const Value& value, const std::string& place,
                             const std::vector<int>& ranks, int processes) {
  PhaseOperation o;
  if (!in.object(value, place,
                 {"operation", "request_bytes", "repetitions", "displacement_bytes", "init_offset"},
                 {"varying"})) {
    return o;
  }
  o.operation = in.word(value["operation"], at(place, "operation"),
                        std::array{Operation::kWrite, Operation::kRead});
  o.request_bytes = in.size(value["request_bytes"], at(place, "request_bytes"), 1);
  o.repetitions = in.size(value["repetitions"], at(place, "repetitions"), 1);
  o.displacement_bytes = in.integer(value["displacement_bytes"], at(place, "displacement_bytes"),
                                    -kMaxOffset, kMaxOffset);
  o.init_offset = readOffset(in, value["init_offset"], at(place, "init_offset"), ranks, processes);
  if (const Value* varying = Reading::find(value, "varying"); varying != nullptr) {
    const std::string where = at(place, "varying");
    if (!in.object(*varying, where,
                   {"smallest_bytes", "largest_bytes", "requests", "weight_bytes"})) {
      return o;
    }
    o.varying = true;
    o.smallest_bytes = in.size((*varying)["smallest_bytes"], at(where, "smallest_bytes"), 1);
    o.largest_bytes = in.size((*varying)["largest_bytes"], at(where, "largest_bytes"), 1);
    o.requests = in.size((*varying)["requests"], at(where, "requests"), 1);
    o.weight_bytes = in.size((*varying)["weight_bytes"], at(where, "weight_bytes"), 1);
    const auto sum = [&o](std::uint64_t bytes) {
      return static_cast<unsigned __int128>(bytes) * o.requests;
    };
    if (!in.failed() &&
        (sum(o.smallest_bytes) > o.weight_bytes || sum(o.largest_bytes) < o.weight_bytes)) {
      in.complain(at(where, "weight_bytes"),
                  fmt::format("is {}, which {} requests of {} to {} bytes cannot be",
                              o.weight_bytes, o.requests, o.smallest_bytes, o.largest_bytes));
    }
  } else if (!in.failed() && static_cast<unsigned __int128>(o.request_bytes) * o.repetitions >
                                 static_cast<unsigned __int128>(kMaxOffset) / ranks.size()) {
    in.complain(at(place, "repetitions"),
                fmt::format("is {}, which with {} bytes each is more than any file has",
                            o.repetitions, o.request_bytes));
  }
  return o;
}

RandomAccess readRandom(Reading& in, const Value& value, const std::string& place,
                        const Phase& phase) {
  RandomAccess random;
  if (!in.object(value, place, {"rank", "operation", "requests", "left_out"})) return random;
  random.rank = static_cast<int>(in.integer(value["rank"], at(place, "rank"), 0, kMaxProcesses));
  if (!std::binary_search(phase.ranks.begin(), phase.ranks.end(), random.rank)) {
    in.complain(at(place, "rank"), fmt::format("is {}, which is not in the phase", random.rank));
  }
  random.operation =
      static_cast<int>(in.integer(value["operation"], at(place, "operation"), 0,
                                  static_cast<std::int64_t>(phase.operations.size()) - 1));
  random.left_out = in.size(value["left_out"], at(place, "left_out"));
  const std::string where = at(place, "requests");
  if (!in.list(value["requests"], where)) return random;
  const Value& requests = value["requests"];
  for (rapidjson::SizeType i = 0; i < requests.Size() && !in.failed(); ++i) {
    const auto [offset, bytes] = readPair(in, requests[i], at(where, i), kMaxOffset);
    random.requests.emplace_back(offset, static_cast<std::uint64_t>(bytes));
  }
  return random;
}

void readRanks(Reading& in, const Value& value, const std::string& place, int processes,
               std::vector<int>& ranks) {
  if (!in.list(value, place)) return;
  for (rapidjson::SizeType i = 0; i < value.Size() && !in.failed(); ++i) {
    ranks.push_back(static_cast<int>(in.integer(value[i], at(place, i), 0, processes - 1)));
    if (i > 0 && ranks[i] <= ranks[i - 1]) {
      in.complain(at(place, i), "has to be greater than the rank before");
    }
  }
  if (ranks.empty()) in.complain(place, "is empty");
}

void checkWeight(Reading& in, const std::string& place, const Phase& phase) {
  unsigned __int128 sum = 0;
  for (const PhaseOperation& o : phase.operations) sum += weightOf(phase, o);
  if (sum != phase.weight_bytes) {
    in.complain(at(place, "weight_bytes"),
                fmt::format("is {}, but the operations add up to {}", phase.weight_bytes,
                            static_cast<std::uint64_t>(sum)));
  }
}

Phase readPhase(Reading& in, const Value& value, const std::string& place,
                const PhaseModel& model) {
  Phase p;
  if (!in.object(
          value, place,
          {"id", "file", "operations", "ranks", "weight_bytes", "first_tick", "last_tick", "mode",
           "interface", "pointer", "collective", "blocking", "view", "etype_bytes", "measured"},
          {"random"})) {
    return p;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  p.id = static_cast<int>(in.integer(value["id"], at(place, "id"), 1, kMost));
  p.file = static_cast<int>(in.integer(value["file"], at(place, "file"), 0,
                                       static_cast<std::int64_t>(model.files.size()) - 1));
  readRanks(in, value["ranks"], at(place, "ranks"), model.processes, p.ranks);
  if (in.failed()) return p;
  const std::string where = at(place, "operations");
  if (!in.list(value["operations"], where)) return p;
  const Value& operations = value["operations"];
  for (rapidjson::SizeType i = 0; i < operations.Size() && !in.failed(); ++i) {
    p.operations.push_back(
        readOperation(in, operations[i], at(where, i), p.ranks, model.processes));
  }
  if (p.operations.empty()) in.complain(where, "is empty");
  p.weight_bytes = in.size(value["weight_bytes"], at(place, "weight_bytes"));
  p.first_tick = in.size(value["first_tick"], at(place, "first_tick"));
  p.last_tick = in.size(value["last_tick"], at(place, "last_tick"));
  p.mode = in.word(value["mode"], at(place, "mode"),
                   std::array{AccessMode::kSequential, AccessMode::kStrided, AccessMode::kRandom});
  p.interface = in.word(value["interface"], at(place, "interface"),
                        std::array{Interface::kMpiIo, Interface::kPosix, Interface::kStdio});
  p.pointer =
      in.word(value["pointer"], at(place, "pointer"),
              std::array{PointerKind::kExplicit, PointerKind::kIndividual, PointerKind::kShared});
  p.collective = in.flag(value["collective"], at(place, "collective"));
  p.blocking = in.flag(value["blocking"], at(place, "blocking"));
  p.has_view = in.flag(value["view"], at(place, "view"));
  p.etype_bytes = in.size(value["etype_bytes"], at(place, "etype_bytes"), 1);
  if (in.object(value["measured"], at(place, "measured"), {"begin_ns", "end_ns", "io_time_ns"})) {
    const Value& measured = value["measured"];
    p.begin_ns = in.integer(measured["begin_ns"], at(place, "measured.begin_ns"), 0, kMaxOffset);
    p.end_ns = in.integer(measured["end_ns"], at(place, "measured.end_ns"), p.begin_ns, kMaxOffset);
    p.io_time_ns =
        in.integer(measured["io_time_ns"], at(place, "measured.io_time_ns"), 0, kMaxOffset);
  }
  if (in.failed()) return p;
  checkWeight(in, place, p);
  if (const Value* random = Reading::find(value, "random"); random != nullptr) {
    if (!in.list(*random, at(place, "random"))) return p;
    for (rapidjson::SizeType i = 0; i < random->Size() && !in.failed(); ++i) {
      p.random.push_back(readRandom(in, (*random)[i], at(at(place, "random"), i), p));
    }
  }
  return p;
}

std::vector<std::string> readTexts(Reading& in, const Value& value, const std::string& place) {
  std::vector<std::string> texts;
  if (!in.list(value, place)) return texts;
  for (rapidjson::SizeType i = 0; i < value.Size() && !in.failed(); ++i) {
    texts.push_back(in.text(value[i], at(place, i)));
  }
  return texts;
}

void readFiles(Reading& in, const Value& files, std::vector<ModelFile>& into) {
  if (!in.list(files, "files")) return;
  for (rapidjson::SizeType i = 0; i < files.Size() && !in.failed(); ++i) {
    const std::string place = at("files", i);
    if (!in.object(files[i], place, {"path", "shared", "size_bytes"})) return;
    into.push_back({.path = in.text(files[i]["path"], at(place, "path")),
                    .shared = in.flag(files[i]["shared"], at(place, "shared")),
                    .size_bytes = in.size(files[i]["size_bytes"], at(place, "size_bytes"))});
    if (into.back().path.empty()) in.complain(at(place, "path"), "is empty");
  }
}

PhaseModel readModel(Reading& in, const Value& document) {
  PhaseModel model;
  if (!in.object(document, "",
                 {"format", "version", "source", "processes", "files", "phases", "left_out"})) {
    return model;
  }
  if (in.object(document["source"], "source", {"trace", "whole", "command"})) {
    const Value& source = document["source"];
    model.source = in.text(source["trace"], "source.trace");
    model.source_whole = in.flag(source["whole"], "source.whole");
    model.command = readTexts(in, source["command"], "source.command");
  }
  model.processes =
      static_cast<int>(in.integer(document["processes"], "processes", 1, kMaxProcesses));
  readFiles(in, document["files"], model.files);
  model.left_out = readTexts(in, document["left_out"], "left_out");
  const Value& phases = document["phases"];
  if (!in.list(phases, "phases")) return model;
  for (rapidjson::SizeType i = 0; i < phases.Size() && !in.failed(); ++i) {
    const std::string place = at("phases", i);
    model.phases.push_back(readPhase(in, phases[i], place, model));
    if (!in.failed() && i > 0 && model.phases[i].id <= model.phases[i - 1].id) {
      in.complain(at(place, "id"), "has to be greater than that of the phase before");
    }
  }
  return model;
}

}  // namespace

base::Result<PhaseModel> readPhaseModel(const std::filesystem::path& path) {
  const base::Result<rapidjson::Document> document = base::readJsonDocument(path);
  if (!document) return document.failure();
  const auto failure = [&path](base::Code code, std::string_view reason) {
    return base::Failure{code, fmt::format("{}: {}", base::printable(path.native()), reason)};
  };
  const Value* format = document->IsObject() ? Reading::find(*document, "format") : nullptr;
  if (format == nullptr || !format->IsString() ||
      std::string_view(format->GetString(), format->GetStringLength()) != "omnio-phases") {
    return failure(base::Code::kNotOurs,
                   "format: is not \"omnio-phases\", so this is not a phase model");
  }
  const Value* version = Reading::find(*document, "version");
  if (version == nullptr || !version->IsInt()) {
    return failure(base::Code::kDamaged, "version: has to be a whole number");
  }
  if (version->GetInt() != kPhaseModelVersion) {
    return failure(base::Code::kOtherVersion,
                   fmt::format("version: is {}, but only version {} is read here",
                               version->GetInt(), kPhaseModelVersion));
  }
  Reading in;
  PhaseModel model = readModel(in, *document);
  if (in.failed()) return failure(base::Code::kDamaged, in.complaint());
  return model;
}

}  // namespace omnio::model
