# How every file of the project is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(QUERN_CCACHE ccache)
if(QUERN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${QUERN_CCACHE})
endif()

add_library(quern_options INTERFACE)
# The contract "the same bits everywhere": no contraction of a*b+c, IEEE arithmetic as written.
set(QUERN_FLAGS -ffp-contract=off -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion
                -Wno-sign-conversion)
target_compile_options(quern_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${QUERN_FLAGS}>
                                               $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>
                                               $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
                                               $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off,-Wall,-Wextra>)
# GCC 12 to 14 warn about std::string's own memcpy (GCC bug 105651); clang has no such warning.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(quern_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_compile_definitions(quern_options INTERFACE _FILE_OFFSET_BITS=64)
if(QUERN_SANITIZE)
  target_compile_options(quern_options INTERFACE -fsanitize=${QUERN_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(quern_options INTERFACE -fsanitize=${QUERN_SANITIZE})
endif()
