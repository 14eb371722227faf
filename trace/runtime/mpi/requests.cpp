#include "trace/runtime/mpi/requests.hpp"

#include "trace/runtime/mpi/pointer_table.hpp"

namespace omnio::trace {
namespace {

constinit PointerTable<Request, 61> requests;
std::atomic<std::uint64_t> last_number{0};

}  // namespace

std::uint64_t newRequestNumber() { return last_number.fetch_add(1, std::memory_order_relaxed) + 1; }

bool addRequest(const void* object, const Request& request) {
  // Freed or completed out of our sight, and its address used again.
  Request old;
  takeRequest(object, old);
  return requests.put(object, [&](Request& place) { place = request; });
}

Request* findRequest(const void* object) { return requests.find(object); }

bool takeRequest(const void* object, Request& request) { return requests.take(object, request); }

bool forgetRequest(const void* object, std::uint64_t number) {
  Request gone;
  return requests.takeIf(object, gone,
                         [number](const Request& there) { return there.number == number; });
}

}  // namespace omnio::trace
