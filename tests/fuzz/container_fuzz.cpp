// Whatever bytes a container holds behind its header block: reading it ends, touches nothing but
// them, and what is counted agrees with what is read. Once as they are, once with checksums made
// right, so that what is behind these is reached.
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/read_trace.hpp"
#include "tests/fuzz/repaired.hpp"
#include "tests/fuzz/trace_seeds.hpp"

namespace omnio::fuzz {

const int kVariations = 300;

std::vector<std::string> seeds() {
  return {test::infoChunk(kToken, test::usualFacts()) + writes().bytes() + allCalls().bytes(),
          lifeOfAFile().bytes() + std::string(64, '\0') + allCalls().bytes()};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const fuzz::Place place;
  test::ContainerBuilder container(fuzz::kToken);
  container.body.assign(reinterpret_cast<const char*>(data), size);
  for (int turn = 0; turn < 2; ++turn) {
    container.save(place.container());
    fuzz::readTrace(place.trace.path());
    container.body = fuzz::repaired(std::move(container.body));
  }
  return 0;
}
