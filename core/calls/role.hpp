// The vocabulary of the table of calls: what an argument means, what a call does, and what its
// result says. Everything that knows calls (wrappers, encoding, text, statistics, replay) works on
// these words and never on the C types of a signature.
#pragma once

#include <cstdint>

namespace omnio::calls {

// The meaning of an argument. The comment gives the key in the text form, where there is one.
enum class Role : std::uint8_t {
  kFd,            // fd: the descriptor the call works on
  kFdNew,         // newfd: the number wished for a new descriptor (dup2)
  kFdSource,      // source: a second descriptor, read from (copy_file_range)
  kSourceOffset,  // source_offset: where in that file; -1: at its position
  kDirFd,         // dirfd: what the following path is relative to
  kDirFdNew,      // newdirfd: the same for the second path
  kPath,          // path
  kPathNew,       // newpath: where a rename or link leads
  kPathTemplate,  // path: mkstemp's, recorded as the call left it
  kFlags,         // flags: of open, renameat2, pwritev2, ...
  kMode,          // mode: permission bits
  kBuf,           // data; never recorded
  kBufLimit,      // the buffer size a fortified call checks against; never recorded
  kSize,          // count: bytes asked for
  kItemSize,      // size: bytes an item (fread)
  kItemCount,     // nmemb: items asked for
  kOffset,        // offset: bytes from the start of the file (seek: as whence says); of MPI calls
                  // etypes from the begin of the view. Given by a pointer (copy_file_range): as it
                  // was before the call, -1 for a null pointer
  kLength,        // length: a file's new size in bytes, or of a range
  kWhence,        // whence
  kIov,           // iov: sizes of the pieces in bytes, a:b:c
  kIovCount,      // iovcnt; recorded as the number of pieces of kIov
  kStream,        // fd: the descriptor below the stream the call works on
  kOpenMode,      // type: fopen's mode string
  kTextOut,       // count: bytes of a string that is written whole (fputs)
  kLineIn,        // count: bytes of the line that was got (fgets); known after the call
  kChar,          // char
  kCommand,       // cmd: of fcntl
  kLockType,      // lock: of a lock of fcntl, F_RDLCK, F_WRLCK or F_UNLCK
  kNumber,        // value: any other number worth keeping
  kUser,          // uid
  kGroup,         // gid
  kRoom,          // size: bytes of a buffer of other things than data, to be filled or taken from
  kOwnBuffer,     // buffer: 1 where the application gave the stream a buffer of its own
  kLinkText,      // target: the text of a symbolic link, not resolved
  kFile,          // fh: the MPI file the call works on, or the one that an open has made
  kAmode,         // amode: of MPI_File_open, in the bits below
  kRanks,         // ranks: processes that share an MPI file; 0 when the open failed
  kTick,          // tick: number of the MPI event in its process (docs/formats/trace.md)
  kGot,           // got: bytes that an MPI read or receive really got
  kDisp,          // disp: where a view begins, in bytes
  kEtype,         // etype: number of the datatype in its process (docs/formats/trace.md, "Types")
  kFiletype,      // filetype: the same
  kPosition,      // position: individual pointer after the call, in etypes
  kComm,          // comm: number of a group of ranks in its process: of a communicator, window or
                  // MPI file (docs/formats/trace.md, "Groups of ranks"); 0 when it is not known
  kNewComm,       // newcomm: the one that the call made; 0: none for this process
  kPeer,          // peer: rank in the communicator that is sent to or received from
  kTag,           // tag
  kSeq,           // seq: number of the message among those of its sender, receiver, communicator
                  // and tag, or of the collective call on its group; from 1, 0: not known
  kSource,        // source: peer of the receiving half of a call that sends too
  kSourceTag,     // source_tag: tag of that half
  kSourceSeq,     // source_seq: seq of that half
  kRoot,          // root: rank in the communicator
  kRequest,       // request: number of the MPI request or the asynchronous operation in its
                  // process; 0: complete already
  kBegun,     // begun: the persistent requests that the call started (core/wire/mpi_requests.hpp)
  kDone,      // done: the requests that the call found complete (core/wire/mpi_requests.hpp)
  kMembers,   // members: ranks in the group that the call is about (the same header)
  kObject,    // object: address of what threads wait for each other by
  kMutex,     // mutex: address of the one that belongs to a condition
  kMapping,   // mapping: number of the mapping in its process; 0: it failed
  kFileSize,  // file_size: bytes of the file when it was mapped
  kRangeOffset,  // range_offset: bytes from where the mapping begins
  kContext,      // context: of libaio, in which operations are under way; a number in its process
  kLeft,         // left: operations that follow in the same submission
  kAttribute,    // attribute: name of an extended attribute
  kIgnored,      // a pointer or number that is not recorded
};

// The kind of work that a call does, as statistics count it and as phases distinguish it.
enum class Class : std::uint8_t {
  kOpen,
  kClose,
  kRead,
  kWrite,
  kSeek,
  kSync,
  kMetadata,
  kMapping,
  kAsync,  // begins a transfer that goes on after the call
  kMpiFile,
  kMpiSync,
  kThreadSync,
};
inline constexpr int kClassCount = 12;

// The meaning of the return value, and with it the look of a failure.
enum class Result : std::uint8_t {
  kBytes,        // bytes moved; -1 and errno
  kItems,        // items moved, kItemSize bytes each; never negative
  kZero,         // 0; anything else is failure, with errno
  kErrorNumber,  // 0 or an errno value (posix_fallocate)
  kNewFd,        // a new descriptor; -1 and errno
  kNewStream,    // a new stream; NULL and errno
  kPosition,     // a file offset; -1 and errno
  kCount,        // a count that is the bytes moved (fprintf, getline); negative and errno
  kText,         // non-negative, the bytes being those of kTextOut (fputs); EOF and errno
  kChar,         // the character moved; EOF at the end of the file, or with errno
  kLine,         // the buffer; NULL at the end of the file, or with errno
  kTemplate,     // the template of a name; NULL and errno
  kNumber,       // a number >= 0 that does not count bytes; -1 and errno
  kNone,         // void
  kMpi,          // MPI_SUCCESS (0) or an MPI error code
};

// The order that a call forces. For an MPI call: which rank cannot leave it before which other rank
// has come. Where a call has a request, this is true of the call that completes the request.
enum class Sync : std::uint8_t {
  kNone,
  kAll,         // no rank before all of the group (barrier, making a communicator)
  kFromRoot,    // no rank before the root (broadcast)
  kToRoot,      // the root not before all (reduction)
  kPrefix,      // no rank before all lower ranks (scan)
  kNeighbours,  // no rank before its neighbours (neighbourhood collectives)
  kSend,        // a message goes; large ones wait for the receiver
  kSyncSend,    // a message goes, and waits for the receiver
  kReceive,     // not before the message was sent
  kProbe,       // not before it was sent; another call receives it
  kExchange,    // sends and receives
  kStart,       // starts requests (kBegun)
  kComplete,    // finds requests complete (kDone)
  kExpose,      // MPI_Win_post: opens this rank's window to kMembers
  kAccess,      // MPI_Win_start: not before kMembers have opened theirs
  kAccessed,    // MPI_Win_complete: the end of that
  kExposed,     // MPI_Win_wait: not before the others have ended theirs
  // The order of threads of a process:
  kGive,    // threads that take the object later come after this
  kTake,    // not before the last that gave the object
  kMeet,    // not before all of the same turn have come (barrier)
  kArrive,  // one of these, which does not wait
};

// The interface an application's call belongs to.
enum class Api : std::uint8_t { kPosix, kStdio, kMpi, kThreads };

// A regular call's wrapper is generated from its row; a custom one has a hand-written body.
enum class Body : std::uint8_t { kRegular, kCustom };

// Numbers of MPI that traces hold, so that readers need no mpi.h. The tracer asserts that the MPI
// it is built with has the same.
//
// Bits of MPI_File_open's amode (MPI-3.1, section 13.2.1); Open MPI and MPICH agree on them.
inline constexpr std::int64_t kModeCreate = 1;
inline constexpr std::int64_t kModeReadOnly = 2;
inline constexpr std::int64_t kModeWriteOnly = 4;
inline constexpr std::int64_t kModeReadWrite = 8;
inline constexpr std::int64_t kModeDeleteOnClose = 16;
inline constexpr std::int64_t kModeUniqueOpen = 32;
inline constexpr std::int64_t kModeExclusive = 64;
inline constexpr std::int64_t kModeAppend = 128;
inline constexpr std::int64_t kModeSequential = 256;

// Ranks that are none (MPI-3.1, sections 3.2.4, 3.11 and 5.2.2), by Open MPI's numbers, whichever
// library the application used.
inline constexpr std::int64_t kAnySource = -1;
inline constexpr std::int64_t kProcNull = -2;
inline constexpr std::int64_t kIntercommRoot = -4;  // MPI_ROOT

}  // namespace omnio::calls
