#include "core/model/phase_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/document_file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonRange;
using base::JsonReader;
using base::JsonWriter;

constexpr base::Word<Operation> kOperations[] = {{Operation::kWrite, "write"},
                                                 {Operation::kRead, "read"}};
constexpr base::Word<AccessMode> kModes[] = {{AccessMode::kSequential, "sequential"},
                                             {AccessMode::kStrided, "strided"},
                                             {AccessMode::kNested, "nested"},
                                             {AccessMode::kRandom, "random"}};
constexpr base::Word<PointerKind> kPointers[] = {{PointerKind::kExplicit, "explicit"},
                                                 {PointerKind::kIndividual, "individual"},
                                                 {PointerKind::kShared, "shared"}};
constexpr base::Word<Interface> kInterfaces[] = {
    {Interface::kMpiIo, "mpi-io"}, {Interface::kPosix, "posix"}, {Interface::kStdio, "stdio"}};

}  // namespace

std::int64_t OffsetFunction::at(int rank) const {
  if (table.empty()) return RankFunction::at(rank);
  const auto place =
      std::lower_bound(table.begin(), table.end(), rank,
                       [](const auto& entry, int wanted) { return entry.first < wanted; });
  return place != table.end() && place->first == rank ? place->second : 0;
}

std::uint64_t weightOf(const Phase& phase, const PhaseOperation& operation) {
  if (operation.varying) return operation.weight_bytes;
  return operation.request_bytes * operation.repetitions * phase.ranks.size();
}

std::uint64_t requestsOf(const Phase& phase, const PhaseOperation& operation) {
  if (operation.varying) return operation.requests;
  return operation.repetitions * phase.ranks.size();
}

ProcessTicks ticksOf(const Phase& phase, int rank) {
  const ProcessTicks* own = entryOf(phase.ticks, rank);
  return {rank, own ? own->first : phase.first_tick, own ? own->last : phase.last_tick};
}

std::string_view nameOf(Operation operation) { return base::wordOf(kOperations, operation); }
std::string_view nameOf(AccessMode mode) { return base::wordOf(kModes, mode); }
std::string_view nameOf(PointerKind pointer) { return base::wordOf(kPointers, pointer); }
std::string_view nameOf(Interface interface) { return base::wordOf(kInterfaces, interface); }

void putInitOffset(base::JsonWriter& json, const OffsetFunction& f) {
  json.key("init_offset");
  if (!f.known) return json.null();
  json.object([&] {
    if (f.table.empty()) {
      json.put("base", f.base);
      if (f.grid.empty()) {
        json.put("per_rank", f.per_rank);
      } else {
        json.list("grid", f.grid, [&](const pattern::Dimension& dimension) {
          json.value(std::array{static_cast<std::int64_t>(dimension.count), dimension.stride});
        });
      }
    } else {
      json.list("table", f.table, [&](const auto& entry) {
        json.value(std::array{std::int64_t{entry.first}, entry.second});
      });
    }
  });
}

namespace {

// Offsets and sizes that no file system has are a slip of the one who edited the document; below
// this limit none of the products here leaves 128 bits.
constexpr std::int64_t kMaxOffset = std::int64_t{1} << 60;
constexpr std::int64_t kMaxProcesses = 1 << 24;
constexpr JsonRange kFromZero{.least = 0, .most = kMaxOffset};
constexpr JsonRange kFromOne{.least = 1, .most = kMaxOffset};
constexpr JsonRange kSigned{.least = -kMaxOffset, .most = kMaxOffset};
constexpr std::size_t kMaxBody = 4096;  // parts of a loop

// An index in a list of that length.
JsonRange indexIn(std::size_t length) {
  return {.least = 0, .most = static_cast<std::int64_t>(length) - 1};
}

// Reads the parts of a model that has its processes and files.
class ModelReader {
 public:
  ModelReader(JsonReader& in, PhaseModel& model) : in_(in), model_(model) {}

  void read(const JsonNode& root) {
    JsonObject object(in_, root);
    object.format(kPhaseModelFormat, kPhaseModelVersion, "a phase model");
    if (in_.failed()) return;
    readSource(object.require("source"));
    model_.processes =
        static_cast<int>(object.integer("processes", {.least = 1, .most = kMaxProcesses}));
    if (in_.failed()) return;
    if (const JsonNode* measured = object.find("measured")) readMeasured(*measured);
    model_.schedule = object.text("schedule", "");
    if (model_.schedule.find('/') != std::string::npos) {
      object.refuse("schedule", "has to be the name of a file beside the model");
    }
    for (const JsonNode& file : object.list("files")) readFile(file);
    model_.left_out = object.texts("left_out");
    for (const JsonNode& phase : object.list("phases")) {
      if (in_.failed()) return;
      model_.phases.push_back(phaseOf(phase));
    }
  }

 private:
  static event::IoTime ioTimeOf(JsonObject& object) {
    return {.data_ns = object.integer("data_ns", kFromZero),
            .metadata_ns = object.integer("metadata_ns", kFromZero),
            .sync_ns = object.integer("sync_ns", kFromZero),
            .waiting_ns = object.integer("waiting_ns", kFromZero)};
  }

  void readMeasured(const JsonNode& node) {
    JsonObject measured(in_, node);
    model_.slowest_rank = static_cast<int>(measured.integer("slowest_rank", indexIn(processes())));
    model_.io = ioTimeOf(measured);
    JsonObject outside(in_, measured.require("outside"));
    model_.io_outside = ioTimeOf(outside);
    model_.unmatched_waits = measured.natural("unmatched_waits");
    if (measured.find("chain_ns") != nullptr) {
      model_.chain_ns = measured.integer("chain_ns", kFromZero);
    }
  }

  void readSource(const JsonNode& node) {
    JsonObject source(in_, node);
    model_.source = source.text("trace");
    model_.source_whole = source.flag("whole");
    model_.command = source.texts("command");
  }

  void readFile(const JsonNode& node) {
    JsonObject file(in_, node);
    model_.files.push_back({.path = file.text("path"),
                            .shared = file.flag("shared"),
                            .size_bytes = file.natural("size_bytes", kFromZero),
                            .directory = file.flag("directory", false)});
    if (model_.files.back().path.empty()) file.refuse("path", "is empty");
  }

  Phase phaseOf(const JsonNode& node) {
    Phase p;
    JsonObject object(in_, node);
    p.id = static_cast<int>(object.integer("id", {.least = 1, .most = INT32_MAX}));
    if (!model_.phases.empty() && p.id <= model_.phases.back().id) {
      object.refuse("id", "has to be greater than that of the phase before");
    }
    p.file = static_cast<int>(object.integer("file", indexIn(model_.files.size())));
    for (const JsonNode& item : object.list("ranks")) {
      p.ranks.push_back(
          static_cast<int>(base::integerOf(in_, "ranks", item, indexIn(processes()))));
      if (p.ranks.size() > 1 && p.ranks.back() <= p.ranks[p.ranks.size() - 2]) {
        in_.refuse(item.place, "it has to be greater than the rank before");
      }
    }
    if (p.ranks.empty()) object.refuse("ranks", "is empty");
    if (object.find("metadata") != nullptr) {
      readMetadata(object, p);
      return p;
    }
    for (const JsonNode& item : object.list("operations")) {
      p.operations.push_back(operationOf(item, p.ranks));
    }
    if (p.operations.empty()) object.refuse("operations", "is empty");
    if (!in_.failed() && model_.files[static_cast<std::size_t>(p.file)].directory) {
      object.refuse("file", "is a directory, and the phase moves data");
    }
    const auto is_nested = [](const PhaseOperation& o) { return !o.nested.empty(); };
    const bool any_nested = std::any_of(p.operations.begin(), p.operations.end(), is_nested);
    p.weight_bytes = object.natural("weight_bytes", kFromZero);
    p.first_tick = object.natural("first_tick", kFromZero);
    p.last_tick = object.natural("last_tick", kFromZero);
    if (object.find("ticks") != nullptr) {
      for (const auto& [rank, first, last] : entriesOf<3>(object, "ticks", p.ranks, kFromZero)) {
        p.ticks.push_back({.rank = static_cast<int>(rank), .first = first, .last = last});
      }
    }
    p.mode = object.oneOf("mode", kModes);
    if (any_nested != (p.mode == AccessMode::kNested) && !in_.failed()) {
      object.refuse("mode", any_nested ? "has to be nested where requests are"
                                       : "is nested, and no operation has nested requests");
    }
    p.interface = object.oneOf("interface", kInterfaces);
    p.pointer = object.oneOf("pointer", kPointers);
    p.collective = object.flag("collective");
    p.blocking = object.flag("blocking");
    p.has_view = object.flag("view");
    p.etype_bytes = object.natural("etype_bytes", kFromOne);
    readMeasured(object, p);
    readSurroundings(object, p);
    if (in_.failed()) return p;
    unsigned __int128 sum = 0;
    for (const PhaseOperation& o : p.operations) sum += weightOf(p, o);
    if (sum != p.weight_bytes) {
      object.refuse("weight_bytes", fmt::format("is {}, but the operations add up to {}",
                                                p.weight_bytes, static_cast<std::uint64_t>(sum)));
    }
    if (object.find("random") != nullptr) {
      for (const JsonNode& item : object.list("random")) p.random.push_back(randomOf(item, p));
    }
    return p;
  }

  void readMeasured(JsonObject& phase, Phase& p) {
    JsonObject measured(in_, phase.require("measured"));
    p.begin_ns = measured.integer("begin_ns", kFromZero);
    p.end_ns = measured.integer("end_ns", {.least = p.begin_ns, .most = kMaxOffset});
    p.io = ioTimeOf(measured);
  }

  void readMetadata(JsonObject& object, Phase& p) {
    {
      JsonObject metadata(in_, object.require("metadata"));
      p.metadata.operations = metadata.natural("operations", kFromOne);
      p.metadata.creates = metadata.natural("creates", kFromZero);
      p.metadata.directories = metadata.natural("directories", kFromOne);
      if (p.metadata.creates > p.metadata.operations) {
        metadata.refuse("creates", fmt::format("is {}, of {} operations", p.metadata.creates,
                                               p.metadata.operations));
      }
    }
    p.interface = object.oneOf("interface", kInterfaces);
    readMeasured(object, p);
    if (!object.list("operations").empty()) {
      object.refuse("operations", "has to be empty: the phase is of metadata");
    }
    object.integer("weight_bytes", {.least = 0, .most = 0});
    object.require("calls");
    readSurroundings(object, p);
    if (in_.failed()) return;
    unsigned __int128 sum = 0;
    for (const auto& [name, count] : p.calls) sum += count;
    if (sum != p.metadata.operations) {
      object.refuse("calls", fmt::format("add up to {}, and the operations of \"metadata\" are {}",
                                         static_cast<std::uint64_t>(sum), p.metadata.operations));
    }
    if (!model_.files[static_cast<std::size_t>(p.file)].directory) {
      object.refuse("file", "has to be a directory: the phase is of metadata");
    }
  }

  // These are optional: a model that is made by hand need not have them.
  void readSurroundings(JsonObject& phase, Phase& p) {
    if (const JsonNode* opened = phase.find("opened")) {
      JsonObject object(in_, *opened);
      p.opened.flags = object.text("flags");
      p.opened.atomic = object.flag("atomic", false);
      if (const JsonNode* hints = object.find("hints")) {
        for (const auto& [key, value] : membersOf("hints", *hints)) {
          p.opened.hints.emplace_back(key, base::textOf(in_, key, value));
        }
      }
    }
    p.ranks_per_node =
        static_cast<int>(phase.integer("ranks_per_node", {.least = 0, .most = kMaxProcesses}, 0));
    if (const JsonNode* calls = phase.find("calls")) {
      for (const auto& [name, count] : membersOf("calls", *calls)) {
        p.calls.emplace_back(
            name, static_cast<std::uint64_t>(base::integerOf(in_, name, count, kFromZero)));
      }
    }
  }

  const JsonNode::Members& membersOf(std::string_view name, const JsonNode& node) {
    static const JsonNode::Members kNone;
    const auto* members = node.as<JsonNode::Members>();
    if (members == nullptr) in_.refuse(node.place, fmt::format("\"{}\" has to be an object", name));
    return members == nullptr ? kNone : *members;
  }

  PhaseOperation operationOf(const JsonNode& node, const std::vector<int>& ranks) {
    PhaseOperation o;
    JsonObject object(in_, node);
    o.operation = object.oneOf("operation", kOperations);
    o.request_bytes = object.natural("request_bytes", kFromOne);
    o.repetitions = object.natural("repetitions", kFromOne);
    o.displacement_bytes = object.integer("displacement_bytes", kSigned);
    o.init_offset = offsetOf(object.require("init_offset"), ranks);
    o.nominal = object.flag("nominal", false);
    o.several_blocks = object.flag("several_blocks", o.nominal);
    if (o.nominal && !o.several_blocks) object.refuse("nominal", "is of several blocks alone");
    if (const JsonNode* varying = object.find("varying")) {
      readVarying(*varying, ranks, o);
    } else if (!in_.failed() && static_cast<unsigned __int128>(o.request_bytes) * o.repetitions >
                                    static_cast<unsigned __int128>(kMaxOffset) / ranks.size()) {
      object.refuse("repetitions",
                    fmt::format("is {}, which with {} bytes each is more than any file has",
                                o.repetitions, o.request_bytes));
    }
    if (object.find("nested") != nullptr && !in_.failed()) readNested(object, ranks, o);
    if (const JsonNode* in_view = object.find("in_view")) {
      JsonObject view(in_, *in_view);
      o.in_view = {.init_offset = offsetOf(view.require("init_offset"), ranks),
                   .displacement = view.integer("displacement", kSigned)};
    }
    return o;
  }

  void readNested(JsonObject& operation, const std::vector<int>& ranks, PhaseOperation& o) {
    std::vector<int> those;
    unsigned __int128 requests = 0;
    unsigned __int128 bytes = 0;
    for (const JsonNode& item : operation.list("nested")) {
      JsonObject object(in_, item);
      NestedRequests nested;
      nested.ranks = ranks;
      if (object.find("ranks") != nullptr) {
        nested.ranks = object.integers<int>("ranks", indexIn(processes()));
        if (nested.ranks.empty()) object.refuse("ranks", "is empty");
      }
      nested.part = partOf(object.require("requests"), 0);
      if (in_.failed()) return;
      const pattern::PartSummary all = pattern::summaryOf(nested.part);
      requests += static_cast<unsigned __int128>(nested.part.requests) * nested.ranks.size();
      bytes += static_cast<unsigned __int128>(all.bytes) * nested.ranks.size();
      for (const int rank : nested.ranks) {
        const auto begin = static_cast<__int128>(o.init_offset.at(rank)) + all.begin;
        if (o.init_offset.known && begin < 0) {
          object.refuse(fmt::format("it gives rank {} an offset below 0", rank));
        }
      }
      those.insert(those.end(), nested.ranks.begin(), nested.ranks.end());
      o.nested.push_back(std::move(nested));
    }
    std::sort(those.begin(), those.end());
    if (those != ranks) operation.refuse("nested", "has to have the phase's ranks, each once");
    const auto processes = static_cast<unsigned __int128>(ranks.size());
    if (requests != (o.varying ? o.requests : o.repetitions * processes) ||
        bytes != (o.varying ? o.weight_bytes : o.repetitions * processes * o.request_bytes)) {
      operation.refuse("nested", "is of other requests or bytes than the operation");
    }
  }

  pattern::Part partOf(const JsonNode& node, std::size_t depth) {
    JsonObject object(in_, node);
    const std::int64_t offset = object.integer("offset_bytes", kSigned);
    if (object.find("requests") == nullptr) {
      return pattern::requestAt(offset, object.natural("request_bytes", kFromOne));
    }
    const std::uint64_t count = object.natural("repetitions", kFromOne);
    const std::int64_t stride = object.integer("displacement_bytes", kSigned);
    std::vector<pattern::Part> body;
    unsigned __int128 requests = 0;
    unsigned __int128 bytes = 0;
    __int128 furthest = 0;
    if (depth == pattern::kMaxNesting) object.refuse("requests", "is nested too deeply");
    if (object.list("requests").size() > kMaxBody) {
      object.refuse("requests", fmt::format("has more than {} parts", kMaxBody));
    }
    for (const JsonNode& item : object.list("requests")) {
      if (in_.failed()) return {};
      body.push_back(partOf(item, depth + 1));
      const pattern::PartSummary one = pattern::summaryOf(body.back());
      requests += body.back().requests;
      bytes += one.bytes;
      furthest = std::max<__int128>({furthest, one.end, -static_cast<__int128>(one.begin)});
    }
    if (body.empty()) object.refuse("requests", "is empty");
    const __int128 distance = stride < 0 ? -static_cast<__int128>(stride) : stride;
    if (requests * count > kMaxOffset || bytes * count > kMaxOffset ||
        distance * static_cast<__int128>(count) + furthest > kMaxOffset) {
      object.refuse("repetitions",
                    fmt::format("is {}, which leads beyond what any file has", count));
    }
    if (in_.failed()) return {};
    return pattern::loopOf(offset, count, stride, std::move(body));
  }

  void readVarying(const JsonNode& node, const std::vector<int>& ranks, PhaseOperation& o) {
    JsonObject object(in_, node);
    o.varying = true;
    o.smallest_bytes = object.natural("smallest_bytes", kFromOne);
    o.largest_bytes = object.natural("largest_bytes", kFromOne);
    o.requests = object.natural("requests", kFromOne);
    o.weight_bytes = object.natural("weight_bytes", kFromOne);
    const auto sum = [&o](std::uint64_t bytes) {
      return static_cast<unsigned __int128>(bytes) * o.requests;
    };
    if (sum(o.smallest_bytes) > o.weight_bytes || sum(o.largest_bytes) < o.weight_bytes) {
      object.refuse("weight_bytes",
                    fmt::format("is {}, which {} requests of {} to {} bytes cannot be",
                                o.weight_bytes, o.requests, o.smallest_bytes, o.largest_bytes));
    }
    if (object.find("processes") == nullptr) return;
    for (const auto& [rank, requests, bytes, smallest, largest] :
         entriesOf<5>(object, "processes", ranks, kFromOne)) {
      o.by_process.push_back({.rank = static_cast<int>(rank),
                              .requests = requests,
                              .bytes = bytes,
                              .smallest_bytes = smallest,
                              .largest_bytes = largest});
    }
    if (in_.failed()) return;
    unsigned __int128 requests = 0;
    unsigned __int128 bytes = 0;
    for (const int rank : ranks) {
      const ProcessRequests* own = entryOf(o.by_process, rank);
      requests += own->requests;
      bytes += own->bytes;
    }
    if (requests != o.requests || bytes != o.weight_bytes) {
      object.refuse("processes", "does not add up to \"requests\" and \"weight_bytes\"");
    }
  }

  // A list of lists of so many numbers, the first of each a rank of the phase: those from it on.
  template <std::size_t kCount>
  std::vector<std::array<std::uint64_t, kCount>> entriesOf(JsonObject& object,
                                                           std::string_view name,
                                                           const std::vector<int>& ranks,
                                                           JsonRange range) {
    std::vector<std::array<std::uint64_t, kCount>> entries;
    for (const JsonNode& item : object.list(name)) {
      const auto* list = item.as<JsonNode::List>();
      if (list == nullptr || list->size() != kCount) {
        in_.refuse(item.place, fmt::format("\"{}\" has to hold lists of {} numbers", name, kCount));
        return entries;
      }
      std::array<std::uint64_t, kCount>& entry = entries.emplace_back();
      for (std::size_t i = 0; i < kCount; ++i) {
        const JsonRange own_range = i == 0 ? indexIn(processes()) : range;
        entry[i] = static_cast<std::uint64_t>(base::integerOf(in_, name, (*list)[i], own_range));
      }
      const int rank = static_cast<int>(entry[0]);
      const bool is_first = entries.size() == 1;
      if (!in_.failed() &&
          (is_first ? rank != ranks.front() : entry[0] <= (entries.end() - 2)->front())) {
        in_.refuse(item.place, is_first ? "it has to begin with the first rank of the phase"
                                        : "its rank has to be greater than the one before");
      }
    }
    if (entries.empty()) object.refuse(name, "is empty");
    return entries;
  }

  OffsetFunction offsetOf(const JsonNode& node, const std::vector<int>& ranks) {
    OffsetFunction f;
    f.known = node.as<std::nullptr_t>() == nullptr;
    if (!f.known) return f;
    JsonObject object(in_, node);
    if (object.find("table") != nullptr) {
      for (const JsonNode& item : object.list("table")) {
        const auto [rank, offset] = pairOf("table", item, indexIn(processes()));
        f.table.emplace_back(static_cast<int>(rank), offset);
      }
      const auto same = [](const auto& entry, int rank) { return entry.first == rank; };
      if (!std::equal(f.table.begin(), f.table.end(), ranks.begin(), ranks.end(), same)) {
        object.refuse("table", "has to have the phase's ranks, each once and in order");
      }
      return f;
    }
    f.base = object.integer("base", kSigned);
    if (object.find("grid") != nullptr) {
      for (const JsonNode& item : object.list("grid")) {
        const auto [count, bytes] = pairOf("grid", item, kFromOne, kSigned);
        f.grid.push_back({.count = static_cast<std::uint64_t>(count), .stride = bytes});
      }
      if (f.grid.empty()) object.refuse("grid", "is empty");
    } else {
      f.per_rank = object.integer("per_rank", kSigned);
    }
    if (in_.failed()) return f;
    for (const int rank : ranks) {
      const __int128 offset = wideAt(f, rank);
      if (offset >= 0 && offset <= kMaxOffset) continue;
      object.refuse(fmt::format("it gives rank {} an offset {}", rank,
                                offset < 0 ? "below 0" : "that no file has"));
    }
    return f;
  }

  RandomAccess randomOf(const JsonNode& node, const Phase& phase) {
    RandomAccess random;
    JsonObject object(in_, node);
    random.rank = static_cast<int>(object.integer("rank", {.least = 0, .most = kMaxProcesses}));
    if (!std::binary_search(phase.ranks.begin(), phase.ranks.end(), random.rank)) {
      object.refuse("rank", fmt::format("is {}, which is not in the phase", random.rank));
    }
    random.operation =
        static_cast<int>(object.integer("operation", indexIn(phase.operations.size())));
    random.left_out = object.natural("left_out", kFromZero);
    for (const JsonNode& item : object.list("requests")) {
      const auto [offset, bytes] = pairOf("requests", item, kFromZero);
      random.requests.emplace_back(offset, static_cast<std::uint64_t>(bytes));
    }
    return random;
  }

  // As RankFunction::at(), whatever the numbers are.
  static __int128 wideAt(const OffsetFunction& f, int rank) {
    __int128 offset = f.base;
    if (f.grid.empty()) return offset + static_cast<__int128>(f.per_rank) * rank;
    auto rest = static_cast<std::uint64_t>(rank);
    for (const pattern::Dimension& dimension : f.grid) {
      const bool last = &dimension == &f.grid.back();
      offset += static_cast<__int128>(last ? rest : rest % dimension.count) * dimension.stride;
      rest /= dimension.count;
    }
    return offset;
  }

  std::pair<std::int64_t, std::int64_t> pairOf(std::string_view name, const JsonNode& node,
                                               JsonRange first, JsonRange second = kFromZero) {
    const auto* list = node.as<JsonNode::List>();
    if (list != nullptr && list->size() == 2) {
      return {base::integerOf(in_, name, list->front(), first),
              base::integerOf(in_, name, list->back(), second)};
    }
    in_.refuse(node.place, fmt::format("\"{}\" has to hold lists of two numbers", name));
    return {};
  }

  std::size_t processes() const { return static_cast<std::size_t>(model_.processes); }

  JsonReader& in_;
  PhaseModel& model_;
};

void putIoTime(JsonWriter& json, const event::IoTime& time) {
  json.put("data_ns", time.data_ns);
  json.put("metadata_ns", time.metadata_ns);
  json.put("sync_ns", time.sync_ns);
  json.put("waiting_ns", time.waiting_ns);
}

void putPart(JsonWriter& json, const pattern::Part& part) {
  json.object([&] {
    json.put("offset_bytes", part.offset);
    if (!part.isLoop()) return json.put("request_bytes", part.bytes);
    json.put("repetitions", part.count);
    json.put("displacement_bytes", part.stride);
    json.list("requests", part.body, [&](const auto& each) { putPart(json, each); });
  });
}

void putNested(JsonWriter& json, const PhaseOperation& o) {
  json.list("nested", o.nested, [&](const NestedRequests& nested) {
    json.object([&] {
      if (o.nested.size() > 1) json.put("ranks", nested.ranks);
      json.key("requests");
      putPart(json, nested.part);
    });
  });
}

void putOperation(JsonWriter& json, const PhaseOperation& o) {
  json.object([&] {
    json.put("operation", nameOf(o.operation));
    json.put("request_bytes", o.request_bytes);
    json.put("repetitions", o.repetitions);
    json.put("displacement_bytes", o.displacement_bytes);
    putInitOffset(json, o.init_offset);
    if (o.several_blocks) json.put("several_blocks", true);
    if (o.nominal) json.put("nominal", true);
    if (o.in_view) {
      json.object("in_view", [&] {
        putInitOffset(json, o.in_view->init_offset);
        json.put("displacement", o.in_view->displacement);
      });
    }
    if (o.varying) {
      json.object("varying", [&] {
        json.put("smallest_bytes", o.smallest_bytes);
        json.put("largest_bytes", o.largest_bytes);
        json.put("requests", o.requests);
        json.put("weight_bytes", o.weight_bytes);
        if (o.by_process.empty()) return;
        json.list("processes", o.by_process, [&](const ProcessRequests& own) {
          json.value(std::array{static_cast<std::uint64_t>(own.rank), own.requests, own.bytes,
                                own.smallest_bytes, own.largest_bytes});
        });
      });
    }
    if (!o.nested.empty()) putNested(json, o);
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

void putSurroundings(JsonWriter& json, const Phase& p) {
  const OpenedFile& opened = p.opened;
  if (!opened.flags.empty()) {
    json.object("opened", [&] {
      json.put("flags", opened.flags);
      if (opened.atomic) json.put("atomic", true);
      if (opened.hints.empty()) return;
      json.object("hints", [&] {
        for (const auto& [key, value] : opened.hints) json.put(key, value);
      });
    });
  }
  if (p.ranks_per_node > 0) json.put("ranks_per_node", p.ranks_per_node);
  if (p.calls.empty()) return;
  json.object("calls", [&] {
    for (const auto& [name, count] : p.calls) json.put(name, count);
  });
}

void putMeasured(JsonWriter& json, const Phase& p) {
  json.object("measured", [&] {
    json.put("begin_ns", p.begin_ns);
    json.put("end_ns", p.end_ns);
    putIoTime(json, p.io);
  });
}

void putMetadataPhase(JsonWriter& json, const Phase& p) {
  json.object([&] {
    json.put("id", p.id);
    json.put("file", p.file);
    // So that what goes over the operations of all phases, or adds up their bytes, may do so.
    json.put("operations", std::vector<std::string>());
    json.put("weight_bytes", 0);
    json.object("metadata", [&] {
      json.put("operations", p.metadata.operations);
      json.put("creates", p.metadata.creates);
      json.put("directories", p.metadata.directories);
    });
    json.put("ranks", p.ranks);
    json.put("interface", nameOf(p.interface));
    putMeasured(json, p);
    putSurroundings(json, p);
  });
}

void putPhase(JsonWriter& json, const Phase& p) {
  if (p.isMetadata()) return putMetadataPhase(json, p);
  json.object([&] {
    json.put("id", p.id);
    json.put("file", p.file);
    json.list("operations", p.operations, [&](const auto& o) { putOperation(json, o); });
    json.put("ranks", p.ranks);
    json.put("weight_bytes", p.weight_bytes);
    json.put("first_tick", p.first_tick);
    json.put("last_tick", p.last_tick);
    if (!p.ticks.empty()) {
      json.list("ticks", p.ticks, [&](const ProcessTicks& own) {
        json.value(std::array{static_cast<std::uint64_t>(own.rank), own.first, own.last});
      });
    }
    json.put("mode", nameOf(p.mode));
    json.put("interface", nameOf(p.interface));
    json.put("pointer", nameOf(p.pointer));
    json.put("collective", p.collective);
    json.put("blocking", p.blocking);
    json.put("view", p.has_view);
    json.put("etype_bytes", p.etype_bytes);
    putMeasured(json, p);
    putSurroundings(json, p);
    if (p.random.empty()) return;
    json.list("random", p.random, [&](const auto& random) { putRandom(json, random); });
  });
}

}  // namespace

base::Result<PhaseModel> readPhaseModel(const std::filesystem::path& path) {
  JsonReader in(path, base::kMostBytesHeld);
  PhaseModel model;
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  ModelReader(in, model).read(root);
  if (const auto read = in.finish(); !read) return read.failure();
  return model;
}

std::string jsonOf(const PhaseModel& model) {
  constexpr base::JsonLayout kLayout{.indent = 1, .lists_on_one_line = true};
  return base::jsonDocument(kPhaseModelFormat, kPhaseModelVersion, kLayout, [&](auto& json) {
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
        if (file.directory) json.put("directory", true);
      });
    });
    json.list("phases", model.phases, [&](const Phase& phase) { putPhase(json, phase); });
    json.put("left_out", model.left_out);
    json.object("measured", [&] {
      json.put("slowest_rank", model.slowest_rank);
      putIoTime(json, model.io);
      json.object("outside", [&] { putIoTime(json, model.io_outside); });
      json.put("unmatched_waits", model.unmatched_waits);
      if (model.chain_ns) json.put("chain_ns", *model.chain_ns);
    });
    if (!model.schedule.empty()) json.put("schedule", model.schedule);
  });
}

std::string digestOf(const PhaseModel& model) {
  const std::string text = jsonOf(model);
  return fmt::format("{:016x}", wire::checksum(text.data(), text.size()));
}

base::Result<void> writePhaseModel(const std::filesystem::path& path, const PhaseModel& model) {
  return base::writeDocument(path, jsonOf(model));
}

}  // namespace omnio::model
