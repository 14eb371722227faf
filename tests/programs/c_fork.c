// Processes that beget processes, by every way there is, each writing files of known sizes.
//
//   c_fork DIRECTORY
//   c_fork DIRECTORY child NAME BYTES      writes NAME and ends
//   c_fork DIRECTORY stdin NAME            copies its input to NAME
//   c_fork DIRECTORY inherited FD BYTES    writes to a descriptor it was given
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "check.h"

extern char** environ;

static const char* directory;
static const char* self;

static void writeBytes(int fd, int bytes) {
  while (bytes-- > 0) CHECK(write(fd, "x", 1) == 1);
}

static void writeFile(const char* name, int bytes) {
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(fd >= 0);
  writeBytes(fd, bytes);
  CHECK(close(fd) == 0);
}

static void copyInput(const char* name) {
  PATH(path, directory, name);
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(fd >= 0);
  char buffer[64];
  ssize_t bytes;
  while ((bytes = read(0, buffer, sizeof buffer)) > 0) CHECK(write(fd, buffer, bytes) == bytes);
  CHECK(close(fd) == 0);
}

static void waitFor(pid_t child, int expected) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

// Parent and child share the descriptor's offset; each has a file of its own besides.
static void forkAndGoOn(void) {
  PATH(path, directory, "fork.shared");
  int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(fd >= 0);
  writeBytes(fd, 3);
  pid_t child = fork();
  if (child == 0) {
    writeBytes(fd, 5);
    writeFile("fork.child", 11);
    pid_t grandchild = fork();
    if (grandchild == 0) {
      writeFile("fork.grandchild", 13);
      _exit(8);
    }
    waitFor(grandchild, 8);
    _exit(7);
  }
  waitFor(child, 7);
  writeBytes(fd, 2);
  CHECK(lseek(fd, 0, SEEK_CUR) == 10);
  CHECK(close(fd) == 0);
  writeFile("fork.parent", 17);
}

enum Way { kExecl, kExeclp, kExecle, kExecv, kExecve, kExecvp, kExecvpe, kFexecve, kWays };

static void execBy(enum Way way) {
  char name[32];
  snprintf(name, sizeof name, "exec.%d", (int)way);
  char* arguments[] = {(char*)self, (char*)directory, (char*)"child", name, (char*)"19", NULL};
  pid_t child = fork();
  if (child == 0) {
    switch (way) {
      case kExecl:
        execl(self, self, directory, "child", name, "19", (char*)NULL);
        break;
      case kExeclp:
        execlp(self, self, directory, "child", name, "19", (char*)NULL);
        break;
      case kExecle:
        execle(self, self, directory, "child", name, "19", (char*)NULL, environ);
        break;
      case kExecv:
        execv(self, arguments);
        break;
      case kExecve:
        execve(self, arguments, environ);
        break;
      case kExecvp:
        execvp(self, arguments);
        break;
      case kExecvpe:
        execvpe(self, arguments, environ);
        break;
      case kFexecve:
        fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ);
        break;
      case kWays:
        break;
    }
    _exit(99);
  }
  waitFor(child, 0);
}

static void spawnAndVfork(void) {
  char* spawned[] = {(char*)self,    (char*)directory, (char*)"child",
                     (char*)"spawn", (char*)"23",      NULL};
  pid_t child = 0;
  CHECK(posix_spawn(&child, self, NULL, NULL, spawned, environ) == 0);
  waitFor(child, 0);
  CHECK(posix_spawnp(&child, self, NULL, NULL, spawned, environ) == 0);
  waitFor(child, 0);
  child = vfork();
  if (child == 0) {
    execl(self, self, directory, "child", "vfork", "29", (char*)NULL);
    _exit(99);
  }
  waitFor(child, 0);
  child = vfork();
  if (child == 0) {
    execl("/nonexistent/program", "program", (char*)NULL);  // fails, and the parent must go on
    _exit(98);
  }
  waitFor(child, 98);
  writeFile("after.vfork", 31);
}

// The shell itself only starts a program: what shells write is not tested here.
static void throughTheShell(void) {
  char command[8192];
  snprintf(command, sizeof command, "exec '%s' '%s' child system 37", self, directory);
  CHECK(system(command) == 0);
  snprintf(command, sizeof command, "exec '%s' '%s' stdin popen", self, directory);
  FILE* pipe = popen(command, "w");
  CHECK(pipe != NULL && fputs("through a pipe\n", pipe) >= 0);
  CHECK(pclose(pipe) == 0);
}

// A stream of names hides a descriptor, which its end closes.
static void listDirectory(void) {
  DIR* names = opendir(directory);
  CHECK(names != NULL);
  int found = 0;
  while (readdir(names) != NULL) ++found;
  CHECK(found > 2 && closedir(names) == 0);
}

// The image is replaced, the descriptor stays open: what the new image does with it is I/O on the
// same file, whose open it never made.
static void replaceSelf(void) {
  PATH(path, directory, "inherited");
  int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CHECK(fd >= 0);
  writeBytes(fd, 4);
  char number[16];
  snprintf(number, sizeof number, "%d", fd);
  char* arguments[] = {(char*)self, (char*)directory, (char*)"inherited", number, (char*)"6", NULL};
  execve(self, arguments, environ);
  CHECK(!"execve returned");
}

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: c_fork DIRECTORY\n"), 2;
  self = argv[0];
  directory = argv[1];
  if (argc == 5 && strcmp(argv[2], "child") == 0) return writeFile(argv[3], atoi(argv[4])), 0;
  if (argc == 4 && strcmp(argv[2], "stdin") == 0) return copyInput(argv[3]), 0;
  if (argc == 5 && strcmp(argv[2], "inherited") == 0) {
    writeBytes(atoi(argv[3]), atoi(argv[4]));
    CHECK(close(atoi(argv[3])) == 0);
    return 0;
  }
  forkAndGoOn();
  for (int way = 0; way < kWays; ++way) execBy((enum Way)way);
  spawnAndVfork();
  throughTheShell();
  listDirectory();
  replaceSelf();
}
