// Checks of the table as a whole, made once and not in each source that includes it.
#include "core/calls/table.hpp"

#include <array>
#include <cstdint>

namespace omnio::calls {
namespace {

// Whether code that asks for effects would be silently wrong about the call if its entry were
// forgotten.
constexpr bool needsEffects(const Row& row) {
  if (row.api == Api::kThreads) return false;
  if (row.api != Api::kMpi) {
    const bool names_file = has(row, Role::kPath) || has(row, Role::kPathTemplate);
    const bool changes_name = names_file && row.call_class == Class::kMetadata;
    const bool reads_text = row.call_class == Class::kRead && has(row, Role::kLineIn);
    return changes_name || has(row, Role::kPathTemplate) || reads_text ||
           (row.call_class == Class::kMetadata && has(row, Role::kLength));
  }
  if (has(row, Role::kFile)) {
    return row.call_class != Class::kOpen && row.call_class != Class::kClose &&
           row.call_class != Class::kSync;
  }
  const bool is_completed = row.plain == CallId::completed;  // part of another call
  return row.sync == Sync::kSend || row.sync == Sync::kProbe || row.sync == Sync::kExposed ||
         (row.sync == Sync::kReceive && has(row, Role::kSeq) && has(row, Role::kRequest)) ||
         (row.sync == Sync::kComplete && !is_completed) || has(row, Role::kRoot);
}

// How often the call is listed with its effects.
constexpr std::array<std::uint8_t, kNumberLimit> kListed = [] {
  std::array<std::uint8_t, kNumberLimit> listed{};
  forEachEffect([&listed](CallId call, Effects) { ++listed[toNumber(call)]; });
  return listed;
}();

// The first call whose entry is missing.
consteval CallId withoutEffects() {
  for (const Row& row : kTable) {
    if (row.number != 0 && needsEffects(row) && kListed[toNumber(row.plain)] == 0) return row.plain;
  }
  return CallId::none;
}
static_assert(withoutEffects() == CallId::none,
              "a call of this kind needs an entry in core/calls/effects.hpp");

consteval CallId listedTwice() {
  for (const Row& row : kTable) {
    if (kListed[row.number] > 1) return row.id();
  }
  return CallId::none;
}
static_assert(listedTwice() == CallId::none, "two entries in core/calls/effects.hpp: join them");

// The first form whose plain call is itself a form: effects would not reach it.
consteval CallId withFormOfForm() {
  for (const Row& row : kTable) {
    if (row.number != 0 && rowOf(row.plain).plain != row.plain) return row.id();
  }
  return CallId::none;
}
static_assert(withFormOfForm() == CallId::none, "name the plain call, not a form of it");

// The name of an unlocked call says so, and its entry has to.
consteval CallId wronglyLocked() {
  for (const Row& row : kTable) {
    const bool is_unlocked = row.name.find("_unlocked") != std::string_view::npos;
    if (is_unlocked != does(row, Effect::kUnlocked)) return row.id();
  }
  return CallId::none;
}
static_assert(wronglyLocked() == CallId::none,
              "kUnlocked in core/calls/effects.hpp: missing, or of a call that locks");

}  // namespace
}  // namespace omnio::calls
