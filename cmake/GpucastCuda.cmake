# CUDA where there is a compiler for it.
#
#   GPUCAST_HAS_CUDA      whether CUDA sources can be added
#   gpucast_cuda(target)  how a target with CUDA sources, its own or those of a static library, is
#                         compiled and linked; without CUDA, nothing
#
# The runtime is linked shared (libcudart.so.13 or .12), because a remote-GPU
# client takes its place at run time. Architectures: machine code for 8.x and
# 9.0, and 9.0's PTX for whatever comes later; override with
# -DCMAKE_CUDA_ARCHITECTURES=... (`native`: the GPUs of this machine).

include_guard(GLOBAL)

set(GPUCAST_HAS_CUDA OFF)
function(gpucast_cuda target)
  if(NOT GPUCAST_HAS_CUDA)
    return()
  endif()
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
  target_link_libraries(${target} PRIVATE CUDA::cudart)
  # RUNPATH, not RPATH: LD_LIBRARY_PATH then still decides which runtime is
  # loaded. Set by hand, because CMake takes nvcc's own library folder for one
  # that the system's loader searches, and writes no path to it.
  target_link_options(${target} PRIVATE LINKER:--enable-new-dtags)
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
  if(GPUCAST_PORTABLE)
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${GPUCAST_CUDA_PLACES})
  else()
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
  endif()
endfunction()

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
# CMake before 3.26 does not know that nvcc has C++20 (and so its own trial
# compilation fails if the standard is asked for before the language).
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
find_package(CUDAToolkit REQUIRED)
set(GPUCAST_HAS_CUDA ON)
