// The one table of intercepted calls, as a constexpr array indexed by permanent number.
// From a row come the exported wrapper, the look-up of the real symbol, encoding and decoding,
// handle tracking, the text form and the statistics class. Nothing here knows a C type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/calls/effects.hpp"
#include "core/calls/role.hpp"

namespace omnio::calls {

inline constexpr std::size_t kMaxArguments = 12;

struct Row {
  std::uint16_t number = 0;  // permanent, never reused; 0 marks a place in the array without a call
  CallId plain = CallId::none;  // the plain call that it is a form of (open64 -> open)
  Api api = Api::kPosix;
  Class call_class = Class::kMetadata;
  Result result = Result::kNone;
  Body body = Body::kRegular;
  Sync sync = Sync::kNone;
  std::uint8_t argument_count = 0;
  std::array<Role, kMaxArguments> arguments{};
  std::uint64_t role_bits = 0;  // those of its arguments' roles (roleBit), for a quick look
  Effects effects;              // effects.hpp
  std::string_view name;        // the exact symbol

  constexpr CallId id() const { return CallId{number}; }
};

// Two roles may have the same.
constexpr std::uint64_t roleBit(Role role) {
  return std::uint64_t{1} << (static_cast<unsigned>(role) % 64);
}

namespace detail {

// Roles unpacked from a row; a struct of its own so that a row without arguments is legal.
struct Roles {
  std::uint8_t count = 0;
  std::array<Role, kMaxArguments> list{};
  template <typename... R>
  constexpr explicit Roles(R... roles) : count(sizeof...(R)), list{roles...} {}
};

using enum Role;

// Never defined and not constexpr: the compiler names it where the table is wrong. (The tracer is
// built without exceptions, so a throw would not compile there.)
void duplicateCallNumber();

}  // namespace detail

// One past the largest number a call can have; wire::kFirstControlRecord starts here.
inline constexpr std::size_t kNumberLimit = 960;

consteval std::array<Row, kNumberLimit> makeTable() {
  std::array<Row, kNumberLimit> table{};
  using namespace detail;
  auto add = [&table](Row row, Roles roles) {
    row.argument_count = roles.count;
    row.arguments = roles.list;
    for (int i = 0; i < roles.count; ++i) {
      row.role_bits |= roleBit(roles.list[static_cast<std::size_t>(i)]);
    }
    if (table[row.number].number != 0) duplicateCallNumber();
    table[row.number] = row;
  };
#define OMNIO_CALL(BODY, NUMBER, NAME, VARIANT_OF, CLASS, RESULT, ...) \
  add(Row{.number = NUMBER,                                            \
          .plain = CallId::VARIANT_OF,                                 \
          .api = kApi,                                                 \
          .call_class = Class::CLASS,                                  \
          .result = Result::RESULT,                                    \
          .body = Body::BODY,                                          \
          .effects = {},                                               \
          .name = #NAME},                                              \
      Roles(__VA_ARGS__));
// A part of what the call SYMBOL does is a row of its own; its name is not a symbol.
#define OMNIO_PART(NUMBER, NAME, SYMBOL, CLASS, RESULT, ...) \
  add(Row{.number = NUMBER,                                  \
          .plain = CallId::NAME,                             \
          .api = kApi,                                       \
          .call_class = Class::CLASS,                        \
          .result = Result::RESULT,                          \
          .body = Body::kCustom,                             \
          .effects = {},                                     \
          .name = "(" #NAME ")"},                            \
      Roles(__VA_ARGS__));
  {
    constexpr Api kApi = Api::kPosix;
#include "core/calls/posix.def"
  }
  {
    constexpr Api kApi = Api::kStdio;
#include "core/calls/stdio.def"
  }
  {
    // Both names of an MPI call are rows, MPI_X with an even number and PMPI_X with the next.
    constexpr auto mpiRow = [](CallId id, CallId plain, Class call_class, Sync sync,
                               std::string_view name) {
      return Row{.number = toNumber(id),
                 .plain = plain,
                 .api = Api::kMpi,
                 .call_class = call_class,
                 .result = Result::kMpi,
                 .body = Body::kCustom,
                 .sync = sync,
                 .effects = {},
                 .name = name};
    };
#define OMNIO_MPI_CALL(NUMBER, NAME, CLASS, SYNC, ...)                                          \
  static_assert((NUMBER) % 2 == 0);                                                             \
  add(mpiRow(CallId::MPI_##NAME, CallId::MPI_##NAME, Class::CLASS, Sync::SYNC, "MPI_" #NAME),   \
      Roles(__VA_ARGS__));                                                                      \
  add(mpiRow(CallId::PMPI_##NAME, CallId::MPI_##NAME, Class::CLASS, Sync::SYNC, "PMPI_" #NAME), \
      Roles(__VA_ARGS__));
    // Those with counts of any length have the roles of the call that they are forms of.
    const auto addLarge = [&table](CallId form, CallId of, std::string_view name) {
      Row row = table[toNumber(of)];
      row.number = toNumber(form);
      row.name = name;
      if (table[row.number].number != 0) duplicateCallNumber();
      table[row.number] = row;
    };
#define OMNIO_MPI_LARGE(NUMBER, NAME)                                      \
  static_assert((NUMBER) % 2 == 0);                                        \
  addLarge(CallId::MPI_##NAME##_c, CallId::MPI_##NAME, "MPI_" #NAME "_c"); \
  addLarge(CallId::PMPI_##NAME##_c, CallId::MPI_##NAME, "PMPI_" #NAME "_c");
#define OMNIO_MPI_MORE(NUMBER, NAME, CLASS, SYNC, ...)                             \
  add(mpiRow(CallId::NAME, CallId::NAME, Class::CLASS, Sync::SYNC, "(" #NAME ")"), \
      Roles(__VA_ARGS__));
#include "core/calls/mpi.def"
  }
  {
    constexpr auto threadRow = [](CallId id, Sync sync, Result result, std::string_view name) {
      return Row{.number = toNumber(id),
                 .plain = id,
                 .api = Api::kThreads,
                 .call_class = Class::kThreadSync,
                 .result = result,
                 .body = Body::kCustom,
                 .sync = sync,
                 .effects = {},
                 .name = name};
    };
#define OMNIO_THREAD_CALL(NUMBER, NAME, SYNC, RESULT, ...) \
  add(threadRow(CallId::NAME, Sync::SYNC, Result::RESULT, #NAME), Roles(__VA_ARGS__));
#define OMNIO_THREAD_MORE(NUMBER, NAME, SYNC, RESULT, ...) \
  add(threadRow(CallId::NAME, Sync::SYNC, Result::RESULT, "(" #NAME ")"), Roles(__VA_ARGS__));
#include "core/calls/threads.def"
  }
#undef OMNIO_THREAD_MORE
#undef OMNIO_THREAD_CALL
#undef OMNIO_MPI_MORE
#undef OMNIO_MPI_LARGE
#undef OMNIO_MPI_CALL
#undef OMNIO_PART
#undef OMNIO_CALL
  std::array<Effects, kNumberLimit> effects{};
  forEachEffect([&effects](CallId call, Effects of_call) { effects[toNumber(call)] = of_call; });
  for (Row& row : table) row.effects = effects[row.number] | effects[toNumber(row.plain)];
  return table;
}

inline constexpr std::array<Row, kNumberLimit> kTable = makeTable();

constexpr const Row& rowOf(CallId id) { return kTable[toNumber(id)]; }

constexpr bool does(const Row& row, Effect effect) { return row.effects.has(effect); }

// Whether it is a POSIX or stream call on files.
constexpr bool isIo(const Row& row) { return row.api == Api::kPosix || row.api == Api::kStdio; }

// Whether it is a call of MPI-IO.
constexpr bool isMpiIo(const Row& row) {
  return row.api == Api::kMpi && row.call_class != Class::kMpiSync;
}

// Whether the row is a function of its own: parts of calls have names in parentheses.
constexpr bool isSymbol(const Row& row) { return !row.name.starts_with('('); }

// Name of the plain call that the row is a form of.
constexpr std::string_view plainName(const Row& row) { return rowOf(row.plain).name; }

// The row of a number that may come from a damaged file; nullptr when there is none.
constexpr const Row* find(std::uint32_t number) {
  if (number >= kNumberLimit || kTable[number].number == 0) return nullptr;
  return &kTable[number];
}

// Index of the first argument with this role, or -1.
constexpr int indexOf(const Row& row, Role role) {
  if ((row.role_bits & roleBit(role)) == 0) return -1;
  for (int i = 0; i < row.argument_count; ++i) {
    if (row.arguments[static_cast<std::size_t>(i)] == role) return i;
  }
  return -1;
}

constexpr bool has(const Row& row, Role role) { return indexOf(row, role) >= 0; }

// Whether it goes through the buffer of a stream: dprintf and its like do not.
constexpr bool usesStream(const Row& row) { return row.api == Api::kStdio && !has(row, Role::kFd); }

// The form of an argument (arguments.hpp) depends on its role and, in text and schedules, on these:
// whether kFlags are O_CREAT and its like,
constexpr bool opensByFlags(const Row& row) { return row.result == Result::kNewFd; }
// and whether kSize is the room of a buffer, the bytes being those of the line that was got.
constexpr bool sizeIsRoom(const Row& row) { return has(row, Role::kLineIn); }
inline constexpr std::string_view kRoomKey = "size";

}  // namespace omnio::calls
