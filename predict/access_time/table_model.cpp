#include "predict/access_time/table_model.hpp"

#include <cstddef>
#include <vector>

namespace omnio::access_time {

namespace {

// Accesses whose times stand for that of the access where it was not measured itself: it alone, and
// then the most alike first.
std::vector<Access> alikeTo(const Access& access) {
  std::vector<Access> result{access};
  // Each of the following is done to all that there are until then.
  const auto also = [&result](auto change) {
    for (std::size_t i = 0, count = result.size(); i < count; ++i) {
      result.push_back(result[i]);
      change(result.back());
    }
  };
  also([](Access& each) {
    if (each.order == AccessOrder::kStrided) each.order = AccessOrder::kRandom;
  });
  also([](Access& each) {
    each.sharing = each.sharing == FileSharing::kOwn ? FileSharing::kShared : FileSharing::kOwn;
  });
  also([](Access& each) { each.extends = !each.extends; });
  also([](Access& each) { each.is_new = false; });
  also([](Access& each) {
    if (each.movesData()) {
      each.order =
          each.order == AccessOrder::kSequential ? AccessOrder::kRandom : AccessOrder::kSequential;
    }
  });
  also([](Access& each) {
    if (each.operation == CellOperation::kFdatasync) each.operation = CellOperation::kFsync;
    if (each.operation == CellOperation::kCreate) each.operation = CellOperation::kOpen;
  });
  return result;
}

// The accesses whose time a sample is: one process alone has the storage in a shared file as in its
// own.
std::vector<Access> measuredBy(const Access& access) {
  std::vector<Access> result{access};
  if (access.processes == 1 && access.sharing == FileSharing::kOwn) {
    result.push_back(access);
    result.back().sharing = FileSharing::kShared;
    // Behind the end, and of new data, there is one order.
    const bool has_one = access.extends || access.is_new;
    if (access.order == (has_one ? AccessOrder::kSequential : AccessOrder::kRandom)) {
      result.push_back(result.back());
      result.back().order = AccessOrder::kStrided;
    }
  }
  return result;
}

}  // namespace

TableModel::TableModel(const Samples& samples) {
  for (const Sample& sample : samples) {
    for (const Access& access : measuredBy(sample.access)) {
      curves_[access.curve()].add(access.processes, access.bytes, sample.seconds, sample.batch);
    }
  }
}

const TableModel::Means* TableModel::meansFor(const Access& access) const {
  for (const Access& alike : alikeTo(access)) {
    const auto found = curves_.find(alike.curve());
    if (found != curves_.end()) return &*found;
  }
  return nullptr;
}

const CurvesByProcesses* TableModel::find(const Key& key) const {
  const auto found = curves_.find(key);
  return found == curves_.end() ? nullptr : &found->second;
}

double TableModel::seconds(const Access& access) const {
  const Means* const means = meansFor(access);
  return means == nullptr ? 0 : means->second.at(access.processes, access.bytes);
}

}  // namespace omnio::access_time
