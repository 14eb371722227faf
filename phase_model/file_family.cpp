#include "phase_model/file_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/event/event.hpp"

namespace omnio::phases {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

bool isDigit(char c) { return c >= '0' && c <= '9'; }

// Begin and length of each number in a path.
std::vector<std::pair<std::size_t, std::size_t>> numbersIn(std::string_view path) {
  std::vector<std::pair<std::size_t, std::size_t>> numbers;
  for (std::size_t i = 0; i < path.size();) {
    std::size_t end = i;
    while (end < path.size() && isDigit(path[end])) ++end;
    if (end > i) numbers.emplace_back(i, end - i);
    i = std::max(end, i + 1);
  }
  return numbers;
}

std::string replaced(std::string_view path,
                     const std::vector<std::pair<std::size_t, std::size_t>>& numbers,
                     std::string_view with) {
  std::string text;
  std::size_t from = 0;
  for (const auto& [begin, length] : numbers) {
    text += path.substr(from, begin - from);
    text += with;
    from = begin + length;
  }
  return text += path.substr(from);
}

// The names that the path of this rank's file would be an example of.
std::vector<std::string> templatesOf(std::string_view path, int rank) {
  std::vector<std::string> templates;
  const auto all = numbersIn(path);
  const std::string plain = fmt::format("{}", rank);
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> by_width;
  for (const auto& number : all) {
    if (fmt::format("{:0{}}", rank, number.second) == path.substr(number.first, number.second)) {
      by_width[number.second].push_back(number);
    }
  }
  for (const auto& [width, numbers] : by_width) {
    // "12" may be of "{rank}" or of "{rank:02}": the other ranks decide.
    std::vector<std::string> words;
    if (width == plain.size()) words.emplace_back("{rank}");
    if (width > 1) words.push_back(fmt::format("{{rank:0{}}}", width));
    for (const std::string& word : words) {
      for (const auto& number : numbers) templates.push_back(replaced(path, {number}, word));
      if (numbers.size() > 1) templates.push_back(replaced(path, numbers, word));
    }
  }
  return templates;
}

// Puts files of different ranks together that have a template in common; the one that most ranks
// have wins.
class ByRankNumber {
 public:
  void add(std::size_t index, const TouchedFile& file) {
    const int rank = *file.ranks.begin();
    templates_[index] = templatesOf(file.path, rank);
    for (const std::string& name : templates_[index]) votes_[name].insert(rank);
  }

  // The members of each family, by its name.
  std::map<std::string, std::vector<std::size_t>> families() const {
    std::map<std::string, std::vector<std::size_t>> families;
    for (const auto& [index, templates] : templates_) {
      const auto best = std::max_element(templates.begin(), templates.end(),
                                         [this](const std::string& a, const std::string& b) {
                                           return votes_.at(a).size() < votes_.at(b).size();
                                         });
      if (best != templates.end() && votes_.at(*best).size() > 1) families[*best].push_back(index);
    }
    return families;
  }

 private:
  std::map<std::size_t, std::vector<std::string>> templates_;
  std::map<std::string, std::set<int>> votes_;
};

}  // namespace

Families findFamilies(const std::vector<TouchedFile>& touched) {
  Families result;
  result.family.assign(touched.size(), kNone);
  const auto make = [&](std::string path, bool shared, const std::vector<std::size_t>& members) {
    model::ModelFile file{.path = std::move(path), .shared = shared};
    for (const std::size_t member : members) {
      file.size_bytes = std::max(file.size_bytes, touched[member].size_bytes);
      result.family[member] = result.files.size();
    }
    result.files.push_back(std::move(file));
  };

  ByRankNumber by_rank;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (touched[i].ranks.size() == 1) by_rank.add(i, touched[i]);
  }
  std::map<std::size_t, std::pair<std::string, std::vector<std::size_t>>> ordered;
  for (auto& [name, members] : by_rank.families()) {
    if (members.size() < 2) continue;
    ordered[members.front()] = {name, members};
    for (const std::size_t member : members) result.family[member] = 0;
  }
  // The k-th of a name without numbers, of each rank.
  std::map<std::pair<std::string, int>, std::size_t> seen;
  std::map<std::pair<std::string, std::size_t>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (touched[i].ranks.size() != 1 || result.family[i] != kNone) continue;
    const std::string name = event::withoutNumbers(touched[i].path);
    const std::size_t turn = seen[{name, *touched[i].ranks.begin()}]++;
    alike[{name, turn}].push_back(i);
  }
  for (auto& [name, members] : alike) {
    if (members.size() < 2) continue;
    const std::size_t lowest =
        *std::min_element(members.begin(), members.end(), [&touched](std::size_t a, std::size_t b) {
          return *touched[a].ranks.begin() < *touched[b].ranks.begin();
        });
    ordered[members.front()] = {touched[lowest].path, members};
    for (const std::size_t member : members) result.family[member] = 0;
  }
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (const auto family = ordered.find(i); family != ordered.end()) {
      make(family->second.first, false, family->second.second);
    } else if (result.family[i] == kNone) {
      make(touched[i].path, true, {i});
    }
  }
  return result;
}

}  // namespace omnio::phases
