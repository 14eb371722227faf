// Debian's HDF5, or another, as far as bench/callstack needs it: loaded when it runs, so that
// nothing of it has to be there to build.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "bench/measure.hpp"

namespace omnio::bench {

class Hdf5 {
 public:
  // Empty name: the first of the usual ones that is there.
  explicit Hdf5(const std::string& name);
  Hdf5(const Hdf5&) = delete;
  Hdf5& operator=(const Hdf5&) = delete;

  bool isThere() const { return library_.handle != nullptr; }
  // Calls `action` from inside of an H5Dwrite, as a filter of its data. False when HDF5 fails.
  bool callBelowWrite(const std::filesystem::path& file, const std::function<void()>& action);
  // Calls `action(write)`, where write() is an H5Dwrite of 64 bytes that makes one call of pwrite.
  bool withWrites(const std::filesystem::path& file,
                  const std::function<void(const std::function<void()>&)>& action);

 private:
  using Id = std::int64_t;

  struct Dataset {
    Id file = -1;
    Id space = -1;
    Id set = -1;
  };
  template <typename Result, typename... Values>
  Result call(const char* name, Values... values) const {
    Result (*const function)(Values...) = library_[name];
    return function == nullptr ? static_cast<Result>(-1) : function(values...);
  }
  // A class of property lists, a type: a variable of the library.
  Id id(const char* name) const {
    const void* const place = dlsym(library_.handle, name);
    return place == nullptr ? -1 : *static_cast<const Id*>(place);
  }
  Dataset make(const std::filesystem::path& file, bool is_filtered) const;
  bool write(const Dataset& to, const void* data) const;
  void close(const Dataset& dataset) const;

  Library library_{};
};

}  // namespace omnio::bench
