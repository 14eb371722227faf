#include "core/base/mount_points.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace omnio::base {

std::string mountName(std::string_view name) {
  std::string text;
  const auto digit = [name](std::size_t at) { return at < name.size() ? name[at] - '0' : -1; };
  for (std::size_t at = 0; at < name.size(); ++at) {
    const int a = digit(at + 1);
    const int b = digit(at + 2);
    const int c = digit(at + 3);
    const bool is_escaped =
        name[at] == '\\' && a >= 0 && a < 4 && b >= 0 && b < 8 && c >= 0 && c < 8;
    text += is_escaped ? static_cast<char>(a << 6 | b << 3 | c) : name[at];
    if (is_escaped) at += 3;
  }
  return text;
}

namespace {

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

bool isWithin(std::string_view directory, std::string_view path) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

MountPoints::MountPoints(std::string_view text) {
  // "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw", or "/dev/sda1 /point ext4 rw
  // 0 0".
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::vector<std::string_view> words = wordsOf(text.substr(at, end - at));
    at = end + 1;
    Mount mount;
    const auto dash = std::ranges::find(words, "-");
    if (words.size() > 6 && words.end() - dash > 3 && words[2].find(':') != words[2].npos) {
      mount = {.point = mountName(words[4]),
               .root = std::string(words[3]),
               .device = std::string(words[2]),
               .type = std::string(dash[1]),
               .source = std::string(dash[2])};
    } else if (words.size() >= 3 && dash == words.end()) {
      mount = {.point = mountName(words[1]),
               .root = "/",
               .device = {},
               .type = std::string(words[2]),
               .source = std::string(words[0])};
    }
    if (!mount.point.starts_with('/')) continue;
    if (mount.point == "/") mount.point.clear();
    mounts_.push_back(std::move(mount));
  }
  std::ranges::reverse(mounts_);
  std::ranges::stable_sort(mounts_, [](const Mount& a, const Mount& b) {
    return a.point.size() != b.point.size() ? a.point.size() > b.point.size() : a.point < b.point;
  });
}

std::size_t MountPoints::holding(std::string_view path) const {
  const auto found = std::ranges::find_if(
      mounts_, [path](const Mount& mount) { return isWithin(mount.point, path); });
  return static_cast<std::size_t>(found - mounts_.begin());
}

std::optional<Mount> mountHolding(const std::filesystem::path& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).native();
  if (error) return {};
  std::ifstream file("/proc/self/mountinfo");
  const MountPoints points(std::string{std::istreambuf_iterator<char>(file), {}});
  const std::size_t index = points.holding(real == "/" ? "" : std::string_view(real));
  return index < points.mounts().size() ? std::optional(points.mounts()[index]) : std::nullopt;
}

}  // namespace omnio::base
