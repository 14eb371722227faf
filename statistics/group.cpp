#include "statistics/group.hpp"

namespace omnio::stats {

void Group::add(const event::Event& event, bool bytes_later) {
  const calls::Class call_class = event.row->call_class;
  ++operations[static_cast<std::size_t>(call_class)];
  const bool error = event.failed && !event.endOfFile();
  if (error) ++failed;
  // An end before a start can only be damage.
  const std::uint64_t time =
      event.end_ns > event.start_ns
          ? static_cast<std::uint64_t>(event.end_ns) - static_cast<std::uint64_t>(event.start_ns)
          : 0;
  if (call_class == calls::Class::kMpiSync) {
    mpi_sync_ns.add(time);
    return;
  }
  time_ns.add(time);
  if (call_class != calls::Class::kRead && call_class != calls::Class::kWrite) return;
  Transfer& transfer = call_class == calls::Class::kRead ? read : write;
  transfer.time_ns.add(time);
  if (!error && !bytes_later && event::countsBytes(*event.row))
    transfer.size_bytes.add(event.bytes);
}

}  // namespace omnio::stats
