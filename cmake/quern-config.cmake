# find_package(quern): gives the target quern::quern, and finds what Quern's static libraries stand on.
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/quern-targets.cmake)
