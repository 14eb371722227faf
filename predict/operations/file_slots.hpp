// Gives the files of a process numbers that stay the same from turn to turn of its loops.
//
// A program that opens "dump.100", closes it, and opens "dump.200" does the same thing again. So
// files whose names differ in numbers alone are a family, and what counts is not the file but its
// slot: the how-manieth file of its family it is among those that are open at one time. Files that
// are opened one after the other all have slot 0 of their family; four that are open together have
// slots 0 to 3.
//
// A file keeps its slot after it is closed (pages of it may be touched through a mapping) until
// another file of the family is opened. Not for several threads at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/event/event.hpp"
#include "predict/operations/operation.hpp"

namespace omnio::predict {

class FileSlots {
 public:
  // `paths` outlives this object.
  explicit FileSlots(const event::PathTable& paths) : paths_(paths) {}

  // What is kept of a run's slots, for a later run: the paths of the families without numbers, and
  // the family of each slot.
  struct Kept {
    std::vector<std::string> families;
    std::vector<std::uint32_t> slots;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(families, slots);
      const std::size_t count = families.size();
      archive.require(std::ranges::all_of(slots, [&](auto family) { return family < count; }),
                      "a file is of a family that does not exist");
    }
  };
  Kept kept() const;
  // Goes on with the slots of an earlier run, all of whose files are closed; before the first file.
  // A family is that of the same path without numbers, or else the first of the same name, in
  // whichever directory, that has not come up in this run.
  void goOnWith(const Kept& earlier);

  // An open of the file that succeeded; a file that is open already has its slot still.
  Slot opened(event::FileId file);
  // The slot of a file that is used. One that was open before the recording began gets one now.
  Slot used(event::FileId file);
  // One close of the file.
  void closed(event::FileId file);

  // The family of a slot's file, numbered as they came up.
  std::size_t familyOf(Slot slot) const { return slots_[slot].family; }
  std::size_t families() const { return families_.size(); }
  // What the paths of the family's files have in common: "#" for a number that is not the same in
  // all.
  std::string_view nameOf(std::size_t family) const { return families_[family].name; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct File {
    std::uint32_t family = kNone;
    Slot slot = kNone;
    std::uint32_t opens = 0;
  };
  struct Family {
    std::string path;  // without numbers
    std::string name;
    std::set<Slot> free;  // slots whose files are closed
  };
  struct OfSlot {
    std::uint32_t family = 0;
    event::FileId file = event::kNoFile;
  };

  File& fileOf(event::FileId file);
  std::uint32_t newFamily(const std::string& path);
  Slot take(event::FileId file, File& state);

  const event::PathTable& paths_;
  std::vector<File> files_;  // by number
  std::vector<Family> families_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<OfSlot> slots_;
  // Families of an earlier run that have not come up in this one.
  std::unordered_map<std::string, std::uint32_t> earlier_by_path_;
  std::multimap<std::string, std::uint32_t> earlier_by_name_;
};

}  // namespace omnio::predict
