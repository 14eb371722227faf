# The libraries below omnio's own libraries. This file is installed beside omnioConfig.cmake and
# included by it, so that a build of omnio and a build with omnio find them in one way.
#
# To link: Threads::Threads OpenMP::OpenMP_CXX fmt::fmt omnio_external::rapidjson
#          omnio_external::zstd omnio_external::xxhash

# omnio_require(<name> PACKAGE <Debian package> [LIBRARY <name>] [HEADER <header>])
# Finds a package by its CMake file; or, with HEADER, a header and a library by their names, since
# what distributions add for CMake differs; and makes omnio_external::<name> of them. What is not
# found is gathered in the variable OMNIO_MISSING of the caller, so that one message can name all.
function(omnio_require name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;LIBRARY;HEADER" "")
  set(found OFF)
  if(NOT arg_HEADER)
    find_package(${name} QUIET GLOBAL)
    if(${name}_FOUND)
      set(found ON)
    endif()
  elseif(TARGET omnio_external::${name})
    set(found ON)
  else()
    find_path(OMNIO_${name}_INCLUDE_DIR ${arg_HEADER})
    mark_as_advanced(OMNIO_${name}_INCLUDE_DIR)
    if(arg_LIBRARY)
      find_library(OMNIO_${name}_LIBRARY ${arg_LIBRARY})
      mark_as_advanced(OMNIO_${name}_LIBRARY)
    endif()
    if(OMNIO_${name}_INCLUDE_DIR AND (NOT arg_LIBRARY OR OMNIO_${name}_LIBRARY))
      set(found ON)
      add_library(omnio_external::${name} INTERFACE IMPORTED GLOBAL)
      target_include_directories(omnio_external::${name} SYSTEM
                                 INTERFACE "${OMNIO_${name}_INCLUDE_DIR}")
      if(arg_LIBRARY)
        target_link_libraries(omnio_external::${name} INTERFACE "${OMNIO_${name}_LIBRARY}")
      endif()
    endif()
  endif()
  if(NOT found)
    set(OMNIO_MISSING ${OMNIO_MISSING} "${name} (Debian: ${arg_PACKAGE})" PARENT_SCOPE)
  endif()
endfunction()

set(OMNIO_MISSING "")
omnio_require(Threads PACKAGE libc6-dev)
omnio_require(fmt PACKAGE libfmt-dev)
omnio_require(rapidjson PACKAGE rapidjson-dev HEADER rapidjson/reader.h)
omnio_require(zstd PACKAGE libzstd-dev HEADER zstd.h LIBRARY zstd)
omnio_require(xxhash PACKAGE libxxhash-dev HEADER xxhash.h)
omnio_require(OpenMP PACKAGE libgomp1)
