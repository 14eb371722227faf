// How long any access takes on a calibrated target, and how far that can be trusted.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "predict/access_time/access.hpp"
#include "predict/access_time/model_errors.hpp"
#include "predict/access_time/table_model.hpp"
#include "predict/access_time/time_model.hpp"
#include "predict/calibration/document.hpp"

namespace omnio::access_time {

// Access times learned from a calibration. Reads and writes are by the model with the best totals
// of rounds and sizes that it had not seen; metadata calls and syncs are by the table.
class AccessTimes {
 public:
  // Fails with a sentence where there is too little to learn from. `name` is how the document is
  // named in it. `kind`: that model, and no other is looked at.
  static base::Result<AccessTimes> learned(const predict::Calibration& calibration,
                                           const std::string& name,
                                           std::optional<ModelKind> kind = {});

  double seconds(const Access& access) const;
  // Whether several at once in one file came one after another, where they were measured.
  bool isByTurns(const Access& access) const;
  // seconds() by what was measured in one round alone. Nothing where that has no such access: one
  // that takes long is not measured in each.
  std::size_t rounds() const { return by_round_.size(); }
  struct InRound {
    double seconds = 0;
    double share = 0;  // of the accesses that the time follows from, in all rounds
  };
  std::optional<InRound> inRound(std::size_t round, const Access& access) const;

  // The standard error of the mean time of such accesses, by how those that were measured differ,
  // and which they are. Nothing where there are none.
  struct MeanError {
    TableModel::Key curve;
    double seconds = 0;
  };
  std::optional<MeanError> errorOf(const Access& access) const;

  // Whether accesses of this kind, with as many bytes and processes or fewer and more, were
  // measured.
  bool covers(const Access& access) const;
  // Whether it has the size of a measured one.
  bool isOnGrid(const Access& access) const;

  ModelKind kind() const { return kind_; }
  const std::vector<std::pair<ModelKind, TotalErrors>>& models() const { return models_; }
  // About the chosen model.
  const TotalErrors& errors() const;
  const std::optional<predict::Noise>& noise() const { return noise_; }

 private:
  AccessTimes() = default;

  ModelKind kind_ = ModelKind::kTable;
  double lookUpSeconds(const Access& access) const;
  double pauseSeconds(const Access& access) const;
  Access inThisDocument(const Access& access) const;
  void findLookUps(const predict::Calibration& calibration);

  double look_ups_ = 0;        // of the paths in the calibration
  bool looks_up_all_ = false;  // each of these costs a request
  std::unique_ptr<const TimeModel> data_;
  std::unique_ptr<const TableModel> table_;
  std::unique_ptr<const TableModel> paused_;  // of one process after pauses; the others are without
  std::vector<std::unique_ptr<const TableModel>> by_round_;
  std::vector<std::pair<ModelKind, TotalErrors>> models_;
  std::optional<predict::Noise> noise_;
};

// The means of a cell that isBasic(); nullptr where the model has none.
const CellMeans* meansOf(const ModelErrors& model, const predict::CellKey& key);

// "/scratch (ext4) on node1, cached"
std::string targetOf(const predict::Calibration& calibration);

// Totals of the calls of `subject`.
struct CallTotals {
  double bytes = 0;
  double direct_bytes = 0;  // of them, by descriptors with O_DIRECT
  bool has_reads = false;
  bool has_writes = false;
};
// Why the calibration says nothing about such calls: a sentence; empty where it does.
std::string mismatchOf(const predict::Calibration& calibration, const std::string& name,
                       const std::string& subject, const CallTotals& calls);

// The errors of all models, those that explain too, in the order of the paper's table.
std::vector<ModelErrors> errorsOfAll(const predict::Calibration& calibration);
std::string textOf(const std::vector<ModelErrors>& errors);
void putErrors(base::JsonWriter& json, std::string_view key,
               const std::vector<ModelErrors>& errors);

// The calibration and the errors of the models as a document. `errors` may be empty.
std::string accessTimesJson(const predict::Calibration& calibration, const std::string& name,
                            const std::vector<ModelErrors>& errors);

}  // namespace omnio::access_time
