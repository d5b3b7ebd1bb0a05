# Compiler options for every file of the project.
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
  # What ccache needs to cache files that use precompiled headers, also those made a moment before. No source reads
  # __DATE__ or __TIME__.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${QUERN_CCACHE})
endif()

add_library(quern_options INTERFACE)
# The contract "the same bits everywhere": no contraction of a*b+c, IEEE arithmetic as written.
set(QUERN_FLAGS -ffp-contract=off -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wconversion
                -Wno-sign-conversion)
target_compile_options(quern_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${QUERN_FLAGS}>
                                               $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>
                                               $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
                                               $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off,-Wall,-Wextra>)
# Where GCC 12 to 14 inline std::string, they warn about its own memcpy and memset, with sizes that cannot occur (GCC bugs 105329,
# 105651); clang has no such warnings. Their compiler collects garbage from 400 MB on: saves a twentieth of the compile time.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  foreach(flag IN ITEMS -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                        --param=ggc-min-heapsize=400000)
    target_compile_options(quern_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endforeach()
endif()
target_compile_definitions(quern_options INTERFACE _FILE_OFFSET_BITS=64)
if(QUERN_SANITIZE)
  target_compile_options(quern_options INTERFACE -fsanitize=${QUERN_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(quern_options INTERFACE -fsanitize=${QUERN_SANITIZE})
endif()

# Hardening (SECURITY.md): these end the program: a corrupted stack, an indirect jump to an invalid target, an overrun of a
# buffer of known size, and a write to the table of library functions. Not with sanitizers, which find all of these and
# replace the functions that FORTIFY_SOURCE checks.
if(NOT QUERN_SANITIZE)
  include(CheckCXXCompilerFlag)
  include(CheckCXXSourceCompiles)
  foreach(flag IN ITEMS -fstack-protector-strong -fstack-clash-protection -fcf-protection)
    string(MAKE_C_IDENTIFIER "QUERN_HAS${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(quern_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
    endif()
  endforeach()
  # Level 3 also checks sizes known only at run time (GCC 12, clang 9, glibc 2.34).
  set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstring>
    #if __USE_FORTIFY_LEVEL < 3
    #error not known
    #endif
    int main() {}" QUERN_HAS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(fortify 2)
  if(QUERN_HAS_FORTIFY_3)
    set(fortify 3)
  endif()
  target_compile_options(quern_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-U_FORTIFY_SOURCE> $<$<COMPILE_LANGUAGE:CXX>:-D_FORTIFY_SOURCE=${fortify}>)
  target_link_options(quern_options INTERFACE LINKER:-z,relro,-z,now)
endif()
