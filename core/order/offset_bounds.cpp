#include "core/order/offset_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace omnio::order {
namespace {

// Crystals are wrong by less than 100 ppm, so two clocks drift apart by less than this unless the
// messages say otherwise (docs/formats/trace.md, "Clocks").
constexpr double kUsualDrift = 200e-6;
// A kernel changes the pace of its clock by 500 ppm at most, and slews it by as much (adjtimex(2)).
constexpr double kMostDrift = 0.01;
// Where ticks become nanoseconds, a step is spread over the time between two anchors.
constexpr double kSteepest = 0.5;
// Two readings of a clock that tie ticks to nanoseconds are that far apart.
constexpr double kReadingNs = 500;
// More pieces than this describe noise.
constexpr std::size_t kMostPieces = 64;

// A line, by its values at the begin and at the end of the run.
struct Line {
  double begin = 0;
  double end = 0;

  double at(double share) const { return begin + (end - begin) * share; }
};

// All lines that lie between the bounds: a convex polygon.
class Lines {
 public:
  Lines(double least, double most, double most_change) {
    const double low = least - most_change;
    const double high = most + most_change;
    corners_ = {{low, low}, {high, low}, {high, high}, {low, high}};
    cut([&](const Line& line) { return line.end - line.begin - most_change; });
    cut([&](const Line& line) { return line.begin - line.end - most_change; });
  }

  bool isEmpty() const { return corners_.empty(); }
  void cutAbove(double share, double most) {
    cut([&](const Line& line) { return line.at(share) - most; });
  }
  void cutBelow(double share, double least) {
    cut([&](const Line& line) { return least - line.at(share); });
  }

  // The line whose largest error at the two ends is least, moved into the polygon where it lies
  // outside.
  Line middle() const {
    Line low = corners_.front();
    Line high = corners_.front();
    Line inside;
    for (const Line& corner : corners_) {
      low = {std::min(low.begin, corner.begin), std::min(low.end, corner.end)};
      high = {std::max(high.begin, corner.begin), std::max(high.end, corner.end)};
      inside.begin += corner.begin / static_cast<double>(corners_.size());
      inside.end += corner.end / static_cast<double>(corners_.size());
    }
    const Line best = {(low.begin + high.begin) / 2, (low.end + high.end) / 2};
    const auto between = [&](double share) {
      return Line{best.begin + (inside.begin - best.begin) * share,
                  best.end + (inside.end - best.end) * share};
    };
    if (holds(best)) return best;
    double outside = 0;
    double in = 1;
    for (int step = 0; step < 40; ++step) {
      const double middle = (outside + in) / 2;
      (holds(between(middle)) ? in : outside) = middle;
    }
    constexpr double kFromTheRim = 0.05;
    return between(in + (1 - in) * kFromTheRim);
  }

  double errorOf(const Line& line, double share) const {
    double error = 0;
    for (const Line& corner : corners_) {
      error = std::max(error, std::abs(corner.at(share) - line.at(share)));
    }
    return error;
  }

 private:
  // Keeps the lines for which `excess` is not above 0.
  template <typename Excess>
  void cut(Excess excess) {
    std::vector<Line> kept;
    for (std::size_t i = 0; i < corners_.size(); ++i) {
      const Line& from = corners_[i];
      const Line& to = corners_[(i + 1) % corners_.size()];
      const double a = excess(from);
      const double b = excess(to);
      if (a <= 0) kept.push_back(from);
      if ((a < 0 && b > 0) || (a > 0 && b < 0)) {
        const double share = a / (a - b);
        kept.push_back(
            {from.begin + (to.begin - from.begin) * share, from.end + (to.end - from.end) * share});
      }
    }
    corners_ = std::move(kept);
  }

  // Whether it is on the same side of all edges.
  bool holds(const Line& line) const {
    bool left = false;
    bool right = false;
    for (std::size_t i = 0; i < corners_.size(); ++i) {
      const Line& from = corners_[i];
      const Line& to = corners_[(i + 1) % corners_.size()];
      const double side = (to.begin - from.begin) * (line.end - from.end) -
                          (to.end - from.end) * (line.begin - from.begin);
      left = left || side > 0;
      right = right || side < 0;
    }
    return !(left && right);
  }

  std::vector<Line> corners_;
};

}  // namespace

void OffsetBounds::Hull::add(std::int64_t at_ns, std::int64_t offset_ns) {
  points.push_back({.at_ns = at_ns, .offset_ns = offset_ns});
  if (points.size() < reduce_at) return;
  reduce();
  reduce_at = std::max<std::size_t>(32, 2 * points.size());
}

// The lower convex hull, by Andrew's monotone chain.
void OffsetBounds::Hull::reduce() {
  std::ranges::sort(points, {},
                    [](const Point& point) { return std::pair(point.at_ns, point.offset_ns); });
  std::vector<Point> hull;
  for (const Point& point : points) {
    if (!hull.empty() && hull.back().at_ns == point.at_ns) continue;
    while (hull.size() >= 2) {
      const Point& a = hull[hull.size() - 2];
      const Point& b = hull.back();
      const double turn = static_cast<double>(b.at_ns - a.at_ns) *
                              static_cast<double>(point.offset_ns - a.offset_ns) -
                          static_cast<double>(b.offset_ns - a.offset_ns) *
                              static_cast<double>(point.at_ns - a.at_ns);
      if (turn > 0) break;
      hull.pop_back();
    }
    hull.push_back(point);
  }
  points = std::move(hull);
}

OffsetBounds::OffsetBounds(std::int64_t begin_ns, std::int64_t end_ns, std::size_t windows)
    : begin_ns_(begin_ns), end_ns_(std::max(end_ns, begin_ns + 1)), window_count_(windows) {}

OffsetBounds::Window& OffsetBounds::windowOf(std::int64_t at_ns) {
  const double share =
      static_cast<double>(at_ns - begin_ns_) / static_cast<double>(end_ns_ - begin_ns_);
  const double window = std::clamp(share, 0.0, 1.0) * static_cast<double>(window_count_);
  return windows_[std::min(static_cast<std::size_t>(window), window_count_ - 1)];
}

std::vector<OffsetBounds::Bound> OffsetBounds::bounds() const {
  std::vector<Bound> all;
  for (const auto& [number, window] : windows_) {
    Hull most = window.most;
    Hull least = window.least;
    most.reduce();
    least.reduce();
    for (const Point& p : most.points) all.push_back({p.at_ns, p.offset_ns, true});
    for (const Point& p : least.points) all.push_back({p.at_ns, -p.offset_ns, false});
  }
  std::ranges::stable_sort(all, {}, &Bound::at_ns);
  return all;
}

std::int64_t OffsetBounds::Fit::errorNs() const {
  return points.empty() ? 0 : std::ranges::max(points, {}, &Point::error_ns).error_ns;
}

namespace {

// As many bounds as one line can fulfil, then the next line from there on.
OffsetBounds::Fit fitWith(const std::vector<OffsetBounds::Bound>& bounds, std::int64_t begin_ns,
                          std::int64_t end_ns, double most_drift, double margin_ns) {
  const std::int64_t origin = bounds.front().offset_ns;  // doubles are exact near it
  const auto value = [&](const OffsetBounds::Bound& b) {
    return static_cast<double>(b.offset_ns - origin);
  };
  const auto span = static_cast<double>(end_ns - begin_ns);
  const auto shareOf = [&](std::int64_t at_ns) {
    return static_cast<double>(at_ns - begin_ns) / span;
  };
  double least = 0;
  double most = 0;
  for (const OffsetBounds::Bound& bound : bounds) {
    least = std::min(least, value(bound));
    most = std::max(most, value(bound));
  }
  const Lines any(least, most, most_drift * span);
  struct Piece {
    Lines lines;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    bool has_most = false;
    bool has_least = false;
  };
  std::vector<Piece> pieces;
  const auto isTwoSided = [](const Piece& piece) { return piece.has_most && piece.has_least; };
  for (const OffsetBounds::Bound& bound : bounds) {
    const auto cutBy = [&](Lines lines) {
      if (bound.is_most) {
        lines.cutAbove(shareOf(bound.at_ns), value(bound) - margin_ns);
      } else {
        lines.cutBelow(shareOf(bound.at_ns), value(bound) + margin_ns);
      }
      return lines;
    };
    Lines lines = pieces.empty() ? any : pieces.back().lines;
    if (!pieces.empty()) lines = cutBy(std::move(lines));
    if (pieces.empty() || lines.isEmpty()) {
      if (pieces.size() == kMostPieces) continue;
      pieces.push_back({.lines = any, .first_ns = bound.at_ns});
      lines = cutBy(any);
      if (lines.isEmpty()) {
        pieces.pop_back();
        continue;
      }
    }
    Piece& piece = pieces.back();
    piece.lines = std::move(lines);
    piece.last_ns = bound.at_ns;
    (bound.is_most ? piece.has_most : piece.has_least) = true;
  }
  // Bounds of one kind say nothing by themselves; the piece before goes on.
  OffsetBounds::Fit fit;
  const std::size_t all_pieces = pieces.size();
  const auto kept_end = std::remove_if(pieces.begin(), pieces.end(),
                                       [&](const Piece& piece) { return !isTwoSided(piece); });
  if (kept_end == pieces.begin()) {
    pieces.resize(1, pieces.front());
    fit.pieces = all_pieces;
  } else {
    pieces.erase(kept_end, pieces.end());
    fit.pieces = pieces.size();
  }
  fit.holds_all = all_pieces == 1;
  const auto pointOf = [&](const Piece& piece, const Line& line, std::int64_t at_ns) {
    const double share = shareOf(at_ns);
    const double error = piece.lines.errorOf(line, share) + margin_ns + kReadingNs;
    return OffsetBounds::Point{.at_ns = at_ns,
                               .offset_ns = origin + std::llround(line.at(share)),
                               .error_ns = static_cast<std::int64_t>(std::ceil(error))};
  };
  const auto secondNs = [](const OffsetBounds::Point& p) { return p.at_ns + p.offset_ns; };
  std::vector<OffsetBounds::Point>& points = fit.points;
  const Piece* before = nullptr;
  Line line_before;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const Line line = piece.lines.middle();
    const std::int64_t from = i == 0 ? begin_ns : piece.first_ns;
    const std::int64_t to = i + 1 == pieces.size() ? end_ns : piece.last_ns;
    OffsetBounds::Point first = pointOf(piece, line, from);
    // The second clock stood still, and the piece before reaches into that time: it ends sooner.
    // (In the 1 us that are left between the pieces both clocks go on.)
    if (before != nullptr && secondNs(points.back()) >= secondNs(first)) {
      constexpr std::int64_t kGapNs = 1000;
      const std::int64_t end =
          points.back().at_ns - (secondNs(points.back()) - secondNs(first)) - kGapNs;
      points.pop_back();
      if (end > points.back().at_ns) {
        points.push_back(pointOf(*before, line_before, end));
      } else if (i > 1) {
        points.pop_back();
      }
    }
    // When the step was between the two pieces is not known.
    if (!points.empty()) {
      const std::int64_t step_ns = std::abs(first.offset_ns - points.back().offset_ns);
      points.back().error_ns += step_ns;
      first.error_ns += step_ns;
    }
    points.push_back(first);
    points.push_back(pointOf(piece, line, std::max(to, from + 1)));
    before = &piece;
    line_before = line;
  }
  return fit;
}

}  // namespace

std::optional<OffsetBounds::Fit> OffsetBounds::fit(std::int64_t begin_ns,
                                                   std::int64_t end_ns) const {
  const std::vector<Bound> all = bounds();
  if (std::ranges::all_of(all, &Bound::is_most) || std::ranges::none_of(all, &Bound::is_most)) {
    return {};
  }
  // With this margin, what times lose where ticks become nanoseconds does not turn the order of two
  // events.
  constexpr double kRoundingNs = 8;
  begin_ns = std::min(begin_ns, all.front().at_ns);
  end_ns = std::max({end_ns, all.back().at_ns, begin_ns + 1});
  Fit usual = fitWith(all, begin_ns, end_ns, kUsualDrift, kRoundingNs);
  if (usual.holds_all) return usual;
  Fit steeper = fitWith(all, begin_ns, end_ns, kMostDrift, kRoundingNs);
  if (steeper.pieces == 1) return steeper;
  return fitWith(all, begin_ns, end_ns, kSteepest, 0);
}

}  // namespace omnio::order
