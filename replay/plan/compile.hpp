// Compiles a schedule: one program a recorded thread and one plan, in `directory`. All that can be
// refused is refused here, before anything on the target is touched.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/compact/event_loop.hpp"
#include "core/model/compact/loop_numbers.hpp"
#include "core/model/schedule_reader.hpp"
#include "replay/plan/descriptor_use.hpp"
#include "replay/plan/in_place.hpp"
#include "replay/plan/plan.hpp"
#include "replay/plan/program.hpp"
#include "replay/plan/room.hpp"
#include "replay/plan/target_rules.hpp"
#include "replay/plan/thread_order.hpp"

namespace omnio::replay {

// What a replay does otherwise than its schedule says.
struct Changes {
  std::optional<model::Timing> timing{};
  model::Order order = model::Order::kAll;  // the waits that are kept
  double network_scale = 1;                 // times of communication are multiplied by this
  bool leave_out_syncs = false;             // fsync and its like take no time, and do nothing
  std::optional<TargetRules> targets{};     // nothing: all files go to one tree
  Origin inputs = Origin::kMade;  // of files that exist, unless a node had them for itself
};

// Takes a schedule piece by piece. `directory` has to exist. Where it is empty, no programs are
// written, for those who only want the plan; the plan then has no line ends.
class Compiler final : public model::ScheduleSink {
 public:
  explicit Compiler(std::filesystem::path directory, const Changes& changes = {})
      : directory_(std::move(directory)), changes_(changes) {
    if (changes_.targets) tree_choice_.emplace(*changes_.targets);
  }

  Complaint global(const model::ScheduleGlobal& global) override;
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override;
  Complaint beginThread(const model::ScheduleThread& thread) override;
  Complaint event(const model::ScheduleEvent& event) override;
  Complaint endThread() override;
  bool takesLoops() const override { return true; }
  ScheduleSink* loop(const model::PassedLoop& passed, Complaint& complaint) override;

  // After the whole schedule: resolves who waits for whom. Complains about events that wait for
  // each other in a circle, and about files that cannot stand side by side.
  Complaint finish();
  const Plan& plan() const { return plan_; }
  Plan takePlan() { return std::move(plan_); }  // the last call
  // The file that the call names, or that its descriptor stands for, by number. kNoFile where it
  // has none, and while no thread that came so far has made the descriptor.
  std::uint32_t fileOf(const model::ScheduleEvent& event) const;
  // The same of each line of the loop that was taken last.
  const std::vector<model::TurnNumber>& filesOfLoop() const { return loop_files_; }
  // In ns, with the changed time of communication.
  std::int64_t timeOf(const model::Work& work) const;

 private:
  PlannedThread& thread() { return plan_.threads.back(); }
  PlannedRank& rank() { return plan_.ranks[static_cast<std::size_t>(thread().recorded.rank)]; }
  Complaint takeSlot(model::Descriptor descriptor, std::uint32_t& slot);
  bool appends(const model::ScheduleEvent& event) const;
  Op opOf(const model::ScheduleEvent& event, std::uint32_t file) const;
  std::optional<model::ScheduleEvent> withoutSync(const model::ScheduleEvent& event) const;
  Complaint takeSlots(const model::ScheduleEvent& event);
  void noteMade(const model::ScheduleEvent& event);
  void noteNames(const model::ScheduleEvent& event, std::uint32_t file);
  void noteUser(std::uint32_t number);
  void noteDescriptor(const model::ScheduleEvent& event, std::uint32_t file);
  void noteSlot(std::size_t slot, std::uint32_t file, std::uint32_t description);
  std::uint32_t descriptionOf(model::Descriptor descriptor) const;
  std::uint32_t descriptionFor(const model::ScheduleEvent& event, bool appends);
  static std::optional<bool> setsAppending(const model::ScheduleEvent& event);
  void noteFlags(const model::ScheduleEvent& event);
  model::Descriptor directoryFor(model::FileNumber file, model::Descriptor directory) const;
  void noteBase(model::FileNumber file, std::uint16_t lookups, model::Descriptor directory);
  Complaint checkDescriptors() const;
  std::int64_t communicationOf(const model::Work& work) const;
  Complaint checkInPlace(const model::ScheduleEvent& event, std::uint32_t file);
  Complaint preopened(const model::ScheduleEvent& event);
  static Complaint checkCall(const model::ScheduleEvent& event);
  Complaint checkView(const model::ScheduleEvent& event);
  void measure(const model::ScheduleEvent& event);
  void includeRequests(const model::ScheduleEvent& event);
  struct LineOfLoop;
  bool prepare(const model::LoopLine& line, const model::LoopPath& path,
               std::vector<LineOfLoop>& lines);
  bool findFiles(LineOfLoop& line, const std::vector<LineOfLoop>& before) const;
  bool findWords(LineOfLoop& line) const;
  bool findOrder(LineOfLoop& line) const;
  Complaint takeLine(LineOfLoop& line, const model::PassedLoop& passed);
  void takeOrder(LineOfLoop& line);
  void noteWrites(const LineOfLoop& line, const model::PassedLoop& passed);
  void noteEnds(const LineOfLoop& line);
  Complaint keepTimes(const model::LoopTimes& times, LoopProgram& program);
  Complaint arrangeFiles();

  std::filesystem::path directory_;
  Changes changes_;
  Plan plan_;
  std::unique_ptr<ProgramWriter> writer_;
  std::int64_t order_ = 0;  // of the next event in its thread
  ThreadOrder thread_order_;
  LineEnds line_ends_;
  DescriptorUse descriptor_use_;
  AddedBytes added_bytes_;
  std::set<std::tuple<int, std::uint32_t, std::string>> bases_;  // rank, tree, location
  std::optional<TreeChoice> tree_choice_;
  InPlaceCheck in_place_;
  // The files of this rank's descriptors, by slot: calls on a descriptor do not name the file. A
  // descriptor that a later thread of the document makes is not known yet.
  std::vector<std::uint32_t> file_of_slot_;
  static constexpr std::uint32_t kNoDescription = UINT32_MAX;
  std::vector<std::uint32_t> description_of_slot_;
  std::vector<bool> appends_;  // by description: descriptors that share one share the flag
  struct MadeRange {
    model::NumberRange slots;
    std::uint32_t file = kNoFile;
    bool appends = false;
  };
  const MadeRange* madeRange(model::Descriptor descriptor) const;
  std::vector<MadeRange> made_ranges_;  // of the rank's loops that make very many
  std::vector<model::TurnNumber> loop_files_;
  std::vector<bool> has_lines_;            // of files, by number
  std::vector<std::uint64_t> type_bytes_;  // of the schedule's datatypes
  // Bytes of the etype of the views that the thread has set, by descriptor.
  std::map<model::Descriptor, std::uint64_t> etype_bytes_;
  std::uint64_t made_ = 0;                        // descriptors of the rank
  bool has_times_ = false;                        // those of loops are beside the programs
  std::map<std::int64_t, PhaseWork> phase_work_;  // by phase
};

// Reads the schedule and writes the programs and the plan (plan.hpp) into `directory`, which is
// made when it is not there. On failure nothing of it is left. Memory grows with the events that
// wait or are waited for, with lines that are read and with files, not with the other events.
base::Result<Plan> compileSchedule(const std::filesystem::path& schedule,
                                   const std::filesystem::path& directory,
                                   const Changes& changes = {});

}  // namespace omnio::replay
