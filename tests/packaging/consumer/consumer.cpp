// consumer TRACE: the statistics of a trace, as `omnio stats --by call --json` prints them, but by
// the installed libraries and headers alone.
#include <iostream>
#include <optional>

#include "core/tracefile/trace.hpp"
#include "statistics/report.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: consumer TRACE\n";
    return 2;
  }
  auto trace = omnio::tracefile::Trace::open(argv[1]);
  if (!trace.ok()) {
    std::cerr << trace.failure().sentence << '\n';
    return 1;
  }
  auto report = omnio::stats::makeReport(*trace, omnio::stats::By::kCall);
  if (!report.ok()) {
    std::cerr << report.failure().sentence << '\n';
    return 1;
  }
  std::cout << omnio::stats::jsonOf(*report);
  return 0;
}
