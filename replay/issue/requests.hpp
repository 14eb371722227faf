// The asynchronous operations of a recorded rank that are under way: each has a control block and
// memory of its own until it is over. Threads of the rank share them.
#pragma once

#include <aio.h>
#include <linux/aio_abi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace omnio::replay {

class Requests {
 public:
  // Its process in the recording, and its number there.
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  struct Request {
    aiocb64 block{};         // of aio.h
    iocb kernel_block{};     // of libaio, with the number as its data
    std::span<char> memory;  // on a page boundary
  };

  // A context of libaio, in which operations are under way.
  struct Context {
    std::mutex mutex;  // held by who waits for the next that are over
    aio_context_t id = 0;
    std::atomic<long> under_way{0};              // those whose end was not told yet
    std::map<std::uint64_t, std::int64_t> over;  // by number: the result, until it is asked for
  };

  Requests() = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  // Waits for those that are under way: the system writes into their memory.
  ~Requests();

  // A new one with memory for so many bytes, in place of one with the same key, whose end this
  // waits for. It stays this object's until it is taken. nullptr where memory is missing, or all
  // together would have more than 4 GiB.
  Request* begin(Key key, std::size_t bytes);
  bool isUnderWay(Key key);
  // nullptr where there is none, or another thread took it.
  std::unique_ptr<Request> take(Key key);
  // nullptr where there is none. One is made by the first call that names it.
  std::shared_ptr<Context> context(Key key);
  std::shared_ptr<Context> addContext(Key key);
  void dropContext(Key key);
  // One that is over, or was not begun: its memory is used again.
  void giveBack(std::unique_ptr<Request> request);

 private:
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Request>> under_way_;
  std::size_t bytes_ = 0;  // of the memory of all
  std::vector<std::unique_ptr<Request>> idle_;
  std::map<Key, std::shared_ptr<Context>> contexts_;
};

// Waits until it is over. Returns its error, 0 where it succeeded.
int waitFor(aiocb64& block);

}  // namespace omnio::replay
