#include "trace/wrap/mpi/datatype.hpp"

#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/datatype_text.hpp"

namespace omnio::trace {
namespace {

// Numbers by the hash of the text. Bounded, so that a look-up stays cheap: what comes later is told
// again each time that it is used.
constinit PointerTable<std::uint32_t, 509> known;
constexpr std::uint32_t kMostKnown = 16384;
std::atomic<std::uint32_t> last_number{0};

// Room in front of the text for the key of the fact.
constexpr std::size_t kKeyBytes = 40;
// Of the text in one fact; the rest follows under the same key with ".1", ".2", ... behind. A chunk
// must not be larger than readers take.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// Writes the text, which begins at kKeyBytes, as facts. A key stands before its piece, over what
// was written already.
bool tell(LongText& text, std::uint32_t number) {
  if (!isActive() || !openContainer() || !text.endsWithRoom()) return false;
  char* const end = text.data() + text.size();
  unsigned piece = 0;
  for (char* at = text.data() + kKeyBytes; at < end; ++piece) {
    char* const behind =
        end - at > static_cast<std::ptrdiff_t>(kPieceBytes) ? at + kPieceBytes : end;
    char buffer[kKeyBytes];
    Text key(buffer, sizeof buffer);
    key.put(wire::info::kTypePrefix).putNumber(number);
    if (piece > 0) key.putByte('.').putNumber(piece);
    key.putByte('\0');
    char* const begin = at - key.size();
    std::memcpy(begin, buffer, key.size());
    const char kept = *behind;
    *behind = '\0';
    if (!appendInfo(begin, static_cast<std::size_t>(behind + 1 - begin))) return false;
    *behind = kept;
    at = behind;
  }
  return true;
}

}  // namespace

std::uint32_t typeNumberOf(MPI_Datatype type) {
  LongText text;
  text.put("                                        ");
  static_assert(sizeof "                                        " - 1 == kKeyBytes);
  putType(text, type);
  if (!text.isWhole()) return 0;
  std::uint64_t hash = wire::checksum(text.data() + kKeyBytes, text.size() - kKeyBytes);
  constexpr std::uint64_t kFirstFree = 2;  // what the table says of empty places
  if (hash < kFirstFree) hash += kFirstFree;
  const auto* const key = reinterpret_cast<const void*>(hash);
  if (const std::uint32_t* number = known.find(key)) return *number;
  const std::uint32_t number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!tell(text, number)) return 0;
  if (number <= kMostKnown) known.put(key, [number](std::uint32_t& place) { place = number; });
  return number;
}

}  // namespace omnio::trace
