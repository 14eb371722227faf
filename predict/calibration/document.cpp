#include "predict/calibration/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/repeats.hpp"
#include "core/base/text_table.hpp"

namespace omnio::predict {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonRange;
using base::JsonReader;
using base::JsonWriter;

constexpr std::string_view kFormat = "omnio-calibration";

constexpr base::Word<CellOperation> kOperations[] = {
    {CellOperation::kRead, "read"},           {CellOperation::kWrite, "write"},
    {CellOperation::kFsync, "fsync"},         {CellOperation::kFdatasync, "fdatasync"},
    {CellOperation::kClose, "close"},         {CellOperation::kOpen, "open"},
    {CellOperation::kCreate, "create"},       {CellOperation::kStat, "stat"},
    {CellOperation::kReaddir, "readdir"},     {CellOperation::kRename, "rename"},
    {CellOperation::kFtruncate, "ftruncate"}, {CellOperation::kUnlink, "unlink"},
    {CellOperation::kMkdir, "mkdir"},         {CellOperation::kRmdir, "rmdir"}};
constexpr base::Word<AccessOrder> kOrders[] = {{AccessOrder::kNone, "none"},
                                               {AccessOrder::kSequential, "sequential"},
                                               {AccessOrder::kStrided, "strided"},
                                               {AccessOrder::kRandom, "random"}};
constexpr base::Word<FileSharing> kSharings[] = {{FileSharing::kOwn, "own"},
                                                 {FileSharing::kShared, "shared"}};
constexpr base::Word<CacheState> kStates[] = {
    {CacheState::kCached, "cached"}, {CacheState::kDirect, "direct"}, {CacheState::kCold, "cold"}};

constexpr std::int64_t kMost = std::int64_t{1} << 60;  // bytes, offsets, and times in all
constexpr std::int64_t kMostProcesses = 1 << 20;
constexpr std::int64_t kMostRounds = 1'000'000;
constexpr JsonRange kFromZero{.least = 0, .most = kMost};
constexpr JsonRange kFromOne{.least = 1, .most = kMost};
constexpr JsonRange kTime{.least = 0, .most = TimeSummary::kLongestNs};
constexpr JsonRange kProcesses{.least = 1, .most = kMostProcesses};

bool hasBytes(CellOperation operation) {
  return isAccess(operation) || operation == CellOperation::kFsync ||
         operation == CellOperation::kFdatasync || operation == CellOperation::kClose;
}

// Why there cannot be such a cell; empty when there can.
std::string_view whyNoCell(const CellKey& key) {
  const bool is_access = isAccess(key.operation);
  if (is_access == (key.order == AccessOrder::kNone)) {
    return "reads and writes have an order, and other operations have none";
  }
  if (is_access && key.bytes == 0) return "reads and writes have bytes";
  if (!hasBytes(key.operation) && key.bytes > 0) return "the operation has no bytes";
  if (key.extends && key.operation != CellOperation::kWrite) return "only writes extend a file";
  const bool may_be_new = key.operation == CellOperation::kFsync ||
                          (key.operation == CellOperation::kRead &&
                           key.order != AccessOrder::kRandom && !key.is_paused);
  if (key.is_new && !may_be_new) return "only fsync has a new file, and reads in order new data";
  const bool may_pause = key.processes == 1 && !isSync(key.operation);
  if (key.is_paused && !may_pause) {
    return "only one process pauses, and not before it syncs";
  }
  if (key.sharing == FileSharing::kShared && key.processes == 1) {
    return "one process alone shares nothing";
  }
  if (key.order == AccessOrder::kStrided && key.sharing == FileSharing::kOwn) {
    return "processes take turns in shared files alone";
  }
  return {};
}

class CalibrationReader {
 public:
  CalibrationReader(JsonReader& in, Calibration& out) : in_(in), out_(out) {}

  void read(const JsonNode& root) {
    JsonObject object(in_, root);
    object.format(kFormat, kCalibrationVersion, "a calibration");
    if (in_.failed()) return;
    out_.tool = object.text("tool");
    out_.date = object.text("date");
    readTarget(object.require("target"));
    readCache(object.require("cache"));
    readSettings(object);
    readStorage(object);
    for (const JsonNode& node : object.list("references")) readReference(node);
    for (const JsonNode& node : object.list("cells")) {
      if (in_.failed()) return;
      readCell(node);
    }
    for (const JsonNode& node : object.list("unreached")) {
      if (in_.failed()) return;
      readUnreached(node);
    }
  }

 private:
  template <typename Number = std::uint32_t>
  static Number whole(JsonObject& object, std::string_view key, JsonRange range) {
    return static_cast<Number>(object.integer(key, range));
  }

  // A number that is neither negative nor infinite.
  double realOf(JsonObject& object, std::string_view key, double most) {
    const JsonNode& node = object.require(key);
    const std::optional<double> number = node.number();
    if (number && *number >= 0 && *number <= most) return *number;
    in_.refuse(node.place,
               number ? fmt::format("\"{}\" has to be from 0 to {}", key, most)
                      : fmt::format("\"{}\" has to be a number, not {}", key, node.kind()));
    return 0;
  }

  void readTarget(const JsonNode& node) {
    JsonObject object(in_, node);
    CalibratedTarget& target = out_.target;
    target.path = object.text("path");
    target.file_system = object.text("file_system");
    target.mount = object.text("mount");
    target.size_bytes = object.natural("size_bytes", {.least = 0});
    target.host = object.text("host");
    target.kernel = object.text("kernel");
    target.processors = whole(object, "processors", kProcesses);
    target.memory_bytes = object.natural("memory_bytes", kFromZero);
  }

  void readCache(const JsonNode& node) {
    JsonObject object(in_, node);
    out_.cache = object.oneOf("state", kStates);
    CacheCheck& check = out_.cache_check;
    check.is_automatic = object.flag("automatic");
    check.checks = object.natural("checks", kFromZero);
    if (check.checks == 0) return;
    constexpr double kAll = 100;
    check.least_percent = realOf(object, "least_percent", kAll);
    check.most_percent = realOf(object, "most_percent", kAll);
    if (check.least_percent > check.most_percent) {
      object.refuse("least_percent", "is more than \"most_percent\"");
    }
  }

  void readSettings(JsonObject& object) {
    out_.seed = object.natural("seed");
    out_.budget_ns = object.integer("budget_ns", kFromOne);
    out_.spent_ns = object.integer("spent_ns", kFromZero);
    out_.reserved_ns = object.integer("reserved_ns", kFromZero);
    out_.sessions = whole(object, "sessions", {.least = 1, .most = kMostRounds});
    out_.rounds = whole(object, "rounds", {.least = 0, .most = kMostRounds});
    out_.processes = whole(object, "processes", kProcesses);
    out_.accesses = object.natural("accesses", kFromOne);
    out_.largest_bytes = object.natural("largest_bytes", kFromOne);
    out_.shared_file_bytes = object.natural("shared_file_bytes", kFromZero);
    out_.own_file_bytes = object.natural("own_file_bytes", kFromZero);
    // Older ones have it not: their directories held only what was measured.
    out_.directory_names =
        static_cast<std::uint64_t>(object.integer("directory_names", {.least = 0}, 0));
    out_.has_malloc_memory = object.flag("malloc_memory", false);
    out_.clock_ns = object.integer("clock_ns", kTime);
  }

  void readStorage(JsonObject& object) {
    for (const std::string_view follows : {"measured", "measured_with_sync"}) object.find(follows);
    if (object.find("storage") == nullptr) return;
    const JsonNode::List& sessions = object.list("storage");
    if (sessions.size() == 1) {
      out_.storage = storage::targetStorageOf(in_, sessions.front());
    } else if (!in_.failed()) {
      object.refuse("storage", "has to have one entry");
    }
  }

  std::uint32_t roundIn(JsonObject& object) {
    return whole(object, "round", {.least = 0, .most = out_.rounds});
  }

  void readReference(const JsonNode& node) {
    JsonObject object(in_, node);
    out_.references.push_back({.round = roundIn(object),
                               .begin_ns = object.integer("begin_ns", kFromZero),
                               .accesses = whole(object, "accesses", {.least = 1, .most = 1 << 20}),
                               .mean_ns = object.integer("mean_ns", kTime),
                               .median_ns = object.integer("median_ns", kTime)});
    const auto& all = out_.references;
    if (all.size() > 1 && all[all.size() - 2].begin_ns > all.back().begin_ns) {
      object.refuse("begin_ns", "is before that of the reference before it");
    }
  }

  CellKey keyOf(JsonObject& object) {
    CellKey key;
    key.operation = object.oneOf("operation", kOperations);
    key.order = object.oneOf("order", kOrders);
    key.sharing = object.oneOf("files", kSharings);
    key.extends = object.flag("extends", false);
    key.is_new = object.flag("new", false);
    key.is_paused = object.flag("paused", false);
    key.bytes = object.natural("bytes", kFromZero);
    key.processes = whole(object, "processes", {.least = 1, .most = out_.processes});
    if (const std::string_view reason = whyNoCell(key); !reason.empty()) object.refuse(reason);
    return key;
  }

  void readCell(const JsonNode& node) {
    JsonObject object(in_, node);
    Cell cell{.key = keyOf(object)};
    if (!out_.cells.empty() && cell.key <= out_.cells.back().key) {
      object.refuse(
          "the cell has to come after those before it: by operation, order, files, "
          "extends, new, paused, bytes and processes");
    }
    readSummary(object.require("all"), cell.all);
    if (const JsonNode* writeback = object.find("writeback")) {
      JsonObject parts(in_, *writeback);
      cell.writeback_bytes = parts.natural("bytes", kFromZero);
      cell.writeback_ns = parts.integer("time_ns", kFromZero);
    }
    TimeSummary sampled;
    for (const JsonNode& run : object.list("runs")) {
      if (in_.failed()) return;
      cell.runs.push_back(runOf(run, cell.key));
      for (const std::int64_t time : cell.runs.back().times_ns) sampled.add(time);
    }
    if (in_.failed()) return;
    const TimeSummary& all = cell.all;
    if (sampled.count() > all.count() || sampled.totalNs() > all.totalNs() ||
        sampled.mostNs() > all.mostNs() ||
        (sampled.count() > 0 && sampled.leastNs() < all.leastNs())) {
      object.refuse("runs", "has accesses that \"all\" does not have");
    }
    out_.cells.push_back(std::move(cell));
  }

  void readSummary(const JsonNode& node, TimeSummary& summary) {
    JsonObject object(in_, node);
    const std::uint64_t accesses = object.natural("accesses", kFromOne);
    std::map<int, std::uint64_t> classes;
    for (const JsonNode& item : object.list("histogram")) {
      const auto [lower, count] = pairOf(item);
      if (in_.failed()) return;
      const int number = TimeSummary::classOf(lower);
      if (lower != TimeSummary::lowerNs(number)) {
        return in_.refuse(item.place,
                          fmt::format("\"histogram\": no class begins at {} ns", lower));
      }
      if (!classes.empty() && number <= classes.rbegin()->first) {
        return in_.refuse(item.place, "\"histogram\" has to be in ascending order");
      }
      classes.emplace_hint(classes.end(), number, count);
    }
    const std::int64_t total = object.integer("total_ns", kFromZero);
    const std::int64_t least = object.integer("least_ns", kTime);
    const std::int64_t most = object.integer("most_ns", kTime);
    const double squares = realOf(object, "squares_ns2", std::numeric_limits<double>::max());
    if (in_.failed()) return;
    if (!summary.assign(total, least, most, squares, std::move(classes)) ||
        summary.count() != accesses) {
      object.refuse("the numbers cannot be of the same accesses");
    }
  }

  std::pair<std::int64_t, std::uint64_t> pairOf(const JsonNode& node) {
    const auto* list = node.as<JsonNode::List>();
    if (list != nullptr && list->size() == 2) {
      return {
          base::integerOf(in_, "histogram", list->front(), kTime),
          static_cast<std::uint64_t>(base::integerOf(in_, "histogram", list->back(), kFromOne))};
    }
    in_.refuse(node.place, "\"histogram\" has to hold lists of two numbers");
    return {};
  }

  AccessRun runOf(const JsonNode& node, const CellKey& key) {
    JsonObject object(in_, node);
    AccessRun run{.round = roundIn(object),
                  .process = whole(object, "process", {.least = 0, .most = key.processes - 1}),
                  .begin_ns = object.integer("begin_ns", kFromZero),
                  .times_ns = object.integers<std::int64_t>("times_ns", kTime)};
    if (run.times_ns.empty()) object.refuse("times_ns", "is empty");
    if (!isAccess(key.operation) || in_.failed()) return run;
    run.position = object.integer("position", kFromZero, 0);
    if (object.find("offsets") != nullptr) {
      run.offsets = object.integers<std::int64_t>("offsets", kFromZero);
      if (run.offsets.size() != run.times_ns.size()) {
        object.refuse("offsets", fmt::format("has {} items, and \"times_ns\" has {}",
                                             run.offsets.size(), run.times_ns.size()));
      }
      return run;
    }
    const std::int64_t first = object.integer("offset", kFromZero);
    const std::int64_t stride = object.integer("stride", kFromZero);
    const auto last = static_cast<__int128>(stride) * static_cast<__int128>(run.times_ns.size());
    if (first + last > kMost) object.refuse("stride", "leads beyond what any file has");
    if (in_.failed()) return run;
    for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
      run.offsets.push_back(first + static_cast<std::int64_t>(i) * stride);
    }
    return run;
  }

  void readUnreached(const JsonNode& node) {
    JsonObject object(in_, node);
    Unreached unreached{.key = keyOf(object),
                        .reason = object.text("reason"),
                        .is_impossible = object.flag("impossible", false)};
    if (!out_.unreached.empty() && unreached.key <= out_.unreached.back().key) {
      object.refuse("it has to come after those before it");
    }
    if (out_.find(unreached.key) != nullptr) object.refuse("the cell is among those reached");
    out_.unreached.push_back(std::move(unreached));
  }

  JsonReader& in_;
  Calibration& out_;
};

void putKey(JsonWriter& json, const CellKey& key) {
  json.put("operation", nameOf(key.operation));
  json.put("order", nameOf(key.order));
  json.put("files", nameOf(key.sharing));
  if (key.extends) json.put("extends", true);
  if (key.is_new) json.put("new", true);
  if (key.is_paused) json.put("paused", true);
  json.put("bytes", key.bytes);
  json.put("processes", key.processes);
}

// Readers of JSON need not take numbers to the last bit: so many digits come back as they were.
double inNineDigits(double number) { return std::stod(fmt::format("{:.9g}", number)); }

void putSummary(JsonWriter& json, const TimeSummary& all) {
  json.object("all", [&] {
    json.put("accesses", all.count());
    json.put("total_ns", all.totalNs());
    json.put("least_ns", all.leastNs());
    json.put("most_ns", all.mostNs());
    json.put("squares_ns2", inNineDigits(all.squaresNs2()));
    json.list("histogram", all.classes(), [&](const auto& entry) {
      json.value(
          std::array{static_cast<std::uint64_t>(TimeSummary::lowerNs(entry.first)), entry.second});
    });
  });
}

// The distance between offsets where it is the same for all; nothing where it is not, or negative.
std::optional<std::int64_t> strideOf(const std::vector<std::int64_t>& offsets) {
  if (offsets.size() < 2) return 0;
  const std::int64_t stride = offsets[1] - offsets[0];
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] - offsets[i - 1] != stride) return std::nullopt;
  }
  return stride < 0 ? std::nullopt : std::optional(stride);
}

void putRun(JsonWriter& json, const AccessRun& run) {
  json.object([&] {
    json.put("round", run.round);
    json.put("process", run.process);
    json.put("begin_ns", run.begin_ns);
    if (!run.offsets.empty()) {
      if (run.position != 0) json.put("position", run.position);
      if (const auto stride = strideOf(run.offsets)) {
        json.put("offset", run.offsets.front());
        json.put("stride", *stride);
      } else {
        json.put("offsets", run.offsets);
      }
    }
    json.put("times_ns", run.times_ns);
  });
}

void putCell(JsonWriter& json, const Cell& cell) {
  json.object([&] {
    putKey(json, cell.key);
    putSummary(json, cell.all);
    if (cell.writeback_bytes > 0) {
      json.object("writeback", [&] {
        json.put("bytes", cell.writeback_bytes);
        json.put("time_ns", cell.writeback_ns);
      });
    }
    json.list("runs", cell.runs, [&](const AccessRun& run) { putRun(json, run); });
  });
}

void putHead(JsonWriter& json, const Calibration& c) {
  json.put("tool", c.tool);
  json.put("date", c.date);
  json.object("target", [&] {
    json.put("path", c.target.path);
    json.put("file_system", c.target.file_system);
    json.put("mount", c.target.mount);
    json.put("size_bytes", c.target.size_bytes);
    json.put("host", c.target.host);
    json.put("kernel", c.target.kernel);
    json.put("processors", c.target.processors);
    json.put("memory_bytes", c.target.memory_bytes);
  });
  json.object("cache", [&] {
    json.put("state", nameOf(c.cache));
    json.put("automatic", c.cache_check.is_automatic);
    json.put("checks", c.cache_check.checks);
    if (c.cache_check.checks == 0) return;
    json.put("least_percent", inNineDigits(c.cache_check.least_percent));
    json.put("most_percent", inNineDigits(c.cache_check.most_percent));
  });
  json.put("seed", c.seed);
  json.put("budget_ns", c.budget_ns);
  json.put("spent_ns", c.spent_ns);
  json.put("reserved_ns", c.reserved_ns);
  json.put("sessions", c.sessions);
  json.put("rounds", c.rounds);
  json.put("processes", c.processes);
  json.put("accesses", c.accesses);
  json.put("largest_bytes", c.largest_bytes);
  json.put("shared_file_bytes", c.shared_file_bytes);
  json.put("own_file_bytes", c.own_file_bytes);
  json.put("directory_names", c.directory_names);
  if (c.has_malloc_memory) json.put("malloc_memory", true);
  json.put("clock_ns", c.clock_ns);
  if (c.storage) {
    const storage::TargetStorage all[] = {*c.storage};
    storage::putMeasuredParts(json, c.storage->calls.value_or(storage::Moved()), all);
    storage::putStorage(json, all);
  }
}

}  // namespace

std::int64_t AccessRun::deltaOffset(std::size_t i, std::uint64_t bytes) const {
  const std::int64_t end = i == 0 ? position : offsets[i - 1] + static_cast<std::int64_t>(bytes);
  return offsets[i] - end;
}

std::size_t Cell::sampled() const {
  std::size_t count = 0;
  for (const AccessRun& run : runs) count += run.times_ns.size();
  return count;
}

const Cell* Calibration::find(const CellKey& key) const {
  const auto found = std::ranges::lower_bound(cells, key, {}, &Cell::key);
  return found != cells.end() && found->key == key ? &*found : nullptr;
}

// The slope of Theil and Sen (H. Theil, "A rank-invariant method of linear and polynomial
// regression analysis", 1950) and the median of the distances from it: a few references that
// something else disturbed change neither.
std::optional<Noise> noiseOf(const std::vector<Reference>& references) {
  if (references.size() < 3) return std::nullopt;
  const auto x = [&](std::size_t i) { return static_cast<double>(references[i].begin_ns); };
  const auto y = [&](std::size_t i) { return static_cast<double>(references[i].median_ns); };
  // Of very many, as many as can be compared in pairs.
  constexpr std::size_t kMost = 1000;
  const std::size_t step = (references.size() + kMost - 1) / kMost;
  std::vector<double> slopes;
  std::vector<double> times;
  for (std::size_t i = 0; i < references.size(); i += step) {
    times.push_back(y(i));
    for (std::size_t k = i + step; k < references.size(); k += step) {
      if (x(k) > x(i)) slopes.push_back((y(k) - y(i)) / (x(k) - x(i)));
    }
  }
  const double middle = base::medianOf(times);
  if (middle <= 0) return Noise{};
  const double slope = slopes.empty() ? 0 : base::medianOf(slopes);
  std::vector<double> rests;
  for (std::size_t i = 0; i < references.size(); ++i) rests.push_back(y(i) - slope * x(i));
  const double level = base::medianOf(rests);
  for (double& rest : rests) rest = std::abs(rest - level);
  constexpr double kNormal = 1.4826;  // the deviation of a normal distribution, by that median
  constexpr double kPercent = 100;
  return Noise{.drift_percent = kPercent * slope * (x(references.size() - 1) - x(0)) / middle,
               .floor_percent = kPercent * kNormal * base::medianOf(rests) / middle};
}

std::string_view nameOf(CellOperation operation) { return base::wordOf(kOperations, operation); }
std::string_view nameOf(AccessOrder order) { return base::wordOf(kOrders, order); }
std::string_view nameOf(FileSharing sharing) { return base::wordOf(kSharings, sharing); }
std::string_view nameOf(CacheState state) { return base::wordOf(kStates, state); }
std::optional<CacheState> cacheStateOf(std::string_view word) {
  return base::valueOf(kStates, word);
}

bool isAccess(CellOperation operation) {
  return operation == CellOperation::kRead || operation == CellOperation::kWrite;
}

bool isSync(CellOperation operation) {
  return operation == CellOperation::kFsync || operation == CellOperation::kFdatasync;
}

std::string textOf(const CellKey& key) {
  std::string text(nameOf(key.operation));
  if (isAccess(key.operation)) {
    text = fmt::format("{} {} {}s", base::humanBytes(static_cast<double>(key.bytes)),
                       nameOf(key.order), text);
    if (key.extends) text += " that extend the file";
    if (key.is_new) text += " of new data";
  } else if (hasBytes(key.operation)) {
    text += fmt::format(" {}after {}", key.is_new ? "of a new file " : "",
                        base::humanBytes(static_cast<double>(key.bytes)));
  }
  if (key.is_paused) return text + " by 1 process after a pause";
  if (key.processes == 1) return text + " by 1 process";
  const bool has_file = hasBytes(key.operation) || isAccess(key.operation);
  const bool is_shared = key.sharing == FileSharing::kShared;
  return text + fmt::format(" by {} processes in {}", key.processes,
                            is_shared ? (has_file ? "a shared file" : "a shared directory")
                                      : (has_file ? "own files" : "own directories"));
}

base::Result<Calibration> readCalibration(const std::filesystem::path& path) {
  JsonReader in(path, base::kMostBytesHeld);
  Calibration calibration;
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  CalibrationReader(in, calibration).read(root);
  if (const auto read = in.finish(); !read) return read.failure();
  return calibration;
}

std::string jsonOf(const Calibration& c) {
  constexpr base::JsonLayout kLayout{.indent = 1, .lists_on_one_line = true};
  return base::jsonDocument(kFormat, kCalibrationVersion, kLayout, [&](auto& json) {
    putHead(json, c);
    json.list("references", c.references, [&](const Reference& one) {
      json.object([&] {
        json.put("round", one.round);
        json.put("begin_ns", one.begin_ns);
        json.put("accesses", one.accesses);
        json.put("mean_ns", one.mean_ns);
        json.put("median_ns", one.median_ns);
      });
    });
    json.list("cells", c.cells, [&](const Cell& cell) { putCell(json, cell); });
    json.list("unreached", c.unreached, [&](const Unreached& one) {
      json.object([&] {
        putKey(json, one.key);
        json.put("reason", one.reason);
        if (one.is_impossible) json.put("impossible", true);
      });
    });
  });
}

base::Result<void> writeCalibration(const std::filesystem::path& path,
                                    const Calibration& calibration) {
  return base::writeDocument(path, jsonOf(calibration));
}

}  // namespace omnio::predict
