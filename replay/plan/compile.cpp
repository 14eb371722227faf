#include "replay/plan/compile.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/printable.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/mpi/datatype.hpp"
#include "replay/plan/program.hpp"
#include "replay/plan/schedule_digest.hpp"

namespace omnio::replay {
namespace {

using calls::Role;
using model::Descriptor;
using model::ScheduleEvent;
using model::Step;

// A process has to find room for the largest request, and half its addresses for the rest.
constexpr std::uint64_t kMaxRequest = std::uint64_t{1} << 46;
constexpr std::int64_t kMaxDescriptor = std::int64_t{1} << 30;
// Descriptors are numbered in the order of appearance; an edited schedule may leave gaps, but not
// so many that their table takes the memory.
constexpr std::uint64_t kSlotsToSpare = 1 << 20;

// A failed call wrote unknown bytes from its buffer: beyond this they are the same byte.
constexpr std::uint64_t kMaxFailedContent = 1 << 20;
// But the replay's may succeed, and then the kernel moves up to this much (MAX_RW_COUNT).
constexpr std::uint64_t kMaxFailedRequest = std::uint64_t{1} << 31;

// __open_2 and its like, which compilers call where no mode is given: glibc aborts when one would
// be needed.
bool endsProcess(const ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  if (row.call_class != calls::Class::kOpen || calls::has(row, Role::kMode) ||
      calls::has(row, Role::kPathTemplate)) {
    return false;
  }
  const std::int64_t flags = model::argumentOf(event, Role::kFlags);
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

// Bytes that a buffer has to hold. What goes from one descriptor to the other takes no room here,
// and "all of it" is asked for by numbers beyond any file.
std::uint64_t roomFor(const ScheduleEvent& event) {
  return calls::has(*event.row, Role::kFdSource) ? 0 : event.request;
}

bool makesEntry(const ScheduleEvent& event) {
  if (event.step != Step::kCall || event.failed) return false;
  return calls::does(*event.row, calls::Effect::kMakesName);
}

}  // namespace

Compiler::Complaint Compiler::takeSlot(Descriptor descriptor, std::uint32_t& slot) {
  slot = kNoSlot;
  if (descriptor == model::kNoDescriptor) return std::nullopt;
  const auto number = static_cast<std::int64_t>(descriptor);
  if (number < 0 || number > kMaxDescriptor) {
    return fmt::format("fd {} is beyond what can be numbered ({})", number, kMaxDescriptor);
  }
  slot = static_cast<std::uint32_t>(number);
  rank().slots = std::max(rank().slots, slot + 1);
  return std::nullopt;
}

Compiler::Complaint Compiler::global(const model::ScheduleGlobal& global) {
  plan_.global = global;  // how many ranks there are is not believed before they have come
  if (global.mpi) {
    for (std::size_t i = 0; i < global.mpi->types.size(); ++i) {
      const auto type = mpi::parseMpiType(global.mpi->types[i]);
      if (!type)
        return fmt::format("\"types\", the {}. of them: {}", i + 1, type.failure().sentence);
      type_bytes_.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(type->size, 0)));
    }
  }
  if (global.mpi && changes_.inputs == Origin::kInPlace) {
    return "--inputs in-place does not take calls of MPI-IO, which no fence keeps in the trees";
  }
  if (changes_.timing) plan_.global.timing = *changes_.timing;
  return std::nullopt;
}

Compiler::Complaint Compiler::file(model::FileNumber, const model::ScheduleFile& file) {
  plan_.files.push_back({file});
  has_lines_.push_back(file.lines);
  if (directory_.empty()) plan_.files.back().lines = false;
  const bool has_content = file.exists && file.role != model::FileRole::kDirectory &&
                           file.role != model::FileRole::kAbsent;
  const bool is_for_reading =
      changes_.inputs == Origin::kInPlace || changes_.inputs == Origin::kKept;
  if (has_content && !model::isOnNode(file.location) && !model::isInMemory(file.location) &&
      (!is_for_reading || file.role == model::FileRole::kInput)) {
    plan_.files.back().origin = changes_.inputs;
  }
  return tree_choice_ ? tree_choice_->choose(plan_.files.back()) : std::nullopt;
}

std::uint32_t Compiler::fileOf(const ScheduleEvent& event) const {
  if (event.file != model::kNoFileNumber) return static_cast<std::uint32_t>(event.file);
  const auto slot = static_cast<std::size_t>(event.fd);
  if (slot < file_of_slot_.size() && file_of_slot_[slot] != kNoFile) return file_of_slot_[slot];
  const MadeRange* range = madeRange(event.fd);
  return range == nullptr ? kNoFile : range->file;
}

const Compiler::MadeRange* Compiler::madeRange(Descriptor descriptor) const {
  if (descriptor == model::kNoDescriptor) return nullptr;
  const auto found = std::ranges::find_if(made_ranges_, [descriptor](const MadeRange& range) {
    return range.slots.contains(static_cast<std::int64_t>(descriptor));
  });
  return found == made_ranges_.end() ? nullptr : &*found;
}

// Whether what it makes, or the descriptor that it works on, writes at the end of the file.
bool Compiler::appends(const ScheduleEvent& event) const {
  const std::uint32_t description = descriptionOf(event.fd);
  if (description != kNoDescription && appends_[description]) return true;
  if (const MadeRange* range = madeRange(event.fd); range != nullptr && range->appends) return true;
  if (event.step == Step::kPreopened) return (event.arguments[0] & O_APPEND) != 0;
  if (event.step != Step::kCall) return false;
  return event.row->api != calls::Api::kMpi && event.row->call_class == calls::Class::kOpen &&
         (model::openFlags(event) & O_APPEND) != 0;
}

// The rank of the thread uses the file. All of a rank's threads come together.
void Compiler::noteUser(std::uint32_t number) {
  if (number >= plan_.files.size()) return;
  const std::string& location = plan_.files[number].location;
  if (!model::isOnNode(location) && !model::isInMemory(location)) return;
  std::vector<std::uint32_t>& users = plan_.files[number].users;
  const auto rank = static_cast<std::uint32_t>(thread().recorded.rank);
  if (users.empty() || users.back() != rank) users.push_back(rank);
}

void Compiler::noteDescriptor(const ScheduleEvent& event, std::uint32_t file) {
  if (event.new_fd == model::kNoDescriptor) return;
  rank().made = ++made_;
  noteSlot(static_cast<std::size_t>(event.new_fd), file, descriptionFor(event, appends(event)));
}

void Compiler::noteSlot(std::size_t slot, std::uint32_t file, std::uint32_t description) {
  if (slot >= made_ + kSlotsToSpare) return;  // refused at the end of the rank
  if (slot >= file_of_slot_.size()) {
    file_of_slot_.resize(slot + 1, kNoFile);
    description_of_slot_.resize(slot + 1, kNoDescription);
  }
  file_of_slot_[slot] = file;
  description_of_slot_[slot] = description;
}

std::uint32_t Compiler::descriptionOf(Descriptor descriptor) const {
  const auto slot = static_cast<std::size_t>(descriptor);
  const bool is_known = descriptor != model::kNoDescriptor && slot < description_of_slot_.size();
  return is_known ? description_of_slot_[slot] : kNoDescription;
}

// The description of the descriptor that the event makes: a new one of each open, else that of the
// descriptor that it works on (dup, fdopen, fork). Two that nothing tells apart do not append.
std::uint32_t Compiler::descriptionFor(const ScheduleEvent& event, bool appends) {
  const bool opens = event.step == Step::kPreopened ||
                     (event.step == Step::kCall && event.row->call_class == calls::Class::kOpen);
  if (const std::uint32_t known = opens ? kNoDescription : descriptionOf(event.fd);
      known != kNoDescription) {
    return known;
  }
  appends_.push_back(appends);
  return static_cast<std::uint32_t>(appends_.size() - 1);
}

// Whether the description appends from now on, where the event says so: F_SETFL, and fdopen with
// "a". Threads of a rank come one after the other: a change counts for those that come later.
std::optional<bool> Compiler::setsAppending(const ScheduleEvent& event) {
  if (const auto flags = model::flagsSet(event)) return (*flags & O_APPEND) != 0;
  const bool shares = event.step == Step::kCall && !event.failed &&
                      calls::has(*event.row, Role::kOpenMode) &&
                      event.row->call_class != calls::Class::kOpen;
  if (shares && (model::openFlags(event) & O_APPEND) != 0) return true;
  return {};
}

void Compiler::noteFlags(const ScheduleEvent& event) {
  const std::uint32_t description = descriptionOf(event.fd);
  if (description == kNoDescription) return;
  if (const auto appends = setsAppending(event)) appends_[description] = *appends;
}

// The directory that a path is relative to, where it lies in the tree of the file. A directory that
// several trees have is open in one of them; which one is not known where a later thread of the
// document opens it. The name is then looked up from the working directory.
Descriptor Compiler::directoryFor(model::FileNumber file, Descriptor directory) const {
  if (!tree_choice_ || !tree_choice_->isSplit() || file == model::kNoFileNumber) return directory;
  const auto slot = static_cast<std::size_t>(directory);
  const std::uint32_t known = slot < file_of_slot_.size() ? file_of_slot_[slot] : kNoFile;
  if (known == kNoFile) return model::kNoDescriptor;
  const bool is_same = plan_.files[known].tree == plan_.files[static_cast<std::size_t>(file)].tree;
  return is_same ? directory : model::kNoDescriptor;
}

// A path that is looked up from a directory inside of the tree.
void Compiler::noteBase(model::FileNumber file, std::uint16_t lookups, Descriptor directory) {
  if (file == model::kNoFileNumber || lookups == model::kAllLookups ||
      directory != model::kNoDescriptor) {
    return;
  }
  const PlannedFile& planned = plan_.files[static_cast<std::size_t>(file)];
  const std::string& location = planned.location;
  std::size_t end = location.size();
  for (std::uint16_t i = 0; i < lookups && end != std::string::npos && end > 0; ++i) {
    end = location.rfind('/', end - 1);
  }
  if (end != std::string::npos && end > 0) {
    bases_.emplace(thread().recorded.rank, planned.tree, location.substr(0, end));
  }
}

Compiler::Complaint Compiler::checkDescriptors() const {
  for (std::size_t i = 0; i < plan_.ranks.size(); ++i) {
    if (plan_.ranks[i].slots <= plan_.ranks[i].made + kSlotsToSpare) continue;
    return fmt::format("fd {} of rank {}: it makes {} descriptors, which are numbered from 0",
                       plan_.ranks[i].slots - 1, i, plan_.ranks[i].made);
  }
  return std::nullopt;
}

Compiler::Complaint Compiler::checkInPlace(const ScheduleEvent& event, std::uint32_t file) {
  return changes_.inputs == Origin::kInPlace ? in_place_.event(event, file, plan_.files)
                                             : std::nullopt;
}

Compiler::Complaint Compiler::beginThread(const model::ScheduleThread& thread) {
  if (plan_.threads.empty() || plan_.threads.back().recorded.rank != thread.rank) {
    if (auto complaint = in_place_.endRank(file_of_slot_, plan_.files)) return complaint;
    file_of_slot_.clear();
    description_of_slot_.clear();
    appends_.clear();
    made_ranges_.clear();
    made_ = 0;
    descriptor_use_.beginRank();
  }
  plan_.threads.emplace_back().recorded = thread;
  plan_.ranks.resize(std::max(plan_.ranks.size(), static_cast<std::size_t>(thread.rank) + 1));
  etype_bytes_.clear();
  order_ = 0;
  if (!directory_.empty()) {
    writer_ = std::make_unique<ProgramWriter>(programName(directory_, plan_.threads.size() - 1));
  }
  return std::nullopt;
}

Compiler::Complaint Compiler::endThread() {
  // Without the order of threads any two of them may run at once.
  if (!model::keepsMpi(changes_.order)) {
    thread().first_start_ns = std::numeric_limits<std::int64_t>::min();
    thread().last_end_ns = std::numeric_limits<std::int64_t>::max();
  }
  if (!writer_) return std::nullopt;
  const base::Result<void> written = writer_->finish();
  writer_.reset();
  if (!written) return written.failure().sentence;
  return std::nullopt;
}

Compiler::Complaint Compiler::preopened(const ScheduleEvent& event) {
  if (event.id != 0 || !event.after.empty()) {
    return "a preopened descriptor is there before all events: it has neither id nor after";
  }
  if (auto complaint = checkInPlace(event, static_cast<std::uint32_t>(event.file))) {
    return complaint;
  }
  Preopened opened;
  if (auto complaint = takeSlot(event.new_fd, opened.slot)) return complaint;
  opened.file = static_cast<std::uint32_t>(event.file);
  opened.flags = static_cast<std::int32_t>(event.arguments[0]);
  opened.offset = event.offset;
  noteUser(opened.file);
  rank().preopened.push_back(opened);
  noteDescriptor(event, opened.file);
  descriptor_use_.note(event, opened.file, 1, rank(), plan_.unaligned);
  return std::nullopt;
}

Compiler::Complaint Compiler::checkCall(const ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  const std::uint64_t request = roomFor(event);
  // A call that failed may have asked for anything; it never got it.
  if (!event.failed && request > kMaxRequest) {
    return fmt::format("{} asks for {} bytes, more than a process has room for", row.name, request);
  }
  // The printf family returns an int.
  const bool formats =
      row.call_class == calls::Class::kWrite && row.result == calls::Result::kCount;
  if (formats && !event.failed && event.result > INT32_MAX) {
    return fmt::format("{} cannot have written {} bytes: its result is an int", row.name,
                       event.result);
  }
  if (endsProcess(event)) {
    return fmt::format(
        "{} takes no mode: with O_CREAT or O_TMPFILE the C library ends the process; use open",
        row.name);
  }
  return std::nullopt;
}

// A view, and what is moved in it, are whole etypes (MPI-3.1, sections 13.3 and 13.4.1).
Compiler::Complaint Compiler::checkView(const ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  if (!calls::isMpiIo(row) || event.failed) return std::nullopt;
  if (calls::has(row, Role::kFiletype)) {
    const auto bytes = [&](Role role) {
      return type_bytes_[static_cast<std::size_t>(model::argumentOf(event, role))];
    };
    const std::uint64_t etype = bytes(Role::kEtype);
    const std::uint64_t filetype = bytes(Role::kFiletype);
    etype_bytes_[event.fd] = etype;
    if (etype == 0 || filetype % etype == 0) return std::nullopt;
    return fmt::format("{}: a filetype of {} bytes of data is not made of etypes of {}", row.name,
                       filetype, etype);
  }
  const auto view = etype_bytes_.find(event.fd);
  if (view == etype_bytes_.end() || view->second == 0 || !calls::has(row, Role::kSize) ||
      event.request % view->second == 0) {
    return std::nullopt;
  }
  return fmt::format("{} moves {} bytes, and the etype of its view has {}", row.name, event.request,
                     view->second);
}

void Compiler::measure(const ScheduleEvent& event) {
  PlannedThread& into = thread();
  if (into.operations++ == 0) into.first_start_ns = event.start_ns;
  into.last_end_ns = std::max(into.last_end_ns, event.end_ns);
  includeRequests(event);
}

// Finds out what the thread's buffers have to hold.
void Compiler::includeRequests(const ScheduleEvent& event) {
  PlannedThread& into = thread();
  if (calls::has(*event.row, Role::kFdSource)) return;
  std::uint64_t request = roomFor(event);
  if (event.failed) {
    request = std::min(request, kMaxFailedRequest);
    if (event.row->call_class == calls::Class::kWrite) {
      // A stream's call is given no more items than there is content for (backend.cpp).
      if (event.row->api == calls::Api::kPosix) {
        into.write_failed = std::max(into.write_failed, request);
      }
      request = std::min(request, kMaxFailedContent);
    }
  }
  std::uint64_t moved = 0;
  if (!event.failed && event.result > 0) {
    moved = static_cast<std::uint64_t>(event.result);
    if (event.row->result == calls::Result::kNumber) moved = request;
    if (event.row->result == calls::Result::kItems) {
      // The last item may have come in part.
      const auto item = static_cast<std::uint64_t>(model::argumentOf(event, Role::kItemSize));
      if (__builtin_mul_overflow(moved + 1, item, &moved)) moved = request;
    }
  }
  if (event.row->call_class == calls::Class::kRead) {
    into.read_request = std::max(into.read_request, request);
    into.read_moved = std::max(into.read_moved, std::min(moved, request));
  } else if (event.row->call_class == calls::Class::kAsync) {
    // Its memory is its own, and filled piece by piece.
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
    const bool reads = calls::does(*event.row, calls::Effect::kBeginsRead);
    if (!reads) into.write_request = std::max(into.write_request, std::min(request, kPiece));
  } else if (event.row->call_class == calls::Class::kWrite) {
    // The printf family asks for nothing: what it wrote is its result.
    if (event.row->result == calls::Result::kCount) {
      request = std::max(request, std::min(moved, kMaxRequest));
    }
    const std::int64_t text = model::argumentOf(event, Role::kTextOut);
    request = std::max(request, static_cast<std::uint64_t>(std::max<std::int64_t>(text, 0)));
    into.write_request = std::max(into.write_request, std::min(request, kMaxRequest));
  }
}

std::int64_t Compiler::communicationOf(const model::Work& work) const {
  constexpr double kMostNs = 1e18;  // 31 years; a sum of several fits into 64 bits
  const double scaled = static_cast<double>(work.communication_ns) * changes_.network_scale;
  return std::llround(std::min(scaled, kMostNs));
}

std::int64_t Compiler::timeOf(const model::Work& work) const {
  return work.compute_ns + communicationOf(work);
}

// The event in place of a call that is left out. Others may wait for it. Not of fflush, which
// others may read after.
std::optional<ScheduleEvent> Compiler::withoutSync(const ScheduleEvent& event) const {
  if (event.step != Step::kCall || !changes_.leave_out_syncs ||
      event.row->call_class != calls::Class::kSync ||
      calls::has(*event.row, calls::Role::kStream)) {
    return std::nullopt;
  }
  ScheduleEvent nothing;
  nothing.step = Step::kDelay;
  nothing.start_ns = nothing.end_ns = event.start_ns;
  nothing.id = event.id;
  nothing.after = event.after;
  nothing.own = event.own;
  return nothing;
}

// The operation, all but the parts that depend on other events: lines, waits, names.
Op Compiler::opOf(const ScheduleEvent& event, std::uint32_t file) const {
  Op op;
  op.step = event.step;
  if (event.step == Step::kCall) op.row = event.row->number;
  op.file = file;
  op.flags = event.failed ? kOpFailed : event.at_least ? kOpAtLeast : 0;
  // As fast as possible, only delays take a time that was recorded.
  if (plan_.global.timing != model::Timing::kAsap || event.step == Step::kDelay) {
    op.start_ns = event.start_ns;
    op.end_ns = event.end_ns;
    // Work is told from waiting by communication: without its order, all of the time counts.
    if (event.own && model::keepsMpi(changes_.order)) {
      op.own_ns = timeOf(*event.own);
      op.communication_ns = communicationOf(*event.own);
    }
  }
  op.phase = event.phase;
  op.result = event.result;
  op.request = event.request;
  op.new_file = static_cast<std::uint32_t>(event.new_file);
  op.lookups = event.lookups;
  op.new_lookups = event.new_lookups;
  const auto slotOf = [](Descriptor descriptor) {
    return descriptor == model::kNoDescriptor ? kNoSlot : static_cast<std::uint32_t>(descriptor);
  };
  op.fd = slotOf(event.fd);
  op.other = slotOf(event.source != model::kNoDescriptor ? event.source : event.replaced);
  op.new_fd = slotOf(event.new_fd);
  op.directory = slotOf(directoryFor(event.file, event.directory));
  op.new_directory = slotOf(directoryFor(event.new_file, event.new_directory));
  return op;
}

Compiler::Complaint Compiler::takeSlots(const ScheduleEvent& event) {
  for (const Descriptor descriptor : {event.fd, event.source, event.replaced, event.new_fd,
                                      directoryFor(event.file, event.directory),
                                      directoryFor(event.new_file, event.new_directory)}) {
    std::uint32_t slot = kNoSlot;
    if (auto complaint = takeSlot(descriptor, slot)) return complaint;
  }
  return std::nullopt;
}

// A call that makes an entry of a directory.
void Compiler::noteMade(const ScheduleEvent& event) {
  if (!makesEntry(event)) return;
  const model::FileNumber entry = event.new_file != model::kNoFileNumber &&
                                          !calls::does(*event.row, calls::Effect::kMakesSymlink)
                                      ? event.new_file
                                      : event.file;
  if (entry != model::kNoFileNumber) {
    plan_.files[static_cast<std::size_t>(entry)].made_by_events = true;
  }
}

void Compiler::noteNames(const ScheduleEvent& event, std::uint32_t file) {
  noteUser(file);
  noteUser(static_cast<std::uint32_t>(event.new_file));
  noteBase(event.file, event.lookups, directoryFor(event.file, event.directory));
  const bool is_link =
      event.row != nullptr && calls::does(*event.row, calls::Effect::kMakesSymlink);
  if (is_link) return;  // its text is not looked up
  noteBase(event.new_file, event.new_lookups, directoryFor(event.new_file, event.new_directory));
}

Compiler::Complaint Compiler::event(const ScheduleEvent& event) {
  if (event.step == Step::kPreopened) return preopened(event);
  if (const auto nothing = withoutSync(event)) return this->event(*nothing);
  if (event.step == Step::kCall && calls::has(*event.row, calls::Role::kDone) &&
      event.pieces.size() > model::kMostPieces) {
    // As many calls as it takes. The first waits, and others wait for the last.
    ScheduleEvent part = event;
    for (std::size_t at = 0; at < event.pieces.size(); at += model::kMostPieces) {
      const std::size_t end = std::min(at + model::kMostPieces, event.pieces.size());
      part.pieces.assign(event.pieces.begin() + static_cast<std::ptrdiff_t>(at),
                         event.pieces.begin() + static_cast<std::ptrdiff_t>(end));
      part.id = end == event.pieces.size() ? event.id : 0;
      if (auto complaint = this->event(part)) return complaint;
      part.after.clear();
      part.own.reset();
      part.start_ns = part.end_ns;
    }
    return std::nullopt;
  }
  if (event.step == Step::kCall) {
    PhaseWork& work = phase_work_[event.phase];
    work.bytes += model::bytesMoved(event);
    ++work.operations;
    if (auto complaint = checkCall(event)) return complaint;
    if (auto complaint = checkView(event)) return complaint;
    if (tree_choice_) {
      if (auto complaint = tree_choice_->checkNames(event, plan_.files)) return complaint;
    }
    measure(event);
  }
  const std::uint32_t file = fileOf(event);
  if (auto complaint = checkInPlace(event, file)) return complaint;
  if (file != kNoFile && event.step == Step::kCall) {
    line_ends_.note(event, file, plan_.files[file]);
  }
  noteFlags(event);
  added_bytes_.note(event, file, appends(event));
  Op op = opOf(event, file);
  noteDescriptor(event, file);
  descriptor_use_.note(event, file, 1, rank(), plan_.unaligned);
  noteMade(event);
  if (file != kNoFile && event.step == Step::kCall && plan_.files[file].lines &&
      (event.offset >= 0 || event.row->call_class == calls::Class::kWrite)) {
    op.flags |= kOpLines;
    op.offset = event.offset;
  }
  noteNames(event, file);
  if (auto complaint = takeSlots(event)) return complaint;

  PlannedThread& planned = thread();
  const auto number = static_cast<std::uint32_t>(plan_.threads.size() - 1);
  using Number = ThreadOrder::Number;
  ThreadOrder::Waiting waiting{.order = Number(order_), .thread = number, .awaited = {}};
  for (const auto& [id, reason, work] : event.after) {
    if (!model::keeps(changes_.order, reason)) continue;
    waiting.awaited.push_back({.id = Number(static_cast<std::int64_t>(id)),
                               .reason = reason,
                               .work = {work.compute_ns, communicationOf(work)}});
  }
  if (!waiting.awaited.empty()) {
    waiting.wait = planned.waits.size();
    planned.waits.emplace_back();
    op.wait = static_cast<std::uint32_t>(planned.waits.size());
    thread_order_.add(std::move(waiting));
  }
  // Where no waits are kept, no event waits for it.
  if (event.id != 0 && changes_.order != model::Order::kNone) {
    thread_order_.add(
        ThreadOrder::Named{.id = Number(static_cast<std::int64_t>(event.id)),
                           .order = Number(order_),
                           .thread = number,
                           .ordinal = static_cast<std::uint32_t>(planned.raises.size()),
                           .end_ns = event.end_ns});
    planned.raises.push_back(kNoFlag);
    op.named = static_cast<std::uint32_t>(planned.raises.size());
  }
  ++order_;
  if (!writer_) return std::nullopt;
  // A text that is too long has failed, and its beginning fails as well.
  const bool has_hints = event.step == Step::kCall && calls::isMpiIo(*event.row);
  writer_->add(op, LineEnds::argumentsOf(event), event.pieces,
               has_hints ? event.text : event.text.substr(0, model::kLongestText));
  return std::nullopt;
}

namespace {

// The directories that a location lies in.
template <typename Use>
void eachAbove(std::string_view location, Use use) {
  for (std::size_t at = location.find('/'); at != std::string_view::npos;
       at = location.find('/', at + 1)) {
    use(location.substr(0, at));
  }
}

}  // namespace

// A file of the preparation cannot be the directory of another, and what lies in a directory that
// an event makes cannot be there before.
Compiler::Complaint Compiler::arrangeFiles() {
  line_ends_.moveInto(plan_.files);
  added_bytes_.moveInto(plan_.files, plan_.global.write_overwrite);
  std::unordered_set<std::string_view> regular;
  std::unordered_set<std::string_view> made_later;
  for (const PlannedFile& file : plan_.files) {
    if (file.exists && file.role != model::FileRole::kDirectory) regular.insert(file.location);
    if (!file.exists && file.made_by_events) made_later.insert(file.location);
  }
  Complaint complaint;
  for (PlannedFile& file : plan_.files) {
    eachAbove(file.location, [&](std::string_view above) {
      if (file.exists && regular.contains(above) && !complaint) {
        complaint = fmt::format("location \"{}\" lies below \"{}\", which is a file",
                                base::inBrief(file.location), base::inBrief(above));
      }
      if (!file.exists && made_later.contains(above)) file.made_by_events = true;
    });
  }
  // A directory that was there and is made again is another one then.
  std::unordered_set<std::string_view> made;
  for (const PlannedFile& file : plan_.files) {
    if (file.made_by_events) made.insert(file.location);
  }
  for (const auto& [rank, tree, base] : bases_) {
    bool is_made = made.contains(base);
    eachAbove(base, [&](std::string_view above) { is_made = is_made || made.contains(above); });
    if (!is_made) plan_.ranks[static_cast<std::size_t>(rank)].bases.push_back({tree, base});
  }
  return complaint;
}

Compiler::Complaint Compiler::finish() {
  plan_.ranks.resize(static_cast<std::size_t>(std::max(plan_.global.ranks, 0)));
  for (const auto& [phase, work] : phase_work_) {
    plan_.phase_work.push_back(
        {.phase = phase, .bytes = work.bytes, .operations = work.operations});
  }
  if (auto complaint = checkDescriptors()) return complaint;
  if (auto complaint = in_place_.endRank(file_of_slot_, plan_.files)) return complaint;
  if (tree_choice_) {
    if (auto complaint = tree_choice_->checkMaps()) return complaint;
  }
  if (auto complaint = thread_order_.resolve(plan_)) return complaint;
  return arrangeFiles();
}

// Compiling as a whole: reads the schedule, and leaves all of its programs and the plan, or
// nothing.
namespace {

// Takes the programs away again unless the work is done.
class Draft {
 public:
  explicit Draft(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::error_code error;
    // The topmost directory that is made here, to leave nothing behind.
    for (std::filesystem::path at = directory_; !std::filesystem::exists(at, error);
         at = at.parent_path()) {
      made_ = at;
      if (!at.has_relative_path()) break;
    }
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(made_.empty() ? directory_ : made_, ignored);
  }
  void keep() { keep_ = true; }

 private:
  std::filesystem::path directory_;
  std::filesystem::path made_;
  bool keep_ = false;
};

}  // namespace

base::Result<Plan> compileSchedule(const std::filesystem::path& schedule,
                                   const std::filesystem::path& directory, const Changes& changes) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  Draft draft(absolute);
  std::filesystem::create_directories(absolute, error);
  if (error) return base::systemFailure(absolute, error.value(), "cannot create");
  Compiler compiler(absolute, changes);
  DigestingSink digest(compiler);
  if (auto read = model::readSchedule(schedule, digest); !read) return read.failure();
  if (auto complaint = compiler.finish()) {
    return base::failure(base::Code::kInvalid, "{}: {}", base::printable(schedule.native()),
                         *complaint);
  }
  Plan plan = compiler.plan();
  plan.schedule = std::filesystem::absolute(schedule, error).native();
  plan.schedule_digest = digest.text();
  if (auto written = writePlan(absolute / kPlanName, plan); !written) return written.failure();
  draft.keep();
  return plan;
}

}  // namespace omnio::replay
