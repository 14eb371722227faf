#include "logging/logging.hpp"

#include <errno.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string_view>

#include "core/base/printable.hpp"

namespace omnio::logging {
namespace {

class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LineSink(const Settings& settings) : fd_(settings.fd), write_(settings.write) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // All of it at once, unless the device takes less.
    for (std::size_t done = 0; done < line.size();) {
      const long bytes = write_ != nullptr ? write_(fd_, line.data() + done, line.size() - done)
                                           : ::write(fd_, line.data() + done, line.size() - done);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes <= 0) return;  // nobody is told of a log that cannot be written
      done += static_cast<std::size_t>(bytes);
    }
  }
  void flush_() override {}

 private:
  const int fd_;
  long (*const write_)(int, const void*, std::size_t);
};

spdlog::level::level_enum levelOf(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::kDebug:
      return spdlog::level::debug;
    case base::LogLevel::kInfo:
      return spdlog::level::info;
    case base::LogLevel::kWarn:
      return spdlog::level::warn;
    case base::LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

std::string nameOf(const Settings& settings) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string name = fmt::format("{} on {}", settings.program, base::printable(host));
  if (settings.rank) name += fmt::format(", rank {}", *settings.rank);
  return name;
}

}  // namespace

void start(const Settings& settings) {
  if (settings.level == base::LogLevel::kOff) return base::setLog(settings.level, {});
  const auto logger =
      std::make_shared<spdlog::logger>(nameOf(settings), std::make_shared<LineSink>(settings));
  logger->set_level(levelOf(settings.level));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%f %l %n: %v");
  base::setLog(settings.level, [logger](base::LogLevel level, std::string_view text) {
    const std::string safe = base::safeText(text);
    logger->log(levelOf(level), spdlog::string_view_t(safe.data(), safe.size()));
  });
}

}  // namespace omnio::logging
