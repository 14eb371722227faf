// Where in a file an MPI-IO call reads or writes: MPI-3.1, sections 13.3 (views) and 13.4 (data
// access). Of one rank.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "core/event.hpp"
#include "phase_model/access.hpp"

namespace omnio::phases {

// What a process sees of the file: the data of filetypes, one after the other from `disp` on. The
// data of one lies in blocks of one size at one distance (docs/formats/trace.md, "Offsets").
struct View {
  std::int64_t disp = 0;  // bytes, as all but etypes
  std::int64_t etype_size = 1;
  std::int64_t type_size = 1;  // data in a filetype
  std::int64_t type_extent = 1;
  std::int64_t true_lb = 0;
  std::int64_t block_size = 1;    // 0: the blocks are not regular, and not recorded
  std::int64_t block_stride = 0;  // 0: there is one block

  bool isRegular() const { return type_size > 0 && block_size > 0; }

  // The place in the file of a byte of the view. Of irregular blocks, that of a view without gaps.
  std::int64_t inFile(std::int64_t view_byte) const;
};

class MpiPositions {
 public:
  struct Placed {
    bool known = true;
    std::int64_t offset = 0;
    bool nested = false;          // the blocks are not regular: the place is that in the view
    bool several_blocks = false;  // the request goes over more than one block of the view
    std::uint64_t session = 0;    // see Access::session
    Manner manner;
  };

  // `sessions` as of PosixPositions.
  explicit MpiPositions(std::uint64_t& sessions) : sessions_(sessions) {}

  // Of every MPI file event of the application, in order. `process` tells processes apart.
  void follow(std::uint64_t process, const Event& event);

  // Of one that reads or writes; individual pointers move on by what it moved.
  Placed placeOf(std::uint64_t process, const Event& event);

 private:
  struct OpenFile {
    View view;
    bool has_view = false;
    bool known = true;
    std::int64_t pointer = 0;  // in etypes
    std::uint64_t session = 0;
  };
  OpenFile& fileOf(std::uint64_t process, const Event& event);

  std::uint64_t& sessions_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, OpenFile> files_;
};

}  // namespace omnio::phases
