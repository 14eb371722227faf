// Standard output of commands that print much: one large buffer, and errors that are noticed.
#pragma once

#include <string>
#include <string_view>

namespace omnio::cli {

class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Text is added here; whenever some is, drain() is called.
  std::string& text() { return text_; }

  // Writes when enough has come together. False when there is no use in going on.
  bool drain();

  // Writes the rest. Returns the exit status: a reader that went away is no trouble of ours to
  // report, but the work was not done; any other failure is said in one sentence.
  int finish();

 private:
  bool flush();

  std::string text_;
  int error_ = 0;
};

// For commands whose output is one text.
int printAll(std::string_view text);

}  // namespace omnio::cli
