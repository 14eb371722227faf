// The order of calls by shared file pointers (MPI-3.1, 13.4.4): each moves the pointer on, and lies
// where the one before left it. Where the trace tells the places, a replay gives each rank the same
// ones, by letting each call wait for the one that moved the pointer before.
//
// Collective ones are in order by themselves.
#pragma once

#include "core/tracefile/trace.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/dependencies.hpp"

namespace omnio::preprocess {

// Adds the waits. Steps are those of the layer of MPI.
void orderSharedPointers(const tracefile::Trace& trace, const SourceThreads& sources,
                         event::PathTable& paths, Dependencies& dependencies);

}  // namespace omnio::preprocess
