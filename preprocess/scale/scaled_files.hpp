// The files of a scaled schedule: those of the recorded one that it still names, and new ones.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/schedule.hpp"

namespace omnio::preprocess::scale {

class ScaledFiles {
 public:
  // `named`: whether events name the file. Files that none names stay, if they exist before the
  // run.
  ScaledFiles(std::vector<model::ScheduleFile> recorded, const std::vector<bool>& named);

  // An event names the file. False where the list does not have it.
  bool use(const std::string& location);
  // Adds a file that is as another one, unless the list has it. The recorded path differs where
  // the location does.
  void addLike(const std::string& other, const std::string& location);

  // nullptr: the list has none of this location.
  model::ScheduleFile* find(const std::string& location);
  model::ScheduleFile& file(std::size_t number) { return files_[number]; }
  std::vector<model::ScheduleFile> used() const;

 private:
  std::vector<model::ScheduleFile> files_;
  std::vector<bool> is_used_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace omnio::preprocess::scale
