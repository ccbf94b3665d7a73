# The web console's files, packed into the program. Python alone is needed for that.
enable_language(ASM)
find_package(ZLIB REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB_RECURSE console_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/console/*)
set(console_out ${CMAKE_BINARY_DIR}/console)
add_custom_command(OUTPUT ${console_out}/console_files.S ${console_out}/console_files.cc
                   COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/pack_console ${CMAKE_SOURCE_DIR}/console ${console_out}
                   DEPENDS ${console_sources} ${CMAKE_SOURCE_DIR}/tools/pack_console ${CMAKE_SOURCE_DIR}/tools/console_bundle.py
                           ${CMAKE_SOURCE_DIR}/tools/console_tokens.py ${CMAKE_SOURCE_DIR}/tools/console_vendor.py VERBATIM)
target_sources(paceline_outer PRIVATE ${console_out}/console_files.S ${console_out}/console_files.cc)
target_link_libraries(paceline_outer PUBLIC ZLIB::ZLIB)
