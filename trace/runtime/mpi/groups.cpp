#include "trace/runtime/mpi/groups.hpp"

#include "core/wire/info.hpp"
#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constinit PointerTable<Group> groups;
std::atomic<std::uint32_t> last_number{0};

const char* nameOf(GroupKind kind) {
  switch (kind) {
    case GroupKind::kComm:
      return "comm";
    case GroupKind::kInter:
      return "inter";
    case GroupKind::kWindow:
      return "window";
    case GroupKind::kFile:
      return "file";
  }
  return "";
}

bool tell(const Group& group) {
  if (!isActive() || !openContainer()) return false;
  char fact[160];
  Text text(fact, sizeof fact);
  text.put(wire::info::kGroupPrefix).putNumber(group.number).putByte('\0');
  text.putHex(group.id, 16).putByte(' ');
  text.putNumber(static_cast<std::uint64_t>(group.rank)).putByte(' ');
  text.putNumber(static_cast<std::uint64_t>(group.size)).putByte(' ');
  text.putNumber(group.side).putByte(' ');
  text.putNumber(static_cast<std::uint64_t>(group.remote)).putByte(' ');
  text.put(nameOf(group.kind)).putByte('\0');
  return appendInfo(fact, text.size());
}

}  // namespace

Group* addGroup(const void* object, Group facts) {
  dropGroup(object);
  facts.number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  // Who cannot be told of is known all the same: what it makes has an id of its own.
  if (!tell(facts)) facts.number = 0;
  if (!groups.put(object, [&](Group& place) { place = facts; })) return nullptr;
  return groups.find(object);
}

Group* findGroup(const void* object) { return groups.find(object); }

void dropGroup(const void* object) {
  Group dropped;
  groups.take(object, dropped);
}

void dropGroup(const void* object, std::uint64_t id) {
  Group dropped;
  groups.takeIf(object, dropped, [id](const Group& there) { return there.id == id; });
}

}  // namespace omnio::trace
