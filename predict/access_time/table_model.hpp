// A table of what was measured: the mean time of each cell of a calibration, and lines between
// cells.
#pragma once

#include <map>
#include <utility>

#include "predict/access_time/access.hpp"
#include "predict/access_time/curve.hpp"
#include "predict/access_time/time_model.hpp"

namespace omnio::access_time {

class TableModel final : public TimeModel {
 public:
  explicit TableModel(const Samples& samples);

  // By meansFor(); 0 where there are none.
  double seconds(const Access& access) const override;

  using Key = decltype(Access().curve());
  using Means = std::pair<const Key, CurvesByProcesses>;
  // The means that stand for the time of the access: its own, or where it was not measured itself,
  // those of the most alike. Null where there are none. They live as long as the table.
  const Means* meansFor(const Access& access) const;
  // Those of this key alone; null where it was not measured.
  const CurvesByProcesses* find(const Key& key) const;

 private:
  std::map<Key, CurvesByProcesses> curves_;
};

}  // namespace omnio::access_time
