// A descriptor that is copied in each way there is, and first used by another process that got it
// in each way there is: both share one position.
//
//   c_copies COPY OVER      COPY: none, dup, dup2, dup3, dupfd, dupfd_cloexec
//                           OVER: fork, grandchild, exec, vfork, spawn, rights, pidfd
//   c_copies write FD       what another program does with the descriptor it was given
//
// "f" has 77,906 bytes in the end, the last 656 of which were written first.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "check.h"

extern char** environ;

enum { kHole = 77250, kTail = 656, kHead = 100, kShared = 1000 };

static char bytes[kShared];

static int copied(const char* copy, int f) {
  if (strcmp(copy, "none") == 0) return f;
  int g = strcmp(copy, "dup") == 0             ? dup(f)
          : strcmp(copy, "dup2") == 0          ? dup2(f, 40)
          : strcmp(copy, "dup3") == 0          ? dup3(f, 41, O_CLOEXEC)
          : strcmp(copy, "dupfd") == 0         ? fcntl(f, F_DUPFD, 50)
          : strcmp(copy, "dupfd_cloexec") == 0 ? fcntl(f, F_DUPFD_CLOEXEC, 0)
                                               : -1;
  CHECK(g >= 0);
  CHECK(close(f) == 0);
  return g;
}

static void useThere(int g) { CHECK(write(g, bytes, kShared) == kShared); }

static void waitFor(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

// Another program that is given the descriptor by its number.
static void becomeWriter(const char* self, int g) {
  char number[16];
  snprintf(number, sizeof number, "%d", g);
  char* arguments[] = {(char*)self, "write", number, NULL};
  execv(self, arguments);
  _exit(1);
}

static void sendRight(int to, int g) {
  char byte = 0, room[CMSG_SPACE(sizeof g)] = {0};
  struct iovec piece = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(sizeof g), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(header), &g, sizeof g);
  CHECK(sendmsg(to, &message, 0) == 1);
}

static int receivedRight(int from) {
  char byte, room[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec piece = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  int g = -1;
  CHECK(recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message) != NULL);
  memcpy(&g, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof g);
  return g;
}

static void handOver(const char* over, const char* self, const char* copy) {
  // A child that has nothing of it yet.
  int pair[2], numbers[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  const int by_rights = strcmp(over, "rights") == 0, by_pidfd = strcmp(over, "pidfd") == 0;
  pid_t child = -1;
  if ((by_rights || by_pidfd) && (child = fork()) == 0) {
    int g = -1;
    if (by_rights) {
      g = receivedRight(pair[1]);
    } else {
      CHECK(read(pair[1], numbers, sizeof numbers) == sizeof numbers);
      int parent = (int)syscall(SYS_pidfd_open, numbers[0], 0);
      CHECK(parent >= 0);
      g = (int)syscall(SYS_pidfd_getfd, parent, numbers[1], 0);
    }
    CHECK(g >= 0);
    useThere(g);
    _exit(0);
  }
  const int f = open("f", O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(f >= 0);
  CHECK(pwrite(f, bytes, kTail, kHole) == kTail);
  CHECK(write(f, bytes, kHead) == kHead);
  const int g = copied(copy, f);
  if (by_rights) {
    sendRight(pair[0], g);
  } else if (by_pidfd) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // Yama wants it
    numbers[0] = getpid();
    numbers[1] = g;
    CHECK(write(pair[0], numbers, sizeof numbers) == sizeof numbers);
  } else if (strcmp(over, "fork") == 0) {
    if ((child = fork()) == 0) {
      useThere(g);
      _exit(0);
    }
  } else if (strcmp(over, "grandchild") == 0) {
    if ((child = fork()) == 0) {
      const int h = fcntl(g, F_DUPFD, 60);
      const int own = open("own", O_CREAT | O_WRONLY, 0644);
      const int other = dup(own);
      const pid_t grandchild = fork();
      if (grandchild == 0) {
        CHECK(write(other, bytes, 10) == 10);
        useThere(h);
        _exit(0);
      }
      waitFor(grandchild);
      _exit(0);
    }
    const int beside = open("beside", O_CREAT | O_RDWR, 0644);  // numbers go on in both
    CHECK(write(beside, bytes, 20) == 20);
    waitFor(child);
    child = -1;
  } else if (strcmp(over, "exec") == 0 || strcmp(over, "vfork") == 0) {
    fcntl(g, F_SETFD, 0);
    child = strcmp(over, "exec") == 0 ? fork() : vfork();
    if (child == 0) becomeWriter(self, g);
  } else {
    char* arguments[] = {(char*)self, "write", "70", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, g, 70);
    CHECK(posix_spawn(&child, self, &actions, NULL, arguments, environ) == 0);
  }
  if (child > 0) waitFor(child);
  CHECK(lseek(g, 0, SEEK_CUR) == kHead + kShared);
  CHECK(lseek(g, 0, SEEK_END) == kHole + kTail);
  CHECK(close(g) == 0);
}

int main(int count, char** words) {
  CHECK(count == 3);
  memset(bytes, 'x', sizeof bytes);
  if (strcmp(words[1], "write") == 0) {
    useThere(atoi(words[2]));
    return 0;
  }
  handOver(words[2], words[0], words[1]);
  return 0;
}
