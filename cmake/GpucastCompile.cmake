# How every target of the project is compiled.
#
#   gpucast_compile(target [PLAIN])    warnings, sanitizers and processor for one target; PLAIN: it
#                                      computes nothing that takes long
#   gpucast_tests(target [options])    the same for a program of GoogleTest's, whose tests CTest then
#                                      knows; options are gtest_discover_tests's. The target
#                                      cpp_tests is all of them, which pip does not build
#
# Applied target by target, so that code of others (GoogleTest, nanobind) is
# compiled as its authors meant.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the static libraries go into Python modules too
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # for clang-tidy and editors

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(GPUCAST_CCACHE ccache)
mark_as_advanced(GPUCAST_CCACHE)
if(GPUCAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${GPUCAST_CCACHE}")
endif()

# Sanitizers change the ABI of instrumented containers and link their own
# runtime, so they hold for the whole build tree.
if(GPUCAST_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${GPUCAST_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  # What AddressSanitizer sees as well, checked at every reference in Eigen, makes compiling three
  # times slower.
  if(GPUCAST_SANITIZE MATCHES "undefined")
    add_compile_options(
      "$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,object-size,vptr>")
  endif()
  add_link_options("-fsanitize=${GPUCAST_SANITIZE}")
endif()

function(gpucast_compile target)
  set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  # GCC 12 sees overlapping copies in std::string where there are none (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND warnings -Wno-restrict)
  endif()
  # nvcc hands the host compiler generated code, which the pedantic ones reject.
  set(cuda_warnings -Xcompiler=-Wall,-Wextra)
  if(GPUCAST_WERROR)
    list(APPEND warnings -Werror)
    list(APPEND cuda_warnings -Werror=all-warnings)
  endif()
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_warnings}>"
    "$<$<AND:$<BOOL:${GPUCAST_NATIVE}>,$<COMPILE_LANGUAGE:CXX>>:-march=native>")
  # GCC 12 compiles command lines and JSON in two thirds of the time that -O3 takes.
  if("PLAIN" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE
      "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>")
  endif()
  # Several sources at once: their headers, and what templates become, are compiled once for all.
  # Four sources of mdapp's program, -O2, GCC 12: 2.9 s of one core, 6.3 s one by one.
  # Names must then differ within a target, also those in unnamed namespaces.
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(GPUCAST_UNITY AND count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(gpucast_tests target)
  target_link_libraries(${target} PRIVATE GTest::gtest_main)
  gpucast_compile(${target})
  # What is tested is then compiled once, as it is installed; tests wait for their compiler.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  gpucast_for_tests(${target})
  gtest_discover_tests(${target} ${ARGN})
endfunction()

function(gpucast_for_tests target)
  if(NOT TARGET cpp_tests)
    add_custom_target(cpp_tests)
  endif()
  add_dependencies(cpp_tests ${target})
  if(SKBUILD)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
