#include "predict/operations/process_predictor.hpp"

#include <algorithm>
#include <utility>

namespace omnio::predict {

void ProcessPredictor::goOnWith(ProcessModels models,
                                std::map<std::uint32_t, std::size_t> threads) {
  models_ = std::move(models);
  threads_ = std::move(threads);
  known_ = threads_;
}

ProcessModels ProcessPredictor::finish() {
  models_.beginRun();
  return std::move(models_);
}

std::size_t ProcessPredictor::modelOf(std::uint32_t thread) {
  if (const auto place = threads_.find(thread); place != threads_.end()) return place->second;
  std::size_t number = 0;
  if (idle_.empty()) {
    number = models_.add();
    models_.of(number).beginRun();  // so that the next run knows how this one began
    known_.try_emplace(thread, number);
  } else {
    number = idle_.front();
    idle_.pop_front();
  }
  threads_.emplace(thread, number);
  return number;
}

void ProcessPredictor::take(std::uint32_t thread, const Operation& operation) {
  models_.take(modelOf(thread), operation);
  File& file = files_[operation.slot];
  if (file.file != event::kNoFile && file.file != operation.file) file.has_changed = true;
  file.file = operation.file;
}

void ProcessPredictor::end(std::uint32_t thread) {
  const auto place = threads_.find(thread);
  if (place == threads_.end()) return;
  idle_.push_back(place->second);
  threads_.erase(place);
}

std::vector<ProcessPredictor::Coming> ProcessPredictor::next(std::uint32_t thread,
                                                             std::size_t count) const {
  const auto place = threads_.find(thread);
  const OperationModel* const model =
      place == threads_.end() ? nullptr : models_.find(place->second);
  if (model == nullptr) return {};
  const Path path = model->likeliest(count);
  std::vector<Coming> all;
  all.reserve(path.operations.size());
  std::vector<Slot> opened;
  for (const Predicted& one : path.operations) {
    // Nothing is known of those after it either.
    if (one.is_unknown || one.segment.begin < 0) break;
    const Slot slot = one.segment.slot;
    const auto file = files_.find(slot);
    if (one.kind == Kind::kOpen) opened.push_back(slot);
    all.push_back({.kind = one.kind,
                   .slot = slot,
                   .file = file == files_.end() ? event::kNoFile : file->second.file,
                   .may_be_another = file != files_.end() && file->second.has_changed &&
                                     std::ranges::find(opened, slot) != opened.end(),
                   .offset = one.segment.begin,
                   .bytes = one.bytes,
                   .weight = path.weight,
                   .until_ns = one.until_ns});
  }
  return all;
}

}  // namespace omnio::predict
