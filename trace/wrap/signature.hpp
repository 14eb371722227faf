// From a function's type, as the system's header declares it, to the parts a definition needs.
#pragma once

#include <cstddef>
#include <tuple>

namespace omnio::trace {

template <typename Function>
struct Signature;

template <typename R, bool kIsNoexcept, typename... A>
struct Signature<R(A...) noexcept(kIsNoexcept)> {
  using Return = R;
  using Arguments = std::tuple<A...>;
  static constexpr bool kNoexcept = kIsNoexcept;
};

template <typename Function, std::size_t kIndex>
using Argument = std::tuple_element_t<kIndex, typename Signature<Function>::Arguments>;

}  // namespace omnio::trace

#define OMNIO_EXPORT extern "C" __attribute__((visibility("default")))

// Defines the exported wrapper of a regular row. The parameter list comes from the header's
// declaration: a row with another number of roles clashes with it and does not compile.
#define OMNIO_ARGUMENT(NAME, I) ::omnio::trace::Argument<decltype(::NAME), I> a##I
#define OMNIO_BODY(NAME, ...)                                                              \
  noexcept(::omnio::trace::Signature<decltype(::NAME)>::kNoexcept) {                       \
    return ::omnio::trace::intercept<::omnio::calls::CallId::NAME,                         \
                                     ::omnio::trace::Signature<decltype(::NAME)>::Return>( \
        __VA_ARGS__);                                                                      \
  }
#define OMNIO_HEAD(NAME) OMNIO_EXPORT ::omnio::trace::Signature<decltype(::NAME)>::Return NAME

// Parameters of a definition, and their names, by how many there are.
#define OMNIO_PARAMETERS_0(NAME)
#define OMNIO_PARAMETERS_1(NAME) OMNIO_ARGUMENT(NAME, 0)
#define OMNIO_NAMES_0
#define OMNIO_NAMES_1 a0
#define OMNIO_PARAMETERS_2(NAME) OMNIO_PARAMETERS_1(NAME), OMNIO_ARGUMENT(NAME, 1)
#define OMNIO_NAMES_2 OMNIO_NAMES_1, a1
#define OMNIO_PARAMETERS_3(NAME) OMNIO_PARAMETERS_2(NAME), OMNIO_ARGUMENT(NAME, 2)
#define OMNIO_NAMES_3 OMNIO_NAMES_2, a2
#define OMNIO_PARAMETERS_4(NAME) OMNIO_PARAMETERS_3(NAME), OMNIO_ARGUMENT(NAME, 3)
#define OMNIO_NAMES_4 OMNIO_NAMES_3, a3
#define OMNIO_PARAMETERS_5(NAME) OMNIO_PARAMETERS_4(NAME), OMNIO_ARGUMENT(NAME, 4)
#define OMNIO_NAMES_5 OMNIO_NAMES_4, a4
#define OMNIO_PARAMETERS_6(NAME) OMNIO_PARAMETERS_5(NAME), OMNIO_ARGUMENT(NAME, 5)
#define OMNIO_NAMES_6 OMNIO_NAMES_5, a5
#define OMNIO_PARAMETERS_7(NAME) OMNIO_PARAMETERS_6(NAME), OMNIO_ARGUMENT(NAME, 6)
#define OMNIO_NAMES_7 OMNIO_NAMES_6, a6
#define OMNIO_PARAMETERS_8(NAME) OMNIO_PARAMETERS_7(NAME), OMNIO_ARGUMENT(NAME, 7)
#define OMNIO_NAMES_8 OMNIO_NAMES_7, a7
#define OMNIO_PARAMETERS_9(NAME) OMNIO_PARAMETERS_8(NAME), OMNIO_ARGUMENT(NAME, 8)
#define OMNIO_NAMES_9 OMNIO_NAMES_8, a8
#define OMNIO_PARAMETERS_10(NAME) OMNIO_PARAMETERS_9(NAME), OMNIO_ARGUMENT(NAME, 9)
#define OMNIO_NAMES_10 OMNIO_NAMES_9, a9
#define OMNIO_PARAMETERS_11(NAME) OMNIO_PARAMETERS_10(NAME), OMNIO_ARGUMENT(NAME, 10)
#define OMNIO_NAMES_11 OMNIO_NAMES_10, a10
#define OMNIO_PARAMETERS_12(NAME) OMNIO_PARAMETERS_11(NAME), OMNIO_ARGUMENT(NAME, 11)
#define OMNIO_NAMES_12 OMNIO_NAMES_11, a11
#define OMNIO_PARAMETERS_13(NAME) OMNIO_PARAMETERS_12(NAME), OMNIO_ARGUMENT(NAME, 12)
#define OMNIO_NAMES_13 OMNIO_NAMES_12, a12

#define OMNIO_WRAP(NAME, COUNT) \
  OMNIO_HEAD(NAME)              \
  (OMNIO_JOIN(OMNIO_PARAMETERS_, COUNT)(NAME)) OMNIO_BODY(NAME, OMNIO_JOIN(OMNIO_NAMES_, COUNT))

#define OMNIO_COUNT(...) OMNIO_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define OMNIO_COUNT_(A, B, C, D, E, F, G, H, N, ...) N
#define OMNIO_JOIN(A, B) OMNIO_JOIN_(A, B)
#define OMNIO_JOIN_(A, B) A##B
