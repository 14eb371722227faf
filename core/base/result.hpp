// A function that can fail returns a Result: the value, or a code with one sentence that says
// where, what and why. Libraries return it and never print; the command line prints the sentence.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace omnio::base {

enum class Code {
  kNotFound,      // a file or directory that is not there
  kNotOurs,       // not a trace, or not a file of ours
  kOtherVersion,  // ours, of a version that this program does not read
  kDamaged,       // ours, but broken where nothing can be read
  kEmpty,         // ours, and nothing is in it
  kUnwritten,     // ours: its process could not write a byte of it
  kInvalid,       // what was asked for does not exist in the data
  kSystem,        // the system refused
};

struct Failure {
  Code code = Code::kSystem;
  std::string sentence;  // without a full stop and without the program's name
};

// failure(Code::kInvalid, "{}: it has no phase {}", file, id)
template <typename... T>
Failure failure(Code code, fmt::format_string<T...> sentence, T&&... values) {
  return {code, fmt::format(sentence, std::forward<T>(values)...)};
}

// "path: No such file or directory", or "what path: ..." where `what` says what was tried. `error`
// is an errno value.
Failure systemFailure(const std::filesystem::path& path, int error, std::string_view what = {});

// "path: problem".
Failure fileFailure(const std::filesystem::path& path, Code code, std::string_view problem);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}            // NOLINT: meant to convert
  Result(Failure failure) : state_(std::move(failure)) {}  // NOLINT: meant to convert

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }

  // Only when not ok().
  const Failure& failure() const { return std::get<Failure>(state_); }

 private:
  std::variant<T, Failure> state_;
};

// A function that has no value to return says with `return {};` that all went well.
template <>
class [[nodiscard]] Result<void> : public Result<std::monostate> {
 public:
  Result() : Result<std::monostate>(std::monostate()) {}
  Result(Failure failure)
      : Result<std::monostate>(std::move(failure)) {}  // NOLINT: meant to convert
};

}  // namespace omnio::base
