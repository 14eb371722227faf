#include "bench/hdf5_calls.hpp"

namespace omnio::bench {
namespace {

constexpr std::uint64_t kElements = 8;  // of the dataset, doubles
constexpr int kFilter = 300;            // a number for tests
const std::function<void()>* in_filter = nullptr;

size_t filter(unsigned, size_t, const unsigned*, size_t bytes, size_t*, void**) {
  (*in_filter)();
  return bytes;
}

// As H5Z_class2_t has it.
struct FilterClass {
  int version = 1;
  int number = kFilter;
  unsigned has_encoder = 1;
  unsigned has_decoder = 1;
  const char* name = "omnio bench";
  void* can_apply = nullptr;
  void* set_local = nullptr;
  size_t (*function)(unsigned, size_t, const unsigned*, size_t, size_t*, void**) = filter;
};

}  // namespace

Hdf5::Hdf5(const std::string& name) {
  for (const std::string& file :
       name.empty() ? std::vector<std::string>{"libhdf5_serial.so.103", "libhdf5.so.103",
                                               "libhdf5_openmpi.so.103"}
                    : std::vector{name}) {
    library_.handle = dlopen(file.c_str(), RTLD_NOW);
    if (library_.handle != nullptr) break;
  }
  if (library_.handle != nullptr) call<int>("H5open");
}

Hdf5::Dataset Hdf5::make(const std::filesystem::path& file, bool is_filtered) const {
  constexpr unsigned kTruncate = 2;
  Dataset made;
  const Id access = call<Id>("H5Pcreate", id("H5P_CLS_FILE_ACCESS_ID_g"));
  // Small writes go to the file at once.
  call<int>("H5Pset_sieve_buf_size", access, size_t{0});
  made.file = call<Id>("H5Fcreate", file.c_str(), kTruncate, Id{0}, access);
  made.space =
      call<Id>("H5Screate_simple", 1, &kElements, static_cast<const std::uint64_t*>(nullptr));
  const Id creation = call<Id>("H5Pcreate", id("H5P_CLS_DATASET_CREATE_ID_g"));
  const Id set_access = call<Id>("H5Pcreate", id("H5P_CLS_DATASET_ACCESS_ID_g"));
  if (is_filtered) {
    call<int>("H5Pset_chunk", creation, 1, &kElements);
    call<int>("H5Pset_filter", creation, kFilter, 0U, size_t{0},
              static_cast<const unsigned*>(nullptr));
    // Without room for a chunk, each write goes on to the file.
    call<int>("H5Pset_chunk_cache", set_access, size_t{0}, size_t{0}, 1.0);
  }
  made.set = call<Id>("H5Dcreate2", made.file, "data", id("H5T_NATIVE_DOUBLE_g"), made.space, Id{0},
                      creation, set_access);
  return made;
}

bool Hdf5::write(const Dataset& to, const void* data) const {
  return call<int>("H5Dwrite", to.set, id("H5T_NATIVE_DOUBLE_g"), Id{0}, Id{0}, Id{0}, data) >= 0;
}

void Hdf5::close(const Dataset& dataset) const {
  call<int>("H5Dclose", dataset.set);
  call<int>("H5Sclose", dataset.space);
  call<int>("H5Fclose", dataset.file);
}

bool Hdf5::callBelowWrite(const std::filesystem::path& file, const std::function<void()>& action) {
  static const FilterClass kClass;
  in_filter = &action;
  if (call<int>("H5Zregister", static_cast<const void*>(&kClass)) < 0) return false;
  const Dataset dataset = make(file, true);
  const std::array<double, kElements> data{};
  const bool is_written = write(dataset, data.data());
  const std::function<void()> nothing = [] {};
  in_filter = &nothing;
  close(dataset);
  return is_written;
}

bool Hdf5::withWrites(const std::filesystem::path& file,
                      const std::function<void(const std::function<void()>&)>& action) {
  const Dataset dataset = make(file, false);
  const std::array<double, kElements> data{};
  bool is_written = dataset.set >= 0;
  if (is_written) action([&] { is_written &= write(dataset, data.data()); });
  close(dataset);
  return is_written;
}

}  // namespace omnio::bench
