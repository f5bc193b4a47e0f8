# nlohmann/json, as the target nlohmann_json::nlohmann_json of the folder that includes this.
find_package(nlohmann_json QUIET)
if(NOT TARGET nlohmann_json::nlohmann_json)
  # One header; some systems bring it without CMake's description.
  find_path(GPUCAST_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE "${GPUCAST_JSON_INCLUDE}")
endif()
