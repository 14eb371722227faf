// Communicators: each gets an id that all of its members make of what they know alike, without a
// message: the parent's id, the number of the parent's collective call, and who is its rank 0.
#include "trace/wrap/mpi/communicators.hpp"

#include "core/wire/info.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {

bool translateRanks(MPI_Group from, int* ranks, int count, MPI_Group to) {
  if (from == MPI_Group{} || to == MPI_Group{}) return false;
  const Scratch<int, 64> asked(static_cast<std::size_t>(count));
  if (!asked) return false;
  for (int i = 0; i < count; ++i) asked[static_cast<std::size_t>(i)] = i;
  return ask(OMNIO_LAZY_MPI(PMPI_Group_translate_ranks), from, count, asked.data(), to, ranks);
}

namespace {

// The group of all of MPI_COMM_WORLD; it is never freed.
MPI_Group worldGroup() {
  static std::atomic<MPI_Group> known{MPI_Group{}};
  MPI_Group group = known.load(std::memory_order_acquire);
  if (group != MPI_Group{}) return group;
  if (!ask(OMNIO_LAZY_MPI(PMPI_Comm_group), worldCommunicator(), &group)) return MPI_Group{};
  MPI_Group there{};
  if (known.compare_exchange_strong(there, group)) return group;
  ask(OMNIO_LAZY_MPI(PMPI_Group_free), &group);  // another thread was quicker
  return there;
}

// A number made of all ranks of a group, in their order.
std::uint64_t hashOfRanks(MPI_Group group) {
  int size = 0;
  if (!ask(OMNIO_LAZY_MPI(PMPI_Group_size), group, &size) || size < 0) return 0;
  const Scratch<int, 64> ranks(static_cast<std::size_t>(size));
  if (!ranks || !translateRanks(group, ranks.data(), size, worldGroup())) return 0;
  std::uint64_t hash = static_cast<std::uint32_t>(size);
  for (int i = 0; i < size; ++i) {
    hash = wire::mixed(hash, static_cast<std::uint32_t>(ranks[static_cast<std::size_t>(i)]));
  }
  return hash;
}

using AskNumber = int(MPI_Comm, int*);
using AskGroup = int(MPI_Comm, MPI_Group*);

// 0 when MPI cannot tell.
int askNumber(MPI_Comm communicator, AskNumber* function) {
  int value = 0;
  return ask(function, communicator, &value) ? value : 0;
}

// Calls `use` with the group that the function gives for the communicator, and returns its result;
// `otherwise` where it gives none.
template <typename Use>
std::uint64_t ofGroup(MPI_Comm communicator, AskGroup* function, std::uint64_t otherwise, Use use) {
  MPI_Group group{};
  if (!ask(function, communicator, &group)) return otherwise;
  const std::uint64_t result = use(group);
  ask(OMNIO_LAZY_MPI(PMPI_Group_free), &group);
  return result;
}

std::uint64_t hashOfRanksOf(MPI_Comm communicator, AskGroup* function) {
  return ofGroup(communicator, function, 0, hashOfRanks);
}

// The rank in MPI_COMM_WORLD of the group's first rank; a number that no rank has, when MPI cannot
// tell.
std::uint64_t worldRankOf(MPI_Comm communicator, AskGroup* function) {
  constexpr std::uint64_t kNobody = ~std::uint64_t{0} >> 8;
  if (worldGroup() == MPI_Group{}) return kNobody;
  return ofGroup(communicator, function, kNobody, [](MPI_Group group) {
    int rank = 0;
    const bool is_known = translateRanks(group, &rank, 1, worldGroup()) && rank >= 0;
    return is_known ? static_cast<std::uint64_t>(rank) : kNobody;
  });
}

// Asks MPI for the facts of a communicator.
Group factsOf(MPI_Comm communicator) {
  Group facts;
  facts.rank = askNumber(communicator, OMNIO_LAZY_MPI(PMPI_Comm_rank));
  facts.size = askNumber(communicator, OMNIO_LAZY_MPI(PMPI_Comm_size));
  if (askNumber(communicator, OMNIO_LAZY_MPI(PMPI_Comm_test_inter)) != 0) {
    facts.kind = GroupKind::kInter;
    facts.remote = askNumber(communicator, OMNIO_LAZY_MPI(PMPI_Comm_remote_size));
  }
  return facts;
}

struct Sides {
  std::uint64_t local = 0;
  std::uint64_t remote = 0;
};

// Groups by their first ranks, which every member can ask for. Who is asked for the other side of
// what has none would end the application.
Sides sidesOf(MPI_Comm communicator, GroupKind kind) {
  Sides sides;
  sides.local = worldRankOf(communicator, OMNIO_LAZY_MPI(PMPI_Comm_group));
  sides.remote = kind == GroupKind::kInter
                     ? worldRankOf(communicator, OMNIO_LAZY_MPI(PMPI_Comm_remote_group))
                     : sides.local;
  return sides;
}

Group* remember(MPI_Comm communicator, Group facts) {
  Group* group = addGroup(keyOf(communicator), facts);
  if (group != nullptr) tellNeighbours(communicator, *group);
  return group;
}

}  // namespace

bool isSpawned() {
  MPI_Comm parent = nullCommunicator();
  return ask(OMNIO_LAZY_MPI(PMPI_Comm_get_parent), &parent) && !isNone(parent);
}

namespace {

// Whether other ranks of the job, as its launcher names it, have started these: then it has two
// worlds of one name. Open MPI names each.
bool sharesJobName() {
#ifdef OPEN_MPI
  return false;
#else
  return isSpawned();
#endif
}

}  // namespace

void knowPredefined() {
  const MPI_Comm world = worldCommunicator();
  const MPI_Comm self = selfCommunicator();
  if (world == MPI_Comm{} || self == MPI_Comm{} || groupOf(world) != nullptr) return;
  Group facts = factsOf(world);
  facts.id = wire::mixed(sharesJobName() ? process.token : jobNumber(), 1);
  const std::uint64_t alone =
      wire::mixed(facts.id, 2 + static_cast<std::uint64_t>(static_cast<std::uint32_t>(facts.rank)));
  addGroup(keyOf(world), facts);
  addGroup(keyOf(self), {.id = alone, .rank = 0, .size = 1});
}

Group* deriveGroup(const void* key, const Group* parent, std::uint64_t seq, GroupKind kind) {
  if (parent == nullptr) {
    dropGroup(key);
    return nullptr;
  }
  Group facts = *parent;
  facts.id = wire::mixed(wire::mixed(parent->id, seq), static_cast<std::uint64_t>(kind) + 1);
  facts.kind = kind;
  facts.calls = 0;
  return addGroup(key, facts);
}

namespace {

// Remembers a communicator that was made of `parent` by its collective call `seq`.
Group* newCommunicator(MPI_Comm communicator, const Group* parent, std::uint64_t seq) {
  if (isNone(communicator)) return nullptr;
  if (parent == nullptr) {
    dropGroup(keyOf(communicator));
    return nullptr;
  }
  Group facts = factsOf(communicator);
  const Sides sides = sidesOf(communicator, facts.kind);
  facts.side = sides.local <= sides.remote ? 0 : 1;
  // Either side of an intercommunicator may be made first.
  facts.id = wire::mixed(wire::mixed(parent->id, seq),
                         (facts.side == 0 ? sides.local : sides.remote) + 16);
  return remember(communicator, facts);
}

template <typename Real, typename... A>
int makeOfAll(CallId id, Real* real, A... a) {
  return makeByAll<CallId::MPI_Comm_dup, 0>(id, newCommunicator, real, a...);
}

// The new one may not be asked before it is complete: it is what its parent is. Nor may its place
// be looked at then, which is a local variable of the Fortran bindings; Open MPI fills it at once.
template <typename Real>
int idup(CallId id, Real* real, MPI_Comm parent, MPI_Comm* place, MPI_Request* request) {
  SyncCall call(id, [&] { return real(parent, place, request); });
  if (!call.isOurs()) return leaveUnknown(call, place);
  if (call.failed()) return call.record<CallId::MPI_Comm_idup>(0, 0, 0, 0);
  Group* const group = groupOf(parent);
  const std::uint64_t seq = nextCall(group);
  const Group* made = nullptr;
  if (!isNone(*place)) {
    made =
        deriveGroup(keyOf(*place), group, seq, group == nullptr ? GroupKind::kComm : group->kind);
    if (made != nullptr) tellNeighbours(parent, *made);
  }
  return call.record<CallId::MPI_Comm_idup>(group, made, seq, beginRequest(*request, {}));
}

// One that is not made by all of a communicator: its id is made of who takes part, which is `key`,
// the tag, and how many such there were before.
Group* rememberNamed(MPI_Comm made, Group facts, std::uint64_t key, int tag) {
  const std::uint64_t count = countIn({.group = key, .tag = tag, .way = Way::kNamed});
  if (count == 0) {  // too many for numbers that all have alike
    dropGroup(keyOf(made));
    return nullptr;
  }
  facts.id = wire::mixed(wire::mixed(key, static_cast<std::uint32_t>(tag)), count);
  return remember(made, facts);
}

template <typename Real>
int createGroup(CallId id, Real* real, MPI_Comm parent, MPI_Group members, int tag,
                MPI_Comm* place) {
  SyncCall call(id, [&] { return real(parent, members, tag, place); });
  if (!call.isOurs()) return leaveUnknown(call, place);
  Group* group = nullptr;
  Group* made = nullptr;
  if (!call.failed()) {
    group = groupOf(parent);
    if (group == nullptr) {
      dropGroup(keyOf(*place));
    } else if (!isNone(*place)) {
      const std::uint64_t key = wire::mixed(group->id, hashOfRanks(members));
      made = rememberNamed(*place, factsOf(*place), key, tag);
    }
  }
  return call.record<CallId::MPI_Comm_dup>(group, made, nextCall(made));
}

template <typename Real>
int createInter(CallId id, Real* real, MPI_Comm local, int leader, MPI_Comm bridge,
                int remote_leader, int tag, MPI_Comm* place) {
  SyncCall call(id, [&] { return real(local, leader, bridge, remote_leader, tag, place); });
  if (!call.isOurs()) return leaveUnknown(call, place);
  Group* made = nullptr;
  if (!call.failed() && !isNone(*place)) {
    Group facts = factsOf(*place);
    const Sides sides = sidesOf(*place, facts.kind);
    facts.side = sides.local <= sides.remote ? 0 : 1;
    // The same ranks may have several: each rank has made all of them.
    const std::uint64_t own = hashOfRanksOf(*place, OMNIO_LAZY_MPI(PMPI_Comm_group));
    const std::uint64_t other = hashOfRanksOf(*place, OMNIO_LAZY_MPI(PMPI_Comm_remote_group));
    const Group* world = groupOf(worldCommunicator());
    const std::uint64_t job = world == nullptr ? 0 : world->id;
    const std::uint64_t key =
        wire::mixed(job, facts.side == 0 ? wire::mixed(own, other) : wire::mixed(other, own));
    made = rememberNamed(*place, facts, key, tag);
  }
  return call.record<CallId::MPI_Comm_dup>(groupOf(local), made, nextCall(made));
}

// Between jobs: the new group has ranks of two worlds and is not told of. The communicator is the
// argument kParent, the place of the new one follows it. What the library does for it is a layer
// deeper: it starts programs and opens connections, and calls nothing of the application's.
template <std::size_t kParent, typename... A>
void makeBetweenJobs(SyncCall& call, int (*real)(A...), A... a) {
  call.make<DeeperLayer>([&] { return real(a...); });
  leaveUnknown(call, argumentAt<kParent + 1>(a...));
}

template <std::size_t kParent, typename... A>
int recordBetweenJobs(SyncCall& call, A... a) {
  if (!call.isOurs()) return call.result();
  Group* group = call.failed() ? nullptr : groupOf(argumentAt<kParent>(a...));
  return call.record<CallId::MPI_Comm_dup>(group, 0, nextCall(group));
}

template <std::size_t kParent, typename... A>
int meetOtherJob(CallId id, int (*real)(A...), A... a) {
  SyncCall call(id);
  makeBetweenJobs<kParent>(call, real, a...);
  return recordBetweenJobs<kParent>(call, a...);
}

// One of the processes that make the call says how many were started: if these have no tracer, the
// trace has to name them.
void tellSpawned(const char* command, MPI_Comm made) {
  static std::atomic<std::uint64_t> told{0};
  int processes = 0;
  if (!ask(OMNIO_LAZY_MPI(PMPI_Comm_remote_size), made, &processes) || !openContainer()) return;
  char key[64];
  LongText value;
  value.putNumber(processes).put(' ').put(std::string_view(command));
  appendFact(Text(key, sizeof key).put(wire::info::kSpawnedPrefix).putNumber(++told).words(),
             std::string_view(value.data(), value.size()));
}

template <std::size_t kParent, typename... A>
int spawn(CallId id, int (*real)(A...), A... a) {
  SyncCall call(id);
  makeBetweenJobs<kParent>(call, real, a...);
  const MPI_Comm parent = argumentAt<kParent>(a...);
  int rank = -1;
  const bool is_root = !call.failed() && call.isOurs() &&
                       ask(OMNIO_LAZY_MPI(PMPI_Comm_rank), parent, &rank) &&
                       rank == argumentAt<kParent - 1>(a...);
  if (is_root) {
    // Of several programs, an array of commands.
    const char* command;
    if constexpr (std::is_convertible_v<decltype(argumentAt<0>(a...)), const char*>) {
      command = argumentAt<0>(a...);
    } else {
      command = argumentAt<1>(a...)[0];
    }
    tellSpawned(command, *argumentAt<kParent + 1>(a...));
  }
  return recordBetweenJobs<kParent>(call, a...);
}

}  // namespace

OMNIO_MPI_BOTH(Comm_dup, 2, makeOfAll)
OMNIO_MPI_BOTH(Comm_dup_with_info, 3, makeOfAll)
OMNIO_MPI_BOTH(Comm_split, 4, makeOfAll)
OMNIO_MPI_BOTH(Comm_split_type, 5, makeOfAll)
OMNIO_MPI_BOTH(Comm_create, 3, makeOfAll)
OMNIO_MPI_BOTH(Cart_create, 6, makeOfAll)
OMNIO_MPI_BOTH(Cart_sub, 3, makeOfAll)
OMNIO_MPI_BOTH(Graph_create, 6, makeOfAll)
OMNIO_MPI_BOTH(Dist_graph_create, 9, makeOfAll)
OMNIO_MPI_BOTH(Dist_graph_create_adjacent, 10, makeOfAll)
OMNIO_MPI_BOTH(Intercomm_merge, 3, makeOfAll)
OMNIO_MPI_BOTH(Comm_idup, 3, idup)
OMNIO_MPI_BOTH(Comm_create_group, 4, createGroup)
OMNIO_MPI_BOTH(Intercomm_create, 6, createInter)
OMNIO_MPI_BOTH(Comm_free, 1, freeObject)
OMNIO_MPI_BOTH(Comm_disconnect, 1, freeObject)
OMNIO_MPI_BOTH(Comm_spawn, 8, spawn<5>)
OMNIO_MPI_BOTH(Comm_spawn_multiple, 9, spawn<6>)
OMNIO_MPI_BOTH(Comm_accept, 5, meetOtherJob<3>)
OMNIO_MPI_BOTH(Comm_connect, 5, meetOtherJob<3>)

}  // namespace omnio::trace::OMNIO_MPI_ABI
