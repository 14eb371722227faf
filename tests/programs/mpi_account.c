#include "mpi_account.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

enum { kMostEvents = 4096, kMostAccounts = 16 };

struct Account {
  struct Event* events;
  int count;
  long tid;
};

int rank, ranks, rehearsing;
static struct Account accounts[kMostAccounts];
static atomic_int opened;
static __thread struct Account* account;
static int64_t plan_start;

int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void openAccount(void) {
  const int number = atomic_fetch_add(&opened, 1);
  CHECK(number < kMostAccounts);
  account = &accounts[number];
  account->events = calloc(kMostEvents, sizeof *account->events);
  CHECK(account->events != NULL);
  memset(account->events, 1, kMostEvents * sizeof *account->events);
  account->tid = syscall(SYS_gettid);
}

struct Event* newEvent(const char* call) {
  CHECK(account->count < kMostEvents);
  struct Event* event = &account->events[account->count++];
  memset(event, 0, sizeof *event);
  event->call = call;
  event->planted = event->peer = event->tag = event->size = event->bytes = -1;
  return event;
}

struct Part* newPart(struct Event* event, const char* name) {
  CHECK(event->parts < kMostParts);
  struct Part* part = &event->part[event->parts++];
  const int length = snprintf(part->name, kMostName, "%s%s", rehearsing ? "warm." : "", name);
  CHECK(length < kMostName);
  part->waits = 0;
  return part;
}

void waitsFor(struct Part* part, int other) {
  if (other == rank) return;
  CHECK(part->waits < kMostAfter);
  part->after[part->waits++] = other;
}

const char* nameOf(const char* format, ...) {
  static __thread char names[4][kMostName];
  static __thread unsigned turn;
  char* name = names[turn++ % 4];
  va_list values;
  va_start(values, format);
  vsnprintf(name, kMostName, format, values);
  va_end(values);
  return name;
}

struct Event* message(struct Event* event, const char* name, int peer, int tag, int64_t bytes) {
  event->peer = peer, event->tag = tag, event->bytes = bytes;
  newPart(event, name);
  return event;
}

struct Event* waiting(struct Event* event, const char* name, int other) {
  waitsFor(newPart(event, name), other);
  return event;
}

struct Event* received(struct Event* event, const char* name, int peer, int tag, int64_t bytes) {
  message(event, name, peer, tag, bytes);
  waitsFor(&event->part[0], peer);
  return event;
}

struct Event* together(struct Event* event, const char* name, int size, int from, int to,
                       int step) {
  event->size = size;
  struct Part* part = newPart(event, name);
  for (int other = from; other <= to; other += step) waitsFor(part, other);
  return event;
}

struct Event* planted(struct Event* event, double ms) {
  event->planted = ms > 0 ? (int64_t)(ms * 1e6) : 0;
  return event;
}

void beginPlan(void) {
  together(MPI(MPI_Barrier, MPI_COMM_WORLD), "begin", ranks, 0, ranks - 1, 1);
  plan_start = now() + 100000000;
  together(MPI(MPI_Bcast, &plan_start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD), "plan", ranks, 0, 0, 1);
}

void until(double ms) {
  int64_t moment = plan_start + (int64_t)(ms * 1e6);
  struct timespec time = {moment / 1000000000, moment % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
  }
}

void writeAccounts(const char* directory) {
  PATH(path, directory, nameOf("account.%d", rank));
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  for (int thread = 0; thread < kMostAccounts; ++thread) {
    for (int i = 0; i < accounts[thread].count; ++i) {
      const struct Event* event = &accounts[thread].events[i];
      fprintf(file, "{\"rank\":%d,\"tid\":%ld,\"call\":\"%s\",\"start_ns\":%lld,\"end_ns\":%lld",
              rank, accounts[thread].tid, event->call, (long long)event->start,
              (long long)event->end);
      if (event->planted >= 0) fprintf(file, ",\"planted_ns\":%lld", (long long)event->planted);
      if (event->peer >= 0) fprintf(file, ",\"peer\":%d", event->peer);
      if (event->tag >= 0) fprintf(file, ",\"tag\":%d", event->tag);
      if (event->bytes >= 0) fprintf(file, ",\"bytes\":%lld", (long long)event->bytes);
      if (event->size >= 0) fprintf(file, ",\"size\":%d", event->size);
      fprintf(file, ",\"parts\":[");
      for (int part = 0; part < event->parts; ++part) {
        fprintf(file, "%s[\"%s\"", part > 0 ? "," : "", event->part[part].name);
        for (int other = 0; other < event->part[part].waits; ++other) {
          fprintf(file, ",%d", event->part[part].after[other]);
        }
        fprintf(file, "]");
      }
      fprintf(file, "]}\n");
    }
  }
  CHECK(fclose(file) == 0);
}
