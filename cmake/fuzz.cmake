# One libFuzzer program per *_fuzz.cc; `fuzzers` builds them all.
add_custom_target(fuzzers)
# It stands among files with sockets' headers, which fuzzers do not reach.
set_source_files_properties(src/server/ollama/ollama.cc PROPERTIES COMPILE_OPTIONS -fsanitize=fuzzer-no-link
                            SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
foreach(source ${PACELINE_FUZZ_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE paceline_outer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  # Some read the model that ships with the program.
  target_compile_definitions(${name} PRIVATE PACELINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endforeach()
