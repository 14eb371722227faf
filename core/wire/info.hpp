// Keys of the facts a process records about itself. A later chunk's value replaces an earlier
// one's.
#pragma once

#include <cstddef>

namespace omnio::wire::info {

inline constexpr char kHost[] = "host";
inline constexpr char kBoot[] = "boot";  // the kernel's boot id: same clock, same node
inline constexpr char kPid[] = "pid";
inline constexpr char kParent[] = "parent_pid";
inline constexpr char kPidNamespace[] = "pid_namespace";  // in which pid is the number: pid:[...]
inline constexpr char kProcessStart[] = "process_start";  // as in /proc/<pid>/stat, clock ticks
inline constexpr char kProgram[] = "program";             // /proc/self/exe
inline constexpr char kCommand[] = "command";             // arguments with \x01 between them
inline constexpr char kDirectory[] = "directory";         // working directory at start
inline constexpr char kFlavour[] = "flavour";             // serial, openmp, mpi, hybrid
inline constexpr char kFlavourReason[] = "flavour_reason";
inline constexpr char kLibrary[] = "library";  // which of the four is preloaded
inline constexpr char kRank[] = "rank";
inline constexpr char kRanks[] = "ranks";             // size of the job; 1 without a launcher
inline constexpr char kRankSource[] = "rank_source";  // MPI, or the variable that told it, or none
inline constexpr char kJob[] = "job";                 // the launcher's name of the job
inline constexpr char kExclude[] = "exclude";         // the caller's patterns, colon-separated
inline constexpr char kInclude[] = "include";
inline constexpr char kDefaultExclude[] = "default_exclude";
// Behind it a pattern of default_exclude: "CALLS READ WRITTEN" of the files that it left out, in
// calls and bytes. Not there: none.
inline constexpr char kLeftOutPrefix[] = "left_out.";
inline constexpr char kMpiLibrary[] = "mpi_library";
// The first MPI call of the process that is not recorded.
inline constexpr char kMpiUnrecorded[] = "mpi_not_recorded";
// "spawned.N": what the N-th call of MPI_Comm_spawn (or _multiple) of this process started, from 1:
// "PROCESSES COMMAND", where COMMAND is the first of several. And in each process that was started
// so, "yes".
inline constexpr char kSpawnedPrefix[] = "spawned.";
inline constexpr char kIsSpawned[] = "is_spawned";
inline constexpr char kMpiRefused[] = "mpi_refused";  // MPI library of an unknown ABI, not traced
inline constexpr char kRingPlace[] =
    "ring_directory";  // "memory": a death loses what was not drained
// The time that recording added to an event when the process began, picoseconds; and the part of it
// that lies inside the recorded duration. At least: everything was in the caches.
inline constexpr char kEventCost[] = "event_cost_ps";
inline constexpr char kClockCost[] = "clock_cost_ps";
// A list that is as long as this has been cut.
inline constexpr std::size_t kMostMountBytes = std::size_t{128} * 1024;
inline constexpr char kMounts[] = "mounts";  // /proc/self/mountinfo of the node
// "owner.UID": the process was about to become this user, to whom its later rings belong.
inline constexpr char kOwnerPrefix[] = "owner.";
// Why recording ended before the process did; not there: it did not.
inline constexpr char kRecordingEnded[] = "recording_ended";
// Time that the application's threads waited for the log, ns, all together; not there: under 1 ms.
inline constexpr char kStalled[] = "stalled_ns";
// "1": the process set a filter of system calls that refuses what a new log needs; and the program
// that it was about to become with it, where that could still be written.
inline constexpr char kRefusingFilter[] = "refusing_filter";
inline constexpr char kRefusedImage[] = "refused_image";
// What the process moved by then, in numbers with spaces between: MovedAccount (moved_bytes.hpp).
// Not there where the kernel does not tell.
inline constexpr char kMovedBytes[] = "moved_bytes";
// Rings of io_uring that the process has set up, as far as they are known; not there: none.
inline constexpr char kUringRings[] = "io_uring_rings";
// Mappings and asynchronous operations that were not followed; not there: none.
inline constexpr char kNotFollowed[] = "not_followed";
inline constexpr char kParentToken[] =
    "parent_token";  // hex: the traced process it was forked from
// Recording that was stopped on request. Sums go up; ticks are of the clock that events have.
inline constexpr char kStops[] = "stops";                 // how many were begun; not there: none
inline constexpr char kStoppedTicks[] = "stopped_ticks";  // of those that have ended
inline constexpr char kStoppedSince[] = "stopped_since";  // of the one that has not; 0: none
inline constexpr char kStopPrefix[] = "stop.";  // with a number from 0: "BEGIN END", in ticks
// Up to so many stops are told one by one, when they begin and end; of more only the sums, at the
// end.
inline constexpr unsigned kNamedStops = 1000;
inline constexpr char kMaxLogSize[] = "max_log_size";           // bytes; not there: no limit
inline constexpr char kSettingsRefused[] = "settings_refused";  // variables that mean nothing
// A group of ranks that this process is in, with its number, from 1: "ID RANK SIZE SIDE REMOTE
// KIND". The id (hexadecimal) is the same in all of its members and in no other group; rank and
// size are of this process's own side, which is 0 unless there is a remote side of REMOTE ranks,
// then 0 or 1; kind is comm, inter, window or file. 1 is MPI_COMM_WORLD, 2 MPI_COMM_SELF.
inline constexpr char kGroupPrefix[] = "group.";
// Behind the number: ranks whose data this one gets in neighbourhood collectives, with spaces.
inline constexpr char kSourcesSuffix[] = ".sources";
// A datatype of a view, with its number, from 1 (docs/formats/trace.md, "Types").
inline constexpr char kTypePrefix[] = "type.";
// Two processes of one boot have different clocks when these differ: /proc/self/ns/time.
inline constexpr char kTimeNamespace[] = "time_namespace";
inline constexpr char kSharedPointers[] = "shared_pointers";  // of MPI files were used
// Facts of the MPI file with this handle: hints (".given", ".used" after the number), and the
// layout.
inline constexpr char kHintsPrefix[] = "hints.";
inline constexpr char kBetweenHints = '\x01';
inline constexpr char kLayoutPrefix[] = "layout.";
// "module.N": an executable file that return addresses of call stacks lie in, with its number, from
// 1: "LOAD BUILD_ID PATH". LOAD (hexadecimal) is what was added to the addresses of the file when
// it was loaded; BUILD_ID the linker's, in hexadecimal, or "-".
inline constexpr char kModulePrefix[] = "module.";
// The calls whose stack could not be kept; not there: none.
inline constexpr char kStacksLost[] = "stacks_not_kept";
// Why stacks have the return address alone from some moment on; not there: they do not.
inline constexpr char kStacksShortened[] = "stacks_shortened";
// "stacks_break_off.N": why stacks go no further than the module of that number, though they were
// to; 0: code in no file.
inline constexpr char kStackBreakPrefix[] = "stacks_break_off.";
// "yes" in the log of a killed process, put there by who collected it: a thread was between two
// calls when it ended, or inside of one that no event tells of (wire::CallState).
inline constexpr char kEndedBetweenCalls[] = "ended_between_calls";
inline constexpr char kEndedInCall[] = "ended_in_call";
inline constexpr char kAborted[] = "aborted_with";  // MPI_Abort's error code

}  // namespace omnio::wire::info
