// Waits of threads that ask again and again: calls that find nothing (tests and probes of MPI,
// aio_error, io_getevents), and the one that finds something in the end.
#pragma once

#include "core/wire/encode.hpp"
#include "trace/runtime/process.hpp"

namespace omnio::trace {

// Notes a test or probe that has found nothing.
void notePoll(Thread& self, wire::EventTimes times);

// When the wait began that ends with this test or probe, which has found something: with the first
// that found nothing, or with this one where the thread computed for half of the time in between or
// longer, or did anything that is an event. Its CPU time tells: a thread that computes may well be
// done before the message comes, one that sleeps is not, and neither is one that does nothing but
// test.
std::uint64_t startOfWait(Thread& self, wire::EventTimes times);

}  // namespace omnio::trace
