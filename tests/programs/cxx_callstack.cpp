// Writes of C++ and OpenMP threads, each with the functions in its record that it was called from:
// "LINE FUNCTION CALLER ...".
//
//   cxx_callstack CASE FILE
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kRecord = 64;
int file = -1;
std::atomic<int> records{0};

}  // namespace

#define WRITE_HERE(chain)                                                                    \
  do {                                                                                       \
    char record[kRecord] = {};                                                               \
    std::snprintf(record, sizeof record, "%d %s", __LINE__, chain);                          \
    const off_t place = records.fetch_add(1) * static_cast<off_t>(kRecord);                  \
    if (pwrite(file, record, kRecord, place) != static_cast<ssize_t>(kRecord)) std::exit(3); \
    asm volatile("" : : : "memory");                                                         \
  } while (false)

extern "C" {
[[gnu::noinline]] void cxx_inner(const char* chain) { WRITE_HERE(chain); }
[[gnu::noinline]] void cxx_worker() {
  for (int turn = 0; turn < 5; ++turn) cxx_inner("cxx_inner cxx_worker");
  WRITE_HERE("cxx_worker");
}
[[gnu::noinline]] void cxx_thrower(bool throws) {
  cxx_inner("cxx_inner cxx_thrower");
  if (throws) throw std::runtime_error("thrown");
  asm volatile("" : : : "memory");
}
[[gnu::noinline]] void cxx_catcher() {
  for (int turn = 0; turn < 4; ++turn) {
    try {
      cxx_thrower(turn % 2 == 1);
    } catch (const std::exception&) {
      WRITE_HERE("cxx_catcher");
    }
  }
}
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  file = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return 2;
  if (std::string(argv[1]) == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(cxx_worker);
    for (std::thread& thread : threads) thread.join();
    cxx_catcher();
  } else {
#pragma omp parallel num_threads(4)
    cxx_worker();
  }
  std::printf("%d\n", records.load());
  return 0;
}
