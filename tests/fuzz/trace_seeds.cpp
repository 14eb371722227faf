#include "tests/fuzz/trace_seeds.hpp"

#include <fcntl.h>

#include "core/calls/table.hpp"
#include "core/wire/record.hpp"
#include "tests/fuzz/read_trace.hpp"

namespace omnio::fuzz {

test::ChunkBuilder writes() {
  test::ChunkBuilder chunk(kToken, 0, 0, 0);
  for (std::uint64_t i = 0; i < 4; ++i) chunk.write(2000 + 10 * i, 2005 + 10 * i, 4096);
  return chunk;
}

test::ChunkBuilder allCalls() {
  test::ChunkBuilder chunk(kToken, 1, 0, 0);
  chunk.text(0, "/dir/name", 5).handle({.handle = 1, .fd = 3});
  for (const calls::Row& row : calls::kTable) {
    if (row.number == 0) continue;
    test::EventSpec event{.start = 3000, .end = 3001};
    for (std::size_t i = 0; i < row.argument_count; ++i) event.arguments[i] = 1;
    if (wire::kRecordLayouts[row.number].pieces >= 0) event.pieces = {8};
    event.result = 2;
    chunk.event(row.number, event);
  }
  return chunk;
}

test::ChunkBuilder lifeOfAFile() {
  test::ChunkBuilder chunk(kToken, 0, 0, 0);
  std::uint64_t now = 4000;
  const auto add = [&](const char* symbol, std::vector<std::int64_t> arguments, std::int64_t result,
                       std::uint64_t request = 0) {
    const std::uint16_t number = test::numberOf(symbol);
    test::EventSpec event{.start = now, .end = now + 5, .request = request, .result = result};
    std::copy(arguments.begin(), arguments.end(), event.arguments.begin());
    chunk.event(number, event);
    now += 100;
  };
  chunk.text(0, "/dir/one")
      .text(1, "/dir/two")
      .handle({.handle = 1, .description = 1, .fd = 3, .text_slot = 0});
  add("open", {1, O_RDWR | O_CREAT, 0644}, 1);
  add("write", {1, 0, 100}, 100, 100);
  add("lseek", {1, 10, 0}, 10);
  add("read", {1, 0, 50}, 50, 50);
  add("pwrite64", {1, 0, 20, 1000}, 20, 20);
  add("rename", {1, 2}, 0);
  add("ftruncate", {1, 512}, 0);
  add("close", {1}, 0);
  return chunk;
}

}  // namespace omnio::fuzz
