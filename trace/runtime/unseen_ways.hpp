// Ways to move bytes of files that are not recorded and that the kernel does not count: io_uring,
// and mappings and asynchronous operations that are not followed to their end. Readers say that a
// process used them (core/wire/info.hpp, io_uring_rings and not_followed).
#pragma once

namespace omnio::trace {

// At the beginning of an image, and in a forked child.
void beginUnseenWays();

// A ring of io_uring was set up.
void countRing();

// A mapping or an asynchronous operation is not followed to its end.
void countNotFollowed();

bool hasUnseenWays();

// Writes the counts of now into the container, which there has to be; not those that are 0.
void tellUnseenWays();

}  // namespace omnio::trace
