#include "trace/runtime/mpi/files.hpp"

#include "trace/runtime/mpi/pointer_table.hpp"

namespace omnio::trace {
namespace {

constinit PointerTable<std::uint64_t> files;  // words of entries

}  // namespace

void rememberMpiFile(const void* file, Entry entry) {
  releaseHandle(takeMpiFile(file));
  files.put(file, [entry](std::uint64_t& place) { place = entry.word(); });
}

Entry findMpiFile(const void* file) {
  const std::uint64_t* word = files.find(file);
  return word == nullptr ? Entry::notTraced() : Entry(*word);
}

Entry takeMpiFile(const void* file) {
  std::uint64_t word = 0;
  return files.take(file, word) ? Entry(word) : Entry::notTraced();
}

}  // namespace omnio::trace
