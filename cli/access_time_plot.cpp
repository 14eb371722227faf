#include "cli/access_time_plot.hpp"

#include <fmt/format.h>

#include "core/base/document_file.hpp"
#include "predict/calibration/overview.hpp"
#include "report/quartile_plot.hpp"

namespace omnio::cli {

base::Result<void> writeAccessTimePlot(const std::string& path,
                                       const predict::Calibration& calibration,
                                       const std::vector<access_time::ModelErrors>& errors) {
  using predict::AccessOrder;
  using predict::CellOperation;
  constexpr double kNs = 1e-9;
  report::QuartilePlot plot{
      .title = fmt::format("Access times of {}", access_time::targetOf(calibration)), .panels = {}};
  for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
    for (const AccessOrder order : {AccessOrder::kSequential, AccessOrder::kRandom}) {
      report::QuartilePlot::Panel panel{
          .name = predict::caseName({.operation = operation, .order = order}),
          .points = {},
          .lines = {}};
      for (const access_time::ModelErrors& model : errors) {
        if (!access_time::predicts(model.kind)) continue;
        panel.lines.push_back({.name = std::string(access_time::nameOf(model.kind)), .points = {}});
      }
      for (const predict::Cell& cell : calibration.cells) {
        const predict::CellKey& key = cell.key;
        if (!predict::isBasic(key) || key.operation != operation || key.order != order ||
            key.extends) {
          continue;
        }
        const auto bytes = static_cast<double>(key.bytes);
        panel.points.push_back({.bytes = bytes,
                                .least = static_cast<double>(cell.all.leastNs()),
                                .quartile1 = cell.all.quantileNs(0.25),
                                .median = cell.all.quantileNs(0.5),
                                .quartile3 = cell.all.quantileNs(0.75),
                                .most = static_cast<double>(cell.all.mostNs()),
                                .mean = cell.all.meanNs()});
        auto line = panel.lines.begin();
        for (const access_time::ModelErrors& model : errors) {
          if (!access_time::predicts(model.kind)) continue;
          if (const auto* const means = access_time::meansOf(model, key)) {
            line->points.emplace_back(bytes, means->predicted_s / kNs);
          }
          ++line;
        }
      }
      plot.panels.push_back(std::move(panel));
    }
  }
  return base::writeDocument(path, report::svgOf(plot));
}

}  // namespace omnio::cli
