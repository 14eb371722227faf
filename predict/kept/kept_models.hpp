// The models of all ranks of an application in one file, for later runs to go on with
// (docs/formats/prediction_model.md).
//
//   Result<std::unique_ptr<KeptModels>> models = KeptModels::open("app.model");
//   Result<std::unique_ptr<RankModels>> of_rank = (*models)->of(3);   // this rank alone is read
//
// Memory is for the index (some 20 bytes a rank), and for a rank while it is read: its bytes in the
// file, at most 32 times as many when they are unpacked, and its models, at most 1 MiB a process.
// Damage is found by checksums and by what has to fit together: a sentence says in which byte, and
// why. Several threads may read ranks at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.hpp"
#include "core/base/result.hpp"
#include "predict/kept/kept_models_file.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::predict {

class KeptModels final : public EarlierRun {
 public:
  // Fails where the file is not a model, of another version, or where its index is damaged.
  static base::Result<std::unique_ptr<KeptModels>> open(const std::filesystem::path& path);

  std::string path() const override { return path_.native(); }
  std::set<std::string> programs() const override {
    return {index_.programs.begin(), index_.programs.end()};
  }
  bool isWhole() const override { return index_.is_whole; }
  base::Result<std::unique_ptr<RankModels>> of(RankKey rank) const override;
  std::vector<RankKey> ranks() const;  // in order

 private:
  KeptModels(std::filesystem::path path, base::File file)
      : path_(std::move(path)), file_(std::move(file)) {}

  base::Result<void> readIndex();
  base::Result<std::string> unpacked(std::uint64_t part, std::string_view name) const;
  template <typename Kept>
  base::Result<void> read(std::uint64_t part, std::string_view name, Kept& into) const;
  base::Failure damaged(std::uint64_t byte, std::string_view why) const;

  std::filesystem::path path_;
  base::File file_;
  kept::Index index_;
  std::vector<std::uint64_t> begins_;  // of parts, in the file
};

}  // namespace omnio::predict
