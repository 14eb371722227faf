#include "tests/support/slowfs/counts.hpp"

#include <algorithm>
#include <cstdio>

namespace slowfs {
namespace {

std::string microseconds(std::int64_t duration_ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(duration_ns) / 1000);
  return text;
}

}  // namespace

void Counts::begins(Kind kind, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  // A turn begins when the one before was to end, which may be some time before its reply.
  if (in_service_++ == 0) busy_since_ns_ = std::max(now_ns, busy_until_ns_);
  if (classOf(kind) == RequestClass::Unpaced) return;
  most_paced_in_service_ = std::max(most_paced_in_service_, ++paced_in_service_);
}

void Counts::ends(const Served& served) {
  const std::lock_guard lock(mutex_);
  OfKind& kind = kinds_[indexOf(served.kind)];
  ++kind.requests;
  kind.failed += served.error != 0;
  kind.service_ns += served.end_ns - served.begin_ns;
  kind.planned_ns += served.planned_ns;
  if (served.kind == Kind::Read) bytes_read_ += served.bytes;
  if (served.kind == Kind::Write) bytes_written_ += served.bytes;
  busy_until_ns_ = std::max(busy_until_ns_, served.end_ns);
  if (classOf(served.kind) != RequestClass::Unpaced) --paced_in_service_;
  if (--in_service_ == 0) busy_ns_ += busy_until_ns_ - busy_since_ns_;
  if (served.overran) {
    ++overrun_;
  } else if (served.deadline_ns > served.begin_ns) {
    const std::int64_t late_ns = std::max<std::int64_t>(0, served.end_ns - served.deadline_ns);
    const auto late_us = static_cast<std::size_t>(late_ns / 1000);
    ++waited_;
    ++by_late_us_[std::min(late_us, by_late_us_.size() - 1)];
    latest_ns_ = std::max(latest_ns_, late_ns);
  }
}

std::int64_t Counts::microsecondsLate(std::uint64_t percent) const {
  std::uint64_t below = 0;
  for (std::size_t late_us = 0; late_us < by_late_us_.size(); ++late_us) {
    below += by_late_us_[late_us];
    if (below * 100 >= waited_ * percent) return static_cast<std::int64_t>(late_us);
  }
  return 0;
}

std::string Counts::json() const {
  const std::lock_guard lock(mutex_);
  std::string requests, failed, service, planned;
  for (const KindRow& row : kKinds) {
    const OfKind& kind = kinds_[indexOf(row.kind)];
    const std::string begin =
        std::string(requests.empty() ? "" : ", ") + '"' + std::string(row.name) + "\": ";
    requests += begin + std::to_string(kind.requests);
    failed += begin + std::to_string(kind.failed);
    service += begin + microseconds(kind.service_ns);
    planned += begin + microseconds(kind.planned_ns);
  }
  return "{\"requests\": {" + requests + "}, \"failed\": {" + failed + "}, \"service_us\": {" +
         service + "}, \"planned_us\": {" + planned +
         "}, \"bytes_read\": " + std::to_string(bytes_read_) +
         ", \"bytes_written\": " + std::to_string(bytes_written_) +
         ", \"most_at_once\": " + std::to_string(most_paced_in_service_) +
         ", \"busy_us\": " + microseconds(busy_ns_) +
         ", \"late_us\": {\"median\": " + std::to_string(microsecondsLate(50)) +
         ", \"percentile_99\": " + std::to_string(microsecondsLate(99)) +
         ", \"maximum\": " + microseconds(latest_ns_) +
         "}, \"overrun\": " + std::to_string(overrun_) + "}";
}

}  // namespace slowfs
