// A file system whose writes are slow: what is written to MOUNT_POINT goes to BACKING, one request
// at a time, each MILLISECONDS late. All other calls are as fast as those of BACKING.
//
//   fuse_slow BACKING MOUNT_POINT MILLISECONDS
//
// Stays in the foreground until MOUNT_POINT is unmounted, and then prints how much was written:
// "writes=REQUESTS bytes=BYTES busy_us=TIME", the time that it took over writes.
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { kMostPath = 4096 };

static const char* backing;
static struct timespec delay;
static unsigned long long writes, bytes_written, busy_us;

static int done(int result) { return result < 0 ? -errno : 0; }

// The path below BACKING, in memory of the caller's.
static const char* below(char* memory, const char* path) {
  snprintf(memory, kMostPath, "%s%s", backing, path);
  return memory;
}
#define BELOW(path) below((char[kMostPath]){0}, path)

static void* slowInit(struct fuse_conn_info* connection, struct fuse_config* config) {
  (void)connection;
  // Files stay usable after their name is gone, without another name being made for them.
  config->hard_remove = 1;
  config->nullpath_ok = 1;
  return NULL;
}

// New files belong to the caller, not to this process.
static int giveToCaller(const char* path) {
  const struct fuse_context* caller = fuse_get_context();
  return done(lchown(BELOW(path), caller->uid, caller->gid));
}

static int slowGetattr(const char* path, struct stat* status, struct fuse_file_info* file) {
  return done(file != NULL ? fstat((int)file->fh, status) : lstat(BELOW(path), status));
}

static int slowReadlink(const char* path, char* target, size_t size) {
  const ssize_t length = readlink(BELOW(path), target, size - 1);
  if (length >= 0) target[length] = '\0';
  return done((int)length);
}

static int slowMknod(const char* path, mode_t mode, dev_t device) {
  if (mknod(BELOW(path), mode, device) != 0) return -errno;
  return giveToCaller(path);
}

static int slowMkdir(const char* path, mode_t mode) {
  if (mkdir(BELOW(path), mode) != 0) return -errno;
  return giveToCaller(path);
}

static int slowSymlink(const char* target, const char* path) {
  if (symlink(target, BELOW(path)) != 0) return -errno;
  return giveToCaller(path);
}

static int slowUnlink(const char* path) { return done(unlink(BELOW(path))); }
static int slowRmdir(const char* path) { return done(rmdir(BELOW(path))); }
static int slowLink(const char* from, const char* to) { return done(link(BELOW(from), BELOW(to))); }

static int slowRename(const char* from, const char* to, unsigned flags) {
  return done(renameat2(AT_FDCWD, BELOW(from), AT_FDCWD, BELOW(to), flags));
}

static int slowChmod(const char* path, mode_t mode, struct fuse_file_info* file) {
  return done(file != NULL ? fchmod((int)file->fh, mode) : chmod(BELOW(path), mode));
}

static int slowChown(const char* path, uid_t user, gid_t group, struct fuse_file_info* file) {
  return done(file != NULL ? fchown((int)file->fh, user, group) : lchown(BELOW(path), user, group));
}

static int slowTruncate(const char* path, off_t size, struct fuse_file_info* file) {
  return done(file != NULL ? ftruncate((int)file->fh, size) : truncate(BELOW(path), size));
}

static int slowUtimens(const char* path, const struct timespec times[2],
                       struct fuse_file_info* file) {
  return done(file != NULL ? futimens((int)file->fh, times)
                           : utimensat(AT_FDCWD, BELOW(path), times, AT_SYMLINK_NOFOLLOW));
}

static int opened(int fd, struct fuse_file_info* file) {
  if (fd < 0) return -errno;
  file->fh = (uint64_t)fd;
  return 0;
}

static int slowOpen(const char* path, struct fuse_file_info* file) {
  return opened(open(BELOW(path), file->flags & ~O_NOFOLLOW), file);
}

static int slowCreate(const char* path, mode_t mode, struct fuse_file_info* file) {
  const int result = opened(open(BELOW(path), file->flags | O_CREAT, mode), file);
  return result < 0 ? result : giveToCaller(path);
}

static int slowRead(const char* path, char* data, size_t size, off_t offset,
                    struct fuse_file_info* file) {
  (void)path;
  const ssize_t got = pread((int)file->fh, data, size, offset);
  return got < 0 ? -errno : (int)got;
}

static int slowWrite(const char* path, const char* data, size_t size, off_t offset,
                     struct fuse_file_info* file) {
  (void)path;
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  nanosleep(&delay, NULL);
  const ssize_t put = pwrite((int)file->fh, data, size, offset);
  if (put < 0) return -errno;
  clock_gettime(CLOCK_MONOTONIC, &end);
  busy_us += (unsigned long long)((end.tv_sec - begin.tv_sec) * 1000000LL +
                                  (end.tv_nsec - begin.tv_nsec) / 1000);
  ++writes;
  bytes_written += (unsigned long long)put;
  return (int)put;
}

static int slowRelease(const char* path, struct fuse_file_info* file) {
  (void)path;
  return done(close((int)file->fh));
}

static int slowFsync(const char* path, int data_only, struct fuse_file_info* file) {
  (void)path;
  return done(data_only != 0 ? fdatasync((int)file->fh) : fsync((int)file->fh));
}

static int slowFallocate(const char* path, int mode, off_t offset, off_t length,
                         struct fuse_file_info* file) {
  (void)path;
  return done(fallocate((int)file->fh, mode, offset, length));
}

static int slowFlock(const char* path, struct fuse_file_info* file, int operation) {
  (void)path;
  return done(flock((int)file->fh, operation));
}

static int slowStatfs(const char* path, struct statvfs* state) {
  return done(statvfs(BELOW(path), state));
}

static int slowOpendir(const char* path, struct fuse_file_info* file) {
  DIR* directory = opendir(BELOW(path));
  file->fh = (uint64_t)(uintptr_t)directory;
  return directory == NULL ? -errno : 0;
}

static int slowReaddir(const char* path, void* entries, fuse_fill_dir_t fill, off_t offset,
                       struct fuse_file_info* file, enum fuse_readdir_flags flags) {
  (void)path;
  (void)offset;
  (void)flags;
  DIR* directory = (DIR*)(uintptr_t)file->fh;
  rewinddir(directory);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (fill(entries, entry->d_name, NULL, 0, 0) != 0) break;
  }
  return 0;
}

static int slowReleasedir(const char* path, struct fuse_file_info* file) {
  (void)path;
  return done(closedir((DIR*)(uintptr_t)file->fh));
}

static const struct fuse_operations operations = {
    .init = slowInit,
    .getattr = slowGetattr,
    .readlink = slowReadlink,
    .mknod = slowMknod,
    .mkdir = slowMkdir,
    .symlink = slowSymlink,
    .unlink = slowUnlink,
    .rmdir = slowRmdir,
    .link = slowLink,
    .rename = slowRename,
    .chmod = slowChmod,
    .chown = slowChown,
    .truncate = slowTruncate,
    .utimens = slowUtimens,
    .open = slowOpen,
    .create = slowCreate,
    .read = slowRead,
    .write = slowWrite,
    .release = slowRelease,
    .fsync = slowFsync,
    .fallocate = slowFallocate,
    .flock = slowFlock,
    .statfs = slowStatfs,
    .opendir = slowOpendir,
    .readdir = slowReaddir,
    .releasedir = slowReleasedir,
};

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: fuse_slow BACKING MOUNT_POINT MILLISECONDS\n");
    return 2;
  }
  backing = argv[1];
  const long milliseconds = atol(argv[3]);
  delay = (struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000};
  umask(0);
  // In the foreground, one thread; other users are let in, and the kernel checks their rights.
  char* words[] = {argv[0], "-f", "-s", "-o", "allow_other,default_permissions", argv[2], NULL};
  const int status = fuse_main(6, words, &operations, NULL);
  printf("writes=%llu bytes=%llu busy_us=%llu\n", writes, bytes_written, busy_us);
  return status;
}
