// The lists of MPI requests in event records (roles kBegun, kDone, kMembers of
// core/calls/role.hpp): varints, whose number is the argument's value. docs/formats/trace.md,
// "Requests".
#pragma once

#include <cstdint>
#include <string_view>

#include "core/wire/record.hpp"

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

// One class writes a list and one reads it: both pass over the numbers of an item in the same
// order.
class VarintsOut {
 public:
  VarintsOut(char* out, std::int64_t& count) : out_(out), count_(count) {}
  void pass(std::uint64_t value) {
    out_ = putVarint(out_, value);
    ++count_;
  }
  void pass(std::int64_t value) { pass(zigzag(value)); }
  char* out() const { return out_; }

 private:
  char* out_;
  std::int64_t& count_;
};

// Takes varints off the front of a text; once it is not whole it stays so.
class VarintsIn {
 public:
  explicit VarintsIn(std::string_view& text) : text_(text) {}
  void pass(std::uint64_t& value) {
    const char* behind = getVarint(text_.data(), text_.data() + text_.size(), value);
    is_whole_ = is_whole_ && behind != nullptr;
    if (is_whole_) {
      text_.remove_prefix(static_cast<std::size_t>(behind - text_.data()));
    } else {
      value = 0;
    }
  }
  void pass(std::int64_t& value) {
    std::uint64_t stored = 0;
    pass(stored);
    value = unzigzag(stored);
  }
  bool isWhole() const { return is_whole_; }

 private:
  std::string_view& text_;
  bool is_whole_ = true;
};

// The number of a request and its kind, in one.
template <typename List, typename Item>
void passFirst(List& list, Item& item) {
  std::uint64_t first = item.request << 2 | item.kind;
  list.pass(first);
  item.request = first >> 2;
  item.kind = static_cast<typename Item::Kind>(first & 3);
}

template <typename List>
void passItem(List& list, BegunRequest& item) {
  passFirst(list, item);
  if (item.kind == BegunRequest::kOther) return;
  list.pass(item.comm);
  list.pass(item.peer);
  list.pass(item.tag);
  list.pass(item.bytes);
  if (item.kind != BegunRequest::kReceive) list.pass(item.seq);
}

template <typename List>
void passItem(List& list, DoneRequest& item) {
  passFirst(list, item);
  if (item.kind == DoneRequest::kReceived) {
    list.pass(item.comm);
    list.pass(item.source);
    list.pass(item.tag);
    list.pass(item.seq);
  }
  if (item.kind == DoneRequest::kReceived || item.kind == DoneRequest::kGot) list.pass(item.bytes);
}

template <typename List>
void passItem(List& list, Member& item) {
  list.pass(item.rank);
  list.pass(item.seq);
}

// Puts an item at `out`, which has room for kMostOfItem varints; `count` goes up by those put.
template <typename Item>
char* put(char* out, Item item, std::int64_t& count) {
  VarintsOut list(out, count);
  passItem(list, item);
  return list.out();
}

// Takes the next item off the front of `list`; false at the end, and when the list is damaged.
template <typename Item>
bool take(std::string_view& list, Item& item) {
  VarintsIn in(list);
  item = {};
  passItem(in, item);
  return in.isWhole();
}

}  // namespace omnio::wire
