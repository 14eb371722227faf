// Standard output of commands that print much: one large buffer, and errors that are noticed. What
// goes out is safe for a terminal (core/base/printable.hpp).
#pragma once
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace omnio::cli {

// Exit statuses of `omnio`. `omnio trace` alone returns the application's instead.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;
inline constexpr int kDifferences = 3;  // done, with differences or with data that is missing

// Says why a command failed: one line on stderr, `omnio: <sentence>`, safe for a terminal
// (core/base/printable.hpp).
void printFailure(std::string_view sentence);
// The same of what is not a failure: how far the work is, or what a reader has to know.
void printNote(std::string_view sentence);
// As printFailure(), as the last that the command does, and the exit status that goes with it.
int fail(const base::Failure& failure, int exit_code = kFailed);

enum class OutputForm { kText, kJson };  // which escapes it takes

class Output {
 public:
  explicit Output(OutputForm form) : form_(form) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Text is added here; whenever some is, and a character is not cut in two, drain() is called.
  std::string& text() { return text_; }

  // Writes when enough has come together. False when going on is of no use.
  bool drain();

  // Writes the rest. Returns the exit status: a reader that went away is not an error to
  // report, but the work was not done; any other failure is said in one sentence.
  int finish();

 private:
  bool flush();

  OutputForm form_;
  std::string text_;
  int error_ = 0;
};

// For commands whose output is one text, or one JSON document.
int printAll(std::string_view text);
int printJson(std::string_view document);

}  // namespace omnio::cli
