#include "cli/log/mpi_log.hpp"

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "cli/log/event_json.hpp"
#include "cli/log/mpi_json.hpp"
#include "cli/log/mpi_listing.hpp"
#include "cli/log/mpi_text.hpp"
#include "cli/output.hpp"
#include "core/base/file.hpp"
#include "core/order/matched_events.hpp"

namespace omnio::cli {
namespace {

// Lines that wait for one that began before them. When an event takes longer than this to show its
// counterpart (a receive that is posted at the start of a run for its end), the others go on, and
// its own line stands behind them.
constexpr std::size_t kMostWaiting = 200'000;

class MpiPrinter final : public order::MpiPictureSink {
 public:
  MpiPrinter(const MpiNames& names, const event::PathTable& paths, const TraceSelection& selection,
             bool json)
      : names_(names),
        paths_(paths),
        selection_(selection),
        json_(json),
        output_(json ? OutputForm::kJson : OutputForm::kText) {}

  void seen(std::uint64_t id, const order::MpiEventRef& ref, const event::Event& event) override {
    if (lines_.empty()) first_ = id;
    lines_.emplace_back();
    Line& line = lines_.back();
    line.wanted = isWanted(ref);
    if (line.wanted) begin(line.text, ref, event);
    if (lines_.size() > kMostWaiting) overtake();
  }

  void settled(const order::MatchedEvent& event) override {
    if (event.id < first_) {
      const auto late = overtaken_.find(event.id);
      if (late == overtaken_.end()) return;  // not wanted
      end(late->second, event);
      print(late->second);
      overtaken_.erase(late);
      ++behind_;
      return;
    }
    Line& line = lines_[event.id - first_];
    line.settled = true;
    if (line.wanted) end(line.text, event);
    advance();
  }

  std::uint64_t behind() const { return behind_; }
  Output& output() { return output_; }

 private:
  struct Line {
    std::string text;
    bool wanted = false;
    bool settled = false;
  };

  bool isWanted(const order::MpiEventRef& ref) const {
    if (selection_.rank && names_.rankOf(ref.process) != *selection_.rank) return false;
    return !selection_.thread || ref.thread == *selection_.thread;
  }

  void begin(std::string& text, const order::MpiEventRef& ref, const event::Event& event) const {
    if (!json_) {
      appendMpiTextSeen(text, event, ref, names_);
      return;
    }
    const tracefile::Process& process = names_.process(ref.process);
    EventOrigin origin{
        .rank = names_.rankOf(ref.process), .thread = ref.thread, .pid = process.pid};
    for (const tracefile::Log& log : process.logs) {
      if (log.thread == ref.thread) origin.tid = log.tid;
    }
    appendJsonOpen(text, event, origin, paths_);
    appendMpiJsonSeen(text, event, ref, names_);
  }

  void end(std::string& text, const order::MatchedEvent& event) const {
    if (json_) {
      appendMpiJsonSettled(text, event, names_);
    } else {
      appendMpiTextSettled(text, event, names_);
    }
  }

  void print(const std::string& text) {
    output_.text() += text;
    output_.drain();
  }

  void advance() {
    while (!lines_.empty() && lines_.front().settled) {
      if (lines_.front().wanted) print(lines_.front().text);
      lines_.pop_front();
      ++first_;
    }
  }

  void overtake() {
    if (lines_.front().wanted) overtaken_.emplace(first_, std::move(lines_.front().text));
    lines_.pop_front();
    ++first_;
    advance();
  }

  const MpiNames& names_;
  const event::PathTable& paths_;
  const TraceSelection& selection_;
  const bool json_;
  Output output_;
  std::deque<Line> lines_;   // of events from `first_` on
  std::uint64_t first_ = 0;  // id
  std::unordered_map<std::uint64_t, std::string> overtaken_;
  std::uint64_t behind_ = 0;
};

}  // namespace

int printMpiLog(const tracefile::Trace& trace, const TraceSelection& selection, bool json) {
  base::raiseOpenFileLimit();
  const mpi::MpiGroups groups = order::mpiGroupsOf(trace);
  const MpiNames names(trace, groups);
  event::PathTable paths;
  MpiPrinter printer(names, paths, selection, json);
  const order::MpiPictureEnd end = order::readMpiPicture(trace, groups, paths, printer);
  std::string& out = printer.output().text();
  if (json) {
    appendMpiJsonSummary(out, end, printer.behind());
  } else {
    appendMpiTextSummary(out, end, printer.behind());
  }
  return printer.output().finish();
}

}  // namespace omnio::cli
