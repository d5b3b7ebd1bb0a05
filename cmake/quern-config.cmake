# find_package(quern): gives the target quern::quern, and finds what Quern's static libraries stand on.
set(quern_CUDA @QUERN_CUDA@)  # whether this build has the parts that run on NVIDIA GPUs
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/quern-targets.cmake)
