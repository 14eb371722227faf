// Asynchronous operations of the process that are under way, by the address of their control block
// (aiocb of aio.h, iocb of libaio), from the call that begins one until the application learns that
// it is over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/wrap/intercept.hpp"

namespace omnio::trace {

enum class OperationKind : std::uint8_t { kRead, kWrite, kSync };

// An operation, with all that the event of its end repeats.
struct AsyncOperation {
  std::uint64_t number = 0;  // from 1
  std::uint64_t bytes = 0;   // asked for
  std::int64_t offset = 0;
  std::int64_t context = 0;  // of libaio
  int fd = 0;
  Entry handle{};  // of the descriptor, when it was begun
  OperationKind kind = OperationKind::kRead;
};

// Keeps the operation, and gives it its handle and a number. False where operations on its
// descriptor are not recorded, or no place is left for it. That has to come before the call that
// begins it, since another thread may see its end before that call returns.
bool addOperation(const void* block, AsyncOperation& operation);
bool isKnownOperation(const void* block);
// False where it is not known, or another thread was faster.
bool takeOutOperation(const void* block, AsyncOperation& operation);

// Notes a call that found operations under way. Keeps errno.
void noteUnderWay(Thread& self, wire::EventTimes times);
// When the wait began that ends with a call that has found an operation over: with the first that
// found it under way, as a wait in MPI begins with the first test (polling.hpp).
std::uint64_t startOfEnd(Thread& self, wire::EventTimes times);

// The event of an operation: its begin, or its end. `left` follow in the same call. The result is
// an errno where it failed.
template <CallId kCall>
void recordOperation(Thread& self, wire::EventTimes times, const AsyncOperation& operation,
                     bool failed, std::int64_t result, std::int64_t value = 0,
                     std::int64_t left = 0) {
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  Subject subject;
  subject.handle = find(operation.fd);
  // Closed before it was over, and perhaps opened as another file.
  if (subject.handle.word() != operation.handle.word()) return;
  wire::Arguments<kCall> numbers{};
  const auto set = [&numbers](Role role, std::int64_t number) {
    const int at = calls::indexOf(row, role);
    if (at >= 0) numbers[static_cast<std::size_t>(at)] = number;
  };
  set(Role::kSize, static_cast<std::int64_t>(operation.bytes));
  set(Role::kOffset, operation.offset);
  set(Role::kRequest, static_cast<std::int64_t>(operation.number));
  set(Role::kNumber, value);
  set(Role::kContext, operation.context);
  set(Role::kLeft, left);
  record<kCall>(self, times, failed, numbers, operation.bytes, result, subject);
}

}  // namespace omnio::trace
