// Thirty variables through HDF5's C++ library, each written and read from its own line of code, in
// several turns, by member functions, a template and a function object: how many call stacks the
// tracer tells apart.
//
//   cxx_stacks_hdf5 FILE
#include <H5Cpp.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "stacks_variables.h"

namespace {

class Output {
 public:
  explicit Output(const std::string& path)
      : file_(path, H5F_ACC_TRUNC, H5::FileCreatPropList::DEFAULT, unbuffered()) {
    H5::DSetCreatPropList creation;
    CHECK(H5Pset_obj_track_times(creation.getId(), 0) >= 0);  // else no two runs write the same
    for (int i = 0; i < kVariables; ++i) {
      const hsize_t elements = hsize_t(elementsOf(i));
      const hsize_t extent[2] = {kTurns, elements};
      rows_.emplace_back(2, extent);
      memory_.emplace_back(1, &elements);
      sets_.push_back(file_.createDataSet("v" + std::to_string(i), H5::PredType::NATIVE_DOUBLE,
                                          rows_.back(), creation));
    }
  }
  virtual ~Output() = default;

  OWN_FRAME virtual void writeFields(int turn);
  OWN_FRAME void writeParticles(int turn);
  template <int levels>
  OWN_FRAME void writeDiagnostics(int turn);
  OWN_FRAME void readTurn(int turn);

 private:
  // Else small parts are written when the file is closed.
  static H5::FileAccPropList unbuffered() {
    H5::FileAccPropList result;
    result.setSieveBufSize(1);
    return result;
  }
  const H5::DataSpace& row(int variable, int turn) {
    const hsize_t start[2] = {hsize_t(turn), 0}, count[2] = {1, hsize_t(elementsOf(variable))};
    rows_[variable].selectHyperslab(H5S_SELECT_SET, count, start);
    return rows_[variable];
  }

  H5::H5File file_;
  std::vector<H5::DataSpace> rows_, memory_;
  std::vector<H5::DataSet> sets_;
};

#define WRITE(v) \
  sets_[v].write(filled(v, turn, 0), H5::PredType::NATIVE_DOUBLE, memory_[v], row(v, turn));
#define READ(v)                                                                     \
  sets_[v].read(emptied(v), H5::PredType::NATIVE_DOUBLE, memory_[v], row(v, turn)); \
  checkRead(v, turn, 0);

void Output::writeFields(int turn) { FIELDS(WRITE) }

void Output::writeParticles(int turn) {
  // Its call goes through code of the standard library.
  const std::function<void(int)> write = [this](int turn) { PARTICLES(WRITE) };
  write(turn);
}

template <int levels>
void Output::writeDiagnostics(int turn) {
  if constexpr (levels > 0) {
    writeDiagnostics<levels - 1>(turn);
    KEEP_FRAME;
  } else {
    DIAGNOSTICS(WRITE)
  }
}

void Output::readTurn(int turn) {
  FIELDS(READ)
  PARTICLES(READ)
  DIAGNOSTICS(READ)
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  {
    Output output(argv[1]);
    for (int turn = 0; turn < turnsOfRun(); ++turn) {
      output.writeFields(turn);
      output.writeParticles(turn);
      output.writeDiagnostics<4>(turn);
    }
    for (int turn = 0; turn < turnsOfRun(); ++turn) output.readTurn(turn);
  }
  std::printf("%d variables\n", kVariables);
  return 0;
}
