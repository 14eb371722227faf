// From a function's type, as the system's header declares it, to the parts a definition needs.
#pragma once

#include <cstddef>
#include <tuple>

namespace omnio::trace {

template <typename Function>
struct Signature;

template <typename R, typename... A>
struct Signature<R(A...)> {
  using Return = R;
  using Arguments = std::tuple<A...>;
  static constexpr bool kNoexcept = false;
};

template <typename R, typename... A>
struct Signature<R(A...) noexcept> {
  using Return = R;
  using Arguments = std::tuple<A...>;
  static constexpr bool kNoexcept = true;
};

template <typename Function, std::size_t kIndex>
using Argument = std::tuple_element_t<kIndex, typename Signature<Function>::Arguments>;

}  // namespace omnio::trace

#define OMNIO_EXPORT extern "C" __attribute__((visibility("default")))

// Defines the exported wrapper of a regular row. The parameter list comes from the header's
// declaration: a row with another number of roles clashes with it and does not compile.
#define OMNIO_ARGUMENT(NAME, I) ::omnio::trace::Argument<decltype(::NAME), I> a##I
#define OMNIO_BODY(NUMBER, NAME, ...)                                                              \
  noexcept(::omnio::trace::Signature<decltype(::NAME)>::kNoexcept) {                               \
    return ::omnio::trace::intercept<NUMBER, ::omnio::trace::Signature<decltype(::NAME)>::Return>( \
        __VA_ARGS__);                                                                              \
  }
#define OMNIO_HEAD(NAME) OMNIO_EXPORT ::omnio::trace::Signature<decltype(::NAME)>::Return NAME
#define OMNIO_WRAP_0(NUMBER, NAME) OMNIO_HEAD(NAME)() OMNIO_BODY(NUMBER, NAME)
#define OMNIO_WRAP_1(NUMBER, NAME) \
  OMNIO_HEAD(NAME)(OMNIO_ARGUMENT(NAME, 0)) OMNIO_BODY(NUMBER, NAME, a0)
#define OMNIO_WRAP_2(NUMBER, NAME) \
  OMNIO_HEAD(NAME)                 \
  (OMNIO_ARGUMENT(NAME, 0), OMNIO_ARGUMENT(NAME, 1)) OMNIO_BODY(NUMBER, NAME, a0, a1)
#define OMNIO_WRAP_3(NUMBER, NAME)                                            \
  OMNIO_HEAD(NAME)                                                            \
  (OMNIO_ARGUMENT(NAME, 0), OMNIO_ARGUMENT(NAME, 1), OMNIO_ARGUMENT(NAME, 2)) \
      OMNIO_BODY(NUMBER, NAME, a0, a1, a2)
#define OMNIO_WRAP_4(NUMBER, NAME)                                            \
  OMNIO_HEAD(NAME)                                                            \
  (OMNIO_ARGUMENT(NAME, 0), OMNIO_ARGUMENT(NAME, 1), OMNIO_ARGUMENT(NAME, 2), \
   OMNIO_ARGUMENT(NAME, 3)) OMNIO_BODY(NUMBER, NAME, a0, a1, a2, a3)
#define OMNIO_WRAP_5(NUMBER, NAME)                                            \
  OMNIO_HEAD(NAME)                                                            \
  (OMNIO_ARGUMENT(NAME, 0), OMNIO_ARGUMENT(NAME, 1), OMNIO_ARGUMENT(NAME, 2), \
   OMNIO_ARGUMENT(NAME, 3), OMNIO_ARGUMENT(NAME, 4)) OMNIO_BODY(NUMBER, NAME, a0, a1, a2, a3, a4)
#define OMNIO_WRAP_6(NUMBER, NAME)                                            \
  OMNIO_HEAD(NAME)                                                            \
  (OMNIO_ARGUMENT(NAME, 0), OMNIO_ARGUMENT(NAME, 1), OMNIO_ARGUMENT(NAME, 2), \
   OMNIO_ARGUMENT(NAME, 3), OMNIO_ARGUMENT(NAME, 4), OMNIO_ARGUMENT(NAME, 5)) \
      OMNIO_BODY(NUMBER, NAME, a0, a1, a2, a3, a4, a5)

#define OMNIO_COUNT(...) OMNIO_COUNT_(__VA_ARGS__ __VA_OPT__(, ) 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define OMNIO_COUNT_(A, B, C, D, E, F, G, H, N, ...) N
#define OMNIO_JOIN(A, B) OMNIO_JOIN_(A, B)
#define OMNIO_JOIN_(A, B) A##B
