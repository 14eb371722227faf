// What models learnt in an earlier run of a job, for its processes to go on with, and what they
// know at the end of this one (predict/kept).
//
// A process goes on with the models of its rank; of several processes of a rank, and of those
// without one, with those of the same place in the order in which they came. A program that the
// models are not of begins anew.
//
// Nothing here fails before finish(): where the earlier models cannot be read, or are of another
// application, all begin anew, and trouble() says why. Memory: the models of processes that have
// ended, at most 1 MiB each. Not for several threads at a time.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/result.hpp"
#include "core/tracefile/process.hpp"
#include "predict/kept/kept_models.hpp"
#include "predict/operations/rank_models.hpp"

namespace omnio::prefetch {

class JobModels {
 public:
  // `earlier` is read, `kept` written: files, empty where none is wanted.
  JobModels(const std::filesystem::path& earlier, std::filesystem::path kept);

  bool isWanted() const { return earlier_ != nullptr || !kept_.empty(); }
  // A process by its place: the rank that it is of, and which one of that rank.
  struct Place {
    predict::RankKey rank = -1;
    std::size_t index = 0;
    std::string program;  // its name, without folders
  };
  // The place of the next process that comes; `info`: its facts. Each call is for another process.
  Place placeOf(const tracefile::ProcessInfo& info);
  // The models that it continues, if there are any. Once for each place.
  std::optional<predict::RankModels::Process> begin(const Place& place);
  // What is known at its end.
  void end(const Place& place, predict::RankModels::Process known);

  // Writes the file that is kept, if one is wanted, and takes the models for that. Fails where it
  // cannot be written, with a sentence that names it; what was there before stays.
  base::Result<void> finish();
  // Why models were not gone on with; empty where they were, or none were given.
  std::string trouble() const;

 private:
  std::unique_ptr<predict::KeptModels> earlier_;
  std::string trouble_;
  bool has_found_ = false;  // a process that the models are of
  std::filesystem::path kept_;
  std::map<predict::RankKey, std::size_t> processes_;  // that came, of each rank
  predict::RankKey next_without_rank_ = -1;
  std::map<predict::RankKey, std::map<std::size_t, predict::RankModels::Process>> known_;
  std::set<std::string> programs_;
};

}  // namespace omnio::prefetch
