# Kernels for CUDA devices, or a file with the same symbols that says there are none. Hopper's own instructions need a
# target of their own; Ampere's code serves everything else from there on.
if(PACELINE_CUDA)
  list(FILTER PACELINE_SOURCES EXCLUDE REGEX "/kernels/cuda_stub\\.cc$")
  file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernels/cuda/*.cu)
  add_library(paceline_cuda OBJECT ${cuda_sources})
  target_include_directories(paceline_cuda PRIVATE ${CMAKE_SOURCE_DIR}/src)
  set(cuda_targets
      "80-real;80-virtual;90a-real"
      CACHE STRING "what kernels are compiled for; \"90a-real\" alone takes half as long")
  set_target_properties(paceline_cuda PROPERTIES CUDA_ARCHITECTURES "${cuda_targets}")
  # No contraction behind our back, as for the processor.
  target_compile_options(paceline_cuda PRIVATE -fmad=false --expt-relaxed-constexpr)
else()
  list(FILTER PACELINE_SOURCES EXCLUDE REGEX "/kernels/cuda/")
endif()
