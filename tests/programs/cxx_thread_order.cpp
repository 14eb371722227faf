// Threads that follow each other by creating and joining alone: each writes a file of its own.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace {

void writeFile(const char* name) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) std::abort();
  static const char data[4096] = {};
  for (int i = 0; i < 4; ++i) {
    if (write(fd, data, sizeof data) != static_cast<ssize_t>(sizeof data)) std::abort();
  }
  close(fd);
}

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
