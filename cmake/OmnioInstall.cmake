# Installs each target by its kind, so that a folder says nothing about it: programs go to bin,
# preloaded libraries to lib/omnio, static and header libraries to lib with their headers and into
# the package that find_package(omnio) reads. There are two sets of components: "runtime" is enough
# to trace, "devel" is for building on omnio.

# The command line looks for the preloaded libraries in ../lib*/omnio beside its own folder. So a
# multiarch folder (lib/x86_64-linux-gnu) is left to the static libraries.
set(OMNIO_PRELOAD_INSTALL_DIR lib/omnio)
if(NOT CMAKE_INSTALL_LIBDIR MATCHES "/")
  set(OMNIO_PRELOAD_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/omnio)
endif()
set(omnio_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/omnio)

# Folders whose libraries are the inside of a program, or of the tracer: no headers for others.
set(omnio_private_folders trace logging prefetch cli)

function(omnio_install_library target)
  # omnio_core is linked as omnio::core, from the build tree and from the installed package alike.
  string(REGEX REPLACE "^omnio_" "" export_name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  # CMAKE_CXX_STANDARD ends with this build, but the headers are C++20 for their user too.
  target_compile_features(${target} INTERFACE cxx_std_20)
  install(
    TARGETS ${target}
    EXPORT omnioTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT devel
    INCLUDES
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/omnio)
endfunction()

function(omnio_install_folder folder)
  get_property(targets DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
    elseif(type MATCHES "^(MODULE|SHARED)_LIBRARY$")
      install(TARGETS ${target} LIBRARY DESTINATION ${OMNIO_PRELOAD_INSTALL_DIR}
                                        COMPONENT runtime)
    elseif(type MATCHES "^(STATIC|INTERFACE)_LIBRARY$" AND NOT folder IN_LIST omnio_private_folders)
      omnio_install_library(${target})
      if(type STREQUAL "STATIC_LIBRARY")
        # For omnio.pc; the linker wants the user of a library before the library.
        set_property(GLOBAL APPEND_STRING PROPERTY OMNIO_STATIC_LIBRARIES "-l${target};")
      endif()
    endif()
  endforeach()
  # Headers of rooms below a folder are installed with the folder.
  if(NOT folder IN_LIST omnio_private_folders AND NOT folder MATCHES "/")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/"
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/omnio/${folder} COMPONENT devel
            FILES_MATCHING PATTERN "*.hpp" PATTERN "*.def")
  endif()
endfunction()

# Writes the manual pages of a program when it is built, and installs them. The program itself makes
# them, from the definitions of its command line (core/base/manual_page.hpp). A sanitized program may
# not run everywhere, and one for another machine does not run here.
function(omnio_install_manual_pages target)
  if(OMNIO_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
    return()
  endif()
  set(pages "${CMAKE_CURRENT_BINARY_DIR}/man-${target}")
  add_custom_command(
    OUTPUT "${pages}/made"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${pages}"
    COMMAND ${target} --manual-pages "${pages}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${pages}/made"
    DEPENDS ${target}
    COMMENT "Manual pages of ${target}"
    VERBATIM)
  add_custom_target(${target}-manual ALL DEPENDS "${pages}/made")
  install(DIRECTORY "${pages}/" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime
          FILES_MATCHING PATTERN "*.1")
endfunction()

# The same of the scripts of `omnio completion`, each where its shell looks for it.
function(omnio_install_completion target)
  if(OMNIO_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
    return()
  endif()
  set(places_bash bash-completion/completions omnio)
  set(places_zsh zsh/site-functions _omnio)
  set(places_fish fish/vendor_completions.d omnio.fish)
  set(scripts)
  foreach(shell IN ITEMS bash zsh fish)
    list(GET places_${shell} 0 folder)
    list(GET places_${shell} 1 name)
    set(script "${CMAKE_CURRENT_BINARY_DIR}/completion-${shell}/${name}")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/completion-${shell}")
    add_custom_command(
      OUTPUT "${script}"
      COMMAND ${target} completion ${shell} > "${script}"
      DEPENDS ${target}
      COMMENT "Completion of ${target} for ${shell}"
      VERBATIM)
    list(APPEND scripts "${script}")
    install(FILES "${script}" DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT runtime)
  endforeach()
  add_custom_target(${target}-completion ALL DEPENDS ${scripts})
endfunction()

# omnio_install_c_library(<target> <name for pkg-config> <description> <header>)
# A shared library with a header of C, for programs that have nothing else of omnio: it is in the
# component "predict" of find_package(omnio), which asks for no other library.
function(omnio_install_c_library target name description header)
  install(TARGETS ${target} EXPORT omnioPredictTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                               COMPONENT devel)
  install(FILES "${header}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel)
  set(OMNIO_PC_NAME ${name})
  set(OMNIO_PC_DESCRIPTION "${description}")
  get_target_property(OMNIO_PC_LIBRARY ${target} OUTPUT_NAME)
  omnio_install_pc_file("${PROJECT_SOURCE_DIR}/cmake/omnio_c_library.pc.in" ${name})
endfunction()

function(omnio_install_pc_file template name)
  string(REGEX REPLACE "[^/]+" ".." OMNIO_PC_TO_PREFIX "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  configure_file("${template}" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT devel)
endfunction()

function(omnio_install_package)
  include(CMakePackageConfigHelpers)

  # It says nothing outside this build, but the libraries name it.
  omnio_install_library(omnio_host_options)
  foreach(folder IN LISTS omnio_folders)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      omnio_install_folder(${folder})
    endif()
  endforeach()

  foreach(targets omnioTargets omnioPredictTargets)
    install(EXPORT ${targets} NAMESPACE omnio:: DESTINATION ${omnio_cmake_dir} COMPONENT devel)
  endforeach()
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/omnioConfig.cmake.in" "${PROJECT_BINARY_DIR}/omnioConfig.cmake"
    INSTALL_DESTINATION ${omnio_cmake_dir} PATH_VARS CMAKE_INSTALL_BINDIR)
  # Below 1.0 a change of the minor number may change an interface.
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/omnioConfigVersion.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(
    FILES "${PROJECT_BINARY_DIR}/omnioConfig.cmake"
          "${PROJECT_BINARY_DIR}/omnioConfigVersion.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/OmnioLibraryDependencies.cmake"
    DESTINATION ${omnio_cmake_dir}
    COMPONENT devel)

  get_property(libraries GLOBAL PROPERTY OMNIO_STATIC_LIBRARIES)
  list(REMOVE_ITEM libraries "")
  list(REVERSE libraries)
  list(JOIN libraries " " OMNIO_PC_LIBRARIES)
  omnio_install_pc_file("${PROJECT_SOURCE_DIR}/cmake/omnio.pc.in" omnio)

  foreach(document LICENSE README.md CHANGELOG.md ARCHITECTURE.md)
    install(FILES "${PROJECT_SOURCE_DIR}/${document}" DESTINATION ${CMAKE_INSTALL_DOCDIR}
            COMPONENT runtime OPTIONAL)
  endforeach()
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION ${CMAKE_INSTALL_DOCDIR}
          COMPONENT runtime OPTIONAL)
endfunction()
