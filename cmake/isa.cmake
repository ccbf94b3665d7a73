# Kernel folders are compiled for their own instruction set; the rest of the program for the base one.
# A folder of another processor family is left out, and its place in the list of tables with it.
set(neon_flags -march=armv8.2-a+fp16+dotprod+i8mm+bf16)
set(avx2_flags -mavx2 -mfma -mf16c)
set(avx512_flags -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx512bf16 -mavx2 -mfma -mf16c)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's own avx512 headers make undefined vectors by `x = x`, and GCC warns of it wherever they are inlined.
  list(APPEND avx512_flags -Wno-uninitialized -Wno-maybe-uninitialized)
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(isa_here neon)
  set(isa_absent avx2 avx512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  set(isa_here avx2 avx512)
  set(isa_absent neon)
else()
  set(isa_here)
  set(isa_absent neon avx2 avx512)
endif()

foreach(isa ${isa_absent})
  list(FILTER PACELINE_SOURCES EXCLUDE REGEX "/kernels/${isa}/")
endforeach()
foreach(isa ${isa_here})
  foreach(source ${PACELINE_SOURCES})
    if(source MATCHES "/kernels/${isa}/")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${${isa}_flags}")
    endif()
  endforeach()
  string(TOUPPER ${isa} isa_upper)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/kernels/cpu_table.cc APPEND PROPERTY COMPILE_DEFINITIONS PACELINE_HAS_${isa_upper})
endforeach()
# The table for processors without i8mm and bf16 must not be given those by the compiler.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/kernels/neon/table_dotprod.cc PROPERTIES COMPILE_OPTIONS
                            "-march=armv8.2-a+dotprod")
