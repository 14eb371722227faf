// The parts of a file of kept models that its reader and its writer share:
// docs/formats/prediction_model.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "predict/operations/rank_models.hpp"

namespace omnio::predict::kept {

inline constexpr std::string_view kMagic = "omnimodl";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeadBytes = kMagic.size() + sizeof kVersion;
inline constexpr std::size_t kTrailerBytes = 2 * sizeof(std::uint64_t) + kMagic.size();
// A part is unpacked into no more than so many times its bytes; one that would be is not packed.
inline constexpr std::uint64_t kMostRatio = 32;

// Parts follow each other in the file.
struct Part {
  std::uint64_t stored = 0;    // bytes in the file
  std::uint64_t bytes = 0;     // unpacked: the same where it is not packed
  std::uint64_t checksum = 0;  // of what is in the file

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(stored, bytes);
    archive.fixed(checksum);
  }
};

// The parts of a rank, by number. Ranks whose parts are equal share them.
struct OfRank {
  std::uint64_t contexts = 0;
  std::uint64_t models = 0;

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(contexts, models);
  }
};

// What models keep of a rank, without contexts.
struct Models {
  RankModels& of;

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(of.operations, of.processes);
  }
};

struct Index {
  std::vector<std::string> programs = {};
  bool is_whole = true;
  std::vector<Part> parts = {};
  std::map<RankKey, OfRank> ranks = {};

  template <typename Archive>
  void serialize(Archive& archive) {
    archive(programs, is_whole, parts, ranks);
  }
};

}  // namespace omnio::predict::kept
