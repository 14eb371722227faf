// The longest wait of a run, and who came late behind it, as far back as that goes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/event/io_time.hpp"
#include "core/order/io_waits.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::stats {

struct Lateness {
  struct Link {
    std::string process;  // "rank 3"
    std::string late;     // the one that it waited for
    std::string_view call;
    std::int64_t start_ns = 0;  // from the start of the run
    std::int64_t waited_ns = 0;
  };
  // Each wait made the process that the one before was for come late.
  std::vector<Link> links;
  // What kept the last one, from the start of the last wait until it came: its I/O, and the rest,
  // which is work of its own.
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  event::IoTime io;

  std::int64_t otherNs() const { return to_ns - from_ns - io.total() - io.waiting_ns; }
};

// Without links where no rank waited for a known one.
Lateness latenessOf(const tracefile::Trace& trace, const order::IoWaits& waits);

// A sentence each: the wait, who kept whom, and what the last one did.
std::vector<std::string> sentencesOf(const Lateness& lateness);
// An object as a value.
void putLateness(base::JsonWriter& json, const Lateness& lateness);

// Waiting by rank and by call, and the lateness behind the longest wait, as text.
std::string waitsText(const tracefile::Trace& trace, const order::IoWaits& waits);
// The same as a value.
void putWaits(base::JsonWriter& json, const tracefile::Trace& trace, const order::IoWaits& waits);

// "rank 3"; "process 4711" for one without a rank.
std::string nameOfProcess(const tracefile::Trace& trace, std::size_t process);

}  // namespace omnio::stats
