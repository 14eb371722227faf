// The text form of a datatype: docs/formats/trace.md, "Types".
#include "core/wire/checksum.hpp"
#include "core/wire/info.hpp"
#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/text.hpp"
#include "trace/wrap/mpi/abi.hpp"

namespace omnio::trace::OMNIO_MPI_ABI {
namespace {

// Deeper than any type of an application: the library's own recursion ends sooner.
constexpr int kMostNesting = 200;

// Whether MPI hands the type out as it is: such a type is not taken apart, and must not be freed.
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

bool askEnvelope(MPI_Datatype type, Envelope& envelope) {
  return ask(OMNIO_LAZY_MPI(PMPI_Type_get_envelope), type, &envelope.numbers, &envelope.addresses,
             &envelope.types, &envelope.combiner);
}
bool askBytes(MPI_Datatype type, MPI_Count& bytes) {
  return ask(OMNIO_LAZY_MPI(PMPI_Type_size_x), type, &bytes);
}

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

// How a type was made, and what is told of it: c the count, which is its first number, n a number,
// a an address, o an order; N and A as many numbers or addresses as the count says.
struct Combiner {
  int number;
  std::string_view name;
  std::string_view parts;
};
constexpr Combiner kCombiners[] = {
    {MPI_COMBINER_DUP, "dup", ""},
    {MPI_COMBINER_CONTIGUOUS, "contiguous", "c"},
    {MPI_COMBINER_VECTOR, "vector", "cnn"},
    {MPI_COMBINER_HVECTOR, "hvector", "cna"},
    {MPI_COMBINER_INDEXED, "indexed", "NN"},
    {MPI_COMBINER_HINDEXED, "hindexed", "NA"},
    {MPI_COMBINER_INDEXED_BLOCK, "indexed_block", "nN"},
    {MPI_COMBINER_HINDEXED_BLOCK, "hindexed_block", "nA"},
    {MPI_COMBINER_STRUCT, "struct", "NA"},
    {MPI_COMBINER_SUBARRAY, "subarray", "NNNo"},
    {MPI_COMBINER_RESIZED, "resized", "aa"},
};

class TypeWriter {
 public:
  explicit TypeWriter(LongText& out) : out_(out) {}

  void write(MPI_Datatype type, int nesting) {
    Envelope envelope;
    if (nesting > kMostNesting || !out_.isWhole() || !askEnvelope(type, envelope)) {
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
    if (!askBytes(type, bytes) ||
        !ask(OMNIO_LAZY_MPI(PMPI_Type_get_true_extent_x), type, &begin, &span)) {
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
    if (!ask(OMNIO_LAZY_MPI(PMPI_Type_get_extent_x), type, &begin, &extent)) {
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
        !ask(OMNIO_LAZY_MPI(PMPI_Type_get_contents), type, envelope.numbers, envelope.addresses,
             envelope.types, numbers.data(), addresses.data(), types.data())) {
      out_.giveUp();
      return;
    }
    writeArguments(envelope, numbers, addresses);
    writeTypes(types, envelope.types, nesting);
    out_.put(')');
    MPI_Count bytes = 0;
    if (!askBytes(type, bytes)) out_.giveUp();
    if (envelope.combiner != MPI_COMBINER_RESIZED) writeBounds(type, bytes);
    for (int i = 0; i < envelope.types; ++i) release(types.data()[i]);
  }

  // Frees a type that was made of others: MPI has given it to us.
  void release(MPI_Datatype type) {
    Envelope envelope;
    if (askEnvelope(type, envelope) && !isGiven(envelope.combiner)) {
      ask(OMNIO_LAZY_MPI(PMPI_Type_free), &type);
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

  // The name of the combiner and all but the types. MPI-3.1, 4.1.13 has the order of the numbers.
  void writeArguments(const Envelope& envelope, const Numbers& numbers,
                      const Addresses& addresses) {
    const int* given = numbers.data();
    const MPI_Aint* places = addresses.data();
    if (envelope.combiner == MPI_COMBINER_DARRAY) {
      writeDarray(given);
      return;
    }
    const Combiner* combiner = nullptr;
    for (const Combiner& one : kCombiners) {
      if (one.number == envelope.combiner) combiner = &one;
    }
    if (combiner == nullptr) {
      out_.giveUp();
      return;
    }
    const int count = envelope.numbers > 0 ? *given++ : 0;
    out_.put(combiner->name).put('(');
    for (const char part : combiner->parts) {
      if (part == 'c') put(count);
      if (part == 'n') put(*given++);
      if (part == 'a') put(*places++);
      if (part == 'o') order(*given++);
      if (part == 'N') {
        list(given, count);
        given += count;
      }
      if (part == 'A') list(places, count);
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

  LongText& out_;
};

// Numbers by the hash of the text. Bounded, so that a look-up stays cheap: what comes later is told
// again each time that it is used.
constinit PointerTable<std::uint32_t, 509> known;
constexpr std::uint32_t kMostKnown = 16384;
std::atomic<std::uint32_t> last_number{0};

// Room in front of the text for the key of the fact.
constexpr std::size_t kKeyBytes = 40;
// One fact has so much of the text; the rest follows under the same key with ".1", ".2", ... after
// it. A chunk must not be larger than readers take.
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
  TypeWriter(text).write(type, 0);
  if (!text.isWhole()) return 0;
  std::uint64_t hash = wire::checksum(text.data() + kKeyBytes, text.size() - kKeyBytes);
  constexpr std::uint64_t kFirstFree = 2;  // what the table says of empty places
  if (hash < kFirstFree) hash += kFirstFree;
  const auto* const key = reinterpret_cast<const void*>(hash);
  if (const std::uint32_t* number = known.find(key)) return *number;
  const std::uint32_t number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!tell(text, number)) return 0;
  // Several threads may tell of a type that is new to all of them. Each of their numbers is right;
  // one of them is known from then on.
  if (number <= kMostKnown && known.find(key) == nullptr) {
    known.put(key, [number](std::uint32_t& place) { place = number; });
  }
  return number;
}

}  // namespace omnio::trace::OMNIO_MPI_ABI
