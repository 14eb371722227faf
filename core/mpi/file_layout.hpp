// How a file system lays a file out over its servers, as the trace tells it (the fact "layout." of
// an MPI file; docs/formats/trace.md, "File layout").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::mpi {

// A part of the file that is laid out in one way.
struct LayoutComponent {
  std::uint64_t begin = 0;  // bytes
  std::uint64_t end = 0;    // behind the last one; all ones: the end of the file
  std::uint64_t stripe_bytes = 0;
  std::uint32_t stripes = 0;  // 0: none yet, or the file system's default
  std::string pool;
  std::vector<std::uint32_t> targets;  // by stripe; empty where none are assigned yet
};

struct FileLayout {
  std::string file_system;  // lustre, beegfs, gpfs, ..., or its number in hexadecimal
  std::uint64_t block_bytes = 0;
  std::vector<LayoutComponent> components;  // of file systems that tell; else empty
};

// Nothing when the fact makes no sense. Of a layout that is damaged behind the kind of file system
// the components are missing.
std::optional<FileLayout> parseFileLayout(std::string_view fact);

// The bytes of the attribute lustre.lov: struct lov_mds_md_v1 and _v3, and lov_comp_md_v1 of
// several components (lustre_user.h). Nothing when they are damaged or of another kind.
std::optional<std::vector<LayoutComponent>> parseLustreLayout(std::string_view bytes);

}  // namespace omnio::mpi
