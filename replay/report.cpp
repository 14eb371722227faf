#include "replay/report.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace omnio::replay {
namespace {

static_assert(std::is_trivially_copyable_v<RankCounts>);
static_assert(std::is_trivially_copyable_v<ThreadPlace>);

template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& out, const std::string& text) {
  put(out, text.size());
  out += text;
}

class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}
  bool isDone() const { return ok_ && rest_.empty(); }

  template <typename T>
  void take(T& value) {
    ok_ = ok_ && rest_.size() >= sizeof value;
    if (!ok_) return;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
  }
  void take(std::string& text) {
    std::size_t bytes = 0;
    take(bytes);
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return;
    text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  template <typename T, typename Add>
  void takeAll(Add add) {
    std::size_t count = 0;
    take(count);
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      T value{};
      add(value);
    }
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

RankCounts Report::total() const {
  RankCounts all;
  for (const RankCounts& rank : ranks) all.merge(rank);
  return all;
}

const char* nameOf(model::Timing timing) {
  switch (timing) {
    case model::Timing::kAsap:
      return "asap";
    case model::Timing::kDelta:
      return "dt";
    case model::Timing::kStart:
      return "start";
  }
  return "";
}

const char* nameOf(Cache cache) {
  switch (cache) {
    case Cache::kCold:
      return "cold";
    case Cache::kWarm:
      return "warm";
    case Cache::kAsIs:
      return "as-is";
  }
  return "";
}

std::string encodeShare(const Engine& engine) {
  std::string out;
  put(out, engine.counts().size());
  for (const RankCounts& counts : engine.counts()) put(out, counts);
  put(out, engine.places().size());
  for (const ThreadPlace& place : engine.places()) put(out, place);
  put(out, engine.differences().size());
  for (const Difference& difference : engine.differences()) {
    put(out, difference.rank), put(out, difference.thread), put(out, difference.event);
    put(out, difference.call), put(out, difference.location), put(out, difference.expected);
    put(out, difference.got);
  }
  return out;
}

bool addShare(const std::string& bytes, Report& report) {
  Taker taker(bytes);
  taker.takeAll<RankCounts>([&](RankCounts& counts) {
    taker.take(counts);
    report.ranks.push_back(counts);
  });
  taker.takeAll<ThreadPlace>([&](ThreadPlace& place) {
    taker.take(place);
    report.threads.push_back(place);
  });
  taker.takeAll<Difference>([&](Difference& difference) {
    taker.take(difference.rank), taker.take(difference.thread), taker.take(difference.event);
    taker.take(difference.call), taker.take(difference.location), taker.take(difference.expected);
    taker.take(difference.got);
    report.differences.push_back(difference);
  });
  const auto place = [](const auto& item) { return std::tuple(item.rank, item.thread); };
  std::ranges::sort(report.ranks, {}, &RankCounts::rank);
  std::ranges::sort(report.threads, {}, place);
  std::ranges::sort(report.differences, {}, [](const Difference& difference) {
    return std::tuple(difference.rank, difference.thread, difference.event);
  });
  if (report.differences.size() > kKeptDifferences) report.differences.resize(kKeptDifferences);
  return taker.isDone();
}

}  // namespace omnio::replay
