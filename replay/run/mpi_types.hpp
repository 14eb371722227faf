// MPI datatypes of their text (docs/formats/trace.md, "Types"), made by the calls that the text
// names.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"

namespace omnio::replay {

// Frees it at the end, unless it is a predefined one.
class OwnType {
 public:
  OwnType() = default;
  explicit OwnType(MPI_Datatype type, bool is_own) : type_(type), is_own_(is_own) {}
  OwnType(OwnType&& other) noexcept : type_(other.type_), is_own_(other.is_own_) {
    other.is_own_ = false;
  }
  OwnType& operator=(OwnType&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(is_own_, other.is_own_);
    return *this;
  }
  OwnType(const OwnType&) = delete;
  OwnType& operator=(const OwnType&) = delete;
  ~OwnType() {
    if (is_own_) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  bool is_own_ = false;
};

// Committed. Fails with the byte of the text where it cannot be read, or the library's reason.
base::Result<OwnType> makeMpiType(std::string_view text);
// `bytes` bytes in a row, however many.
OwnType makeBytes(std::uint64_t bytes);

// Hints as "key=value;key=value"; MPI_INFO_NULL where there are none.
class OwnInfo {
 public:
  explicit OwnInfo(std::string_view hints);
  OwnInfo(const OwnInfo&) = delete;
  OwnInfo& operator=(const OwnInfo&) = delete;
  ~OwnInfo() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

// The library's words for an error code.
std::string mpiErrorText(int code);

}  // namespace omnio::replay
