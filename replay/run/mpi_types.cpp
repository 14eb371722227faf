#include "replay/run/mpi_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/mpi/type_text.hpp"

namespace omnio::replay {

std::string mpiErrorText(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return base::printable({text, static_cast<std::size_t>(length)});
}

namespace {

using mpi::NumberList;

// Reads the tree and makes the types from its leaves up (MPI-3.1, section 4.1).
class TypeMaker {
 public:
  explicit TypeMaker(std::string_view text) : text_(text) {}

  base::Result<OwnType> all() {
    OwnType type = next(0);
    if (!text_.failed() && !text_.atEnd()) text_.fail("the type has ended");
    if (!text_.failed()) {
      MPI_Datatype committed = type.get();
      check(MPI_Type_commit(&committed));
    }
    if (text_.failed()) return base::Failure{base::Code::kDamaged, text_.problem()};
    return type;
  }

 private:
  void check(int code) {
    if (code != MPI_SUCCESS) text_.fail(mpiErrorText(code));
  }

  // Lists of MPI calls are of int, or of addresses.
  template <typename Number>
  std::vector<Number> numbers() {
    const NumberList list = text_.list();
    text_.take(';');
    constexpr std::int64_t kMostNumbers = 50'000'000;
    if (list.size() > kMostNumbers) text_.fail("a list has more numbers than a replay takes");
    std::vector<Number> all;
    for (NumberList::Cursor at(list); !at.atEnd() && !text_.failed(); at.skip(1)) {
      if (!std::in_range<Number>(at.value())) text_.fail("a number is larger than MPI takes");
      all.push_back(static_cast<Number>(at.value()));
    }
    return all;
  }

  int number() {
    const std::int64_t value = text_.number();
    text_.take(';');
    if (!std::in_range<int>(value)) text_.fail("a number is larger than MPI takes");
    return text_.failed() ? 0 : static_cast<int>(value);
  }

  int order() {
    const std::string_view word = text_.word();
    text_.take(';');
    if (word != "c" && word != "f") text_.fail("the order is neither c nor f");
    return word == "f" ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
  }

  OwnType next(int nesting) {
    constexpr int kMostNesting = 256;
    if (nesting > kMostNesting) text_.fail("it is nested too deeply");
    if (text_.failed()) return {};
    const std::string_view name = text_.word();
    OwnType type;
    if (name == "b" && !text_.isNext('(')) {
      type = plain(text_.count());
    } else {
      text_.take('(');
      type = made(name, nesting);
      text_.take(')');
    }
    if (!text_.takeIf('[')) return type;
    const std::int64_t lower_bound = text_.number();
    text_.take(',');
    const std::int64_t extent = text_.number();
    text_.take(']');
    return bounded(std::move(type), lower_bound, extent);
  }

  OwnType plain(std::int64_t bytes) {
    switch (bytes) {
      case 1:
        return OwnType(MPI_BYTE, false);
      case sizeof(short):
        return OwnType(MPI_SHORT, false);
      case sizeof(int):
        return OwnType(MPI_INT, false);
      case sizeof(double):
        return OwnType(MPI_DOUBLE, false);
      default:
        return makeBytes(static_cast<std::uint64_t>(bytes));
    }
  }

  // The bounds that the type had in the recording, where the calls alone do not make them.
  OwnType bounded(OwnType type, std::int64_t lower_bound, std::int64_t extent) {
    MPI_Aint now_lower = 0;
    MPI_Aint now_extent = 0;
    if (text_.failed()) return {};
    check(MPI_Type_get_extent(type.get(), &now_lower, &now_extent));
    if (now_lower == lower_bound && now_extent == extent) return type;
    return make([&](MPI_Datatype* out) {
      return MPI_Type_create_resized(type.get(), lower_bound, extent, out);
    });
  }

  template <typename Call>
  OwnType make(Call call) {
    if (text_.failed()) return {};
    MPI_Datatype out = MPI_DATATYPE_NULL;
    const int code = call(&out);
    check(code);
    return code == MPI_SUCCESS ? OwnType(out, true) : OwnType();
  }

  OwnType made(std::string_view name, int nesting) {
    if (name == "dup") return next(nesting + 1);
    if (name == "contiguous") {
      const int count = number();
      const OwnType inner = next(nesting + 1);
      return make([&](MPI_Datatype* out) { return MPI_Type_contiguous(count, inner.get(), out); });
    }
    if (name == "vector" || name == "hvector") return vector(name[0] == 'h', nesting);
    if (name == "indexed" || name == "hindexed") return indexed(name[0] == 'h', nesting);
    if (name == "indexed_block" || name == "hindexed_block") {
      return indexedBlock(name[0] == 'h', nesting);
    }
    if (name == "struct") return structure(nesting);
    if (name == "subarray") return subarray(nesting);
    if (name == "darray") return darray(nesting);
    if (name == "resized") {
      const std::int64_t lower_bound = text_.number();
      text_.take(';');
      const std::int64_t extent = text_.number();
      text_.take(';');
      const OwnType inner = next(nesting + 1);
      return make([&](MPI_Datatype* out) {
        return MPI_Type_create_resized(inner.get(), lower_bound, extent, out);
      });
    }
    text_.fail("no way to make a type has this name");
    return {};
  }

  OwnType vector(bool in_bytes, int nesting) {
    const int count = number();
    const int length = number();
    const std::int64_t stride = text_.number();
    text_.take(';');
    if (!in_bytes && !std::in_range<int>(stride)) text_.fail("a number is larger than MPI takes");
    const OwnType inner = next(nesting + 1);
    return make([&](MPI_Datatype* out) {
      return in_bytes ? MPI_Type_create_hvector(count, length, stride, inner.get(), out)
                      : MPI_Type_vector(count, length, static_cast<int>(stride), inner.get(), out);
    });
  }

  // One of the two lists is empty: in elements, or in bytes.
  std::pair<std::vector<int>, std::vector<MPI_Aint>> displacements(bool in_bytes) {
    if (in_bytes) return {std::vector<int>(), numbers<MPI_Aint>()};
    return {numbers<int>(), std::vector<MPI_Aint>()};
  }

  OwnType indexed(bool in_bytes, int nesting) {
    const std::vector<int> lengths = numbers<int>();
    const auto [places, addresses] = displacements(in_bytes);
    if (lengths.size() != places.size() + addresses.size()) {
      text_.fail("the lists differ in length");
    }
    const OwnType inner = next(nesting + 1);
    const int count = static_cast<int>(lengths.size());
    return make([&](MPI_Datatype* out) {
      return in_bytes ? MPI_Type_create_hindexed(count, lengths.data(), addresses.data(),
                                                 inner.get(), out)
                      : MPI_Type_indexed(count, lengths.data(), places.data(), inner.get(), out);
    });
  }

  OwnType indexedBlock(bool in_bytes, int nesting) {
    const int length = number();
    const auto [places, addresses] = displacements(in_bytes);
    const OwnType inner = next(nesting + 1);
    return make([&](MPI_Datatype* out) {
      return in_bytes ? MPI_Type_create_hindexed_block(static_cast<int>(addresses.size()), length,
                                                       addresses.data(), inner.get(), out)
                      : MPI_Type_create_indexed_block(static_cast<int>(places.size()), length,
                                                      places.data(), inner.get(), out);
    });
  }

  OwnType structure(int nesting) {
    const std::vector<int> lengths = numbers<int>();
    const std::vector<MPI_Aint> addresses = numbers<MPI_Aint>();
    if (lengths.size() != addresses.size()) text_.fail("the lists differ in length");
    std::vector<OwnType> own;
    std::vector<MPI_Datatype> types;
    while (types.size() < lengths.size() && !text_.failed()) {
      own.push_back(next(nesting + 1));
      const std::int64_t same = text_.takeIf('x') ? text_.count() : 1;
      for (std::int64_t i = 0; i < same && types.size() < lengths.size(); ++i) {
        types.push_back(own.back().get());
      }
      if (types.size() < lengths.size()) text_.take(',');
    }
    return make([&](MPI_Datatype* out) {
      return MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(),
                                    addresses.data(), types.data(), out);
    });
  }

  OwnType subarray(int nesting) {
    const std::vector<int> sizes = numbers<int>();
    const std::vector<int> parts = numbers<int>();
    const std::vector<int> starts = numbers<int>();
    const int in_order = order();
    if (parts.size() != sizes.size() || starts.size() != sizes.size()) {
      text_.fail("the lists differ in length");
    }
    const OwnType inner = next(nesting + 1);
    return make([&](MPI_Datatype* out) {
      return MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), parts.data(),
                                      starts.data(), in_order, inner.get(), out);
    });
  }

  OwnType darray(int nesting) {
    const int processes = number();
    const int rank = number();
    const std::vector<int> sizes = numbers<int>();
    const std::string kinds = text_.letters();
    text_.take(';');
    std::vector<int> arguments = numbers<int>();
    const std::vector<int> grid = numbers<int>();
    const int in_order = order();
    if (kinds.size() != sizes.size() || arguments.size() != sizes.size() ||
        grid.size() != sizes.size()) {
      text_.fail("the lists differ in length");
    }
    std::vector<int> distributions;
    for (const char kind : kinds) {
      distributions.push_back(kind == 'b'   ? MPI_DISTRIBUTE_BLOCK
                              : kind == 'c' ? MPI_DISTRIBUTE_CYCLIC
                                            : MPI_DISTRIBUTE_NONE);
    }
    for (int& argument : arguments) {
      if (argument == 0) argument = MPI_DISTRIBUTE_DFLT_DARG;
    }
    const OwnType inner = next(nesting + 1);
    return make([&](MPI_Datatype* out) {
      return MPI_Type_create_darray(processes, rank, static_cast<int>(sizes.size()), sizes.data(),
                                    distributions.data(), arguments.data(), grid.data(), in_order,
                                    inner.get(), out);
    });
  }

  mpi::TypeText text_;
};

}  // namespace

base::Result<OwnType> makeMpiType(std::string_view text) { return TypeMaker(text).all(); }

OwnInfo::OwnInfo(std::string_view hints) {
  while (!hints.empty()) {
    const std::string one(hints.substr(0, hints.find(';')));
    hints.remove_prefix(std::min(hints.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || equals >= MPI_MAX_INFO_KEY) continue;
    if (info_ == MPI_INFO_NULL) MPI_Info_create(&info_);
    MPI_Info_set(info_, one.substr(0, equals).c_str(), one.c_str() + equals + 1);
  }
}

OwnType makeBytes(std::uint64_t bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (bytes <= INT_MAX) {
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
  } else {
    constexpr std::uint64_t kUnit = std::uint64_t{1} << 30;
    MPI_Datatype unit = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(kUnit), MPI_BYTE, &unit);
    const int lengths[] = {static_cast<int>(bytes / kUnit), static_cast<int>(bytes % kUnit)};
    const MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / kUnit * kUnit)};
    const MPI_Datatype types[] = {unit, MPI_BYTE};
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_free(&unit);
  }
  MPI_Type_commit(&type);
  return OwnType(type, true);
}

}  // namespace omnio::replay
