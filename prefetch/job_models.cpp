#include "prefetch/job_models.hpp"

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "core/wire/info.hpp"
#include "predict/kept/kept_models_writer.hpp"

namespace omnio::prefetch {

JobModels::JobModels(const std::filesystem::path& earlier, std::filesystem::path kept)
    : kept_(std::move(kept)) {
  if (earlier.empty()) return;
  auto opened = predict::KeptModels::open(earlier);
  if (opened) {
    earlier_ = std::move(*opened);
  } else {
    trouble_ = opened.failure().sentence;
  }
}

JobModels::Place JobModels::placeOf(const tracefile::ProcessInfo& info) {
  Place place;
  const std::string& path = info.text(wire::info::kProgram);
  place.program = path.substr(path.rfind('/') + 1);
  programs_.insert(place.program);
  const auto rank = info.rank();
  place.rank = rank ? *rank : next_without_rank_--;
  place.index = processes_[place.rank]++;
  return place;
}

std::optional<predict::RankModels::Process> JobModels::begin(const Place& place) {
  if (earlier_ == nullptr || !earlier_->programs().contains(place.program)) return {};
  has_found_ = true;
  auto rank = earlier_->of(place.rank);
  if (!rank) {
    trouble_ = rank.failure().sentence;
    return {};
  }
  if (*rank == nullptr || place.index >= (*rank)->processes.size()) return {};
  return std::move((*rank)->processes[place.index]);
}

void JobModels::end(const Place& place, predict::RankModels::Process known) {
  if (kept_.empty()) return;
  known_[place.rank].insert_or_assign(place.index, std::move(known));
}

base::Result<void> JobModels::finish() {
  if (kept_.empty()) return {};
  predict::KeptModelsWriter writer(kept_, programs_, true);
  for (auto& [rank, processes] : known_) {
    predict::RankModels models;
    for (auto& [index, process] : processes) models.processes.push_back(std::move(process));
    writer.add(rank, std::move(models));
  }
  return writer.finish();
}

std::string JobModels::trouble() const {
  if (!trouble_.empty() || earlier_ == nullptr || has_found_) return trouble_;
  return fmt::format("{} is of another application ({})", base::printable(earlier_->path()),
                     fmt::join(earlier_->programs(), ", "));
}

}  // namespace omnio::prefetch
