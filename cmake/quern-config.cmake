# find_package(quern): defines the target quern::quern, and finds the dependencies of Quern's static libraries.
set(quern_CUDA @QUERN_CUDA@)  # whether this build includes the CUDA code
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/quern-targets.cmake)
