// Which accesses of a run took a slow path: each recorded one beside the model of its kind, and
// classes of the residuals (residual_classes.hpp). What a class is comes from the measured time of
// its members: it explains, and does not predict.
//
// Memory grows with files and threads, and not with accesses: counts and times are exact, by
// factor; which files and ranks, when, and of which sizes comes from up to 256 accesses of each
// factor, drawn at random (J. Vitter, ACM TOMS 11, 1985).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/model/schedule_reader.hpp"
#include "predict/access_time/access_times.hpp"

namespace omnio::access_time {

inline constexpr std::string_view kClassesExplain =
    "A class explains what was measured: it follows from the time of an access, and does not "
    "predict the next one.";

struct AccessClass {
  // Measured over predicted time: from this factor on; that of the first one is 0.
  double from_factor = 0;
  double median_factor = 0;
  std::uint64_t count = 0;
  double seconds = 0;            // of all ranks
  double predicted_seconds = 0;  // what the model gives for them
  double median_bytes = 0;       // of its reads and writes; 0: it has none
  // With the part of its accesses that each has; most first, and at most three of a kind.
  using Parts = std::vector<std::pair<std::string, double>>;
  Parts operations, files, ranks;
  // The part of its accesses that began in each of so many equal parts of SlowPaths' time.
  static constexpr std::size_t kTimes = 64;
  std::array<double, kTimes> when{};
};

struct SlowPaths {
  std::string calibration;  // the name of its document
  std::string target;       // "/scratch (ext4) on node1, cached"
  double from_s = 0;        // since the start of the run: when its I/O began and ended
  double to_s = 0;
  std::uint64_t accesses = 0;        // that are compared
  double io_s = 0;                   // of all calls that access storage
  double compared_s = 0;             // of it, of those that are compared
  double inside_s = 0;               // of that, within the calibrated range
  std::vector<AccessClass> classes;  // by factor
};

class SlowPathFinder {
 public:
  // `times` outlives this.
  explicit SlowPathFinder(const AccessTimes& times);
  SlowPathFinder(const SlowPathFinder&) = delete;
  SlowPathFinder& operator=(const SlowPathFinder&) = delete;
  ~SlowPathFinder();

  // The schedule of the run is passed to the first one, and then to the second one. Loops come as
  // events.
  model::ScheduleSink& survey();
  model::ScheduleSink& accesses();

  // When it was passed to both. Fails with one sentence where the calibration cannot be set beside
  // the run `subject`: of another cache state than its calls use, or without reads or writes where
  // it has some. `begin_ns`: time 0 of the schedule, since the start of the run.
  base::Result<SlowPaths> found(const predict::Calibration& calibration, const std::string& name,
                                const std::string& subject, std::int64_t begin_ns = 0) const;
  // The I/O time of each file, by its recorded path.
  std::vector<std::pair<std::string, double>> secondsByFile() const;

 private:
  class First;
  class Second;
  std::unique_ptr<First> first_;
  std::unique_ptr<Second> second_;
};

std::string textOf(const SlowPaths& paths);
void putSlowPaths(base::JsonWriter& json, const SlowPaths& paths);

}  // namespace omnio::access_time
