#include "core/storage/counters.hpp"

#include <vector>

#include "core/base/integers.hpp"
#include "core/base/mount_points.hpp"

namespace omnio::storage {
namespace {

constexpr std::uint64_t kSector = 512;

// Calls use(words) with the words of each line.
template <typename Use>
void eachLine(std::string_view text, Use use) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    words.clear();
    while (true) {
      const std::size_t begin = line.find_first_not_of(" \t");
      if (begin == line.npos) break;
      line.remove_prefix(begin);
      words.push_back(line.substr(0, line.find_first_of(" \t")));
      line.remove_prefix(words.back().size());
    }
    if (!words.empty()) use(words);
  }
}

std::uint64_t numberOf(std::string_view word) {
  return base::wholeNumber<std::uint64_t>(word).value_or(0);
}

std::uint64_t difference(std::uint64_t later, std::uint64_t earlier) {
  return later > earlier ? later - earlier : 0;
}

}  // namespace

Moved& Moved::operator+=(const Moved& other) {
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  return *this;
}

Moved Moved::since(const Moved& earlier) const {
  return {.read_bytes = difference(read_bytes, earlier.read_bytes),
          .written_bytes = difference(written_bytes, earlier.written_bytes)};
}

std::map<std::string, DeviceCounters> parseDiskStats(std::string_view text) {
  std::map<std::string, DeviceCounters> devices;
  eachLine(text, [&](const std::vector<std::string_view>& words) {
    if (words.size() < 13) return;
    devices[std::string(words[0]).append(":").append(words[1])] = {
        .name = std::string(words[2]),
        .moved = {.read_bytes = numberOf(words[5]) * kSector,
                  .written_bytes = numberOf(words[9]) * kSector},
        .busy_ms = numberOf(words[12])};
  });
  return devices;
}

std::optional<Moved> parseMountStats(std::string_view text, std::string_view point) {
  std::optional<Moved> found;
  bool is_it = false;
  // "device server:/export mounted on /point with fstype nfs4 statvers=1.1", or "no device mounted
  // on ...", and lines of it.
  eachLine(text, [&](const std::vector<std::string_view>& words) {
    if (words.size() >= 5 && words[2] == "mounted" && words[3] == "on") {
      is_it = base::mountName(words[4]) == point;
    } else if (is_it && words[0] == "bytes:" && words.size() >= 7) {
      found = {.read_bytes = numberOf(words[5]), .written_bytes = numberOf(words[6])};
    }
  });
  return found;
}

std::string_view lustreFileSystem(std::string_view source) {
  constexpr std::string_view kBefore = ":/";
  const std::size_t at = source.rfind(kBefore);
  if (at == source.npos) return {};
  source.remove_prefix(at + kBefore.size());
  return source.substr(0, source.find('/'));
}

Moved parseLustreStats(std::string_view text) {
  Moved moved;
  // "read_bytes 12 samples [bytes] 4096 1048576 9437184", and a sum of squares from 2.13 on.
  eachLine(text, [&](const std::vector<std::string_view>& words) {
    if (words.size() < 7) return;
    if (words[0] == "read_bytes") moved.read_bytes = numberOf(words[6]);
    if (words[0] == "write_bytes") moved.written_bytes = numberOf(words[6]);
  });
  return moved;
}

std::optional<Moved> parseGroupBytes(std::string_view text, std::string_view device) {
  std::optional<Moved> found;
  eachLine(text, [&](const std::vector<std::string_view>& words) {
    if (words[0] != device) return;
    Moved& moved = found ? *found : found.emplace();
    if (words.size() == 3 && words[1] == "Read") moved.read_bytes = numberOf(words[2]);
    if (words.size() == 3 && words[1] == "Write") moved.written_bytes = numberOf(words[2]);
    for (const std::string_view word : words) {
      if (word.starts_with("rbytes=")) moved.read_bytes = numberOf(word.substr(7));
      if (word.starts_with("wbytes=")) moved.written_bytes = numberOf(word.substr(7));
    }
  });
  return found;
}

MemoryUse parseMemInfo(std::string_view text) {
  constexpr std::uint64_t kKibi = 1024;
  MemoryUse use;
  eachLine(text, [&](const std::vector<std::string_view>& words) {
    if (words.size() < 2) return;
    const std::uint64_t bytes = numberOf(words[1]) * kKibi;
    if (words[0] == "Dirty:" || words[0] == "Writeback:") use.dirty_bytes += bytes;
    if (words[0] == "Cached:") use.cached_bytes = bytes;
  });
  return use;
}

}  // namespace omnio::storage
