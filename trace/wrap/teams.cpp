// Teams of threads of OpenMP programs that GCC has compiled: what its library calls begin and end,
// and where threads of a team wait for each other. Linked into the openmp and hybrid libraries.
//
// The library waits by the kernel alone, so that its entry points are wrapped. They are declared in
// no header; their signatures are those of libgomp's ABI, which programs are compiled for.
#include <dlfcn.h>

#include <atomic>
#include <utility>

#include "trace/wrap/library_call.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"
#include "trace/wrap/waits.hpp"

namespace omnio::trace {
namespace {

using Work = void(void*);

// On the stack of the thread that began it. Events name a team by its address, and the barriers of
// a team by the address of `barriers`.
struct Team {
  Work* work;
  void* data;
  const Thread* first;
  std::uint64_t first_done = 0;  // ticks
  char barriers = 0;
};

thread_local constinit Team* current_team = nullptr;
// When the thread was done with its last part; it has waited for the next one since. 0: it has not.
thread_local constinit std::uint64_t idle_since = 0;

// By name: they are of a new version since glibc 2.34.
constinit LazySymbol<decltype(::dlclose)> close_object("dlclose");

// A plugin may have brought the library for itself: then it is not among the next objects, but what
// the plugin needs has it.
void* symbolFor(const void* caller, const char* name) {
  Dl_info info{};
  auto* const find = find_object.get();
  if (find == nullptr || find(caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (object == nullptr) return nullptr;
  void* const found = dlsym(object, name);
  if (auto* const close = close_object.get()) close(object);
  return found;
}

template <typename Function>
class TeamCall {
 public:
  constexpr explicit TeamCall(const char* name) : name_(name), next_(name) {}
  Function* get(const void* caller) {
    if (Function* const found = next_.get()) return found;
    return reinterpret_cast<Function*>(symbolFor(caller, name_));
  }

 private:
  const char* name_;
  LazySymbol<Function> next_;
};

// Threads that only compute are left out: the first of a team's threads starts the others, and that
// orders their first calls.
bool mayRecordParts(const Thread& self) { return hasRecorded(self) && mayRecordWaits(self); }

template <CallId kCall>
void noteMoment(Thread& self, const Team& team, std::uint64_t moment) {
  if (!mayRecordParts(self)) return;
  recordWait<kCall>(self, {.start = moment, .end = moment}, 0, &team);
}

// One thread's part of the work.
void doPart(void* argument) {
  Team& team = *static_cast<Team*>(argument);
  Thread& self = thread;
  Team* const outer = std::exchange(current_team, &team);
  const bool is_first = team.first == &self;
  if (!is_first) self.think.begin = 0;  // it had nothing to do
  if (!is_first && mayRecordParts(self)) {
    const std::uint64_t now = ticks();
    const std::uint64_t since = idle_since == 0 ? now : idle_since;
    recordWait<CallId::omp_begin>(self, {.start = since, .end = now}, 0, &team);
  }
  team.work(team.data);
  const std::uint64_t done = leaveThinking(self);
  if (is_first) {
    team.first_done = done;
  } else {
    noteMoment<CallId::omp_done>(self, team, done);
    idle_since = ticks();
  }
  current_team = outer;
}

// `begin` makes the library's call with the work and data that it is given.
template <typename Begin>
auto beginTeam(Work* work, void* data, Begin begin) {
  if (!isActive()) return begin(work, data);
  process.has_threads.store(true, std::memory_order_relaxed);  // it makes them now
  Thread& self = thread;
  Team team{.work = work, .data = data, .first = &self};
  noteMoment<CallId::omp_team>(self, team, ticks());
  struct End {
    Thread& self;
    const Team& team;
    ~End() {
      if (team.first_done == 0 || !mayRecordParts(self)) return;
      recordWait<CallId::omp_end>(self, {.start = team.first_done, .end = ticks()}, 0, &team);
    }
  } const end{self, team};
  return begin(doPart, &team);
}

void meet(void (*real)()) {
  if (real == nullptr) return;
  Thread& self = thread;
  const Team* const team = current_team;
  if (team == nullptr || !mayRecordParts(self)) return real();
  const std::uint64_t start = leaveThinking(self);
  real();
  recordWait<CallId::omp_barrier>(self, {.start = start, .end = ticks()}, 0, &team->barriers);
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

// The arguments: the type of the result, the name, the parameters that come after the work, its
// data and the number of threads, and the names of these. A team of one does the work where the
// library cannot be found.
#define OMNIO_TEAM(RETURN, NAME, PARAMETERS, ...)                                             \
  OMNIO_EXPORT RETURN NAME(Work* work, void* data, unsigned threads, OMNIO_LIST PARAMETERS) { \
    using Real = RETURN(Work*, void*, unsigned, OMNIO_LIST PARAMETERS);                       \
    static constinit TeamCall<Real> call(#NAME);                                              \
    Real* const real = call.get(__builtin_return_address(0));                                 \
    if (real == nullptr) return work(data), RETURN();                                         \
    return beginTeam(work, data, [&](Work* part, void* argument) {                            \
      return real(part, argument, threads, __VA_ARGS__);                                      \
    });                                                                                       \
  }
#define OMNIO_LIST(...) __VA_ARGS__

#define OMNIO_LOOP(NAME)                                                                       \
  OMNIO_TEAM(void, NAME, (long start, long end, long step, long chunk, unsigned flags), start, \
             end, step, chunk, flags)
#define OMNIO_LOOP_WITHOUT_CHUNK(NAME) \
  OMNIO_TEAM(void, NAME, (long start, long end, long step, unsigned flags), start, end, step, flags)
#define OMNIO_TEAM_BARRIER(NAME)                   \
  OMNIO_EXPORT void NAME() {                       \
    static constinit TeamCall<void()> call(#NAME); \
    meet(call.get(__builtin_return_address(0)));   \
  }

OMNIO_TEAM(void, GOMP_parallel, (unsigned flags), flags)
OMNIO_TEAM(unsigned, GOMP_parallel_reductions, (unsigned flags), flags)
OMNIO_TEAM(void, GOMP_parallel_sections, (unsigned count, unsigned flags), count, flags)
OMNIO_LOOP(GOMP_parallel_loop_static)
OMNIO_LOOP(GOMP_parallel_loop_dynamic)
OMNIO_LOOP(GOMP_parallel_loop_guided)
OMNIO_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
OMNIO_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
OMNIO_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_runtime)
OMNIO_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_nonmonotonic_runtime)
OMNIO_LOOP_WITHOUT_CHUNK(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
OMNIO_TEAM_BARRIER(GOMP_barrier)
OMNIO_TEAM_BARRIER(GOMP_loop_end)
OMNIO_TEAM_BARRIER(GOMP_sections_end)
