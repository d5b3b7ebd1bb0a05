# quern_module(NAME DEPENDS…): one module of src/ as one static library, quern_NAME, of all its .cpp files except those in
# folders named papers. Several of them are compiled as one (joined.cmake).
function(quern_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/papers/")
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(quern_${name} STATIC ${sources})
  target_include_directories(quern_${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:include>
                                           PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(quern_${name} PRIVATE $<BUILD_INTERFACE:quern_options> PUBLIC ${ARGN})
  if(fmt::fmt IN_LIST ARGN)
    quern_precompile(quern_${name} <fmt/format.h>)
  else()
    quern_precompile(quern_${name})
  endif()
  quern_join(quern_${name})
endfunction()

# The environment of every test, for any preset.
set(QUERN_TEST_ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/scripts/tsan.supp"
    CACHE INTERNAL "Environment of every test")

# quern_test(NAME LIBRARIES…): one test program of the .cpp files in tests/NAME, and of its .cu files if the build
# has CUDA; it may include the private headers of src/. The .cpp files are joined (joined.cmake): X_test.cpp has a namespace
# of its own, quern::…::X_test.
function(quern_test name)
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(QUERN_CUDA)
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cu)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(test_${name} PRIVATE quern_options quern_test_folder ${ARGN} GTest::gmock GTest::gtest_main rapidcheck
                                             rapidcheck_gtest)
  quern_precompile(test_${name} <gmock/gmock.h> <gtest/gtest.h> <rapidcheck/gtest.h>)
  quern_join(test_${name} 6)  # a compiler process takes up to 2 GB
  # Tests are compiled more often than they run: saves a quarter of their compile time.
  target_compile_options(test_${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  gtest_discover_tests(test_${name} DISCOVERY_TIMEOUT 120 PROPERTIES LABELS ${name} TIMEOUT 1800
                       ENVIRONMENT "${QUERN_TEST_ENVIRONMENT}")
endfunction()
