# The choices of a build, and the two sets of compiler options that follow from them:
#   omnio_host_options     libraries, command line, tests: warnings, sanitizers
#   omnio_preload_options  the preloaded tracer: warnings, no exceptions, no RTTI, hidden symbols

option(OMNIO_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(OMNIO_BUILD_BENCH "Build the benchmarks (where Google Benchmark is found)"
       ${PROJECT_IS_TOP_LEVEL})
option(OMNIO_WERROR "Take compiler warnings for errors" OFF)

set(OMNIO_WITH_MPI AUTO CACHE STRING "MPI flavours and MPI tests: AUTO (where MPI is found), ON, OFF")
set_property(CACHE OMNIO_WITH_MPI PROPERTY STRINGS AUTO ON OFF)
if(NOT OMNIO_WITH_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "OMNIO_WITH_MPI is '${OMNIO_WITH_MPI}'; it has to be AUTO, ON or OFF.")
endif()

set(OMNIO_SANITIZE "" CACHE STRING
    "Sanitizers for the host libraries and tests: \"address,undefined\" or \"thread\"")
set_property(CACHE OMNIO_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")
if(NOT OMNIO_SANITIZE MATCHES "^(|address|undefined|address,undefined|thread)$")
  message(FATAL_ERROR "OMNIO_SANITIZE is '${OMNIO_SANITIZE}'; it has to be empty, \"address\", "
                      "\"undefined\", \"address,undefined\" or \"thread\".")
endif()

option(OMNIO_FUZZ "Build the libFuzzer programs of tests/fuzz (clang)" OFF)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The preloaded libraries take in objects of core/wire, and a user may put the static libraries
# into a shared one.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(OMNIO_CCACHE ccache)
  mark_as_advanced(OMNIO_CCACHE)
  if(OMNIO_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER "${OMNIO_CCACHE}")
    set(CMAKE_CXX_COMPILER_LAUNCHER "${OMNIO_CCACHE}")
  endif()
endif()

add_library(omnio_host_options INTERFACE)
add_library(omnio_preload_options INTERFACE)

# The options are for this build alone: $<BUILD_INTERFACE> keeps them out of the exported package.
# A switch over roles, fields or kinds that leaves one out is an error in any build: what it would
# drop is missing from traces or schedules, silently. In a unity build the names of one source's
# unnamed namespace shadow those of another, which means nothing.
set(omnio_warnings -Wall -Wextra $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow> -Werror=switch
                   $<$<BOOL:${OMNIO_WERROR}>:-Werror>)
target_compile_options(
  omnio_host_options
  INTERFACE "$<BUILD_INTERFACE:${omnio_warnings};$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>>")

if(OMNIO_SANITIZE)
  # A report that does not end the program is a test that passes.
  target_compile_options(
    omnio_host_options INTERFACE "$<BUILD_INTERFACE:-fsanitize=${OMNIO_SANITIZE};\
-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  target_link_options(omnio_host_options INTERFACE
                      "$<BUILD_INTERFACE:-fsanitize=${OMNIO_SANITIZE}>")
endif()

# A fuzzer learns from the branches of what it calls, so all libraries report theirs.
if(OMNIO_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "OMNIO_FUZZ needs clang, which has libFuzzer.")
  endif()
  target_compile_options(omnio_host_options
                         INTERFACE $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link>)
endif()

# GCC 12 sees overlapping copies in any `"text" + string` (GCC bug 105651), where there are none.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(omnio_host_options INTERFACE $<BUILD_INTERFACE:-Wno-restrict>)
endif()

# The tracer lives in a stranger's process: no sanitizer runtime, no unwinding through his frames,
# and optimised in every build, since a debug build too has to keep its cost per call.
# Fortified headers would send our own calls through symbols that we intercept, and glibc's inline
# definitions of stream calls (which __NO_INLINE__ leaves out) are second definitions of ours.
target_compile_options(
  omnio_preload_options
  INTERFACE "$<BUILD_INTERFACE:${omnio_warnings};-O2;-U_FORTIFY_SOURCE;-D__NO_INLINE__;\
-fvisibility=hidden;$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions;-fno-rtti;-fvisibility-inlines-hidden>>")

# omnio_uses_rapidjson(<source>...): RapidJSON 1.1 adds to null pointers, which clang's
# undefined-behaviour sanitizer reports.
function(omnio_uses_rapidjson)
  # A source with options of its own is compiled alone, so they are set only where they matter.
  if(OMNIO_SANITIZE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fno-sanitize=pointer-overflow)
  endif()
endfunction()
