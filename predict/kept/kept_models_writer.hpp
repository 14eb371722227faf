// Writes the models of all ranks of an application into one file, which KeptModels reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/result.hpp"
#include "predict/kept/kept_models_file.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::predict {

class KeptModelsWriter {
 public:
  // `programs`: their names, without directories; `is_whole`: all was there to learn from.
  KeptModelsWriter(const std::filesystem::path& path, const std::set<std::string>& programs,
                   bool is_whole);

  // The models are as ProcessModels::beginRun() leaves them. Several threads may call it at a time.
  void add(RankKey rank, RankModels models);
  // The failure so far: where the file cannot be made, from the begin on.
  base::Result<void> state() { return file_.state(); }
  // The file appears under its name. Fails with a sentence that names it.
  base::Result<void> finish();

 private:
  template <typename Kept>
  std::uint64_t add(Kept& what);

  std::mutex mutex_;
  base::DocumentFile file_;
  kept::Index index_;
  // Of parts, by checksum and bytes.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> numbers_;
};

}  // namespace omnio::predict
