# The program with its model; and for those who link it: headers, archive, shared library, a CMake package and a
# pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(STRINGS ${CMAKE_SOURCE_DIR}/include/paceline/paceline.h abi_line REGEX "^#define PACELINE_ABI_VERSION ")
string(REGEX REPLACE "^.* " "" PACELINE_ABI_VERSION ${abi_line})

# All of the archive, of which nothing is seen but what paceline.h declares: neither the rest of it nor what it links.
add_library(paceline_shared SHARED cmake/shared_library.cc)
set_target_properties(paceline_shared PROPERTIES OUTPUT_NAME paceline EXPORT_NAME paceline
                      VERSION ${PROJECT_VERSION} SOVERSION ${PACELINE_ABI_VERSION}
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exported.map)
target_link_libraries(paceline_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,paceline>)
target_link_options(paceline_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exported.map
                    -Wl,--no-undefined)
if(PACELINE_ASAN OR PACELINE_TSAN)
  # A sanitizer's functions are in the program.
  target_link_options(paceline_shared PRIVATE -Wl,-z,undefs)
endif()
target_include_directories(paceline_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(paceline INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(paceline PROPERTIES EXPORT_NAME static)

install(TARGETS paceline_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY models/default DESTINATION ${CMAKE_INSTALL_DATADIR}/paceline/models)
install(DIRECTORY include/paceline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS paceline_shared EXPORT paceline_shared_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS paceline EXPORT paceline_static_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/paceline)
foreach(kind shared static)
  install(EXPORT paceline_${kind}_targets FILE paceline-${kind}.cmake NAMESPACE paceline:: DESTINATION ${package_folder})
endforeach()
configure_package_config_file(cmake/paceline-config.cmake.in ${CMAKE_BINARY_DIR}/paceline-config.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before 1.0 a new minor version may take things away.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/paceline-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/paceline-config.cmake ${CMAKE_BINARY_DIR}/paceline-config-version.cmake
        DESTINATION ${package_folder})

# Found from where the file lies, so that the whole prefix may be moved.
file(RELATIVE_PATH PACELINE_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# What the archive stands on, each by its name and not by its package: FFmpeg's, for one, would ask for all that it
# could be linked with itself.
set(PACELINE_PC_LIBS "-lfmt -llzma -lcrypto -ljpeg -lpng -lwebpdemux -lwebp -lutf8proc")
if(PACELINE_FFMPEG)
  string(APPEND PACELINE_PC_LIBS " -lavformat -lavcodec -lswscale -lavutil")
endif()
string(APPEND PACELINE_PC_LIBS " -lboost_json -lstdc++ -lm -lpthread -ldl")
if(PACELINE_CUDA)
  string(APPEND PACELINE_PC_LIBS " -lcudart_static -lrt")
endif()
foreach(package paceline paceline-static)
  configure_file(cmake/${package}.pc.in ${CMAKE_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
