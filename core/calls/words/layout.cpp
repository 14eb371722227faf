#include "core/calls/words/layout.hpp"

#include <algorithm>
#include <array>

namespace omnio::calls {
namespace {

using calls::Role;

Item itemOf(const calls::Row& row, std::uint8_t index) {
  switch (row.arguments[index]) {
    case Role::kFd:
    case Role::kStream:
      return {"fd", ItemKind::kFd, index};
    case Role::kFdNew:
      return {"newfd", ItemKind::kNumber, index};
    case Role::kFdSource:
      return {"source", ItemKind::kNumber, index};
    case Role::kDirFd:
      return {"dirfd", ItemKind::kDirFd, index};
    case Role::kDirFdNew:
      return {"newdirfd", ItemKind::kDirFd, index};
    case Role::kPath:
    case Role::kPathTemplate:
      return {"path", ItemKind::kText, index};
    case Role::kPathNew:
      return {"newpath", ItemKind::kText, index};
    case Role::kFlags:
      return {"flags", row.result == calls::Result::kNewFd ? ItemKind::kOpenFlags : ItemKind::kHex,
              index};
    case Role::kMode:
      return {"mode", ItemKind::kOctal, index};
    case Role::kSize:
      // What fgets asks for is the room of its buffer; its count is the line that was got.
      return {calls::has(row, Role::kLineIn) ? "size" : "count", ItemKind::kNumber, index};
    case Role::kTextOut:
      return {"count", ItemKind::kNumber, index};
    case Role::kLineIn:
      return {"count", ItemKind::kLineLength, index};
    case Role::kItemSize:
      return {"size", ItemKind::kNumber, index};
    case Role::kItemCount:
      return {"nmemb", ItemKind::kNumber, index};
    case Role::kOffset:
      return {"offset", ItemKind::kNumber, index};
    case Role::kLength:
      return {"length", ItemKind::kNumber, index};
    case Role::kWhence:
      return {"whence", ItemKind::kWhence, index};
    case Role::kIov:
      return {"iov", ItemKind::kPieces, index};
    case Role::kIovCount:
      return {"iovcnt", ItemKind::kPieceCount, index};
    case Role::kOpenMode:
      return {"type", ItemKind::kText, index};
    case Role::kChar:
      return {"char", ItemKind::kNumber, index};
    case Role::kCommand:
      return {"cmd", ItemKind::kCommand, index};
    case Role::kNumber:
      return {"value", ItemKind::kNumber, index};
    case Role::kLinkText:
      return {"target", ItemKind::kText, index};
    case Role::kFile:
      return {"fh", ItemKind::kFileHandle, index};
    case Role::kAmode:
      return {"amode", ItemKind::kAmode, index};
    case Role::kRanks:
      return {"ranks", ItemKind::kNumber, index};
    case Role::kTick:
      return {"tick", ItemKind::kNumber, index};
    case Role::kGot:
      return {"got", ItemKind::kNumber, index};
    case Role::kDisp:
      return {"disp", ItemKind::kNumber, index};
    case Role::kEtype:
      return {"etype", ItemKind::kNumber, index};
    case Role::kFiletype:
      return {"filetype", ItemKind::kNumber, index};
    case Role::kPosition:
      return {"position", ItemKind::kNumber, index};
    case Role::kComm:
      return {"comm", ItemKind::kNumber, index};
    case Role::kNewComm:
      return {"newcomm", ItemKind::kNumber, index};
    case Role::kPeer:
      return {"peer", ItemKind::kNumber, index};
    case Role::kTag:
      return {"tag", ItemKind::kNumber, index};
    case Role::kSeq:
      return {"seq", ItemKind::kNumber, index};
    case Role::kSource:
      return {"source", ItemKind::kNumber, index};
    case Role::kSourceTag:
      return {"source_tag", ItemKind::kNumber, index};
    case Role::kSourceSeq:
      return {"source_seq", ItemKind::kNumber, index};
    case Role::kRoot:
      return {"root", ItemKind::kNumber, index};
    case Role::kRequest:
      return {"request", ItemKind::kNumber, index};
    case Role::kBegun:
      return {"begun", ItemKind::kPieces, index};
    case Role::kDone:
      return {"done", ItemKind::kPieces, index};
    case Role::kMembers:
      return {"members", ItemKind::kPieces, index};
    case Role::kBuf:
    case Role::kBufLimit:
    case Role::kIgnored:
      break;
  }
  return {};
}

std::vector<Item> makeLayout(const calls::Row& row) {
  std::vector<Item> items;
  bool names_path = false;
  bool has_handle = false;
  for (std::uint8_t i = 0; i < row.argument_count; ++i) {
    const Item item = itemOf(row, i);
    if (item.key.empty()) continue;
    names_path = names_path || item.key == "path";
    has_handle = has_handle || item.kind == ItemKind::kFd || item.kind == ItemKind::kFileHandle;
    items.push_back(item);
  }
  const bool makes_handle =
      row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream;
  if (!names_path && (has_handle || makes_handle)) items.push_back({"path", ItemKind::kHandlePath});
  items.push_back({"depth", ItemKind::kDepth});
  items.push_back({"errno", ItemKind::kErrno});
  if (row.result != calls::Result::kNone) items.push_back({"result", ItemKind::kResult});
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
  return items;
}

}  // namespace

const std::vector<Item>& layoutOf(const calls::Row& row) {
  static const auto kLayouts = [] {
    std::array<std::vector<Item>, calls::kNumberLimit> layouts;
    for (const calls::Row& r : calls::kTable) {
      if (r.number != 0) layouts[r.number] = makeLayout(r);
    }
    return layouts;
  }();
  return kLayouts[row.number];
}

}  // namespace omnio::calls
