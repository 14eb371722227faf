# The libraries and tools that omnio is built from. Those which its own libraries need are in
# OmnioLibraryDependencies.cmake, since a user of the installed package needs them as well.
#
# Set for the folders below: OMNIO_HAVE_MPI, OMNIO_HAVE_FORTRAN, and for the
# tracer's MPI flavours the folders of headers OMNIO_OPEN_MPI_INCLUDE_DIR, OMNIO_MPICH_INCLUDE_DIR.

include(OmnioLibraryDependencies)

omnio_require(CLI11 PACKAGE libcli11-dev)
# The log of the host programs.
omnio_require(spdlog PACKAGE libspdlog-dev)
# Protocol Buffers: the timelines of `omnio export`.
omnio_require(protozero PACKAGE libprotozero-dev HEADER protozero/pbf_writer.hpp)
# Boost.Math: quantiles of distributions.
omnio_require(boost PACKAGE libboost-dev HEADER boost/math/distributions/students_t.hpp)
# Linear algebra: the neural network that learns access times.
omnio_require(eigen PACKAGE libeigen3-dev HEADER eigen3/Eigen/Dense)

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

# The binary interface that an mpi.h describes: open_mpi, mpich (also of Cray MPICH, Intel MPI and
# MVAPICH) or an empty word. Every program that includes it needs one of these symbols.
function(omnio_mpi_abi_of folder result)
  set(abi "")
  if(EXISTS "${folder}/mpi.h")
    file(READ "${folder}/mpi.h" header)
    if(header MATCHES "ompi_mpi_comm_world")
      set(abi open_mpi)
    elseif(header MATCHES "MPIR_Dup_fn" AND header MATCHES "0x44000000")
      set(abi mpich)
    endif()
  endif()
  set(${result} "${abi}" PARENT_SCOPE)
endfunction()

# Sets the variable to the folder of a header with that interface: that of the MPI found above, or
# where distributions have one of these names beside another MPI.
function(omnio_find_mpi_header variable abi names)
  if(${variable})
    return()
  endif()
  set(folders ${MPI_C_INCLUDE_DIRS} ${OMNIO_COMPILERS_MPI_DIR})
  foreach(name IN LISTS names)
    foreach(prefix IN LISTS CMAKE_SYSTEM_PREFIX_PATH)
      list(APPEND folders ${prefix}/include/${CMAKE_LIBRARY_ARCHITECTURE}/${name}
           ${prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${name}/include
           ${prefix}/include/${name}-${CMAKE_SYSTEM_PROCESSOR} ${prefix}/lib64/${name}/include)
    endforeach()
  endforeach()
  foreach(folder IN LISTS folders)
    omnio_mpi_abi_of("${folder}" found)
    if(found STREQUAL abi)
      set(${variable} "${folder}" CACHE PATH "Folder of an mpi.h with the interface ${abi}" FORCE)
      return()
    endif()
  endforeach()
endfunction()

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

# A compiler that knows MPI by itself (mpicc, that of a Cray) is asked where its header is.
set(OMNIO_COMPILERS_MPI_DIR "")
if(OMNIO_HAVE_MPI AND NOT MPI_C_INCLUDE_DIRS)
  file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/includes_mpi.c" "#include <mpi.h>\n")
  execute_process(
    COMMAND ${CMAKE_C_COMPILER} -E "${CMAKE_BINARY_DIR}/CMakeFiles/includes_mpi.c"
    OUTPUT_VARIABLE text ERROR_QUIET)
  if(text MATCHES "\"([^\"\n]*)/mpi[.]h\"")
    set(OMNIO_COMPILERS_MPI_DIR "${CMAKE_MATCH_1}")
  endif()
endif()

if(OMNIO_HAVE_MPI)
  omnio_find_mpi_header(OMNIO_OPEN_MPI_INCLUDE_DIR open_mpi "openmpi")
  omnio_find_mpi_header(OMNIO_MPICH_INCLUDE_DIR mpich "mpich")
  mark_as_advanced(OMNIO_OPEN_MPI_INCLUDE_DIR OMNIO_MPICH_INCLUDE_DIR)
  if(NOT OMNIO_OPEN_MPI_INCLUDE_DIR AND NOT OMNIO_MPICH_INCLUDE_DIR)
    if(OMNIO_WITH_MPI STREQUAL "ON")
      set(kind FATAL_ERROR)
    else()
      set(kind WARNING)
    endif()
    message(${kind} "No mpi.h with the binary interface of Open MPI or of MPICH was found; "
                    "OMNIO_OPEN_MPI_INCLUDE_DIR or OMNIO_MPICH_INCLUDE_DIR says where it is. Without "
                    "one the tracer has no MPI flavours.")
  endif()
endif()

# MPICH beside the MPI that omnio is built with: the tests run with both.
set(OMNIO_TEST_MPICH OFF)
if(OMNIO_BUILD_TESTS AND OMNIO_MPICH_INCLUDE_DIR
   AND NOT OMNIO_MPICH_INCLUDE_DIR IN_LIST MPI_C_INCLUDE_DIRS
   AND NOT OMNIO_MPICH_INCLUDE_DIR STREQUAL OMNIO_COMPILERS_MPI_DIR)
  find_library(OMNIO_MPICH_LIBRARY mpich)
  find_library(OMNIO_MPICH_FORTRAN_LIBRARY mpichfort)
  mark_as_advanced(OMNIO_MPICH_LIBRARY OMNIO_MPICH_FORTRAN_LIBRARY)
  if(OMNIO_MPICH_LIBRARY)
    set(OMNIO_TEST_MPICH ON)
  endif()
endif()


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
    set(mpi "")
    if(NOT OMNIO_OPEN_MPI_INCLUDE_DIR AND NOT OMNIO_MPICH_INCLUDE_DIR)
      list(APPEND mpi "none")
    endif()
    if(OMNIO_OPEN_MPI_INCLUDE_DIR)
      list(APPEND mpi "Open MPI")
    endif()
    if(OMNIO_MPICH_INCLUDE_DIR)
      list(APPEND mpi "MPICH")
    endif()
    list(JOIN mpi " and " mpi)
    string(PREPEND mpi "for ")
    string(APPEND mpi "; replayer: ${MPI_C_LIBRARIES}")
  endif()
  message(STATUS "omnio ${PROJECT_VERSION}: ${build}")
  message(STATUS "  MPI flavours: ${mpi}")
  message(STATUS "  Fortran: ${OMNIO_HAVE_FORTRAN}, "
                 "tests: ${OMNIO_BUILD_TESTS}, benchmarks: ${OMNIO_BUILD_BENCH}")
endfunction()
