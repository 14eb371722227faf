// A directory that is published: made under a temporary name, renamed, and written in further. And
// the name of a Unix socket.
//
//   c_made_names [x [y]]    x: the new name is that of an empty directory; y: the directory is
//   empty c_made_names socket
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "check.h"

static void writeFile(const char* path) {
  int fd = open(path, O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0);
  CHECK(write(fd, "abc", 3) == 3);
  CHECK(close(fd) == 0);
}

static void publish(int is_made, int is_emptied) {
  CHECK(mkdir("tmp", 0755) == 0);
  if (is_made) CHECK(mkdir("final", 0755) == 0);
  writeFile("tmp/a");
  if (is_emptied) CHECK(unlink("tmp/a") == 0);
  CHECK(rename("tmp", "final") == 0);
  writeFile("final/b");
}

static int bound(const char* path, size_t bytes) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, bytes);
  int made = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(made >= 0);
  return bind(made, (struct sockaddr*)&address, offsetof(struct sockaddr_un, sun_path) + bytes);
}

static void sockets(void) {
  struct stat about;
  CHECK(unlink("socket") == -1 && errno == ENOENT);
  CHECK(bound("socket", 7) == 0);
  CHECK(bound("socket", 6) == -1 && errno == EADDRINUSE);  // no NUL at its end
  CHECK(bound("none/socket", 12) == -1 && errno == ENOENT);
  CHECK(bound("\0abstract", 9) == 0);
  CHECK(chmod("socket", 0600) == 0);
  CHECK(stat("socket", &about) == 0 && S_ISSOCK(about.st_mode));
  CHECK(open("socket", O_RDONLY) == -1 && errno == ENXIO);
  CHECK(rename("socket", "other") == 0);
  CHECK(bound("socket", 7) == 0);
  CHECK(unlink("other") == 0);
  CHECK(mkdir("d", 0755) == 0);
  CHECK(bound("d/left", 7) == 0);
  CHECK(rmdir("d") == -1 && errno == ENOTEMPTY);
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "socket") == 0) {
    sockets();
  } else {
    publish(count > 1, count > 2);
  }
  return 0;
}
