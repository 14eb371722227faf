// One-sided communication: windows as groups of ranks, the calls that order them, and the accesses,
// which order nothing.
#include "trace/runtime/mpi/objects.hpp"
#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/wrap/mpi/communicators.hpp"
#include "trace/wrap/mpi/sync_call.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

// The window is made by all of the communicator.
template <std::size_t kParent, typename Real, typename... A>
int create(CallId id, Real* real, A... a) {
  const auto remember = [](MPI_Win window, const Group* parent, std::uint64_t seq) {
    return deriveGroup(keyOf(window), parent, seq, GroupKind::kWindow);
  };
  return makeByAll<CallId::MPI_Win_create, kParent>(id, remember, real, a...);
}

template <typename Real>
int fence(CallId id, Real* real, int assertion, MPI_Win window) {
  SyncCall call(id, [&] { return real(assertion, window); });
  if (!call.isOurs()) return call.result();
  Group* group = call.failed() ? nullptr : groupOf(window);
  return call.record<CallId::MPI_Win_fence>(group, nextCall(group));
}

// The ranks that an epoch is with, until it ends: the call that ends it does not name them.
struct Epoch {
  int* ranks = nullptr;
  int count = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * sizeof(int); }
};
constinit PointerTable<Epoch, 7> accesses;
constinit PointerTable<Epoch, 7> exposures;

void release(const Epoch& epoch) {
  if (epoch.ranks != nullptr) unmap(epoch.ranks, epoch.bytes());
}

Epoch epochWith(MPI_Group members, MPI_Win window) {
  Epoch epoch;
  MPI_Group all{};
  if (!ask(OMNIO_LAZY_MPI(PMPI_Group_size), members, &epoch.count) || epoch.count <= 0 ||
      !ask(OMNIO_LAZY_MPI(PMPI_Win_get_group), window, &all)) {
    return {};
  }
  epoch.ranks = static_cast<int*>(mapAnonymous(epoch.bytes()));
  const bool is_known =
      epoch.ranks != nullptr && translateRanks(members, epoch.ranks, epoch.count, all);
  ask(OMNIO_LAZY_MPI(PMPI_Group_free), &all);
  if (is_known) return epoch;
  release(epoch);
  return {};
}

void recordEpoch(SyncCall& call, const Group* group, const Epoch& epoch, Way way) {
  const auto most = static_cast<std::size_t>(epoch.count) * 2 * wire::kMaxVarint + 1;
  const Scratch<char, 2048> list(most);
  std::int64_t count = 0;
  char* out = list.data();
  for (int i = 0; list && group != nullptr && i < epoch.count; ++i) {
    const int peer = epoch.ranks[i];
    out = wire::put(out,
                    wire::Member{.rank = static_cast<std::uint32_t>(peer),
                                 .seq = countIn({.group = group->id, .peer = peer, .way = way})},
                    count);
  }
  call.recordList<CallId::MPI_Win_post>({list.data(), static_cast<std::size_t>(out - list.data())},
                                        group, count);
}

int recordFailed(SyncCall& call) { return call.record<CallId::MPI_Win_post>(0, 0); }

template <typename Real>
int beginEpoch(CallId id, Real* real, MPI_Group members, int assertion, MPI_Win window) {
  const bool is_post = calls::rowOf(id).sync == calls::Sync::kExpose;
  SyncCall call(id, [&] { return real(members, assertion, window); });
  if (!call.isOurs()) return call.result();
  if (call.failed()) return recordFailed(call);
  const Epoch epoch = epochWith(members, window);
  auto& table = is_post ? exposures : accesses;
  if (const auto old = table.take(keyOf(window))) release(*old);
  const bool is_kept = table.put(keyOf(window), [&](Epoch& place) { place = epoch; });
  recordEpoch(call, groupOf(window), epoch, is_post ? Way::kPosted : Way::kAccessed);
  if (!is_kept) release(epoch);
  return call.result();
}

// A test has a flag behind the window.
template <typename Real, typename... Flag>
int endEpoch(CallId id, Real* real, MPI_Win window, Flag... test) {
  const bool is_exposure = calls::rowOf(id).sync == calls::Sync::kExposed;
  const int* const flag = argumentOf<int*>(test...);
  SyncCall call(id, flag != nullptr);
  call.make([&] { return real(window, test...); });
  if (!call.isOurs() || (flag != nullptr && call.failed())) return call.result();
  if (flag != nullptr && *flag == 0) return call.foundNothing();
  call.countWhenFound();
  if (call.failed()) return recordFailed(call);
  const Epoch epoch = (is_exposure ? exposures : accesses).take(keyOf(window)).value_or(Epoch{});
  recordEpoch(call, groupOf(window), epoch, is_exposure ? Way::kExposed : Way::kCompleted);
  release(epoch);
  return call.result();
}

const Group* groupAfter(const SyncCall& call, MPI_Win window) {
  return call.failed() ? nullptr : groupOf(window);
}

// The rank that the call is about is the kPeer-th int of the arguments.
template <unsigned kPeer, typename Real, typename... A>
int withOne(CallId id, Real* real, A... a) {
  SyncCall call(id, [&] { return real(a...); });
  if (call.isOurs()) {
    call.record<CallId::MPI_Win_lock>(groupAfter(call, lastArgument(a...)),
                                      peerOf(argumentOf<int, kPeer>(a...)));
  }
  return call.result();
}

template <typename Real, typename... A>
int withAll(CallId id, Real* real, A... a) {
  SyncCall call(id, [&] { return real(a...); });
  if (call.isOurs()) {
    call.record<CallId::MPI_Win_lock_all>(groupAfter(call, lastArgument(a...)));
  }
  return call.result();
}

template <typename Make>
int access(CallId id, int peer, int count, MPI_Datatype type, MPI_Win window, MPI_Request* request,
           Make make) {
  SyncCall call(id, make);
  if (!call.isOurs()) return call.result();
  const Group* group = groupAfter(call, window);
  const std::uint64_t bytes = call.failed() ? 0 : bytesOf(count, type);
  const std::uint64_t began = request == nullptr || call.failed() ? 0 : beginRequest(*request, {});
  return call.recordEither<CallId::MPI_Put, CallId::MPI_Rput>(request == nullptr, began, group,
                                                              peerOf(peer), bytes);
}

}  // namespace

OMNIO_MPI_BOTH(Win_create, 6, create<4>)
OMNIO_MPI_BOTH(Win_allocate, 6, create<3>)
OMNIO_MPI_BOTH(Win_allocate_shared, 6, create<3>)
OMNIO_MPI_BOTH(Win_create_dynamic, 3, create<1>)
OMNIO_MPI_BOTH(Win_free, 1, freeObject)
OMNIO_MPI_BOTH(Win_fence, 2, fence)
OMNIO_MPI_BOTH(Win_post, 3, beginEpoch)
OMNIO_MPI_BOTH(Win_start, 3, beginEpoch)
OMNIO_MPI_BOTH(Win_complete, 1, endEpoch)
OMNIO_MPI_BOTH(Win_wait, 1, endEpoch)
OMNIO_MPI_BOTH(Win_test, 2, endEpoch)
OMNIO_MPI_BOTH(Win_lock, 4, withOne<1>)
OMNIO_MPI_BOTH(Win_unlock, 2, withOne<0>)
OMNIO_MPI_BOTH(Win_flush, 2, withOne<0>)
OMNIO_MPI_BOTH(Win_flush_local, 2, withOne<0>)
OMNIO_MPI_BOTH(Win_lock_all, 2, withAll)
OMNIO_MPI_BOTH(Win_unlock_all, 1, withAll)
OMNIO_MPI_BOTH(Win_flush_all, 1, withAll)
OMNIO_MPI_BOTH(Win_flush_local_all, 1, withAll)

// An access under one name. Its parameters are a0, a1, ...
#define OMNIO_ACCESS_NAME(PREFIX, NAME, COUNT, PEER, ITEMS, TYPE, WINDOW, REQUEST)           \
  OMNIO_MPI_EXPORT(PREFIX##_##NAME, COUNT,                                                   \
                   access(CallId::PREFIX##_##NAME, PEER, ITEMS, TYPE, WINDOW, REQUEST, [&] { \
                     constexpr auto kCall = CallId::PREFIX##_##NAME;                         \
                     return realMpi<decltype(::MPI_##NAME)>(kCall)(OMNIO_NAMES_##COUNT);     \
                   }))
#define OMNIO_ACCESS(...)             \
  OMNIO_ACCESS_NAME(MPI, __VA_ARGS__) \
  OMNIO_ACCESS_NAME(PMPI, __VA_ARGS__)

OMNIO_ACCESS(Put, 8, a3, a1, a2, a7, nullptr)
OMNIO_ACCESS(Get, 8, a3, a1, a2, a7, nullptr)
OMNIO_ACCESS(Accumulate, 9, a3, a1, a2, a8, nullptr)
OMNIO_ACCESS(Get_accumulate, 12, a6, a4, a5, a11, nullptr)
OMNIO_ACCESS(Fetch_and_op, 7, a3, 1, a2, a6, nullptr)
OMNIO_ACCESS(Compare_and_swap, 7, a4, 1, a3, a6, nullptr)
OMNIO_ACCESS(Rput, 9, a3, a1, a2, a7, a8)
OMNIO_ACCESS(Rget, 9, a3, a1, a2, a7, a8)
OMNIO_ACCESS(Raccumulate, 10, a3, a1, a2, a8, a9)
OMNIO_ACCESS(Rget_accumulate, 13, a6, a4, a5, a11, a12)

}  // namespace omnio::trace::OMNIO_MPI_ABI
