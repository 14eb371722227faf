#include "core/tracefile/moved_bytes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/integers.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace info = wire::info;

// The loader reads 832 bytes of each library, and Open MPI has hundreds of them.
constexpr std::uint64_t kReadByLoader = std::uint64_t{1} << 20;
constexpr std::uint64_t kWrittenByCLibrary = std::uint64_t{64} << 10;

// A number that is the same for all images of a process, and for no other process.
using Identity = std::tuple<std::string, std::string, std::uint32_t>;

Identity identityOf(const Process& process) {
  return {process.info.text(info::kBoot), process.info.text(info::kProcessStart), process.pid};
}

// What the children of each process image moved, as far as it may have waited for them. The kernel
// adds a child's bytes to those of the process that waits for it.
class Children {
 public:
  explicit Children(const Trace& trace) {
    for (const auto& process : trace.processes()) by_pid_[process->pid].push_back(process.get());
    std::map<Identity, const Process*> last;
    for (const auto& process : trace.processes()) {
      const Process*& image = last[identityOf(*process)];
      if (image == nullptr || image->begin.realtime_ns < process->begin.realtime_ns) {
        image = process.get();
      }
    }
    for (const auto& [identity, image] : last) {
      if (const auto account = movedAccountOf(image->info)) add(trace, *image, account->kernel);
    }
  }

  wire::MovedBytes of(const Process& process) const {
    const auto found = moved_.find(&process);
    return found == moved_.end() ? wire::MovedBytes{} : found->second;
  }

 private:
  static bool isOneNode(const Process& a, const Process& b) {
    return a.info.text(info::kBoot) == b.info.text(info::kBoot);
  }

  void add(const Trace& trace, const Process& child, wire::MovedBytes moved) {
    const Process* parent = nullptr;
    const std::uint64_t pid = child.info.number(info::kParent).value_or(0);
    const auto candidates = by_pid_.find(static_cast<std::uint32_t>(pid));
    if (candidates != by_pid_.end()) {
      for (const Process* process : candidates->second) {
        if (!isOneNode(*process, child) || process->begin.realtime_ns > child.begin.realtime_ns) {
          continue;
        }
        if (parent == nullptr || process->begin.realtime_ns > parent->begin.realtime_ns) {
          parent = process;
        }
      }
    }
    if (parent != nullptr) {
      take(*parent, moved);
      return;
    }
    // Its parent is not traced: a shell, say, that one of the processes before it started.
    for (const auto& process : trace.processes()) {
      if (process.get() == &child || process->pid == child.pid || !isOneNode(*process, child) ||
          process->begin.realtime_ns > child.begin.realtime_ns ||
          process->info.text(info::kParent) == child.info.text(info::kParent)) {
        continue;
      }
      take(*process, moved);
    }
  }

  void take(const Process& parent, wire::MovedBytes moved) {
    wire::MovedBytes& sum = moved_[&parent];
    sum.read += moved.read;
    sum.written += moved.written;
  }

  std::map<std::uint32_t, std::vector<const Process*>> by_pid_;
  std::map<const Process*, wire::MovedBytes> moved_;
};

// What the kernel counted beyond `known`; 0 where it is less than `least` or a hundredth.
std::uint64_t beyond(std::uint64_t kernel, std::uint64_t known, std::uint64_t least) {
  if (kernel <= known) return 0;
  const std::uint64_t more = kernel - known;
  return more < std::max(least, kernel / 100) ? 0 : more;
}

}  // namespace

std::optional<wire::MovedAccount> movedAccountOf(const ProcessInfo& info) {
  std::string_view text = info.text(info::kMovedBytes);
  wire::MovedAccount account;
  bool is_whole = true;
  wire::forEachNumber(account, [&](std::uint64_t& number) {
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
  const Children children(trace);
  std::vector<std::optional<SeenBytes>> result;
  for (const auto& process : trace.processes()) {
    std::optional<SeenBytes>& bytes_of_process = result.emplace_back();
    const auto account = movedAccountOf(process->info);
    if (!account) continue;
    const wire::MovedAccount& a = *account;
    const wire::MovedBytes others = children.of(*process);
    SeenBytes& bytes = bytes_of_process.emplace();
    bytes.seen = a.recorded;
    bytes.unseen.written = beyond(a.kernel.written,
                                  a.kernel_before.written + a.own.written + a.passed.written +
                                      a.recorded.written + others.written,
                                  kWrittenByCLibrary);
    if (a.unsized_reads > 0) continue;
    bytes.unseen.read = beyond(a.kernel.read,
                               a.kernel_before.read + a.own.read + a.passed.read + a.recorded.read +
                                   others.read + a.turned,
                               kReadByLoader);
  }
  return result;
}

}  // namespace omnio::tracefile
