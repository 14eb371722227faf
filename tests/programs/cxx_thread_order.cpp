// Threads that follow each other by creating and joining alone: each writes a file of its own.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "write_file.hpp"

namespace {

void* writeInThread(void* name) {
  writeFile(static_cast<const char*>(name));
  return nullptr;
}

}  // namespace

int main() {
  writeFile("a");
  std::thread(writeFile, "b").join();
  writeFile("c");
  std::thread first(writeFile, "d");
  std::thread second(writeFile, "e");
  first.join();
  second.join();
  writeFile("f");
  // A thread without I/O passes the order on.
  std::thread([] { std::thread(writeFile, "g").join(); }).join();
  writeFile("h");
  pthread_t created;
  char name[] = "i";
  if (pthread_create(&created, nullptr, writeInThread, name) != 0) return 1;
  while (pthread_tryjoin_np(created, nullptr) != 0) usleep(100);
  writeFile("j");
}
