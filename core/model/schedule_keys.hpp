// The words of a schedule: those for its enumerations, and which keys an event of a call has, which
// follow from the call's row. Shared by reader and writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/calls/arguments.hpp"
#include "core/calls/table.hpp"
#include "core/model/schedule.hpp"

namespace omnio::model {

inline constexpr std::string_view kScheduleFormat = "omnio-schedule";

// The member of the document, a thread, an event or a loop that says where its exact times are
// (times_file.hpp).
inline constexpr std::string_view kTimesKey = "times";
// The times of an event there: gap, duration, whether it has work of its own, and that work; then
// those of its waits. Work has two: computing and communication.
inline constexpr int kTimesOfWork = 2;
inline constexpr int kTimesOfEvent = 3 + kTimesOfWork;

inline constexpr base::Word<Timing> kTimings[] = {
    {Timing::kAsap, "asap"}, {Timing::kDelta, "dt"}, {Timing::kStart, "start"}};

inline constexpr base::Word<FileRole> kRoles[] = {{FileRole::kInput, "input"},
                                                  {FileRole::kOutput, "output"},
                                                  {FileRole::kUpdated, "updated"},
                                                  {FileRole::kDirectory, "directory"},
                                                  {FileRole::kAbsent, "absent"}};

// Steps that are no calls, as their `command`.
inline constexpr base::Word<Step> kSteps[] = {
    {Step::kPreopened, "preopened"}, {Step::kInherited, "inherited"}, {Step::kDelay, "delay"}};

inline constexpr base::Word<Reason> kReasons[] = {{Reason::kFile, "file"},
                                                  {Reason::kMpi, "mpi"},
                                                  {Reason::kName, "name"},
                                                  {Reason::kThread, "thread"}};

inline constexpr base::Word<Order> kOrders[] = {
    {Order::kNone, "none"}, {Order::kFile, "file"}, {Order::kMpi, "mpi"}, {Order::kAll, "all"}};

using calls::KeyKind;

struct ScheduleKey {
  std::string_view key;
  KeyKind kind = KeyKind::kNumber;
  std::uint8_t argument = 0;  // index in the row's arguments
};

// In the order in which they are written.
const std::vector<ScheduleKey>& keysOf(const calls::Row& row);

// Whether the call makes a descriptor when it succeeds: by its row, or by fcntl's command.
bool makesDescriptor(const ScheduleEvent& event);

// Whether the row is one that a schedule may have. Of MPI these are the calls of MPI-IO, and
// MPI_Waitall for all that found requests of it complete.
bool isSchedulable(const calls::Row& row);

// The key of where a call reads or writes that does so at the position of its descriptor, for what
// depends on it (line ends, sizes). Nothing for other calls. "position" where "offset" is an
// argument, of -1.
std::optional<std::string_view> positionKey(const ScheduleEvent& event);

// The bits of a mode: permissions, and the type of file where the call makes one of a type.
std::int64_t modeBits(const calls::Row& row);

// Flags that the call asks of open, and those that F_SETFL gives to the descriptor
// (core/event/file_positions.hpp).
int openFlags(const ScheduleEvent& event);
std::optional<std::int64_t> flagsSet(const ScheduleEvent& event);

// Bytes asked for, from the other members.
std::uint64_t requestOf(const ScheduleEvent& event);

// Bytes that the call moved, as far as its result tells.
std::uint64_t bytesMoved(const ScheduleEvent& event);

}  // namespace omnio::model
