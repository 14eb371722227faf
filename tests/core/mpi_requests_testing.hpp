// Nonblocking messages for tests of the matched picture.
#pragma once

#include "tests/core/mpi_trace.hpp"

namespace omnio::test {

inline void irecv(MpiTrace& trace, MpiTrace::Place place, std::int64_t from, std::int64_t request,
                  std::uint64_t start, std::uint64_t end, std::int64_t tag = 0) {
  trace.call(place, "Irecv", start, end,
             {{calls::Role::kComm, 1},
              {calls::Role::kPeer, from},
              {calls::Role::kTag, tag},
              {calls::Role::kRequest, request}});
}

inline void isend(MpiTrace& trace, MpiTrace::Place place, std::int64_t to, std::int64_t seq,
                  std::int64_t request, std::uint64_t start, std::uint64_t end,
                  std::int64_t tag = 0) {
  trace.call(place, "Isend", start, end,
             {{calls::Role::kComm, 1},
              {calls::Role::kPeer, to},
              {calls::Role::kTag, tag},
              {calls::Role::kSize, 8},
              {calls::Role::kSeq, seq},
              {calls::Role::kRequest, request}});
}

inline wire::DoneRequest received(std::uint64_t request, std::int64_t source, std::uint64_t seq,
                                  std::int64_t tag = 0) {
  return {.request = request,
          .kind = wire::DoneRequest::kReceived,
          .comm = 1,
          .source = source,
          .tag = tag,
          .seq = seq,
          .bytes = 8};
}

inline wire::DoneRequest done(std::uint64_t request) { return {.request = request}; }

}  // namespace omnio::test
