#include "phase_model/mpi_position.hpp"

#include <unistd.h>

#include <string_view>

#include "core/calls/mpi_values.hpp"

namespace omnio::phases {
namespace {

using calls::Role;

}  // namespace

std::int64_t View::inFile(std::int64_t view_byte) const {
  if (!isRegular()) return disp + view_byte;
  const std::int64_t in_type = view_byte % type_size;
  return disp + true_lb + view_byte / type_size * type_extent +
         in_type / block_size * block_stride + in_type % block_size;
}

MpiPositions::OpenFile& MpiPositions::fileOf(std::uint64_t process, const Event& event) {
  OpenFile& file = files_[{process, event.handle->definition.handle}];
  if (file.session == 0) file.session = ++sessions_;
  return file;
}

void MpiPositions::follow(std::uint64_t process, const Event& event) {
  if (event.handle == nullptr || event.failed) return;
  const std::string_view call = event.row->variant_of;
  if (call == "MPI_File_close") {
    files_.erase({process, event.handle->definition.handle});
    return;
  }
  OpenFile& file = fileOf(process, event);
  if (call == "MPI_File_open") {
    // The pointers begin at the end of what the file has, which is not recorded.
    file.known = (argumentOf(event, Role::kAmode) & calls::kModeAppend) == 0;
  } else if (call == "MPI_File_set_view") {
    file.view = {.disp = argumentOf(event, Role::kDisp),
                 .etype_size = argumentOf(event, Role::kEtypeSize),
                 .type_size = argumentOf(event, Role::kTypeSize),
                 .type_extent = argumentOf(event, Role::kTypeExtent),
                 .true_lb = argumentOf(event, Role::kTrueLb),
                 .block_size = argumentOf(event, Role::kBlockSize),
                 .block_stride = argumentOf(event, Role::kBlockStride)};
    if (file.view.etype_size <= 0) file.view.etype_size = 1;
    file.has_view = true;
    file.known = true;
    file.pointer = 0;
  } else if (call == "MPI_File_seek") {
    const std::int64_t offset = argumentOf(event, Role::kOffset);
    const std::int64_t whence = argumentOf(event, Role::kWhence);
    if (whence == SEEK_SET) {
      file.pointer = offset;
      file.known = true;
    } else if (whence == SEEK_CUR) {
      file.pointer += offset;
    } else {
      file.known = false;  // the end of the file in etypes of the view
    }
  }
}

MpiPositions::Placed MpiPositions::placeOf(std::uint64_t process, const Event& event) {
  Placed placed;
  if (event.handle == nullptr) {
    placed.known = false;
    return placed;
  }
  OpenFile& file = fileOf(process, event);
  placed.session = file.session;
  const std::string_view call = event.row->variant_of;
  Manner& manner = placed.manner;
  manner.interface = model::Interface::kMpiIo;
  manner.collective = call.ends_with("_all") || call.ends_with("_ordered");
  manner.blocking = !call.starts_with("MPI_File_i");
  manner.has_view = file.has_view;
  manner.etype_bytes = static_cast<std::uint64_t>(file.view.etype_size);
  std::int64_t etypes = 0;
  if (calls::has(*event.row, Role::kOffset)) {
    manner.pointer = model::PointerKind::kExplicit;
    etypes = argumentOf(event, Role::kOffset);
  } else if (call.ends_with("_shared") || call.ends_with("_ordered")) {
    manner.pointer = model::PointerKind::kShared;
    placed.known = false;
    return placed;
  } else {
    manner.pointer = model::PointerKind::kIndividual;
    placed.known = file.known;
    etypes = file.pointer;
    if (!event.failed) {
      file.pointer += static_cast<std::int64_t>(event.bytes) / file.view.etype_size;
    }
  }
  const std::int64_t view_byte = etypes * file.view.etype_size;
  placed.offset = file.view.inFile(view_byte);
  if (!file.view.isRegular()) {
    placed.nested = true;
  } else if (event.bytes > 0) {
    const auto last = static_cast<std::int64_t>(event.bytes) - 1;
    placed.several_blocks = file.view.inFile(view_byte + last) != placed.offset + last;
  }
  return placed;
}

}  // namespace omnio::phases
