// Four OpenMP threads, each with a file of its own, in two parallel regions.
//
//   cxx_openmp DIRECTORY
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kThreads = 4;

void need(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "cxx_openmp: not so: %s\n", what);
  std::exit(70);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: cxx_openmp DIRECTORY\n"), 2;
  const std::string directory = argv[1];
  int files[kThreads];
  omp_set_dynamic(0);
#pragma omp parallel num_threads(kThreads)
  {
    const int thread = omp_get_thread_num();
    const std::string path = directory + "/omp." + std::to_string(thread);
    files[thread] = open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0644);
    need(files[thread] >= 0, "open");
    for (int call = 0; call < 100; ++call) {
      need(write(files[thread], &call, sizeof call) == sizeof call, "write");
    }
  }
  // The neighbour's file: a descriptor is used by another thread than the one that opened it.
#pragma omp parallel num_threads(kThreads)
  {
    const int fd = files[(omp_get_thread_num() + 1) % kThreads];
    need(lseek(fd, 0, SEEK_SET) == 0, "lseek");
    for (int call = 0; call < 100; ++call) {
      int value = -1;
      need(read(fd, &value, sizeof value) == sizeof value && value == call, "read");
    }
    need(close(fd) == 0, "close");
  }
}
