#include "replay/issue/requests.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace omnio::replay {
namespace {

constexpr std::size_t kLeastRoom = 4096;

void freeMemory(Requests::Request& request) {
  if (!request.memory.empty()) munmap(request.memory.data(), request.memory.size());
  request.memory = {};
}

}  // namespace

Requests::~Requests() {
  // The system waits for what is under way there.
  for (const auto& [key, context] : contexts_) syscall(SYS_io_destroy, context->id);
  for (auto& [key, request] : under_way_) {
    waitFor(request->block);
    freeMemory(*request);
  }
  for (const auto& request : idle_) freeMemory(*request);
}

Requests::Request* Requests::begin(Key key, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto& place = under_way_[key];
  if (place != nullptr) {
    waitFor(place->block);
    idle_.push_back(std::move(place));
  }
  const std::size_t room = std::bit_ceil(std::max(bytes, kLeastRoom));
  const auto fits = std::find_if(idle_.rbegin(), idle_.rend(), [room](const auto& request) {
    return request->memory.size() == room;
  });
  if (fits != idle_.rend()) {
    place = std::move(*fits);
    idle_.erase(std::next(fits).base());
  } else {
    constexpr std::size_t kMost = std::size_t{4} << 30;
    if (room > kMost - bytes_) {
      under_way_.erase(key);
      return nullptr;
    }
    void* const memory = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
      under_way_.erase(key);
      return nullptr;
    }
    bytes_ += room;
    place = std::make_unique<Request>();
    place->memory = {static_cast<char*>(memory), room};
  }
  place->block = {};
  place->kernel_block = {};
  return place.get();
}

bool Requests::isUnderWay(Key key) {
  const std::lock_guard lock(mutex_);
  return under_way_.contains(key);
}

std::unique_ptr<Requests::Request> Requests::take(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return nullptr;
  std::unique_ptr<Request> request = std::move(found->second);
  under_way_.erase(found);
  return request;
}

std::shared_ptr<Requests::Context> Requests::context(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(key);
  return found == contexts_.end() ? nullptr : found->second;
}

std::shared_ptr<Requests::Context> Requests::addContext(Key key) {
  const std::lock_guard lock(mutex_);
  auto& place = contexts_[key];
  if (place == nullptr) place = std::make_shared<Context>();
  return place;
}

void Requests::dropContext(Key key) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(key);
}

void Requests::giveBack(std::unique_ptr<Request> request) {
  waitFor(request->block);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(request));
}

int waitFor(aiocb64& block) {
  const aiocb64* const list[] = {&block};
  int error = aio_error64(&block);
  while (error == EINPROGRESS) {
    aio_suspend64(list, 1, nullptr);
    error = aio_error64(&block);
  }
  return error;
}

}  // namespace omnio::replay
