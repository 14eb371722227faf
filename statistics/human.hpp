// Quantities in units that people read at a glance.
#pragma once

#include <cstdint>
#include <string>

namespace omnio::stats {

std::string humanBytes(double bytes);          // 4.00 KiB; below 1 KiB without decimals
std::string humanNs(double nanoseconds);       // 1.23 ms
std::string humanMibS(double mib_per_second);  // 812 MiB/s

}  // namespace omnio::stats
