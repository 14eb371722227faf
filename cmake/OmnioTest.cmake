# omnio_add_unit_tests(<target> SOURCES <file>... LINK <library>... [TSAN])
#
# A GoogleTest program, each of its tests known to ctest by its own name and labelled `unit`. In a
# build with a sanitizer the program is one test. TSAN says that threads meet in it: in a build with
# the thread sanitizer the label is `tsan`.
#
# omnio_is_unit_test(<target>): the target omnio_unit_tests builds it, with what it depends on alone.
include(GoogleTest)

function(omnio_is_unit_test target)
  if(NOT TARGET omnio_unit_tests)
    add_custom_target(omnio_unit_tests)
  endif()
  add_dependencies(omnio_unit_tests ${target})
endfunction()

function(omnio_add_unit_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TSAN" "" "SOURCES;LINK")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} omnio_host_options GTest::gtest_main)

  set(label unit)
  omnio_is_unit_test(${target})
  if(OMNIO_SANITIZE STREQUAL "thread")
    if(arg_TSAN)
      set(label tsan)
      # The thread sanitizer's tests need a small part of the tree.
      if(NOT TARGET omnio_tsan_tests)
        add_custom_target(omnio_tsan_tests)
      endif()
      add_dependencies(omnio_tsan_tests ${target})
    endif()
    # The sanitizer of GCC 12 cannot start where the kernel spreads addresses over more than 28
    # bits, so addresses are not spread where that can be asked for. Some containers forbid it.
    find_program(OMNIO_SETARCH setarch)
    mark_as_advanced(OMNIO_SETARCH)
    if(OMNIO_SETARCH)
      execute_process(COMMAND "${OMNIO_SETARCH}" --addr-no-randomize true
                      RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
      if(NOT refused)
        set_target_properties(${target} PROPERTIES CROSSCOMPILING_EMULATOR
                                                   "${OMNIO_SETARCH};--addr-no-randomize")
      endif()
    endif()
  endif()
  if(OMNIO_SANITIZE)
    # A sanitizer takes longer to start than most tests take.
    add_test(NAME ${target} COMMAND ${target})
    set_tests_properties(${target} PROPERTIES LABELS ${label} TIMEOUT 600)
  else()
    gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${label} TIMEOUT 120)
  endif()
endfunction()
