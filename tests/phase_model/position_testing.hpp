// A trace of one process and one file, for tests of where calls read and write.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include "phase_model/model_builder.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::phases {

inline constexpr std::uint64_t kToken = 700;

// A trace of one process and one file, handle 1.
class PositionTest : public testing::Test {
 protected:
  PositionTest() : chunk_(kToken, 0, 0, 0, 0) { chunk_.text(0, "/data/f").text(1, "a+"); }

  void handle(std::uint32_t handle, std::uint32_t description, std::uint32_t flags = 0,
              wire::Origin origin = wire::Origin::kOpened, std::uint8_t text_slot = 0) {
    chunk_.handle({.handle = handle,
                   .description = description,
                   .fd = 3,
                   .origin = origin,
                   .open_flags = flags,
                   .text_slot = text_slot});
  }

  void call(std::string_view symbol, std::array<std::int64_t, calls::kMaxArguments> arguments,
            std::int64_t result, std::uint64_t request = 0) {
    chunk_.event(test::numberOf(symbol), {.start = now_,
                                          .end = now_ + 5,
                                          .arguments = arguments,
                                          .request = request,
                                          .result = result});
    now_ += 10;
  }
  void write(std::int64_t handle, std::int64_t bytes) {
    call("write", {handle, 0, bytes}, bytes, static_cast<std::uint64_t>(bytes));
  }
  void read(std::int64_t handle, std::int64_t bytes) {
    call("read", {handle, 0, bytes}, bytes, static_cast<std::uint64_t>(bytes));
  }

  model::PhaseModel model() {
    test::ContainerBuilder container(kToken, 4711);
    container.facts(test::usualFacts(0, 1))
        .facts(types_)
        .chunk(chunk_)
        .ended(chunk_.header.event_count);
    container.save(directory_ / "node1.4711.0.omnio");
    const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory_.path());
    return makePhaseModel(*trace, {})->model;
  }

  // "write 0+100 read 50+10": the operation, the first offset and the bytes of each phase.
  std::string summary() { return summary(model()); }
  static std::string summary(const model::PhaseModel& model) {
    std::string text;
    for (const model::Phase& phase : model.phases) {
      const model::PhaseOperation& operation = phase.operations.front();
      text += text.empty() ? "" : " ";
      text += fmt::format(
          "{} {}+{}", nameOf(operation.operation),
          operation.init_offset.known ? fmt::format("{}", operation.init_offset.base) : "?",
          phase.weight_bytes);
    }
    return text;
  }

  test::TemporaryDirectory directory_;
  test::ChunkBuilder chunk_;
  std::uint64_t now_ = 0;
  std::map<std::string, std::string> types_;
};

}  // namespace omnio::phases
