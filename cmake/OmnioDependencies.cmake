# The libraries and tools that omnio is built from. Those which its own libraries need are in
# OmnioLibraryDependencies.cmake, since a user of the installed package needs them as well.
#
# Set for the folders below: OMNIO_HAVE_MPI, OMNIO_HAVE_OPENMP, OMNIO_HAVE_FORTRAN.

include(OmnioLibraryDependencies)

omnio_require(CLI11 PACKAGE libcli11-dev)

if(OMNIO_BUILD_TESTS)
  omnio_require(GTest PACKAGE libgtest-dev)
  include(OmnioTest)
  find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    list(APPEND OMNIO_MISSING "Python 3.9 (Debian: python3)")
  endif()
endif()
if(OMNIO_MISSING)
  list(JOIN OMNIO_MISSING ", " missing)
  message(FATAL_ERROR "Not found: ${missing}. On Debian scripts/setup.sh installs what is missing.")
endif()

if(OMNIO_BUILD_BENCH)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    message(STATUS "Google Benchmark not found (Debian: libbenchmark-dev): no benchmarks")
    set(OMNIO_BUILD_BENCH OFF)
  endif()
endif()

# Fortran is used by test programs alone: a machine without a compiler skips them.
include(CheckLanguage)
check_language(Fortran)
set(OMNIO_HAVE_FORTRAN OFF)
if(CMAKE_Fortran_COMPILER)
  enable_language(Fortran)
  set(OMNIO_HAVE_FORTRAN ON)
endif()

set(OMNIO_HAVE_MPI OFF)
if(NOT OMNIO_WITH_MPI STREQUAL "OFF")
  # The C interface alone: the C++ bindings have left the standard.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(OMNIO_HAVE_MPI ON)
  elseif(OMNIO_WITH_MPI STREQUAL "ON")
    message(FATAL_ERROR "OMNIO_WITH_MPI is ON, but no MPI was found (Debian: libopenmpi-dev). "
                        "With OMNIO_WITH_MPI=OFF everything but the MPI flavours is built.")
  endif()
endif()

find_package(OpenMP QUIET COMPONENTS CXX)
set(OMNIO_HAVE_OPENMP ${OpenMP_CXX_FOUND})

function(omnio_print_summary)
  set(build "${CMAKE_BUILD_TYPE}")
  if(OMNIO_SANITIZE)
    string(APPEND build ", sanitizers ${OMNIO_SANITIZE}")
  endif()
  if(OMNIO_WERROR)
    string(APPEND build ", warnings are errors")
  endif()
  set(mpi "no")
  if(OMNIO_HAVE_MPI)
    set(mpi "yes (${MPI_C_LIBRARIES})")
  endif()
  message(STATUS "omnio ${PROJECT_VERSION}: ${build}")
  message(STATUS "  MPI flavours: ${mpi}")
  message(STATUS "  OpenMP: ${OMNIO_HAVE_OPENMP}, Fortran: ${OMNIO_HAVE_FORTRAN}, "
                 "tests: ${OMNIO_BUILD_TESTS}, benchmarks: ${OMNIO_BUILD_BENCH}")
endfunction()
