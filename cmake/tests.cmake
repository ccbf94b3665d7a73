find_package(GTest REQUIRED)

# suites(ROOM): ctest has an entry for each suite of the room's tests. (A list that is not there yet names what is to be built.)
set(suites_script ${CMAKE_SOURCE_DIR}/cmake/suites.cmake)
function(suites room)
  set(target ${room}_test)
  set(list ${CMAKE_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list}
                     COMMAND ${CMAKE_COMMAND} -DROOM=${room} -DPROGRAM=$<TARGET_FILE:${target}> -DOUTPUT=${list}
                             -DMOST=12 "-DAPART=^(.*/)?(DefaultModel|ShippedModel|SeveralModels|ServerFaults|MediaDecodingTest|RoutedDepth|AdaptiveDepth)$" -P ${suites_script}
                     VERBATIM)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${suites_script})
  set(included ${CMAKE_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${included} "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()

# Other people's headers, read once for all tests.
file(WRITE ${CMAKE_BINARY_DIR}/test_headers.cc "")
add_library(test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
target_link_libraries(test_headers PRIVATE paceline_outer GTest::gtest GTest::gmock)
# Tests read goldens and other files of the project from here; and, where it is there, what stands beside it.
set(test_places PACELINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PACELINE_PROGRAM="$<TARGET_FILE:paceline_program>")
target_compile_definitions(test_headers PRIVATE ${test_places})
set_target_properties(test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(test_headers PRIVATE -fPIE ${quiet_options})  # as programs are compiled
precompile(test_headers ${socket_headers} <gmock/gmock.h> <gtest/gtest.h>)

file(GLOB rooms RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/src/*)
foreach(room ${rooms})
  set(sources ${PACELINE_TEST_SOURCES})
  list(FILTER sources INCLUDE REGEX "/src/${room}/")
  if(sources)
    add_executable(${room}_test ${sources})
    target_link_libraries(${room}_test PRIVATE paceline_outer GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_definitions(${room}_test PRIVATE ${test_places})
    target_compile_options(${room}_test PRIVATE ${quiet_options})
    unity_groups(${room}_test ${sources})
    target_precompile_headers(${room}_test REUSE_FROM test_headers)
    if(NOT PACELINE_ASAN AND NOT PACELINE_TSAN)  # else whole programs are run: tools/run_sanitized
      suites(${room})
    endif()
  endif()
endforeach()
target_link_libraries(proof_test PRIVATE paceline_proof)
target_link_libraries(cli_test PRIVATE paceline_commands)
add_dependencies(cli_test paceline_program)

# What takes minutes: `make test-long`.
add_test(NAME forward_bits_long COMMAND model_test --gtest_filter=*ForwardBits*)
set_tests_properties(forward_bits_long PROPERTIES LABELS long TIMEOUT 3600 ENVIRONMENT PACELINE_TEST_LONG=1)

# The whole matrix of speculation against plain runs, some minutes: `make test-long`.
add_test(NAME speculation_long COMMAND proof_test --gtest_filter=*SpeculationTest.*)
add_test(NAME load_long COMMAND proof_test --gtest_filter=*EngineTest.*:*DeviceRoundTest.*)
add_test(NAME pictures_long COMMAND proof_test --gtest_filter=*PictureIdentity.*)
add_test(NAME default_model_long COMMAND proof_test --gtest_filter=DefaultModel.*)
add_test(NAME goldens_long COMMAND proof_test --gtest_filter=*GoldensTest.*)
add_test(NAME giving_way_long COMMAND proof_test --gtest_filter=*GivingWay.*)
# Two thousand shapes of products for each instruction set.
add_test(NAME products_long COMMAND kernels_test --gtest_filter=*MatmulTest.*)
add_test(NAME choices_long COMMAND sample_test --gtest_filter=Choose.*)
# What formats of keys and values cost over 20,000 positions; 200,000 tokens in each of them, alone and in every company;
# a tiny model behind 100,000 tokens.
add_test(NAME kv_gates_long COMMAND proof_test --gtest_filter=ShippedModel.*:*GoldenKv.*)
add_test(NAME kv_identity_long COMMAND proof_test --gtest_filter=*KvIdentity.*)
add_test(NAME long_context_long COMMAND proof_test --gtest_filter=*LongContext.*)
set_tests_properties(speculation_long load_long pictures_long default_model_long goldens_long giving_way_long products_long choices_long kv_gates_long kv_identity_long
                     long_context_long PROPERTIES LABELS long ENVIRONMENT PACELINE_TEST_LONG=1 TIMEOUT 3600)

find_package(Python3 COMPONENTS Interpreter)
add_test(NAME house COMMAND ${CMAKE_SOURCE_DIR}/tools/check_house ${CMAKE_SOURCE_DIR})
add_test(NAME house_selftest COMMAND ${CMAKE_SOURCE_DIR}/tools/check_house_test)
add_test(NAME suites_selftest COMMAND ${CMAKE_SOURCE_DIR}/tools/check_suites_test)

# `paceline chat` on a pseudo-terminal and in a pipe.
add_test(NAME chat COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/chat/run.py)
set_tests_properties(chat PROPERTIES TIMEOUT 300 ENVIRONMENT PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>)

# The clients that people use against the program; skipped where node, npm or its registry are missing.
add_test(NAME clients COMMAND ${CMAKE_SOURCE_DIR}/tests/clients/run)
set_tests_properties(clients PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
                     ENVIRONMENT PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>)
# Coding agents likewise: hundreds of megabytes, and prompts of 10,000 tokens.
add_test(NAME agents_long COMMAND ${CMAKE_SOURCE_DIR}/tests/clients/run ${CMAKE_SOURCE_DIR}/tests/agents)
set_tests_properties(agents_long PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 1800
                     ENVIRONMENT PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>)
# The web console in Chromium, in parts; skipped where that, node, npm or its registry are missing. Screenshots are left
# in tests/console/shots. Here each page is seen in both themes and each width once; all of them in all widths, and what
# opens in both, in console_long.
set(console_tests_light "light, (360|1440) px")
set(console_tests_dark "dark, (820 px|what opens)")
foreach(part light dark chat content pictures colours speculation benchmark runs monitor log,models languages types,shell settings,keys)
  string(REGEX REPLACE ",.*" "" name console_${part})
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/console/run)
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 COST 50
                       ENVIRONMENT "PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>;CONSOLE_ONLY=${part};CONSOLE_TESTS=${console_tests_${part}}")
endforeach()
add_test(NAME console_long COMMAND ${CMAKE_SOURCE_DIR}/tests/console/run)
set_tests_properties(console_long PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 3600
                     ENVIRONMENT "PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>;CONSOLE_STRICT=1;CONSOLE_ANSWERS=100;CONSOLE_RACES=50")
# A thousand streams and 10,000 broken requests instead of some.
add_test(NAME server_long COMMAND server_test --gtest_filter=ServerFaults.ManyOpenStreams:ServerFaults.MutatedRequests)
set_tests_properties(server_long PROPERTIES LABELS long ENVIRONMENT PACELINE_TEST_LONG=1 TIMEOUT 600)

# The Debian package of this build, unpacked and used; skipped where there are no Debian tools.
if(NOT PACELINE_ASAN AND NOT PACELINE_TSAN)
  add_test(NAME package COMMAND ${CMAKE_SOURCE_DIR}/tests/package/run ${CMAKE_BINARY_DIR})
  set_tests_properties(package PROPERTIES LABELS package SKIP_RETURN_CODE 77 TIMEOUT 300)
  # Installed, and used from there as others would: examples in C, C++ and Python.
  add_test(NAME installed_library COMMAND ${CMAKE_SOURCE_DIR}/tests/library/run ${CMAKE_BINARY_DIR})
  set_tests_properties(installed_library PROPERTIES TIMEOUT 900)
  # What can be left out of a build is left out, and the rest links: most of the program compiled once more.
  add_test(NAME left_out_long COMMAND ${CMAKE_SOURCE_DIR}/tests/library/left_out ${CMAKE_BINARY_DIR}/left_out)
  set_tests_properties(left_out_long PROPERTIES LABELS long TIMEOUT 3600)
endif()

# Strangers beside honest clients: on servers whose memory some prompts fill, and on a roomy one; an hour in
# `make test-long`, and alone, since times count there. (With sanitizers it takes a machine of its own:
# PACELINE_PROGRAM=build/dev/paceline tests/hostile/run.py.)
if(PACELINE_ASAN OR PACELINE_TSAN)
  return()
endif()
set(hostile ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/hostile/run.py)
# What honest texts are is asked once, of a server with memory for them, and is the same on those that have less.
set(expected ${CMAKE_BINARY_DIR}/honest_texts.json)
add_test(NAME hostile_record COMMAND ${hostile} --record ${expected})
add_test(NAME hostile_ring COMMAND ${hostile} --only 0 --seconds 5 --expected ${expected})
add_test(NAME hostile_equal_prompts COMMAND ${hostile} --only 1 --seconds 5 --expected ${expected})
add_test(NAME hostile_mixture COMMAND ${hostile} --only 2 --seconds 18 --expected ${expected})
set_tests_properties(hostile_record PROPERTIES FIXTURES_SETUP honest_texts TIMEOUT 300 COST 60)
set_tests_properties(hostile_ring hostile_equal_prompts hostile_mixture PROPERTIES FIXTURES_REQUIRED honest_texts)
set(hostile_tests hostile_ring hostile_equal_prompts hostile_mixture)
add_test(NAME hostile_long COMMAND ${hostile} --seconds 3600 --strict)
# One at a time: each brings its own crowd.
set_tests_properties(${hostile_tests} PROPERTIES TIMEOUT 900 COST 40 RESOURCE_LOCK hostile)
set_tests_properties(hostile_long PROPERTIES TIMEOUT 6000 LABELS long RUN_SERIAL TRUE)
# Many clients with a part of the memory that they want; texts only, so that it may run beside others. It takes minutes.
set(third ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/load/run.py)
add_test(NAME third_of_memory_long COMMAND ${third} --seconds 3600)
set_tests_properties(third_of_memory_long PROPERTIES TIMEOUT 6000 LABELS long)
# Streams on every wire at once, and a row of requests after which memory is what it was.
set(all_wires ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/load/all_wires.py)
add_test(NAME all_wires COMMAND ${all_wires})
add_test(NAME all_wires_long COMMAND ${all_wires} --streams 1000 --seconds 600 --requests 5000)
set_tests_properties(all_wires PROPERTIES TIMEOUT 600)
set_tests_properties(all_wires_long PROPERTIES TIMEOUT 6000 LABELS long)
set_tests_properties(third_of_memory_long all_wires all_wires_long PROPERTIES ENVIRONMENT
                     PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>)
set_tests_properties(${hostile_tests} hostile_record hostile_long PROPERTIES
                     ENVIRONMENT PACELINE_PROGRAM=$<TARGET_FILE:paceline_program>)
# Some held-out exercises of each kind: where the engine computes something else, the shipped model answers them wrong.
add_test(NAME held_tasks WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
         COMMAND ${Python3_EXECUTABLE} -B -m train.program_tasks --slice --count 4 --program $<TARGET_FILE:paceline_program>)
set_tests_properties(held_tasks PROPERTIES TIMEOUT 600 COST 30)
# What makes the training data, as far as Python's own library goes.
foreach(part generators arithmetic json_extraction code_writing chat)
  add_test(NAME train_${part} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
           COMMAND ${Python3_EXECUTABLE} -B -m unittest train.tests.test_${part})
  set_tests_properties(train_${part} PROPERTIES TIMEOUT 300)
endforeach()
