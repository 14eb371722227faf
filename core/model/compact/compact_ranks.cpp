#include "core/model/compact/compact_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"

namespace omnio::model {
namespace {

using pattern::Field;
using pattern::Nest;

// A program with more parts is not held to compare it with those of other ranks.
constexpr std::size_t kMostShared = 16 * 1024;

std::size_t partsOf(const Nest& nest) {
  std::size_t parts = 1;
  for (const auto& list : nest.lists) parts += list.size();
  for (const Nest& part : nest.body) parts += partsOf(part);
  return parts;
}

std::uint64_t linesOf(const Nest& nest) {
  if (!nest.isLoop()) return 1;
  std::uint64_t lines = 0;
  for (const Nest& part : nest.body) lines += linesOf(part);
  return lines;
}

std::uint64_t timesOf(const Nest& nest) {
  if (!nest.isLoop()) return nest.measures.sums.size();
  std::uint64_t times = 0;
  for (const Nest& part : nest.body) times += timesOf(part);
  return times * nest.count;
}

// Whether two parts are the same but for the bases of their fields and their measures. Steps of `a`
// may have that over ranks in front.
bool haveSameShape(const Nest& a, const Nest& b, std::size_t more_steps) {
  if (a.kind != b.kind || a.count != b.count || a.lists != b.lists ||
      a.fields.size() != b.fields.size() || a.body.size() != b.body.size() ||
      a.measures.sums.size() != b.measures.sums.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    const Field& mine = a.fields[i];
    const Field& other = b.fields[i];
    const bool has_list = mine.list_loop != Field::kNoList;
    if (!std::equal(mine.steps.begin() + static_cast<std::ptrdiff_t>(more_steps), mine.steps.end(),
                    other.steps.begin(), other.steps.end()) ||
        has_list != (other.list_loop != Field::kNoList) ||
        (has_list && (mine.list_loop != other.list_loop + more_steps || mine.list != other.list))) {
      return false;
    }
  }
  for (std::size_t i = 0; i < a.body.size(); ++i) {
    if (!haveSameShape(a.body[i], b.body[i], more_steps)) return false;
  }
  return true;
}

template <typename Visit>
bool everyPart(Nest& a, const Nest& b, Visit visit) {
  if (!visit(a, b)) return false;
  for (std::size_t i = 0; i < a.body.size(); ++i) {
    if (!everyPart(a.body[i], b.body[i], visit)) return false;
  }
  return true;
}

// For each thread, the first one of its process.
template <typename Threads>
std::vector<std::size_t> processesOf(const Threads& threads) {
  std::vector<std::size_t> first;
  for (const auto& thread : threads) {
    const auto same = std::ranges::find(threads, thread.header.pid,
                                        [](const auto& other) { return other.header.pid; });
    first.push_back(static_cast<std::size_t>(same - threads.begin()));
  }
  return first;
}

// The n-th rank's base, counted from the first one of the program.
bool continues(const Field& field, std::int64_t base, int n) {
  __extension__ const __int128 expected =
      static_cast<__int128>(field.base) + static_cast<__int128>(field.steps[0]) * n;
  return expected == base;
}

// Makes room for the step over ranks, from the first two of them. False where an expression in the
// rank is beyond 64 bits.
bool beginSteps(Field& field, std::int64_t next, int rank) {
  std::int64_t step = 0;
  std::int64_t to_rank_0 = 0;
  std::int64_t base = 0;
  if (__builtin_sub_overflow(next, field.base, &step) ||
      __builtin_mul_overflow(step, std::int64_t{rank}, &to_rank_0) ||
      __builtin_sub_overflow(field.base, to_rank_0, &base)) {
    return false;
  }
  field.steps.insert(field.steps.begin(), step);
  if (field.list_loop != Field::kNoList) ++field.list_loop;
  return true;
}

}  // namespace

void NestLines::append(std::string& out, const Nest& nest, const LineContext& context,
                       std::string_view times) const {
  if (!nest.isLoop()) {
    const std::size_t begin = out.size();
    kinds_.append(out, nest.kind, nest.fields, nest.measures, context);
    if (!times.empty()) out.insert(begin + 1, fmt::format("{},", times));
    return;
  }
  out += fmt::format("{{\"repeat\":{}", nest.count);
  if (!nest.measures.sums.empty()) out += fmt::format(",\"gap\":{}", meanOf(nest.measures, 0));
  if (!times.empty()) out.append(",").append(times);
  if (!nest.lists.empty()) {
    out += ",\"values\":{";
    for (std::size_t i = 0; i < nest.lists.size(); ++i) {
      out += fmt::format("{}\"{}\":[{}]", i == 0 ? "" : ",", listName(i),
                         fmt::join(nest.lists[i], ","));
    }
    out += '}';
  }
  out += ",\"body\":[\n";
  for (std::size_t i = 0; i < nest.body.size(); ++i) {
    if (i > 0) out += ",\n";
    append(out, nest.body[i], {.loops = context.loops + 1, .is_shared = context.is_shared});
  }
  out += "]}";
}

std::string compactFiles(const std::vector<std::string>& lines) {
  LineKinds kinds;
  struct File {
    std::uint32_t kind = 0;
    std::vector<std::int64_t> numbers;
  };
  std::vector<File> files;
  files.reserve(lines.size());
  LineSplitter split;
  for (const std::string& line : lines) {
    split.clear();
    split.line(line);
    files.push_back({.kind = kinds.kindOf(split), .numbers = split.numbers()});
  }
  std::ranges::sort(files, [](const File& a, const File& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.numbers < b.numbers;
  });
  std::string text;
  const NestLines nests(kinds);
  pattern::NestFinder finder(
      [&](const Nest& nest) {
        if (!text.empty()) text += ",\n";
        nests.append(text, nest, {});
      },
      Repeat::kMostWrittenOut);
  for (const File& file : files) finder.add(file.kind, file.numbers);
  finder.finish();
  return text;
}

CompactRanks::CompactRanks(base::DocumentFile& out, TimesWriter* times, int ranks)
    : out_(out), times_(times), ranks_(ranks) {
  current_.rank = -1;
}

void CompactRanks::beginThread(const ScheduleThread& thread) {
  if (thread.rank != current_.rank) {
    endRank();
    for (; next_rank_ < thread.rank; ++next_rank_) share({.rank = next_rank_, .threads = {}});
    next_rank_ = thread.rank + 1;
    current_ = {.rank = thread.rank, .threads = {}};
    size_ = 0;
    is_written_ = false;
    written_threads_ = 0;
  }
  Thread& taken = current_.threads.emplace_back();
  taken.header = thread;
  taken.recorder_sum = static_cast<double>(thread.recorder_ns);
  taken.computing_sum = thread.computing.value_or(0);
  taken.computing_count = thread.computing ? 1 : 0;
  taken.stream.base = streams_++;
  thread_times_ = 0;
  if (is_written_) writeThreadHead(taken, current_, written_threads_++ == 0);
  if (times_ != nullptr) times_->beginStream(thread);
}

void CompactRanks::event(const LineSplitter& line) {
  if (times_ != nullptr) times_->add(line.measures());
  finder_.add(kinds_.kindOf(line), line.numbers(), line.measures());
}

void CompactRanks::take(const Nest& nest) {
  const std::uint64_t times = timesOf(nest);
  Item item{.nest = nest, .first_time = thread_times_, .times = times};
  thread_times_ += times;
  size_ += partsOf(nest);
  if (is_written_) return writeItem(item, current_);
  current_.threads.back().items.push_back(std::move(item));
  if (size_ <= kMostShared) return;
  // Too large to be held: what there is of it is written, and the rest as it comes.
  flushShared();
  writeHead(current_);
  for (Thread& thread : current_.threads) {
    writeThreadHead(thread, current_, written_threads_++ == 0);
    for (const Item& held : thread.items) writeItem(held, current_);
    thread.items.clear();
    if (&thread != &current_.threads.back()) out_.write("]}");
  }
  is_written_ = true;
}

void CompactRanks::endThread() {
  finder_.finish();
  if (is_written_) out_.write("]}");
}

void CompactRanks::endRank() {
  if (current_.rank < 0) return;
  if (is_written_) {
    out_.write("]}");
  } else {
    share(std::move(current_));
  }
  current_ = {.rank = -1, .threads = {}};
}

void CompactRanks::share(Program program) {
  if (shared_ && join(program)) return;
  flushShared();
  shared_ = std::move(program);
}

// Whether the program is that of the next rank after the shared ones. Then these have it, too.
bool CompactRanks::join(Program& program) {
  Program& shared = *shared_;
  if (program.rank != shared.rank + shared.ranks ||
      program.threads.size() != shared.threads.size() ||
      processesOf(program.threads) != processesOf(shared.threads)) {
    return false;
  }
  const bool is_first = shared.ranks == 1;
  const std::size_t more_steps = is_first ? 0 : 1;
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    const Thread& mine = shared.threads[t];
    const Thread& other = program.threads[t];
    if (mine.items.size() != other.items.size() || mine.header.thread != other.header.thread ||
        mine.header.host != other.header.host) {
      return false;
    }
    for (std::size_t i = 0; i < mine.items.size(); ++i) {
      if (!haveSameShape(mine.items[i].nest, other.items[i].nest, more_steps)) return false;
    }
  }
  // The fields follow a rule before anything is changed.
  Program changed = is_first ? shared : Program{};
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    Thread& mine = (is_first ? changed : shared).threads[t];
    const auto follows = [&](Field& field, const Field& other) {
      return is_first ? beginSteps(field, other.base, shared.rank)
                      : continues(field, other.base, shared.ranks);
    };
    if (!follows(mine.stream, program.threads[t].stream)) return false;
    for (std::size_t i = 0; i < mine.items.size(); ++i) {
      const bool all_follow = everyPart(mine.items[i].nest, program.threads[t].items[i].nest,
                                        [&](Nest& a, const Nest& b) {
                                          for (std::size_t f = 0; f < a.fields.size(); ++f) {
                                            if (!follows(a.fields[f], b.fields[f])) return false;
                                          }
                                          return true;
                                        });
      if (!all_follow) return false;
    }
  }
  if (is_first) shared = std::move(changed);
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    Thread& mine = shared.threads[t];
    const Thread& other = program.threads[t];
    mine.recorder_sum += other.recorder_sum;
    mine.computing_sum += other.computing_sum;
    mine.computing_count += other.computing_count;
    for (std::size_t i = 0; i < mine.items.size(); ++i) {
      everyPart(mine.items[i].nest, other.items[i].nest, [](Nest& a, const Nest& b) {
        for (std::size_t m = 0; m < a.measures.sums.size(); ++m) {
          a.measures.sums[m] = base::saturatingSum(a.measures.sums[m], b.measures.sums[m]);
        }
        a.measures.count += b.measures.count;
        a.measures.first_count += b.measures.first_count;
        return true;
      });
    }
  }
  ++shared.ranks;
  return true;
}

void CompactRanks::flushShared() {
  if (!shared_) return;
  write(*shared_);
  shared_.reset();
}

void CompactRanks::writeHead(const Program& program) {
  const std::string_view separator = std::exchange(first_program_, false) ? "" : ",\n";
  out_.write(program.ranks == 1
                 ? fmt::format("{}{{\"rank\":{},\"threads\":[", separator, program.rank)
                 : fmt::format("{}{{\"ranks\":\"{}-{}\",\"threads\":[", separator, program.rank,
                               program.rank + program.ranks - 1));
}

void CompactRanks::writeThreadHead(const Thread& thread, const Program& program, bool is_first) {
  const ScheduleThread& header = thread.header;
  text_ = is_first ? "\n" : ",\n";
  text_ +=
      fmt::format("{{\"thread\":{},\"pid\":{},\"tid\":{},\"recorder\":{},\"host\":", header.thread,
                  header.pid, header.tid, std::llround(thread.recorder_sum / program.ranks));
  base::appendJsonText(text_, base::printable(header.host));
  if (thread.computing_count > 0) {
    text_ += fmt::format(",\"computing\":{:.2f}",
                         computingWritten(thread.computing_sum / thread.computing_count));
  }
  if (times_ != nullptr) {
    Field stream = thread.stream;
    const bool is_shared = program.ranks > 1;
    if (is_shared) stream.base -= stream.steps[0] * program.rank;
    text_ += is_shared && stream.varies()
                 ? fmt::format(",\"times\":\"{}\"", expressionOf(stream, 0, {.is_shared = true}))
                 : fmt::format(",\"times\":{}", stream.base);
  }
  text_ += ",\"events\":[\n";
  out_.write(text_);
  first_item_ = true;
}

void CompactRanks::writeItem(const Item& item, const Program& program) {
  written_lines_ += linesOf(item.nest);
  const bool is_shared = program.ranks > 1;
  // A line for one event needs no means beside its exact times.
  const bool is_exact = times_ != nullptr;
  const LineContext context{.loops = 0,
                            .is_shared = is_shared,
                            .has_measures = !is_exact || is_shared || item.nest.isLoop() ||
                                            !kinds_.canLackMeasures(item.nest.kind)};
  text_ = std::exchange(first_item_, false) ? "" : ",\n";
  lines_.append(text_, item.nest, context,
                is_exact ? fmt::format("\"times\":[{},{}]", item.first_time, item.times) : "");
  out_.write(text_);
}

void CompactRanks::write(Program& program) {
  if (program.ranks > 1) {
    // Expressions count ranks from 0.
    const auto to_rank_0 = [&](Nest& nest, const Nest&) {
      for (Field& field : nest.fields) field.base -= field.steps[0] * program.rank;
      return true;
    };
    for (Thread& thread : program.threads) {
      for (Item& item : thread.items) everyPart(item.nest, item.nest, to_rank_0);
    }
  }
  writeHead(program);
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    writeThreadHead(program.threads[t], program, t == 0);
    for (const Item& item : program.threads[t].items) writeItem(item, program);
    out_.write("]}");
  }
  out_.write("]}");
}

void CompactRanks::finish() {
  endRank();
  for (; next_rank_ < ranks_; ++next_rank_) share({.rank = next_rank_, .threads = {}});
  flushShared();
}

}  // namespace omnio::model
