// The lists of MPI requests in event records (roles kBegun, kDone, kMembers of
// core/calls/role.hpp): varints, whose number is the argument's value. docs/formats/trace.md,
// "Requests".
#pragma once

#include <cstdint>
#include <string_view>

#include "core/wire/length_code.hpp"

namespace omnio::wire {

// A persistent request that a call has started.
struct BegunRequest {
  enum Kind : std::uint8_t { kOther = 0, kSend = 1, kReceive = 2, kSyncSend = 3 };
  std::uint64_t request = 0;  // its number in the process
  Kind kind = kOther;
  // The rest of sends and receives only.
  std::uint64_t comm = 0;
  std::int64_t peer = 0;  // of a receive as asked for
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seq = 0;  // of a send
};

// A request that a call has found complete.
struct DoneRequest {
  enum Kind : std::uint8_t {
    kPlain = 0,
    kReceived = 1,  // a message
    kGot = 2,       // a read of a file: `bytes` are what it got
    kCancelled = 3
  };
  std::uint64_t request = 0;
  Kind kind = kPlain;
  std::uint64_t comm = 0;  // of a message
  std::int64_t source = 0;
  std::int64_t tag = 0;
  std::uint64_t seq = 0;
  std::uint64_t bytes = 0;
};

// A rank of a window's group, with how many calls of this kind have been about it before, plus 1.
struct Member {
  std::uint64_t rank = 0;
  std::uint64_t seq = 0;
};

// Most varints that one item takes.
inline constexpr unsigned kMostOfItem = 6;

// Puts an item at `out`, which has room for kMostOfItem varints; `count` goes up by those put.
inline char* put(char* out, const BegunRequest& item, std::int64_t& count) {
  out = putVarint(out, item.request << 2 | item.kind);
  ++count;
  if (item.kind == BegunRequest::kOther) return out;
  out = putVarint(out, item.comm);
  out = putVarint(out, zigzag(item.peer));
  out = putVarint(out, zigzag(item.tag));
  out = putVarint(out, item.bytes);
  count += 4;
  if (item.kind == BegunRequest::kReceive) return out;
  ++count;
  return putVarint(out, item.seq);
}

inline char* put(char* out, const DoneRequest& item, std::int64_t& count) {
  out = putVarint(out, item.request << 2 | item.kind);
  ++count;
  if (item.kind == DoneRequest::kReceived) {
    out = putVarint(out, item.comm);
    out = putVarint(out, zigzag(item.source));
    out = putVarint(out, zigzag(item.tag));
    out = putVarint(out, item.seq);
    count += 4;
  }
  if (item.kind == DoneRequest::kReceived || item.kind == DoneRequest::kGot) {
    out = putVarint(out, item.bytes);
    ++count;
  }
  return out;
}

inline char* put(char* out, const Member& item, std::int64_t& count) {
  out = putVarint(out, item.rank);
  count += 2;
  return putVarint(out, item.seq);
}

namespace detail {

// Takes varints off the front of a text; once it is false it stays so.
class VarintsIn {
 public:
  explicit VarintsIn(std::string_view& text) : text_(text) {}
  std::uint64_t next() {
    std::uint64_t value = 0;
    const char* behind = getVarint(text_.data(), text_.data() + text_.size(), value);
    if (!whole_ || behind == nullptr) {
      whole_ = false;
      return 0;
    }
    text_.remove_prefix(static_cast<std::size_t>(behind - text_.data()));
    return value;
  }
  std::int64_t nextSigned() { return unzigzag(next()); }
  bool whole() const { return whole_; }

 private:
  std::string_view& text_;
  bool whole_ = true;
};

}  // namespace detail

// Takes the next item off the front of `list`; false at the end, and when the list is damaged.
inline bool take(std::string_view& list, BegunRequest& item) {
  detail::VarintsIn in(list);
  item = {};
  const std::uint64_t first = in.next();
  item.request = first >> 2;
  item.kind = static_cast<BegunRequest::Kind>(first & 3);
  if (item.kind != BegunRequest::kOther) {
    item.comm = in.next();
    item.peer = in.nextSigned();
    item.tag = in.nextSigned();
    item.bytes = in.next();
    if (item.kind != BegunRequest::kReceive) item.seq = in.next();
  }
  return in.whole();
}

inline bool take(std::string_view& list, DoneRequest& item) {
  detail::VarintsIn in(list);
  item = {};
  const std::uint64_t first = in.next();
  item.request = first >> 2;
  item.kind = static_cast<DoneRequest::Kind>(first & 3);
  if (item.kind == DoneRequest::kReceived) {
    item.comm = in.next();
    item.source = in.nextSigned();
    item.tag = in.nextSigned();
    item.seq = in.next();
  }
  if (item.kind == DoneRequest::kReceived || item.kind == DoneRequest::kGot) item.bytes = in.next();
  return in.whole();
}

inline bool take(std::string_view& list, Member& item) {
  detail::VarintsIn in(list);
  item.rank = in.next();
  item.seq = in.next();
  return in.whole();
}

}  // namespace omnio::wire
