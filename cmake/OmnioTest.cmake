# omnio_add_unit_tests(<target> SOURCES <file>... LINK <library>... [TSAN] [MOMENT] [QUICK]
#                      [COST <seconds>])
#
# Builds a GoogleTest program and adds it to ctest as one test. `<program> --gtest_filter=Suite.Name`
# runs one of its tests by hand. The options stand for:
#   TSAN    several threads work in it at once
#   MOMENT  it has processes, threads that race, clocks or signals, so it may fail now and then
#   QUICK   scripts/test.sh runs it under the sanitizers without --all too
# The test has these labels:
#   unit    except where it has the label tsan
#   tsan    with TSAN, in a build with the thread sanitizer
#   moment  with MOMENT: `scripts/test.sh --repeat 10 --busy --label moment` repeats it
#   quick   with QUICK, in a build with the address sanitizer; with QUICK and TSAN, in one with the
#           thread sanitizer alone
#
# omnio_is_unit_test(<target> [QUICK]): the target omnio_unit_tests builds it, with what it depends
# on alone, and omnio_quick_tests builds what is QUICK.
#
# omnio_test_time(<test> <seconds>): what it takes on a quiet machine. ctest begins with what takes
# longest, and ends a test after a hundred times that, but after an hour at least: other work on
# the machine fails no test, and one that hangs does not hold up the others for ever.
function(omnio_test_time test seconds)
  math(EXPR timeout "100 * ${seconds}")
  if(timeout LESS 3600)
    set(timeout 3600)
  endif()
  set_tests_properties(${test} PROPERTIES COST ${seconds} TIMEOUT ${timeout})
endfunction()

# The target of that name, made by the first who asks, builds the program too.
function(omnio_built_by group target)
  if(NOT TARGET ${group})
    add_custom_target(${group})
  endif()
  add_dependencies(${group} ${target})
endfunction()

function(omnio_is_unit_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "QUICK" "" "")
  omnio_built_by(omnio_unit_tests ${target})
  if(arg_QUICK AND NOT OMNIO_SANITIZE STREQUAL "thread")
    omnio_built_by(omnio_quick_tests ${target})
  endif()
endfunction()

function(omnio_add_unit_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TSAN;MOMENT;QUICK" "COST" "SOURCES;LINK")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LINK} omnio_host_options GTest::gtest_main)
  # The tests' own code is run once, and compiled in half the time: what it tests is optimized.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)

  if(arg_TSAN AND NOT OMNIO_SANITIZE STREQUAL "thread")
    set(arg_QUICK OFF)
  endif()
  set(labels unit)
  set(quick "")
  if(arg_QUICK)
    set(quick QUICK)
  endif()
  omnio_is_unit_test(${target} ${quick})
  if(OMNIO_SANITIZE STREQUAL "thread")
    if(arg_TSAN)
      set(labels tsan)
      # The thread sanitizer's tests need a small part of the tree.
      omnio_built_by(omnio_tsan_tests ${target})
      if(arg_QUICK)
        omnio_built_by(omnio_quick_tests ${target})
      endif()
    else()
      set(arg_QUICK OFF)
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
  if(arg_MOMENT)
    list(APPEND labels moment)
  endif()
  if(arg_QUICK AND OMNIO_SANITIZE)
    list(APPEND labels quick)
  endif()
  # A process for each test would take longer to start than most of them take.
  add_test(NAME ${target} COMMAND ${target} --gtest_brief=1)
  set_tests_properties(${target} PROPERTIES LABELS "${labels}")
  if(NOT arg_COST)
    set(arg_COST 5)
  endif()
  if(OMNIO_SANITIZE)
    math(EXPR arg_COST "6 * ${arg_COST}")
  endif()
  omnio_test_time(${target} ${arg_COST})
endfunction()
