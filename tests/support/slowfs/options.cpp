#include "tests/support/slowfs/options.hpp"

#include <getopt.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace slowfs {
namespace {

enum Option {
  kReadUs = 256,
  kWriteUs,
  kMetadataUs,
  kSyncUs,
  kBandwidth,
  kOneAtATime,
  kJitter,
  kSeed,
  kFail,
  kCache,
  kWriteBack,
  kTrustCallers,
  kThreads,
  kSpinUs,
  kRealTime,
  kCounts,
  kControl,
  kHelp,
};

const option kOptions[] = {
    {"read-us", required_argument, nullptr, kReadUs},
    {"write-us", required_argument, nullptr, kWriteUs},
    {"metadata-us", required_argument, nullptr, kMetadataUs},
    {"sync-us", required_argument, nullptr, kSyncUs},
    {"bandwidth", required_argument, nullptr, kBandwidth},
    {"one-at-a-time", no_argument, nullptr, kOneAtATime},
    {"jitter", required_argument, nullptr, kJitter},
    {"seed", required_argument, nullptr, kSeed},
    {"fail", required_argument, nullptr, kFail},
    {"cache", no_argument, nullptr, kCache},
    {"write-back", no_argument, nullptr, kWriteBack},
    {"trust-callers", no_argument, nullptr, kTrustCallers},
    {"threads", required_argument, nullptr, kThreads},
    {"spin-us", required_argument, nullptr, kSpinUs},
    {"real-time", no_argument, nullptr, kRealTime},
    {"counts", required_argument, nullptr, kCounts},
    {"control", no_argument, nullptr, kControl},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

struct ClassName {
  std::string_view name;
  RequestClass of;
};
constexpr ClassName kClasses[] = {{"metadata", RequestClass::Metadata},
                                  {"read", RequestClass::Read},
                                  {"write", RequestClass::Write},
                                  {"sync", RequestClass::Sync}};

bool number(const char* text, double most, double& value) {
  char* end = nullptr;
  value = std::strtod(text, &end);
  return end != text && *end == '\0' && value >= 0 && value <= most;
}

bool wholeNumber(const char* text, std::uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text, &end, 10);
  return std::isdigit(static_cast<unsigned char>(*text)) && *end == '\0' && errno == 0;
}

// The number of an error, from its name or from its digits; 0 for what is neither.
int errorNumber(const std::string& text) {
  constexpr int kMostErrors = 4095;  // the kernel takes no more
  std::uint64_t value = 0;
  if (wholeNumber(text.c_str(), value)) return value <= kMostErrors ? static_cast<int>(value) : 0;
  for (int error = 1; error < kMostErrors; ++error) {
    const char* const name = strerrorname_np(error);
    if (name != nullptr && text == name) return error;
  }
  return 0;
}

std::string upperCase(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(letter));
  return text;
}

bool target(const std::string& text, Failure& failure) {
  if (text == "all") return true;
  failure.of_class = classNamed(text);
  if (failure.of_class) return true;
  for (const KindRow& row : kKinds) {
    if (upperCase(text) != row.name || row.of == RequestClass::Unpaced) continue;
    failure.of_kind = row.kind;
    return true;
  }
  return false;
}

std::string failureFrom(const std::string& text, Failure& failure) {
  const std::size_t first = text.find(':');
  const std::size_t second = text.find(':', first == std::string::npos ? first : first + 1);
  if (second == std::string::npos) return "has to be CLASS:ERRNO:N or CLASS:ERRNO:N+";
  if (!target(text.substr(0, first), failure)) {
    return "'" + text.substr(0, first) +
           "' is neither a class (read, write, metadata, sync, all) nor a kind of request";
  }
  const std::string error = text.substr(first + 1, second - first - 1);
  failure.error = errorNumber(error);
  if (failure.error == 0) return "'" + error + "' is not the name of an error";
  std::string call = text.substr(second + 1);
  if (!call.empty() && call.back() == '+') {
    failure.onwards = true;
    call.pop_back();
  }
  if (!wholeNumber(call.c_str(), failure.number) || failure.number == 0) {
    return "'" + call + "' is not the number of a call; the first one is 1";
  }
  return {};
}

struct Reader {
  Options& options;
  std::string problem;

  void complain(const char* name, const char* text, const std::string& why) {
    problem = std::string("--") + name + ": '" + text + "' " + why;
  }

  std::int64_t duration(const char* name) {
    constexpr double kHour = 3.6e9;
    double value_us = 0;
    if (!number(optarg, kHour, value_us)) {
      complain(name, optarg, "is not a number of microseconds up to an hour");
    }
    return std::llround(value_us * 1000);
  }

  void latency(const char* name, RequestClass of) {
    options.pace.latency_ns[static_cast<std::size_t>(of)] = duration(name);
  }

  void bandwidth() {
    double mib_s = 0;
    if (!number(optarg, 1e9, mib_s) || mib_s <= 0) {
      complain("bandwidth", optarg, "is not a positive number of MiB/s");
    }
    options.pace.bandwidth_bytes_per_ns = mib_s * (1 << 20) / 1e9;
  }

  void jitter() {
    double percent = 0;
    if (!number(optarg, 100, percent)) complain("jitter", optarg, "is not a percentage");
    options.pace.jitter = percent / 100;
  }

  void threads() {
    std::uint64_t value = 0;
    if (!wholeNumber(optarg, value) || value == 0 || value > 100'000) {
      complain("threads", optarg, "is not a number from 1 to 100000");
    }
    options.threads = static_cast<unsigned>(value);
  }

  void failure() {
    Failure failure;
    const std::string why = failureFrom(optarg, failure);
    if (!why.empty()) problem = std::string("--fail ") + optarg + ": " + why;
    options.pace.failures.push_back(failure);
  }

  Parsed take(int which) {
    switch (which) {
      case kReadUs:
        latency("read-us", RequestClass::Read);
        break;
      case kWriteUs:
        latency("write-us", RequestClass::Write);
        break;
      case kMetadataUs:
        latency("metadata-us", RequestClass::Metadata);
        break;
      case kSyncUs:
        latency("sync-us", RequestClass::Sync);
        break;
      case kBandwidth:
        bandwidth();
        break;
      case kOneAtATime:
        options.pace.one_at_a_time = true;
        break;
      case kJitter:
        jitter();
        break;
      case kSeed:
        if (!wholeNumber(optarg, options.pace.seed)) {
          complain("seed", optarg, "is not a whole number");
        }
        break;
      case kFail:
        failure();
        break;
      case kWriteBack:
        options.write_back = true;
        options.cache = true;
        break;
      case kCache:
        options.cache = true;
        break;
      case kTrustCallers:
        options.check_permissions = false;
        break;
      case kThreads:
        threads();
        break;
      case kSpinUs:
        options.pace.spin_ns = duration("spin-us");
        break;
      case kRealTime:
        options.real_time = true;
        break;
      case kCounts:
        options.counts_file = optarg;
        break;
      case kControl:
        options.control = true;
        break;
      case kHelp:
        return Parsed::Help;
      default:
        problem = "unknown option, or an option without its value; --help lists them";
    }
    return problem.empty() ? Parsed::Run : Parsed::Wrong;
  }
};

}  // namespace

std::optional<RequestClass> classNamed(std::string_view name) {
  for (const ClassName& row : kClasses) {
    if (name == row.name) return row.of;
  }
  return std::nullopt;
}

const char* const kUsage =
    R"(usage: slowfs BACKING MOUNT_POINT [OPTION...]

Shows the directory BACKING at MOUNT_POINT, as slow as wanted. Stays in the foreground until
MOUNT_POINT is unmounted, and then prints counts as one line of JSON. SIGUSR1 prints them before.

When a request is answered:
  --read-us TIME       the latency of READ, in microseconds, which may have a fraction
  --write-us TIME      the latency of WRITE
  --sync-us TIME       the latency of FSYNC, FSYNCDIR and FLUSH, which close sends
  --metadata-us TIME   the latency of all other requests that a program waits for
  --bandwidth MIB_S    all reads and writes pass one channel of that many MiB/s, one after the other
  --one-at-a-time      requests are served one after the other; by default latencies overlap
  --jitter PERCENT     each latency is longer or shorter at random by up to that part of it
  --seed NUMBER        begins these random numbers (1)
  --spin-us TIME       the end of each wait in which a core is kept busy, for precision (50)
  --real-time          replies come before other programs run, as those of a device of its own do
  --threads NUMBER     the most requests at the same time (256)

Errors:
  --fail CLASS:ERRNO:N   the Nth request of a class fails, as in write:ENOSPC:100. With N+ all later
                         ones fail too. CLASS is read, write, metadata, sync, all, or a kind of
                         request (lookup, create, fsync...). May be given more than once.

The kernel:
  --cache          the kernel keeps pages, attributes and names; by default it asks each time
  --write-back     the kernel writes pages later; includes --cache
  --trust-callers  permissions are not checked; the check sends a GETATTR for each directory of a
                   path

Control:
  --control        reads commands from standard input, one a line, and answers each with a line of
                   JSON on standard output that has the threads whose requests are held. Its end is
                   like `go`.
                     hold CLASS   requests of that class wait from now on
                     let N        the N of them that wait longest go on
                     go           all of them go on, and none is held from now on
                     held         nothing but the answer

Counts:
  --counts FILE    the newest counts replace FILE, in place of standard output

A call on a larger piece than 1 MiB is several requests. Files cannot be mapped with MAP_SHARED
without --cache. RELEASE has no latency, since close does not wait for it. The kernel itself takes
turns where writes make one file longer, and where names in one directory change.
)";

Parsed parse(int argc, char** argv, Options& options, std::string& problem) {
  Reader reader{options, {}};
  opterr = 0;
  for (int which; (which = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    const Parsed parsed = reader.take(which);
    problem = reader.problem;
    if (parsed != Parsed::Run) return parsed;
  }
  if (argc - optind != 2) {
    problem = "BACKING and MOUNT_POINT have to be given; --help says more";
    return Parsed::Wrong;
  }
  options.backing = argv[optind];
  options.mount_point = argv[optind + 1];
  return Parsed::Run;
}

}  // namespace slowfs
