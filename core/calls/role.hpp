// The vocabulary of the table of calls: what an argument means, what a call does, and what its
// result says. Everything that knows calls (wrappers, encoding, text, statistics, replay) works on
// these words and never on the C types of a signature.
#pragma once

#include <cstdint>

namespace omnio::calls {

// What an argument means. The comment gives the key in the text form, where there is one.
enum class Role : std::uint8_t {
  kFd,            // fd: the descriptor the call works on
  kFdNew,         // newfd: the number wished for a new descriptor (dup2)
  kFdSource,      // source: a second descriptor, read from (copy_file_range)
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
                  // etypes from the begin of the view
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
  kNumber,        // value: any other number worth keeping
  kLinkText,      // target: the text of a symbolic link, not resolved
  kFile,          // fh: the MPI file the call works on, or the one that an open has made
  kAmode,         // amode: of MPI_File_open, in the bits of mpi_values.hpp
  kRanks,         // ranks: processes that share an MPI file; 0 when the open failed
  kTick,          // tick: number of the MPI event in its process (docs/formats/trace.md)
  kGot,           // got: bytes that an MPI read really got
  kDisp,          // disp: where a view begins, in bytes
  kEtypeSize,     // etype_size: bytes
  kTypeSize,      // type_size: bytes of data in one filetype
  kTypeExtent,    // type_extent: bytes from one filetype to the next
  kTrueLb,        // true_lb: bytes from a filetype's begin to its first data
  kTrueExtent,    // true_extent: bytes from a filetype's first data to behind its last
  kBlockSize,     // block_size: bytes of each of its blocks; 0 when they are not regular
  kBlockStride,   // block_stride: bytes from one block's begin to the next one's; 0 of one block
  kIgnored,       // a pointer or number that is not recorded
};

// What a call does, as statistics count it and as phases distinguish it.
enum class Class : std::uint8_t {
  kOpen,
  kClose,
  kRead,
  kWrite,
  kSeek,
  kSync,
  kMetadata,
  kMapping,
  kMpiFile,
  kMpiSync,
};
inline constexpr int kClassCount = 10;

// What the return value says, and with it what failure looks like.
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
  kNumber,       // a number >= 0 that is no count of bytes; -1 and errno
  kNone,         // void
  kMpi,          // MPI_SUCCESS (0) or an MPI error code
};

// The interface an application's call belongs to.
enum class Api : std::uint8_t { kPosix, kStdio, kMpi };

// A regular call's wrapper is generated from its row; a custom one has a hand-written body.
enum class Body : std::uint8_t { kRegular, kCustom };

}  // namespace omnio::calls
