# Run behind the linking of a test program: writes the file that ctest reads, with an entry for each suite of the program
# and not for each test, since starting a program costs more than most tests take.
#   cmake -DROOM=… -DPROGRAM=… -DOUTPUT=… -DMOST=… -DAPART=REGEX -P cmake/suites.cmake
# An entry is called `room/Suite`; a suite of more than MOST tests is dealt out to several, `room/Suite 1 of 3`, and one
# whose name matches APART has an entry for each test. What a suite's tests share they compute once an entry.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result TIMEOUT 60)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: ended with ${result}\n${listed}")
endif()

set(entries "")
# entry(NAME FILTER COST [PART PARTS]): skipped where all of its tests were, that is where no test has passed and nothing
# but names of skipped ones follows: where some have failed, they are named behind. What costs more begins earlier.
function(entry name filter cost)
  set(dealt "")
  if(ARGC EQUAL 5)
    set(dealt " ENVIRONMENT \"GTEST_SHARD_INDEX=${ARGV3};GTEST_TOTAL_SHARDS=${ARGV4}\"")
  endif()
  set(name "[==[${ROOM}/${name}]==]")
  string(APPEND entries "add_test(${name} [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==])\n"
         "set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_REGULAR_EXPRESSION"
         " [==[\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)*$]==]"
         " COST ${cost}${dealt})\n")
  set(entries "${entries}" PARENT_SCOPE)
endfunction()

# suite(NAME TESTS...)
function(suite name)
  list(LENGTH ARGN count)
  if(name MATCHES "${APART}")
    foreach(test ${ARGN})
      entry(${name}.${test} ${name}.${test} 30)
    endforeach()
  elseif(count LESS_EQUAL MOST)
    entry(${name} "${name}.*" 0)
  else()
    math(EXPR parts "(${count} + ${MOST} - 1) / ${MOST}")
    math(EXPR last "${parts} - 1")
    foreach(part RANGE ${last})
      math(EXPR shown "${part} + 1")
      entry("${name} ${shown} of ${parts}" "${name}.*" 10 ${part} ${parts})
    endforeach()
  endif()
  set(entries "${entries}" PARENT_SCOPE)
endfunction()

# A suite's line is its name and a dot; its tests' lines are indented. What a parameter is stands behind a #.
string(REGEX REPLACE "[][;]" "_" listed "${listed}")
string(REPLACE "\n" ";" listed "${listed}")
set(name "")
foreach(line ${listed})
  string(REGEX REPLACE " *#.*" "" line "${line}")
  if(line MATCHES "^  ([^ ]+)$")
    list(APPEND tests ${CMAKE_MATCH_1})
  elseif(line MATCHES "^([^ ]+)\\.$")
    set(next ${CMAKE_MATCH_1})
    if(NOT name STREQUAL "")
      suite(${name} ${tests})
    endif()
    set(name ${next})
    set(tests "")
  endif()
endforeach()
if(name STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: expected suites, found\n${listed}")
endif()
suite(${name} ${tests})
file(WRITE ${OUTPUT} "${entries}")
