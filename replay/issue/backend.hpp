// Reissues calls: by the exact symbol that was recorded, with arguments made from the roles of the
// table of calls. C types of signatures appear in backend*.cpp alone.
//
// A regular row needs nothing here: a role that cannot be made into an argument of its type does
// not compile. A custom row needs a body in backend_posix.cpp or backend_stdio.cpp; without one it
// does not link.
#pragma once

#include <stdio.h>

#include <cstdint>
#include <string>

#include "replay/issue/buffers.hpp"
#include "replay/issue/descriptors.hpp"
#include "replay/issue/mappings.hpp"
#include "replay/issue/mpi_calls.hpp"
#include "replay/issue/paths.hpp"
#include "replay/issue/requests.hpp"
#include "replay/plan/plan.hpp"
#include "replay/plan/program.hpp"

namespace omnio::replay {

// Why something else was done than what was recorded; counted by kind.
enum class Substitute : std::uint8_t {
  kNone,
  kLock,       // a lock that others kept, or that the application did not get
  kTmpfile,    // made in the tree, not in the system's folder for temporary files
  kScan,       // reads characters: what it scanned for is not recorded
  kCloseFrom,  // closes the one descriptor
  kOverwrite,  // opened without cutting off what write_overwrite has put there
  kMapped,     // read, not mapped: who maps a file is ended by a signal when another cuts it off
  kNode,     // a regular file: opening a FIFO waits for its other end, and devices are not storage
  kClone,    // blocks that two files share: copied where the target cannot do that
  kCopy,     // bytes copied to another file system, where the application had one
  kAdopted,  // a directory that the target had before, which the application made
  kAttribute,    // an attribute that the target does not hold, or holds as one of a user
  kFoundLink,    // a link that the application found is prepared as what it leads to
  kReopened,     // freopen of a stream that is not recorded: another was closed for it
  kForeignLine,  // a line of a file that had another name when it was written: where it ends is not
                 // known
  kNotIssued,    // not issued: no such symbol here, no stream to work on, or it would reach outside
};
inline constexpr int kSubstituteCount = 16;
const char* textOf(Substitute substitute);

// Whether a file system says so about an attribute: which of them it holds is its own matter.
bool isAnswerOnAttribute(bool failed, std::int64_t error);
// The name by which a replay sets and removes the attribute. Attributes of other name spaces than
// that of users mean something to the system (access lists, capabilities, stripes), and made-up
// ones would do harm, or be refused.
std::string attributeToSet(std::string_view recorded);

// The outcome of a call, in the terms of the record.
struct Outcome {
  bool failed = false;
  std::int64_t result = 0;    // errno when failed
  std::int64_t start_ns = 0;  // CLOCK_MONOTONIC; both are 0 of a call that is not timed
  std::int64_t end_ns = 0;
  Substitute substitute = Substitute::kNone;
  bool issued = true;
  // Of a collective call of MPI-IO that no rank leaves before all have come: the group, by place in
  // the schedule's list.
  std::int32_t group = -1;
};

// A thread issues its calls with one of these.
struct IssueContext {
  const Paths& paths;
  Descriptors& descriptors;
  Buffers* buffers = nullptr;    // to be there when it issues calls
  Requests* requests = nullptr;  // of the rank
  Mappings* mappings = nullptr;  // the same
  MpiCalls* mpi = nullptr;       // the same; where the schedule has calls of MPI-IO
  std::uint32_t process = 0;     // of the thread in the recording
  Names names;
  bool write_overwrite = false;
  // Whether calls are timed one by one: reading the clock costs a part of what a small write does.
  bool is_timed = true;
  // When the next call is to begin, on CLOCK_MONOTONIC. Its thread comes to it a little earlier,
  // and spins for what is left once the arguments are made.
  std::int64_t due_ns = 0;

  // Kept from call to call, since making them anew costs each call time.
  int pipe[2] = {-1, -1};  // splice's other end
  // Those of lio_listio or io_submit, as far as they have come.
  std::vector<aiocb64*> submission{};
  std::vector<iocb*> kernel_submission{};
  std::string path_template{};  // mkstemp writes into it
  std::string link_text{};

  char* line = nullptr;  // getline's
  std::size_t line_room = 0;
  bool has_position = false;  // of fgetpos
  fpos64_t position{};

  IssueContext(const Paths& p, Descriptors& d, bool overwrite)
      : paths(p), descriptors(d), names(p), write_overwrite(overwrite) {}
  IssueContext(const IssueContext&) = delete;
  IssueContext& operator=(const IssueContext&) = delete;
  ~IssueContext();
};

std::int64_t nowNs();  // CLOCK_MONOTONIC

// Looks up all symbols; once, before the first issue().
void findSymbols();
Outcome issue(const Instruction& instruction, IssueContext& context);

// Opens before the clock starts, as the application had it; errno or 0.
int preopen(const Preopened& preopened, const Paths& paths, Descriptors& descriptors);
// A forked child's copy of a descriptor.
void inherit(const Op& op, Descriptors& descriptors);

}  // namespace omnio::replay
