#include "core/tracefile/moved_bytes.hpp"

#include <string_view>

#include "core/base/integers.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace info = wire::info;

// The loader reads 832 bytes of each library, and Open MPI has hundreds of them.
constexpr std::uint64_t kReadByLoader = std::uint64_t{1} << 20;
constexpr std::uint64_t kWrittenByCLibrary = std::uint64_t{64} << 10;

// The bytes that the kernel counted beyond `known`; 0 where these are fewer than `least`.
std::uint64_t beyond(std::uint64_t kernel, std::uint64_t known, std::uint64_t least) {
  return kernel < known + least ? 0 : kernel - known;
}

}  // namespace

std::optional<wire::MovedAccount> movedAccountOf(const ProcessInfo& info) {
  std::string_view text = info.text(info::kMovedBytes);
  wire::MovedAccount account;
  bool is_whole = true;
  std::size_t count = 0;
  wire::forEachNumber(account, [&](std::uint64_t& number) {
    if (text.empty() && count >= wire::kLeastNumbers) return;
    ++count;
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto value = base::wholeNumber<std::uint64_t>(text.substr(0, end));
    is_whole = is_whole && value.has_value();
    number = value.value_or(0);
    text.remove_prefix(std::min(end + 1, text.size()));
  });
  if (!is_whole) return std::nullopt;
  return account;
}

SeenBytes& SeenBytes::operator+=(const SeenBytes& other) {
  seen.read += other.seen.read;
  seen.written += other.seen.written;
  unseen.read += other.unseen.read;
  unseen.written += other.unseen.written;
  return *this;
}

std::vector<std::optional<SeenBytes>> seenBytes(const Trace& trace) {
  std::vector<std::optional<SeenBytes>> result;
  for (const auto& process : trace.processes()) {
    std::optional<SeenBytes>& bytes_of_process = result.emplace_back();
    const auto account = movedAccountOf(process->info);
    if (!account) continue;
    const wire::MovedAccount& a = *account;
    SeenBytes& bytes = bytes_of_process.emplace();
    bytes.seen = a.recorded;
    if (a.children > 0) continue;
    bytes.unseen.written = beyond(a.kernel.written,
                                  a.kernel_before.written + a.own.written + a.passed.written +
                                      a.reaped.written + a.recorded.written - a.uncounted.written,
                                  kWrittenByCLibrary);
    if (a.unsized_reads > 0) continue;
    bytes.unseen.read = beyond(a.kernel.read,
                               a.kernel_before.read + a.own.read + a.passed.read + a.reaped.read +
                                   a.recorded.read - a.uncounted.read + a.turned,
                               kReadByLoader);
  }
  return result;
}

}  // namespace omnio::tracefile
