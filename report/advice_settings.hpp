// The thresholds of the advice (configs/advice.toml).
#pragma once
#include <filesystem>

#include "core/base/result.hpp"

namespace omnio::report {

struct AdviceSettings {
  double small_bytes = 64 * 1024;     // reads and writes below are small
  double small_share = 0.5;           // of all of these, when it is a finding
  double least_calls = 100;           // fewer calls of a kind are none
  double metadata_share = 0.3;        // of the I/O time of the slowest rank
  double sync_share = 0.2;            // of the same
  double sync_bytes = 1024 * 1024;    // written for each sync, at most
  double waiting_share = 0.2;         // of the run of the rank that waits most
  double imbalance = 1.5;             // the slowest rank's I/O time to the average
  double one_rank_share = 0.7;        // of all bytes moved, by one of four or more ranks
  double one_rank_bytes = 64 << 20;   // all bytes together, at least
  double opens_each = 10;             // of one file, for each rank that uses it
  double small_file_bytes = 1 << 20;  // read and written, a file
  double small_files = 1000;          // so many of them
  double failed_share = 0.3;          // of opens and other metadata calls
  double alignment_bytes = 4096;      // of a file's blocks
  double misaligned_share = 0.5;      // of the requests that are no smaller than that
  double random_share = 0.5;          // of the requests that follow another one
  double random_bytes = 4 << 20;      // of each: larger ones may go anywhere
  double reread_share = 0.3;          // of the bytes that are read
  double reread_bytes = 64 << 20;     // at least
  double read_back_share = 0.3;       // of the reads
  double lock_share = 0.1;            // of the I/O time of the slowest rank
  double refused_share = 0.3;         // of the locks that are asked for
  double unseen_share = 0.1;          // of the bytes that the kernel counted
  double least_io_share = 0.01;       // of the run in I/O: below, only what is not seen is told
  double warning_share = 0.02;        // of the run, which a finding concerns
  double serious_share = 0.1;         // of the same

  bool operator==(const AdviceSettings&) const = default;
};

// Reads lines `name = number`. Fails with the line where a name is not known or the value no
// number.
base::Result<AdviceSettings> readAdviceSettings(const std::filesystem::path& path);

}  // namespace omnio::report
