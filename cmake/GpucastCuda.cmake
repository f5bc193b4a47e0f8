# CUDA where there is a compiler for it.
#
#   GPUCAST_HAS_CUDA      whether CUDA sources can be added
#   gpucast_cuda(target)  how a target with CUDA sources is compiled and linked
#
# The runtime is linked shared (libcudart.so.13 or .12), because a remote-GPU
# client takes its place at run time. Architectures: machine code for 8.x and
# 9.0, and 9.0's PTX for whatever comes later; override with
# -DCMAKE_CUDA_ARCHITECTURES=... (`native`: the GPUs of this machine).

include_guard(GLOBAL)

set(GPUCAST_HAS_CUDA OFF)
if(GPUCAST_CUDA STREQUAL "OFF")
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  # The one place that knows which compiler is preferred.
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/nvcc.sh"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE missing)
  if(missing AND GPUCAST_CUDA STREQUAL "AUTO")
    message(STATUS "No CUDA compiler (nvcc 12.4 or newer): building without the CUDA parts")
    return()
  elseif(missing)
    message(FATAL_ERROR "GPUCAST_CUDA=ON, but no nvcc 12.4 or newer: set CUDACXX, or run scripts/setup.sh cuda")
  endif()
  set(CMAKE_CUDA_COMPILER "${found}" CACHE FILEPATH "CUDA compiler")
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(CMAKE_CUDA_ARCHITECTURES "80-real;90" CACHE STRING "GPU architectures to compile for")
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)
# After the language: its own first compilation fails on a standard set before.
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
set(GPUCAST_HAS_CUDA ON)

function(gpucast_cuda target)
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
  target_link_libraries(${target} PRIVATE CUDA::cudart)
  # RUNPATH, not RPATH: LD_LIBRARY_PATH then still decides which runtime is
  # loaded. Set by hand, because CMake leaves folders inside the source tree
  # (.venv) out of the path it would write.
  target_link_options(${target} PRIVATE LINKER:--enable-new-dtags)
  set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
endfunction()
