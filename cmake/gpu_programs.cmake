# What checks and measures the CUDA device: programs of their own, since continuous integration has no such device. All
# but gpu_engine need the lowest rooms only, so that compiling and linking them there is quick.
set(kernel_sources ${PACELINE_SOURCES})
list(FILTER kernel_sources INCLUDE REGEX "/src/(base|tensor|kernels)/")
add_library(paceline_kernels STATIC ${kernel_sources} $<TARGET_OBJECTS:paceline_cuda>)
target_include_directories(paceline_kernels PUBLIC ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(paceline_kernels PUBLIC Threads::Threads CUDA::cudart_static)

add_executable(gpu_check tests/gpu/kernels_check.cc tests/gpu/kernels_check_attention.cc
                         tests/gpu/kernels_check_blocks.cc tests/gpu/kernels_check_chain.cc
                         tests/gpu/kernels_check_joined.cc tests/gpu/kernels_check_pages.cc
                         tests/gpu/kernels_check_products.cc tests/gpu/kernels_check_recurrent.cc
                         tests/gpu/kernels_check_rows.cc tests/gpu/kernels_check_walks.cc)
target_include_directories(gpu_check PRIVATE tests/gpu)
target_link_libraries(gpu_check PRIVATE paceline_kernels)

add_executable(
  gpu_engine EXCLUDE_FROM_ALL
  tests/gpu/engine_check.cc tests/gpu/engine_check_choices.cc tests/gpu/engine_check_memory.cc
  tests/gpu/engine_check_models.cc
  tests/gpu/engine_check_pictures.cc tests/gpu/engine_check_rounds.cc)
target_include_directories(gpu_engine PRIVATE tests/gpu)
target_link_libraries(gpu_engine PRIVATE paceline_proof)

add_executable(gpu_bench tests/gpu/kernels_bench.cu tests/gpu/bench_ceilings.cu tests/gpu/bench_clock.cu
                         tests/gpu/bench_model.cu)
set_target_properties(gpu_bench PROPERTIES CUDA_ARCHITECTURES "${cuda_targets}")
target_include_directories(gpu_bench PRIVATE tests/gpu)
target_link_libraries(gpu_bench PRIVATE paceline_kernels)
# The matrix rate that shares are of is cuBLAS's, where it is there.
if(TARGET CUDA::cublas)
  target_compile_definitions(gpu_bench PRIVATE PACELINE_CUBLAS)
  target_link_libraries(gpu_bench PRIVATE CUDA::cublas)
endif()

# For tests/gpu/watchdog.py: takes the device away from the program it is loaded into.
add_library(paceline_provoke MODULE tests/gpu/provoke.cu)
set_target_properties(paceline_provoke PROPERTIES CUDA_ARCHITECTURES "${cuda_targets}")
