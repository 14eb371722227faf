// The text form of a datatype: docs/formats/trace.md, "Types".
#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/file_call.hpp"

namespace omnio::trace {
namespace {

// Deeper than any type of an application: the library's own recursion ends sooner.
constexpr int kMostNesting = 200;

struct TypeQueries {
  decltype(MPI_Type_get_envelope)* envelope = OMNIO_LAZY_MPI(PMPI_Type_get_envelope);
  decltype(MPI_Type_get_contents)* contents = OMNIO_LAZY_MPI(PMPI_Type_get_contents);
  decltype(MPI_Type_get_extent_x)* extent = OMNIO_LAZY_MPI(PMPI_Type_get_extent_x);
  decltype(MPI_Type_get_true_extent_x)* true_extent = OMNIO_LAZY_MPI(PMPI_Type_get_true_extent_x);
  decltype(MPI_Type_size_x)* size = OMNIO_LAZY_MPI(PMPI_Type_size_x);
  decltype(MPI_Type_free)* free = OMNIO_LAZY_MPI(PMPI_Type_free);

  bool areThere() const {
    return envelope != nullptr && contents != nullptr && extent != nullptr &&
           true_extent != nullptr && size != nullptr && free != nullptr;
  }
};

TypeQueries queries() { return {}; }

// What MPI hands out as it is: not taken apart, and not to be freed.
bool isGiven(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

struct Envelope {
  int numbers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

// Numbers with commas; where four or more go up by the same step, the first, the step and how many.
template <typename T>
void putList(LongText& out, const T* values, int count) {
  constexpr int kWorthIt = 4;
  for (int i = 0; i < count;) {
    if (i > 0) out.put(',');
    const std::int64_t first = values[i];
    int run = 1;
    std::int64_t step = 0;
    if (i + 1 < count &&
        !__builtin_sub_overflow(static_cast<std::int64_t>(values[i + 1]), first, &step)) {
      std::int64_t next = values[i + 1];
      while (i + run < count && values[i + run] == next) {
        ++run;
        if (__builtin_add_overflow(next, step, &next)) break;
      }
    }
    out.putNumber(first);
    if (run < kWorthIt) {
      ++i;
      continue;
    }
    if (step != 0) out.put(step < 0 ? '-' : '+').putNumber(step < 0 ? -step : step);
    out.put('x').putNumber(run);
    i += run;
  }
}

class TypeWriter {
 public:
  TypeWriter(const TypeQueries& ask, LongText& out) : ask_(ask), out_(out) {}

  void write(MPI_Datatype type, int nesting) {
    Envelope envelope;
    if (nesting > kMostNesting || !out_.isWhole() ||
        ask_.envelope(type, &envelope.numbers, &envelope.addresses, &envelope.types,
                      &envelope.combiner) != MPI_SUCCESS) {
      out_.giveUp();
    } else if (isGiven(envelope.combiner)) {
      writeGiven(type);
    } else {
      writeMade(type, envelope, nesting);
    }
  }

 private:
  using Numbers = Scratch<int, 24>;
  using Addresses = Scratch<MPI_Aint, 8>;
  using Types = Scratch<MPI_Datatype, 4>;

  // One without gaps is its bytes. The others are the pairs of MPI-3.1, 5.9.4: a value, and an
  // int at the end.
  void writeGiven(MPI_Datatype type) {
    MPI_Count bytes = 0;
    MPI_Count begin = 0;
    MPI_Count span = 0;
    if (ask_.size(type, &bytes) != MPI_SUCCESS ||
        ask_.true_extent(type, &begin, &span) != MPI_SUCCESS) {
      out_.giveUp();
      return;
    }
    constexpr auto kInt = static_cast<std::int64_t>(sizeof(int));
    const bool is_pair = span > bytes && bytes > kInt && begin == 0;
    if (is_pair) {
      out_.put("struct(1,1;0,").putNumber(span - kInt);
      out_.put(";b").putNumber(bytes - kInt).put(",b").putNumber(kInt).put(')');
    } else if (span == bytes || bytes == 0) {
      if (begin != 0) out_.put("hindexed(1;").putNumber(begin).put(';');
      out_.put('b').putNumber(bytes);
      if (begin != 0) out_.put(')');
    } else {
      out_.giveUp();
    }
    writeBounds(type, bytes);
  }

  // Only where the type is not as long as its data, from 0 on.
  void writeBounds(MPI_Datatype type, MPI_Count bytes) {
    MPI_Count begin = 0;
    MPI_Count extent = 0;
    if (ask_.extent(type, &begin, &extent) != MPI_SUCCESS) {
      out_.giveUp();
    } else if (begin != 0 || extent != bytes) {
      out_.put('[').putNumber(begin).put(',').putNumber(extent).put(']');
    }
  }

  void writeMade(MPI_Datatype type, const Envelope& envelope, int nesting) {
    const Numbers numbers(static_cast<std::size_t>(envelope.numbers));
    const Addresses addresses(static_cast<std::size_t>(envelope.addresses));
    const Types types(static_cast<std::size_t>(envelope.types));
    if (!numbers || !addresses || !types ||
        ask_.contents(type, envelope.numbers, envelope.addresses, envelope.types, numbers.data(),
                      addresses.data(), types.data()) != MPI_SUCCESS) {
      out_.giveUp();
      return;
    }
    writeArguments(envelope, numbers, addresses);
    writeTypes(types, envelope.types, nesting);
    out_.put(')');
    MPI_Count bytes = 0;
    if (ask_.size(type, &bytes) != MPI_SUCCESS) out_.giveUp();
    if (envelope.combiner != MPI_COMBINER_RESIZED) writeBounds(type, bytes);
    for (int i = 0; i < envelope.types; ++i) release(types.data()[i]);
  }

  // What was made of others is ours to free.
  void release(MPI_Datatype type) {
    Envelope envelope;
    if (ask_.envelope(type, &envelope.numbers, &envelope.addresses, &envelope.types,
                      &envelope.combiner) == MPI_SUCCESS &&
        !isGiven(envelope.combiner)) {
      ask_.free(&type);
    }
  }

  void writeTypes(const Types& types, int count, int nesting) {
    for (int i = 0; i < count;) {
      int same = 1;
      while (i + same < count && types.data()[i + same] == types.data()[i]) ++same;
      if (i > 0) out_.put(',');
      write(types.data()[i], nesting + 1);
      if (same > 1) out_.put('x').putNumber(same);
      i += same;
    }
  }

  // The name of the combiner and all but the types.
  void writeArguments(const Envelope& envelope, const Numbers& numbers,
                      const Addresses& addresses) {
    const int* const given = numbers.data();
    const int count = envelope.numbers > 0 ? given[0] : 0;
    switch (envelope.combiner) {
      case MPI_COMBINER_DUP:
        out_.put("dup(");
        break;
      case MPI_COMBINER_CONTIGUOUS:
        out_.put("contiguous(");
        put(count);
        break;
      case MPI_COMBINER_VECTOR:
        out_.put("vector(");
        put(count).put(given[1]).put(given[2]);
        break;
      case MPI_COMBINER_HVECTOR:
        out_.put("hvector(");
        put(count).put(given[1]).put(addresses[0]);
        break;
      case MPI_COMBINER_INDEXED:
        out_.put("indexed(");
        list(given + 1, count).list(given + 1 + count, count);
        break;
      case MPI_COMBINER_HINDEXED:
        out_.put("hindexed(");
        list(given + 1, count).list(addresses.data(), count);
        break;
      case MPI_COMBINER_INDEXED_BLOCK:
        out_.put("indexed_block(");
        put(given[1]).list(given + 2, count);
        break;
      case MPI_COMBINER_HINDEXED_BLOCK:
        out_.put("hindexed_block(");
        put(given[1]).list(addresses.data(), count);
        break;
      case MPI_COMBINER_STRUCT:
        out_.put("struct(");
        list(given + 1, count).list(addresses.data(), count);
        break;
      case MPI_COMBINER_SUBARRAY:
        out_.put("subarray(");
        list(given + 1, count).list(given + 1 + count, count);
        list(given + 1 + 2 * count, count).order(given[1 + 3 * count]);
        break;
      case MPI_COMBINER_DARRAY:
        writeDarray(given);
        break;
      case MPI_COMBINER_RESIZED:
        out_.put("resized(");
        put(addresses[0]).put(addresses[1]);
        break;
      default:
        out_.giveUp();
    }
  }

  void writeDarray(const int* given) {
    const int dimensions = given[2];
    const int* const sizes = given + 3;
    const int* const distributions = sizes + dimensions;
    const int* const arguments = distributions + dimensions;
    const int* const processes = arguments + dimensions;
    out_.put("darray(");
    put(given[0]).put(given[1]).list(sizes, dimensions);
    for (int i = 0; i < dimensions; ++i) {
      if (i > 0) out_.put(',');
      out_.put(distributions[i] == MPI_DISTRIBUTE_BLOCK    ? 'b'
               : distributions[i] == MPI_DISTRIBUTE_CYCLIC ? 'c'
                                                           : 'n');
    }
    out_.put(';');
    for (int i = 0; i < dimensions; ++i) {
      if (i > 0) out_.put(',');
      // 0 stands for what the library chooses.
      out_.putNumber(arguments[i] == MPI_DISTRIBUTE_DFLT_DARG ? 0 : arguments[i]);
    }
    out_.put(';');
    list(processes, dimensions).order(processes[dimensions]);
  }

  TypeWriter& put(std::int64_t number) {
    out_.putNumber(number).put(';');
    return *this;
  }
  template <typename T>
  TypeWriter& list(const T* values, int count) {
    putList(out_, values, count);
    out_.put(';');
    return *this;
  }
  TypeWriter& order(int mpi_order) {
    out_.put(mpi_order == MPI_ORDER_C ? "c;" : "f;");
    return *this;
  }

  const TypeQueries& ask_;
  LongText& out_;
};

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
  if (!queries().areThere()) return 0;
  TypeWriter(queries(), text).write(type, 0);
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
