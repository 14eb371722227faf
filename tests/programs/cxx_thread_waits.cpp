// Threads that wait for each other in each way that POSIX threads have: each file is written
// only after the one before it. Without an argument both have to wait; with one, the second thread
// is late each time, and finds that what it would wait for has happened.
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "write_file.hpp"

namespace {

std::mutex mutex;
std::condition_variable changed;
int reached = 0;
sem_t posted;
sem_t last;
pthread_barrier_t barrier;
bool is_second_late = false;

void tell(int step) {
  const std::lock_guard lock(mutex);
  reached = step;
  changed.notify_one();
}

void waitFor(int step) {
  std::unique_lock lock(mutex);
  while (reached < step) changed.wait(lock);
}

void second() {
  const auto delay = [] { usleep(is_second_late ? 100'000 : 0); };
  writeFile("second");
  delay();
  waitFor(1);
  writeFile("b");
  tell(2);
  delay();
  if (sem_wait(&posted) != 0) std::abort();
  writeFile("d");
  pthread_barrier_wait(&barrier);
  writeFile("f");
  tell(3);
  pthread_barrier_wait(&barrier);
  mutex.lock();
  pthread_barrier_wait(&barrier);
  usleep(50'000);
  writeFile("h");
  mutex.unlock();
  pthread_barrier_wait(&barrier);
}

}  // namespace

int main(int count, char**) {
  is_second_late = count > 1;
  if (sem_init(&posted, 0, 0) != 0 || sem_init(&last, 0, 0) != 0) return 1;
  pthread_barrier_init(&barrier, nullptr, 2);
  writeFile("first");
  std::thread other(second);
  // A thread that does nothing before it waits.
  std::thread third([] {
    while (sem_wait(&last) != 0) {
    }
    writeFile("j");
  });
  writeFile("a");
  tell(1);
  waitFor(2);
  writeFile("c");
  sem_post(&posted);
  pthread_barrier_wait(&barrier);
  writeFile("e");
  waitFor(3);
  writeFile("g");
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  mutex.lock();  // only when h is written
  mutex.unlock();
  writeFile("i");
  sem_post(&last);
  pthread_barrier_wait(&barrier);
  other.join();
  third.join();
  // A forked child locks before it does anything that is recorded.
  const pid_t child = fork();
  if (child == 0) {
    tell(4);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
}
