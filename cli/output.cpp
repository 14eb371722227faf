#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/progress_line.hpp"
#include "core/base/printable.hpp"

namespace omnio::cli {

namespace {

constexpr std::size_t kEnough = 256 * 1024;

void printSentence(std::string_view sentence, bool is_last) {
  const ProgressPause pause(is_last);
  fmt::print(stderr, "omnio: {}\n", base::safeText(sentence));
}

}  // namespace

void printFailure(std::string_view sentence) { printSentence(sentence, false); }

void printNote(std::string_view sentence) { printSentence(sentence, false); }

int fail(const base::Failure& failure, int exit_code) {
  printSentence(failure.sentence, true);
  return exit_code;
}

bool Output::drain() { return text_.size() < kEnough || flush(); }

bool Output::flush() {
  if (!base::isPlainText(text_)) {
    text_ = form_ == OutputForm::kJson ? base::safeJson(text_) : base::safeText(text_, "\n");
  }
  if (text_.empty()) return error_ == 0;
  // On a terminal, the results would run into the line of progress.
  const ProgressPause pause(isatty(STDOUT_FILENO) != 0);
  std::size_t done = 0;
  while (error_ == 0 && done < text_.size()) {
    const ssize_t n = ::write(STDOUT_FILENO, text_.data() + done, text_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error_ = errno;
    } else {
      done += static_cast<std::size_t>(n);
    }
  }
  text_.clear();
  return error_ == 0;
}

int Output::finish() {
  if (flush()) return kDone;
  if (error_ != EPIPE) {
    printFailure(fmt::format("standard output: {}", std::strerror(error_)));
  }
  return kFailed;
}

int printAll(std::string_view text) {
  Output output(OutputForm::kText);
  output.text() = text;
  return output.finish();
}

int printJson(std::string_view document) {
  Output output(OutputForm::kJson);
  output.text() = document;
  return output.finish();
}

}  // namespace omnio::cli
