# Builds that run on machines other than the one that made them (scripts/wheels.sh).
#
#   GPUCAST_PORTABLE      programs and libraries bring the C++ library along, so that they ask
#                         nothing of the machine but glibc, and look for the CUDA runtime where
#                         Python's packages and the toolkit's installer put it
#   GPUCAST_CUDA_PLACES   those folders

include_guard(GLOBAL)

option(GPUCAST_PORTABLE "Build for other machines, too: static C++ library, no path of this one" OFF)
if(NOT GPUCAST_PORTABLE)
  return()
endif()

# _core is loaded beside modules of others, which have C++ libraries of their own: hidden symbols
# (GpucastCompile) keep them apart. libgcc_s is part of every Linux that has glibc's programs; the
# static one asks for glibc 2.35.
set(portable "${CMAKE_BINARY_DIR}/portable.o")
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -O2 -fPIC
  -c "${CMAKE_CURRENT_LIST_DIR}/portable.cpp" -o "${portable}" COMMAND_ERROR_IS_FATAL ANY)
add_link_options("${portable}" -static-libstdc++ LINKER:--exclude-libs,ALL)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_link_options(LINKER:--wrap=hypot)
endif()

# Licences of what is within, collected by the script.
set(GPUCAST_LICENSES "" CACHE PATH "Licences of others that a wheel has to bring along")
if(SKBUILD AND GPUCAST_LICENSES)
  install(DIRECTORY "${GPUCAST_LICENSES}/" DESTINATION "${SKBUILD_METADATA_DIR}/licenses/others")
endif()

# A wheel with the stable ABI may lie under any Python from 3.12 on, and the place of its packages
# holds the version. What is found first is loaded; LD_LIBRARY_PATH comes before all of them.
set(GPUCAST_CUDA_PLACES "")
foreach(minor RANGE 11 16)
  foreach(packages site-packages dist-packages)
    list(APPEND GPUCAST_CUDA_PLACES
      "$ORIGIN/../lib/python3.${minor}/${packages}/nvidia/cu13/lib")
  endforeach()
endforeach()
list(APPEND GPUCAST_CUDA_PLACES /usr/local/cuda/lib64)
