// OpenMP threads that wait for each other in regions, at their ends and at barriers: each file is
// written only after the one before it.
#include <omp.h>
#include <unistd.h>

#include <cstdlib>

#include "write_file.hpp"

int main() {
  omp_set_dynamic(0);
  // Each thread of the team has done something before it waits.
#pragma omp parallel num_threads(2)
  {
    if (omp_get_num_threads() != 2) std::abort();
    writeFile(omp_get_thread_num() == 0 ? "first" : "second");
  }
  writeFile("a");
#pragma omp parallel num_threads(2)
  {
    const int self = omp_get_thread_num();
    if (self == 1) writeFile("b");
#pragma omp barrier
    if (self == 0) writeFile("c");
#pragma omp barrier
    if (self == 1) writeFile("d");
  }
  writeFile("e");
  int sum = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic) reduction(+ : sum)
  for (int i = 0; i < 2; ++i) {
    sum += i;
    if (i == 0) {
      writeFile("f");
      usleep(1000);
    }
  }
  if (sum != 1) std::abort();
  writeFile("g");
}
