#include "predict/api/omnio_predict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>

#include "core/base/integers.hpp"
#include "core/event/event.hpp"
#include "predict/operations/file_slots.hpp"
#include "predict/operations/process_predictor.hpp"

using omnio::predict::Kind;
using omnio::predict::Operation;
using omnio::predict::ProcessPredictor;

struct omnio_predictor {
  omnio::event::PathTable paths;
  omnio::predict::FileSlots slots{paths};
  ProcessPredictor predictor;
};

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
constexpr std::int64_t kLastNs = std::int64_t{1} << 62;
constexpr double kMostNs = kLastNs;

// What `work` returns; exceptions end here. All that is thrown below is a lack of memory.
template <typename Work>
auto guarded(Work work) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception&) {
    return OMNIO_PREDICT_NO_MEMORY;
  }
}

bool hasFile(const omnio_predictor& predictor, std::int32_t file) {
  return file >= 0 && static_cast<std::size_t>(file) < predictor.paths.size();
}

bool isWithin(std::int64_t number, std::int64_t from, std::int64_t to) {
  return number >= from && number <= to;
}

bool isValid(const omnio_predictor& predictor, const omnio_operation& operation) {
  if (operation.kind < OMNIO_OPEN || operation.kind > OMNIO_WRITE) return false;
  if (!hasFile(predictor, operation.file)) return false;
  if (!isWithin(operation.start_ns, 0, kLastNs)) return false;
  if (!isWithin(operation.end_ns, operation.start_ns, kLastNs)) return false;
  if (!omnio::predict::transfers(static_cast<Kind>(operation.kind))) return true;
  return isWithin(operation.offset, 0, kMostBytes) && isWithin(operation.bytes, 0, kMostBytes);
}

Operation operationOf(omnio_predictor& predictor, const omnio_operation& given) {
  Operation operation{.file = omnio::event::FileId{static_cast<std::uint32_t>(given.file)},
                      .kind = static_cast<Kind>(given.kind),
                      .has_stack = given.context != 0,
                      .start_ns = given.start_ns,
                      .end_ns = given.end_ns};
  operation.slot = operation.kind == Kind::kOpen ? predictor.slots.opened(operation.file)
                                                 : predictor.slots.used(operation.file);
  if (operation.kind == Kind::kClose) predictor.slots.closed(operation.file);
  if (omnio::predict::transfers(operation.kind)) {
    operation.has_size = operation.has_offset = true;
    operation.offset = given.offset;
    operation.bytes = given.bytes;
  }
  operation.context =
      omnio::base::mixed(static_cast<std::uint64_t>(given.kind), operation.slot, given.context);
  return operation;
}

omnio_predicted predictedOf(const ProcessPredictor::Coming& coming) {
  return {
      .kind = static_cast<std::int32_t>(coming.kind),
      .file = static_cast<std::int32_t>(coming.file),
      .may_be_another = coming.may_be_another ? 1 : 0,
      .offset = coming.offset,
      .bytes = coming.bytes,
      .weight = coming.weight,
      .time_until_ns = coming.until_ns ? std::llround(std::min(*coming.until_ns, kMostNs)) : -1};
}

}  // namespace

omnio_predictor* omnio_predictor_create() {
  try {
    return new omnio_predictor();
  } catch (const std::exception&) {
    return nullptr;
  }
}

void omnio_predictor_destroy(omnio_predictor* predictor) { delete predictor; }

std::int32_t omnio_predictor_file(omnio_predictor* predictor, const char* path) {
  if (predictor == nullptr || path == nullptr || *path == '\0') return OMNIO_PREDICT_BAD_ARGUMENT;
  return guarded([&] {
    if (predictor->paths.size() >= std::numeric_limits<std::int32_t>::max()) {
      return OMNIO_PREDICT_NO_MEMORY;
    }
    return static_cast<std::int32_t>(predictor->paths.idOf(path));
  });
}

const char* omnio_predictor_path(const omnio_predictor* predictor, std::int32_t file) {
  if (predictor == nullptr || !hasFile(*predictor, file)) return nullptr;
  // A view of a whole string, which ends with a zero.
  return predictor->paths.path(omnio::event::FileId{static_cast<std::uint32_t>(file)}).data();
}

int omnio_predictor_take(omnio_predictor* predictor, const omnio_operation* operation) {
  if (predictor == nullptr || operation == nullptr || !isValid(*predictor, *operation)) {
    return OMNIO_PREDICT_BAD_ARGUMENT;
  }
  return guarded([&] {
    predictor->predictor.take(operation->thread, operationOf(*predictor, *operation));
    return 0;
  });
}

int omnio_predictor_end_thread(omnio_predictor* predictor, std::uint32_t thread) {
  if (predictor == nullptr) return OMNIO_PREDICT_BAD_ARGUMENT;
  return guarded([&] {
    predictor->predictor.end(thread);
    return 0;
  });
}

int omnio_predictor_next(const omnio_predictor* predictor, std::uint32_t thread,
                         omnio_predicted* next, int count) {
  if (predictor == nullptr || next == nullptr || count < 0 || count > OMNIO_PREDICT_MAX_NEXT) {
    return OMNIO_PREDICT_BAD_ARGUMENT;
  }
  return guarded([&] {
    const auto coming = predictor->predictor.next(thread, static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < coming.size(); ++i) next[i] = predictedOf(coming[i]);
    return static_cast<int>(coming.size());
  });
}
