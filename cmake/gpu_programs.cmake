# What checks and measures the CUDA device: programs of their own, since continuous integration has no such device.
add_executable(gpu_check tests/gpu/kernels_check.cc)
target_include_directories(gpu_check PRIVATE tests/gpu)
target_link_libraries(gpu_check PRIVATE paceline)

add_executable(gpu_bench tests/gpu/kernels_bench.cu)
set_target_properties(gpu_bench PROPERTIES CUDA_ARCHITECTURES "${cuda_targets}")
target_link_libraries(gpu_bench PRIVATE paceline)
# The matrix rate that shares are of is cuBLAS's, where it is there.
if(TARGET CUDA::cublas)
  target_compile_definitions(gpu_bench PRIVATE PACELINE_CUBLAS)
  target_link_libraries(gpu_bench PRIVATE CUDA::cublas)
endif()
