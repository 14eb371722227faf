// The process's container file: created with its first event, written in large pieces at reserved
// offsets, on a descriptor that is high, guarded and found again when the application loses it.
// Every failure is a return value, never a signal.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/container.hpp"

namespace omnio::trace {

// Creates the container with its header and first facts. False when that cannot be done (now).
bool openContainer();
bool hasContainer();
// Opens the container's file and keeps its descriptor, also where that takes a number of the
// application's: before it can no longer be opened (a filter, another root, another user).
void keepDescriptor();
// Whether this is the tracer's own descriptor, which does not exist for the application. A system
// call when the number is right; a number that stands for something else is forgotten.
bool isOwnDescriptor(int fd);
// Its number, or -1.
int ownDescriptor();
// The application wants this number for itself.
void moveOwnDescriptor();
// The application has this number already: the container is opened again when it is needed.
void forgetOwnDescriptor();
// After fork the parent's container is not the child's.
void forgetContainer(bool close_descriptor);

// Writes the pieces (8 at most) to an open file. False, and the error is noted, when that fails.
bool writeAt(int fd, const iovec* pieces, int count, std::size_t bytes, std::uint64_t offset);

// Appends the pieces (chunks, back to back). False when they are not all written.
bool appendChunks(const iovec* pieces, int count, std::size_t bytes);
// Rewrites the account in place. False when that fails.
bool writeAccount();
wire::Account currentAccount();
// Appends a chunk of facts, "key\0value\0...".
bool appendInfo(const char* facts, std::size_t bytes);
// The facts that change while the process runs (describeIdentity).
void appendIdentity();
// Appends one fact.
bool appendFact(std::string_view key, std::string_view value);
bool appendFact(std::string_view key, std::uint64_t value);

}  // namespace omnio::trace
