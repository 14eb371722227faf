#include "cli/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/base/integers.hpp"
#include "core/base/progress.hpp"
#include "core/base/threads.hpp"

namespace omnio::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kUsualDelay{2000};
constexpr std::chrono::milliseconds kPause{200};

bool isTerminal() {
  const char* const name = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && name != nullptr && *name != '\0' &&
         std::strcmp(name, "dumb") != 0;
}

std::chrono::milliseconds delayOf() {
  const char* const given = std::getenv("OMNIO_TEST_PROGRESS_DELAY_MS");
  const auto number = base::wholeNumber<std::uint32_t>(given == nullptr ? "" : given);
  return number ? std::chrono::milliseconds(*number) : kUsualDelay;
}

void write(std::string_view text) {
  // A line that cannot be shown is not worth an error.
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

// One column less than there are: in the last one, some terminals go on to the next line.
std::size_t columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return (is_known ? size.ws_col : kUsual) - 1;
}

class Painter {
 public:
  Painter() : begin_(Clock::now()) {
    const base::SignalsBlocked blocked;  // in the thread that it makes
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      // Without room for a thread the work goes on without the line.
    }
  }
  Painter(const Painter&) = delete;
  Painter& operator=(const Painter&) = delete;
  ~Painter() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    hide(false);
  }

  // Nothing is shown before the lock is given back.
  std::unique_lock<std::mutex> hide(bool for_good) {
    std::unique_lock lock(mutex_);
    is_over_ = is_over_ || for_good;
    if (is_shown_) write("\r\x1b[K");
    is_shown_ = false;
    return lock;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    const std::chrono::milliseconds delay = delayOf();
    const auto pause = std::clamp(delay, std::chrono::milliseconds(1), kPause);
    changed_.wait_for(lock, delay, [this] { return is_over_; });
    while (!is_over_) {
      show();
      changed_.wait_for(lock, pause, [this] { return is_over_; });
    }
  }

  void show() {
    const std::optional<base::Progress> now = base::progressNow();
    std::string line = "omnio: ";
    line +=
        now ? base::progressText(*now)
            : fmt::format(
                  "working for {} s",
                  std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count());
    line.resize(std::min(line.size(), columns()));
    write("\r" + line + "\x1b[K");
    is_shown_ = true;
  }

  const Clock::time_point begin_;
  std::mutex mutex_;  // of all below, and of what is written to the terminal
  std::condition_variable changed_;
  bool is_over_ = false;
  bool is_shown_ = false;
  std::thread thread_;
};

std::unique_ptr<Painter> g_painter;  // made and ended by the thread that works

}  // namespace

ProgressLine::ProgressLine() {
  if (isTerminal()) g_painter = std::make_unique<Painter>();
}

ProgressLine::~ProgressLine() { g_painter.reset(); }

ProgressPause::ProgressPause(bool for_good) {
  if (g_painter) lock_ = g_painter->hide(for_good);
}

}  // namespace omnio::cli
