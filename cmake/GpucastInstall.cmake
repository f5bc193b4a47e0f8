# Where things are installed. `pip install .` builds through scikit-build-core
# (which sets SKBUILD); everything then lands in the Python environment.
#
#   GPUCAST_BIN_DIR     programs: .venv/bin, or bin under the prefix
#   GPUCAST_PYTHON      whether Python modules are built
#   GPUCAST_PYTHON_DIR  Python modules and the package's data: the folder gpucast/

include_guard(GLOBAL)

if(SKBUILD)
  set(GPUCAST_BIN_DIR "${SKBUILD_SCRIPTS_DIR}")
  set(GPUCAST_PYTHON ON)
else()
  include(GNUInstallDirs)
  set(GPUCAST_BIN_DIR "${CMAKE_INSTALL_BINDIR}")
  # A plain `cmake` builds what is tested by CTest; the module belongs to pip.
  option(GPUCAST_PYTHON "Build the Python module (needs nanobind)" OFF)
endif()
set(GPUCAST_PYTHON_DIR gpucast)

if(GPUCAST_PYTHON)
  # The second is asked for by builds of a wheel for Python 3.12 and all that follow.
  find_package(Python 3.11 REQUIRED
    COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
  if(NOT nanobind_ROOT)
    execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
      OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  find_package(nanobind CONFIG REQUIRED)

  # Records are installed compressed, 5 MB instead of 24. Traces, which nothing loads by name, stay in
  # the repository.
  set(compressed "")
  foreach(folder published programs measured reconstructed kinds)
    if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/data/${folder}")
      install(DIRECTORY "${PROJECT_SOURCE_DIR}/data/${folder}"
        DESTINATION "${GPUCAST_PYTHON_DIR}/bundled"
        PATTERN "*.jsonl" EXCLUDE PATTERN "*-traces" EXCLUDE)
      file(GLOB datasets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/data/${folder}/*.jsonl")
      foreach(dataset IN LISTS datasets)
        cmake_path(GET dataset FILENAME name)
        set(file "${PROJECT_BINARY_DIR}/bundled/${folder}/${name}.gz")
        add_custom_command(OUTPUT "${file}" DEPENDS "${dataset}"
          COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/compress.py" "${dataset}" "${file}")
        list(APPEND compressed "${file}")
        install(FILES "${file}" DESTINATION "${GPUCAST_PYTHON_DIR}/bundled/${folder}")
      endforeach()
    endif()
  endforeach()
  add_custom_target(gpucast_bundled ALL DEPENDS ${compressed})
  install(FILES "${PROJECT_SOURCE_DIR}/records/gpucast.record.schema.json"
    DESTINATION "${GPUCAST_PYTHON_DIR}/bundled" OPTIONAL)
endif()
