# One libFuzzer program per *_fuzz.cc.
foreach(source ${PACELINE_FUZZ_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE paceline_outer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
