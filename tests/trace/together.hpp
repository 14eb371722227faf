// Threads that do the same at once.
#pragma once

#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

namespace omnio::test {

constexpr std::ptrdiff_t kThreads = 8;

// Runs `body` in so many threads, with their numbers, after all of them have begun.
template <typename Body>
void together(Body body) {
  std::barrier begin(kThreads);
  std::vector<std::thread> threads;
  for (std::ptrdiff_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&begin, &body, t] {
      begin.arrive_and_wait();
      body(static_cast<int>(t));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace omnio::test
