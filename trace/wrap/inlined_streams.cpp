#include "trace/wrap/inlined_streams.hpp"

#include <link.h>

#include <algorithm>
#include <string_view>

#include "trace/runtime/moved_bytes.hpp"
#include "trace/wrap/intercept.hpp"

namespace omnio::trace {

std::atomic<bool> has_inlined_streams{false};

namespace {

// A stream that is followed, and where its buffer's pointers stood after the last call on it.
struct Followed {
  std::atomic<FILE*> stream{nullptr};
  const char* read_at = nullptr;
  const char* write_at = nullptr;
};
constexpr std::size_t kStreams = 1024;
constexpr std::size_t kProbes = 16;
Followed followed[kStreams];

Followed& slotOf(const FILE* stream, std::size_t probe) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // Fibonacci hashing
  return followed[((reinterpret_cast<std::uintptr_t>(stream) * kOdd >> 40) + probe) % kStreams];
}

// Whether the program itself calls what such code calls: an undefined symbol of its own.
bool programHasInlined() {
  const link_map* const program = _r_debug.r_map;
  if (program == nullptr || program->l_ld == nullptr) return false;
  std::uintptr_t symbols = 0;
  std::uintptr_t names = 0;
  std::size_t name_bytes = 0;
  for (const ElfW(Dyn)* entry = program->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) names = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRSZ) name_bytes = entry->d_un.d_val;
  }
  // The loader has made addresses of these, on most systems.
  for (std::uintptr_t* place : {&symbols, &names}) {
    if (*place < program->l_addr) *place += program->l_addr;
  }
  // The names come after the symbols, whose number is told nowhere. Other tables may be between.
  constexpr std::size_t kMost = std::size_t{1} << 20;
  if (symbols == 0 || names <= symbols) return false;
  const std::size_t count = std::min((names - symbols) / sizeof(ElfW(Sym)), kMost);
  const auto* const table = reinterpret_cast<const ElfW(Sym)*>(symbols);
  return std::any_of(table, table + count, [&](const ElfW(Sym) & symbol) {
    if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= name_bytes) return false;
    const std::string_view name(reinterpret_cast<const char*>(names + symbol.st_name));
    return name == calls::rowOf(CallId::__uflow).name ||
           name == calls::rowOf(CallId::__overflow).name;
  });
}

__attribute__((constructor)) void lookForInlined() {
  if (programHasInlined()) has_inlined_streams.store(true, std::memory_order_relaxed);
}

Followed* findFollowed(const FILE* stream) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    Followed& slot = slotOf(stream, i);
    if (slot.stream.load(std::memory_order_acquire) == stream) return &slot;
  }
  return nullptr;
}

Followed* addFollowed(FILE* stream) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    Followed& slot = slotOf(stream, i);
    FILE* none = nullptr;
    if (slot.stream.compare_exchange_strong(none, stream)) return &slot;
  }
  countNotFollowed();
  return nullptr;
}

// How far a pointer has gone on since the last call; 0 where it is in another buffer now.
std::int64_t movedFrom(const char* before, const char* now, const char* begin, const char* end) {
  return begin <= before && before <= now && now <= end ? now - before : 0;
}

template <CallId kCall>
void recordInlined(Thread& self, Entry handle, std::int64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t now = ticks();
  Subject subject;
  subject.handle = handle;
  wire::Arguments<kCall> numbers{};
  record<kCall>(self, {.start = now, .end = now}, false, numbers, 0, bytes, subject);
}

}  // namespace

void noteInlined(Thread& self, FILE* stream, Entry handle) {
  Followed* const slot = findFollowed(stream);
  if (slot == nullptr) return;
  const std::int64_t read =
      movedFrom(slot->read_at, stream->_IO_read_ptr, stream->_IO_read_base, stream->_IO_read_end);
  const std::int64_t written =
      movedFrom(slot->write_at, stream->_IO_write_ptr, stream->_IO_write_base, stream->_IO_buf_end);
  slot->read_at = stream->_IO_read_ptr;
  slot->write_at = stream->_IO_write_ptr;
  recordInlined<CallId::inlined_getc>(self, handle, read);
  recordInlined<CallId::inlined_putc>(self, handle, written);
}

void rememberBuffer(FILE* stream) {
  has_inlined_streams.store(true, std::memory_order_relaxed);
  Followed* slot = findFollowed(stream);
  if (slot == nullptr) slot = addFollowed(stream);
  if (slot == nullptr) return;
  slot->read_at = stream->_IO_read_ptr;
  slot->write_at = stream->_IO_write_ptr;
}

void forgetBuffer(FILE* stream) {
  if (Followed* const slot = findFollowed(stream)) slot->stream.store(nullptr);
}

void noteAllInlined() {
  Thread& self = thread;
  if (!hasInlinedStreams() || !isActive() || !mayRecord(self) || isVforkChild()) return;
  for (Followed& slot : followed) {
    FILE* const stream = slot.stream.load(std::memory_order_acquire);
    if (stream == nullptr || !isReadableMemory(stream, sizeof *stream)) continue;
    const Entry handle = find(descriptorOf(stream));
    if (handle.isTraced()) noteInlined(self, stream, handle);
  }
}

}  // namespace omnio::trace
