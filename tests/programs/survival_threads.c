// Threads that end in unusual ways, and code that comes and goes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "survival.h"

// No destructor of the thread runs.
static void* endAtOnce(void* number) {
  char name[32];
  snprintf(name, sizeof name, "raw.%d", (int)(intptr_t)number % 4);
  put(newFile(name), 7);
  syscall(SYS_exit, 0);
  return NULL;
}

static void rawThreadExits(void) {
  for (int i = 0; i < 300; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, endAtOnce, (void*)(intptr_t)i) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

static int input[2];

static void onCancel(void* fd) { put(*(int*)fd, 5); }

// Ends inside the tracer's wrapper of read, by unwinding through it.
static void* readForEver(void* unused) {
  (void)unused;
  // It cannot be known whether a write was made that is cancelled on its way back.
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  int fd = newFile("cancelled");
  put(fd, 3);
  pthread_setcancelstate(before, NULL);
  pthread_cleanup_push(onCancel, &fd);
  char byte;
  while (read(input[0], &byte, 1) >= 0) {
  }
  pthread_cleanup_pop(0);
  return NULL;
}

static void* writeForEver(void* unused) {
  (void)unused;
  int fd = newFile("cancelled.anywhere");
  while (1) CHECK(pwrite(fd, "", 0, 0) == 0);
}

static void cancelled(void) {
  CHECK(pipe(input) == 0);
  for (int i = 0; i < 40; ++i) {
    pthread_t reader;
    pthread_t writer;
    CHECK(pthread_create(&reader, NULL, readForEver, NULL) == 0);
    CHECK(pthread_create(&writer, NULL, writeForEver, NULL) == 0);
    usleep(i * 20);
    CHECK(pthread_cancel(reader) == 0 && pthread_cancel(writer) == 0);
    void* result = NULL;
    CHECK(pthread_join(reader, &result) == 0 && result == PTHREAD_CANCELED);
    CHECK(pthread_join(writer, &result) == 0 && result == PTHREAD_CANCELED);
  }
  put(newFile("after"), 1000);
}

// In the order of the key's number, which may be before or after that of other libraries.
static pthread_key_t key;
static void onThreadEnd(void* fd) {
  static __thread int rounds = 0;
  put((int)(intptr_t)fd, 4);
  if (++rounds < 3) CHECK(pthread_setspecific(key, fd) == 0);
}

static void* endWithDestructors(void* unused) {
  (void)unused;
  int fd = newFile("destructors");
  CHECK(pthread_setspecific(key, (void*)(intptr_t)fd) == 0);
  return NULL;
}

static void threadDestructors(void) {
  CHECK(pthread_key_create(&key, onThreadEnd) == 0);
  for (int i = 0; i < 50; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, endWithDestructors, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

// A library that comes, writes from its constructor, from a call and from its destructor, and goes.
static void loadedAndUnloaded(void) {
  const char* named = getenv("SURVIVAL_PLUGIN");
  CHECK(named != NULL);
  CHECK(setenv("EARLY_DIRECTORY", directory, 1) == 0);
  for (int i = 0; i < 20; ++i) {
    void* plugin = dlopen(named, RTLD_NOW | (i % 2 ? RTLD_GLOBAL : RTLD_LOCAL));
    CHECK(plugin != NULL);
    void (*write_text)(const char*);
    *(void**)&write_text = dlsym(plugin, "earlyWrite");
    CHECK(write_text != NULL);
    write_text("x");
    CHECK(dlclose(plugin) == 0);
  }
}

// A C library of its own, which nothing of this one reaches: not recorded, and not disturbed.
static void otherNamespace(void) {
  const char* named = getenv("SURVIVAL_PLUGIN");
  CHECK(named != NULL);
  put(newFile("before"), 100);
  for (int i = 0; i < 5; ++i) {
    void* plugin = dlmopen(LM_ID_NEWLM, named, RTLD_NOW);
    CHECK(plugin != NULL);
    CHECK(dlclose(plugin) == 0);
  }
  put(newFile("after"), 100);
}

const struct Case thread_cases[] = {
    {"raw_thread_exits", rawThreadExits},      {"cancelled", cancelled},
    {"thread_destructors", threadDestructors}, {"loaded_and_unloaded", loadedAndUnloaded},
    {"other_namespace", otherNamespace},       {NULL, NULL}};
