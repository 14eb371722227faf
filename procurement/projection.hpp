// Evaluations of schedules that were scaled to other numbers of ranks: projections, since no
// application did these calls. How far such a schedule may be off is told by the recording scaled
// to its own number of ranks, on the same candidates: by so much it differs from the recording
// itself. A projection to more ranks may be off by more; it is not off by less on account of the
// scaling.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace omnio::procurement {

// An answer in brief, as `comparison.json` of an evaluation has it.
struct BriefAnswer {
  struct Time {
    std::string candidate;
    double middle_s = 0;
  };
  std::string verdict;
  std::vector<Time> times;  // the shortest first
};
base::Result<BriefAnswer> readAnswer(const std::filesystem::path& comparison);

struct Projection {
  int ranks = 0;
  BriefAnswer answer;
};

struct Projections {
  int recorded_ranks = 0;
  double error_band = 0;  // a share: 0.1 for 10 %
  std::vector<Projection> all;
};

// The largest ratio of the times of a candidate in both, less 1. Candidates of one alone are left
// out.
double errorBandOf(const BriefAnswer& recorded, const BriefAnswer& scaled_to_itself);

std::string textOf(const Projections& projections);
std::string jsonOf(const Projections& projections);

}  // namespace omnio::procurement
