// The file system that the kernel sees: it passes each request to the backing directory, and
// answers it when the pace says.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "tests/support/slowfs/nodes.hpp"
#include "tests/support/slowfs/options.hpp"
#include "tests/support/slowfs/pace.hpp"

namespace slowfs {

// The user data of a session with `operations()`; outlives the session.
struct FileSystem {
  FileSystem(const Options& its_options, Descriptor root, Counts& counts, Gate& gate)
      : options(its_options), nodes(std::move(root)), pace(its_options.pace, counts, gate) {}

  const Options options;
  NodeTable nodes;
  Pace pace;
};

const fuse_lowlevel_ops& operations();

// Files that are made belong to the process that asked for them, and this process keeps its rights
// meanwhile. To be called before threads are started. Returns false, with errno set, on failure.
bool prepareToActForCallers();

}  // namespace slowfs
