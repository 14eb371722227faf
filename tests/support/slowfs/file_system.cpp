#include "tests/support/slowfs/file_system.hpp"

#include <dirent.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/slowfs/open_reply.hpp"

namespace slowfs {
namespace {

// Only this process changes the backing directory, so what the kernel keeps stays true.
constexpr std::uint64_t kCachedFor_s = 86400;

FileSystem& systemOf(fuse_req_t request) {
  return *static_cast<FileSystem*>(fuse_req_userdata(request));
}

int nodeFile(fuse_req_t request, fuse_ino_t id) {
  return systemOf(request).nodes.of(id).file.get();
}

std::uint64_t cachedFor(fuse_req_t request) {
  return systemOf(request).options.cache ? kCachedFor_s : 0;
}

int fileOf(const fuse_file_info* info) { return static_cast<int>(info->fh); }

int errorOf(long result) { return result < 0 ? errno : 0; }

// Owner and group of what this thread makes are those of the caller, and a directory with the
// set-group-id bit gives its own group as ever. The rights of this process stay: the kernel has
// checked those of the caller, with all groups that the caller is in.
class AsCaller {
 public:
  explicit AsCaller(fuse_req_t request) {
    const fuse_ctx* const caller = fuse_req_ctx(request);
    become(caller->uid, caller->gid);
  }
  ~AsCaller() {
    const int error = errno;
    become(geteuid(), getegid());
    errno = error;
  }
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;

 private:
  static void become(uid_t user, gid_t group) {
    syscall(SYS_setfsgid, group);
    syscall(SYS_setfsuid, user);
  }
};

// A write takes the set-user-id and set-group-id bits off a file, unless the writer is privileged.
// This process is, so the kernel does not do it by itself.
void takePrivilegeBits(fuse_req_t request, int file) {
  if (fuse_req_ctx(request)->uid == 0) return;
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return;
  mode_t mode = status.st_mode & ~S_ISUID;
  if ((mode & S_IXGRP) != 0) mode &= ~static_cast<mode_t>(S_ISGID);
  if (mode != status.st_mode) fchmod(file, mode & 07777);
}

// Serves a request whose reply is an error or nothing. `call` returns what a system call does.
template <class Call>
void serve(fuse_req_t request, Kind kind, const Call& call) {
  Service service(systemOf(request).pace, kind, fuse_req_ctx(request)->pid);
  const int planned = service.plannedError();
  const int error = planned != 0 ? planned : errorOf(call());
  service.waitForReply(error);
  fuse_reply_err(request, error);
}

// Serves a request whose reply is a file of the node table.
template <class Find>
void serveEntry(fuse_req_t request, Kind kind, const Find& find) {
  Service service(systemOf(request).pace, kind, fuse_req_ctx(request)->pid);
  NodeTable::Found found;
  found.error = service.plannedError();
  if (found.error == 0) found = find();
  service.waitForReply(found.error);
  fuse_entry_param entry = {};
  const std::uint64_t valid_s = cachedFor(request);
  entry.attr_timeout = entry.entry_timeout = static_cast<double>(valid_s);
  // A cached reply without a file says that there is none, until one is made.
  const bool known_absent = kind == Kind::Lookup && found.error == ENOENT && valid_s > 0;
  if (found.error != 0 && !known_absent) {
    fuse_reply_err(request, found.error);
    return;
  }
  entry.ino = found.id;
  entry.attr = found.status;
  if (fuse_reply_entry(request, &entry) != 0 && found.id != 0) {
    systemOf(request).nodes.forget(found.id, 1);
  }
}

// Makes a name with `make`, and looks it up.
template <class Make>
void serveNew(fuse_req_t request, Kind kind, fuse_ino_t parent, const char* name,
              const Make& make) {
  serveEntry(request, kind, [&] {
    NodeTable& nodes = systemOf(request).nodes;
    const Node& folder = nodes.of(parent);
    {
      const AsCaller as_caller(request);
      if (make(folder.file.get()) != 0) return NodeTable::Found{.error = errno};
    }
    return nodes.lookUp(folder, name);
  });
}

void init(void* data, fuse_conn_info* connection) {
  const Options& options = static_cast<FileSystem*>(data)->options;
  // The kernel takes care of set-user-id bits where its own cache or names are concerned.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
                                             FUSE_CAP_SPLICE_MOVE | FUSE_CAP_HANDLE_KILLPRIV);
  if (options.write_back) connection->want |= connection->capable & FUSE_CAP_WRITEBACK_CACHE;
  // Read-ahead, asynchronous I/O and late writes keep that many requests under way.
  connection->max_background = options.threads;
  connection->congestion_threshold = options.threads;
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serveEntry(request, Kind::Lookup, [&] {
    NodeTable& nodes = systemOf(request).nodes;
    return nodes.lookUp(nodes.of(parent), name);
  });
}

void forget(fuse_req_t request, fuse_ino_t id, std::uint64_t lookups) {
  systemOf(request).nodes.forget(id, lookups);
  fuse_reply_none(request);
}

void forgetMany(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
  for (std::size_t index = 0; index < count; ++index) {
    systemOf(request).nodes.forget(forgotten[index].ino, forgotten[index].nlookup);
  }
  fuse_reply_none(request);
}

// The attributes of a node, after `change` has returned what a system call does.
template <class Change>
void serveAttributes(fuse_req_t request, Kind kind, fuse_ino_t id, const Change& change) {
  Service service(systemOf(request).pace, kind, fuse_req_ctx(request)->pid);
  struct stat status = {};
  int error = service.plannedError();
  if (error == 0) error = errorOf(change());
  if (error == 0) error = errorOf(fstatat(nodeFile(request, id), "", &status, AT_EMPTY_PATH));
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_attr(request, &status, static_cast<double>(cachedFor(request)));
  }
}

void getattr(fuse_req_t request, fuse_ino_t id, fuse_file_info*) {
  serveAttributes(request, Kind::GetAttr, id, [] { return 0; });
}

timespec timeToSet(int to_set, int its_bit, int now_bit, const timespec& value) {
  if ((to_set & now_bit) != 0) return {0, UTIME_NOW};
  return (to_set & its_bit) != 0 ? value : timespec{0, UTIME_OMIT};
}

int change(int file, const fuse_file_info* info, const struct stat& wanted, int to_set) {
  const PathOfDescriptor path(file);
  // A change of the owner takes privilege bits off, so a mode is set after it.
  if ((to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    const uid_t user = (to_set & FUSE_SET_ATTR_UID) != 0 ? wanted.st_uid : static_cast<uid_t>(-1);
    const gid_t group = (to_set & FUSE_SET_ATTR_GID) != 0 ? wanted.st_gid : static_cast<gid_t>(-1);
    if (fchownat(file, "", user, group, AT_EMPTY_PATH) != 0) return -1;
  }
  if ((to_set & FUSE_SET_ATTR_MODE) != 0 && chmod(path.text(), wanted.st_mode & 07777) != 0) {
    return -1;
  }
  if ((to_set & FUSE_SET_ATTR_SIZE) != 0) {
    const int result = info != nullptr ? ftruncate(fileOf(info), wanted.st_size)
                                       : truncate(path.text(), wanted.st_size);
    if (result != 0) return -1;
  }
  const timespec times[] = {
      timeToSet(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted.st_atim),
      timeToSet(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted.st_mtim)};
  if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT) return 0;
  return utimensat(file, "", times, AT_EMPTY_PATH);
}

void setattr(fuse_req_t request, fuse_ino_t id, struct stat* wanted, int to_set,
             fuse_file_info* info) {
  serveAttributes(request, Kind::SetAttr, id,
                  [&] { return change(nodeFile(request, id), info, *wanted, to_set); });
}

void readLink(fuse_req_t request, fuse_ino_t id) {
  Service service(systemOf(request).pace, Kind::ReadLink, fuse_req_ctx(request)->pid);
  char target[PATH_MAX + 1];
  int error = service.plannedError();
  ssize_t length = 0;
  if (error == 0) {
    length = readlinkat(nodeFile(request, id), "", target, PATH_MAX);
    error = errorOf(length);
  }
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
    return;
  }
  target[length] = '\0';
  fuse_reply_readlink(request, target);
}

void makeNode(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  serveNew(request, Kind::MkNod, parent, name,
           [&](int folder) { return mknodat(folder, name, mode, device); });
}

void makeFolder(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  serveNew(request, Kind::MkDir, parent, name,
           [&](int folder) { return mkdirat(folder, name, mode); });
}

void makeSymLink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  serveNew(request, Kind::SymLink, parent, name,
           [&](int folder) { return symlinkat(target, folder, name); });
}

void link(fuse_req_t request, fuse_ino_t id, fuse_ino_t parent, const char* name) {
  serveNew(request, Kind::Link, parent, name, [&](int folder) {
    return linkat(AT_FDCWD, PathOfDescriptor(nodeFile(request, id)).text(), folder, name,
                  AT_SYMLINK_FOLLOW);
  });
}

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve(request, Kind::Unlink, [&] { return unlinkat(nodeFile(request, parent), name, 0); });
}

void removeFolder(fuse_req_t request, fuse_ino_t parent, const char* name) {
  serve(request, Kind::RmDir,
        [&] { return unlinkat(nodeFile(request, parent), name, AT_REMOVEDIR); });
}

void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
            const char* new_name, unsigned flags) {
  serve(request, Kind::Rename, [&] {
    return renameat2(nodeFile(request, parent), name, nodeFile(request, new_parent), new_name,
                     flags);
  });
}

// The kernel gives each write its offset, also with O_APPEND, and reads whole pages of a file that
// was opened for writing when it writes pages later. Buffers here are not aligned for O_DIRECT.
int flagsForBacking(fuse_req_t request, int flags) {
  int result = flags & ~(O_APPEND | O_DIRECT);
  if (systemOf(request).options.write_back && (flags & O_ACCMODE) == O_WRONLY) {
    result = (result & ~O_ACCMODE) | O_RDWR;
  }
  return result | O_CLOEXEC;
}

OpenReply openReply(fuse_req_t request, int file) {
  return {.handle = static_cast<std::uint64_t>(file), .cached = systemOf(request).options.cache};
}

void open(fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::Open, fuse_req_ctx(request)->pid);
  Descriptor file;
  int error = service.plannedError();
  if (error == 0) {
    const int flags = flagsForBacking(request, info->flags) & ~O_NOFOLLOW;
    file = Descriptor(::open(PathOfDescriptor(nodeFile(request, id)).text(), flags));
    error = errorOf(file.get());
  }
  if (error == 0 && (info->flags & O_TRUNC) != 0) takePrivilegeBits(request, file.get());
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
    return;
  }
  const std::string payload = openPayload(openReply(request, file.get()));
  // A failure says that the caller has been killed meanwhile, and no RELEASE follows.
  if (fuse_reply_buf(request, payload.data(), payload.size()) == 0) file.release();
}

void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::Create, fuse_req_ctx(request)->pid);
  NodeTable& nodes = systemOf(request).nodes;
  NodeTable::Found found;
  Descriptor file;
  found.error = service.plannedError();
  if (found.error == 0) {
    const AsCaller as_caller(request);
    const int flags = flagsForBacking(request, info->flags) | O_CREAT | O_NOFOLLOW;
    file = Descriptor(openat(nodeFile(request, parent), name, flags, mode));
    found.error = errorOf(file.get());
  }
  if (found.error == 0) found = nodes.lookUp(file.get());
  service.waitForReply(found.error);
  if (found.error != 0) {
    fuse_reply_err(request, found.error);
    return;
  }
  const std::string payload =
      createPayload(openReply(request, file.get()), found.id, found.status, cachedFor(request));
  if (fuse_reply_buf(request, payload.data(), payload.size()) == 0) {
    file.release();
  } else {
    nodes.forget(found.id, 1);
  }
}

void read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::Read, fuse_req_ctx(request)->pid);
  thread_local std::vector<char> data;
  if (data.size() < size) data.resize(size);
  int error = service.plannedError();
  ssize_t got = 0;
  if (error == 0) {
    got = pread(fileOf(info), data.data(), size, offset);
    error = errorOf(got);
  }
  const std::size_t bytes = error == 0 ? static_cast<std::size_t>(got) : 0;
  service.waitForReply(error, bytes);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_buf(request, data.data(), bytes);
  }
}

void write(fuse_req_t request, fuse_ino_t, const char* data, std::size_t size, off_t offset,
           fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::Write, fuse_req_ctx(request)->pid);
  int error = service.plannedError();
  ssize_t put = 0;
  if (error == 0) {
    put = pwrite(fileOf(info), data, size, offset);
    error = errorOf(put);
    if (error == 0) takePrivilegeBits(request, fileOf(info));
  }
  const std::size_t bytes = error == 0 ? static_cast<std::size_t>(put) : 0;
  service.waitForReply(error, bytes);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_write(request, bytes);
  }
}

// A close that fails says so here: RELEASE comes later, and its result reaches no program.
void flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve(request, Kind::Flush, [&] { return close(dup(fileOf(info))); });
}

void release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve(request, Kind::Release, [&] { return close(fileOf(info)); });
}

int sync(int file, int data_only) { return data_only != 0 ? fdatasync(file) : fsync(file); }

void fsync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  serve(request, Kind::FSync, [&] { return sync(fileOf(info), data_only); });
}

void allocate(fuse_req_t request, fuse_ino_t, int mode, off_t offset, off_t length,
              fuse_file_info* info) {
  serve(request, Kind::FAllocate, [&] {
    const int result = ::fallocate(fileOf(info), mode, offset, length);
    if (result == 0) takePrivilegeBits(request, fileOf(info));
    return result;
  });
}

void seek(fuse_req_t request, fuse_ino_t, off_t offset, int whence, fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::LSeek, fuse_req_ctx(request)->pid);
  int error = service.plannedError();
  // Data that the kernel has yet to write would be a hole here. Without this call the kernel takes
  // all of a file for data.
  if (error == 0 && systemOf(request).options.write_back) error = ENOSYS;
  off_t result = 0;
  if (error == 0) {
    result = ::lseek(fileOf(info), offset, whence);
    error = errorOf(result);
  }
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_lseek(request, result);
  }
}

struct Folder {
  explicit Folder(DIR* its_stream) : stream(its_stream) {}
  ~Folder() { closedir(stream); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  DIR* const stream;
  std::mutex mutex;
  off_t position = 0;  // of the entry that the stream gives next
};

Folder& folderOf(const fuse_file_info* info) {
  return *reinterpret_cast<Folder*>(static_cast<std::uintptr_t>(info->fh));
}

void openFolder(fuse_req_t request, fuse_ino_t id, fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::OpenDir, fuse_req_ctx(request)->pid);
  int error = service.plannedError();
  DIR* stream = nullptr;
  if (error == 0) {
    stream = opendir(PathOfDescriptor(nodeFile(request, id)).text());
    if (stream == nullptr) error = errno;
  }
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
    return;
  }
  auto folder = std::make_unique<Folder>(stream);
  info->fh = reinterpret_cast<std::uintptr_t>(folder.get());
  info->keep_cache = info->cache_readdir = systemOf(request).options.cache;
  if (fuse_reply_open(request, info) == 0) folder.release();
}

// Entries from `offset` on, as many as fit into the first `size` bytes of `data`.
int readEntries(fuse_req_t request, Folder& folder, off_t offset, std::size_t size,
                std::vector<char>& data) {
  const std::lock_guard lock(folder.mutex);
  if (offset != folder.position) seekdir(folder.stream, offset);
  std::size_t used = 0;
  data.resize(size);
  folder.position = offset;
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(folder.stream);
    if (entry == nullptr) {
      if (errno != 0 && used == 0) return errno;
      break;
    }
    struct stat status = {};
    status.st_ino = entry->d_ino;
    status.st_mode = static_cast<mode_t>(entry->d_type) << 12;
    const std::size_t needed = fuse_add_direntry(request, data.data() + used, size - used,
                                                 entry->d_name, &status, entry->d_off);
    if (needed > size - used) {
      folder.position = -1;  // The stream is past an entry that the kernel does not have.
      break;
    }
    used += needed;
    folder.position = entry->d_off;
  }
  data.resize(used);
  return 0;
}

void readFolder(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset,
                fuse_file_info* info) {
  Service service(systemOf(request).pace, Kind::ReadDir, fuse_req_ctx(request)->pid);
  std::vector<char> data;
  int error = service.plannedError();
  if (error == 0) error = readEntries(request, folderOf(info), offset, size, data);
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_buf(request, data.data(), data.size());
  }
}

void releaseFolder(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  serve(request, Kind::ReleaseDir, [&] {
    delete &folderOf(info);
    return 0;
  });
}

void syncFolder(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  serve(request, Kind::FSyncDir, [&] { return sync(dirfd(folderOf(info).stream), data_only); });
}

void statFs(fuse_req_t request, fuse_ino_t id) {
  Service service(systemOf(request).pace, Kind::StatFs, fuse_req_ctx(request)->pid);
  struct statvfs state = {};
  int error = service.plannedError();
  if (error == 0) error = errorOf(fstatvfs(nodeFile(request, id), &state));
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else {
    fuse_reply_statfs(request, &state);
  }
}

// Extended attributes as bytes of at most `size`, or their length when `size` is 0.
template <class Get>
void serveXAttr(fuse_req_t request, Kind kind, std::size_t size, const Get& get) {
  Service service(systemOf(request).pace, kind, fuse_req_ctx(request)->pid);
  std::vector<char> value(size);
  int error = service.plannedError();
  ssize_t length = 0;
  if (error == 0) {
    length = get(value.data());
    error = errorOf(length);
  }
  service.waitForReply(error);
  if (error != 0) {
    fuse_reply_err(request, error);
  } else if (size == 0) {
    fuse_reply_xattr(request, static_cast<std::size_t>(length));
  } else {
    fuse_reply_buf(request, value.data(), static_cast<std::size_t>(length));
  }
}

void getXAttr(fuse_req_t request, fuse_ino_t id, const char* name, std::size_t size) {
  const PathOfDescriptor path(nodeFile(request, id));
  serveXAttr(request, Kind::GetXAttr, size,
             [&](char* value) { return ::getxattr(path.text(), name, value, size); });
}

void listXAttr(fuse_req_t request, fuse_ino_t id, std::size_t size) {
  const PathOfDescriptor path(nodeFile(request, id));
  serveXAttr(request, Kind::ListXAttr, size,
             [&](char* value) { return ::listxattr(path.text(), value, size); });
}

void setXAttr(fuse_req_t request, fuse_ino_t id, const char* name, const char* value,
              std::size_t size, int flags) {
  const PathOfDescriptor path(nodeFile(request, id));
  serve(request, Kind::SetXAttr, [&] { return ::setxattr(path.text(), name, value, size, flags); });
}

void removeXAttr(fuse_req_t request, fuse_ino_t id, const char* name) {
  const PathOfDescriptor path(nodeFile(request, id));
  serve(request, Kind::RemoveXAttr, [&] { return ::removexattr(path.text(), name); });
}

}  // namespace

// Locks are not here, so the kernel keeps them itself. copy_file_range is not here either, so a
// program's copies are reads and writes, whose latencies are those of other reads and writes.
const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops table = [] {
    fuse_lowlevel_ops result = {};
    result.init = init;
    result.lookup = lookup;
    result.forget = forget;
    result.forget_multi = forgetMany;
    result.getattr = getattr;
    result.setattr = setattr;
    result.readlink = readLink;
    result.mknod = makeNode;
    result.mkdir = makeFolder;
    result.symlink = makeSymLink;
    result.link = link;
    result.unlink = unlink;
    result.rmdir = removeFolder;
    result.rename = rename;
    result.open = open;
    result.create = create;
    result.read = read;
    result.write = write;
    result.flush = flush;
    result.release = release;
    result.fsync = fsync;
    result.fallocate = allocate;
    result.lseek = seek;
    result.opendir = openFolder;
    result.readdir = readFolder;
    result.releasedir = releaseFolder;
    result.fsyncdir = syncFolder;
    result.statfs = statFs;
    result.getxattr = getXAttr;
    result.listxattr = listXAttr;
    result.setxattr = setXAttr;
    result.removexattr = removeXAttr;
    return result;
  }();
  return table;
}

bool prepareToActForCallers() {
  umask(0);  // The kernel has applied that of the caller.
  if (geteuid() != 0) return true;
  const int bits = prctl(PR_GET_SECUREBITS);
  return bits >= 0 && prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) == 0;
}

}  // namespace slowfs
