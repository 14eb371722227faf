#include "core/order/log_source.hpp"

#include <string_view>
#include <utility>

namespace omnio::order {
namespace {

constexpr std::size_t kMostJoined = std::size_t{16} << 20;  // bytes: more than a million requests

// What goes on a record that lists requests; "" of one that lists none.
std::string_view continuationOf(const calls::Row& row) {
  if (calls::has(row, calls::Role::kDone)) return "(completed)";
  return calls::has(row, calls::Role::kBegun) ? "(begun)" : "";
}

}  // namespace

const event::Event* MpiLogSource::pull() {
  is_behind_gap_ = false;
  while (const event::Event* event = reader_.next()) {
    missing_ += reader_.missingBefore();
    is_behind_gap_ = is_behind_gap_ || reader_.missingBefore() > 0;
    if (event->row->api == calls::Api::kMpi && event->depth == 0) return event;
  }
  missing_ += reader_.missingBefore();
  return nullptr;
}

const event::Event* MpiLogSource::next() {
  const event::Event* event = ahead_ != nullptr ? std::exchange(ahead_, nullptr) : pull();
  if (event == nullptr) return nullptr;
  const std::string_view continuation = continuationOf(*event->row);
  if (continuation.empty()) return event;
  // A continuation stands for itself when the record that it belongs to is missing, or too much has
  // been put together.
  joined_ = *event;
  pieces_ = event->pieces;
  while ((ahead_ = pull()) != nullptr && !is_behind_gap_ && ahead_->row->name == continuation &&
         pieces_.size() < kMostJoined) {
    pieces_ += ahead_->pieces;
  }
  joined_.pieces = pieces_;
  return &joined_;
}

}  // namespace omnio::order
