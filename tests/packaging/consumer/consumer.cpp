// Uses one thing of each installed library: it has to compile, link and run against the
// installation alone.
#include <cstdio>

#include "core/calls/table.hpp"
#include "core/wire/path_pattern.hpp"

int main() {
  const bool matches = omnio::wire::matchesPattern("*.so", {"/usr/lib", "libm.so"});
  std::printf("consumer: pattern %s\n", matches ? "matches" : "does not match");
  return matches ? 0 : 1;
}
