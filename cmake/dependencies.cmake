# The libraries that Quern's own libraries link. Installed next to quern-config.cmake, so that a program that
# links Quern finds the same ones. scripts/packages lists the packages.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(ICU REQUIRED COMPONENTS uc i18n data)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(EXPAT REQUIRED)
find_package(Snappy REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(md4c REQUIRED IMPORTED_TARGET md4c)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(brotli REQUIRED IMPORTED_TARGET libbrotlidec)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
# Processors with SSSE3 and nothing above it were last made in 2008; they take the code of SSE2. ARM's SVE runs the code of
# NEON: kernels keep vectors in arrays, which the types of SVE do not allow, and GCC 12 crashes on arm_sve.h in a precompiled
# header.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_definitions(PkgConfig::hwy INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
else()
  target_compile_definitions(PkgConfig::hwy INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)
endif()
if(QUERN_CUDA OR quern_CUDA)
  if(NOT TARGET CUDA::nvToolsExt) # CMake 3.25 (Debian 12) sets a property of it, though CUDA 13 has no such library
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()
find_library(STEMMER_LIBRARY stemmer REQUIRED)
find_path(STEMMER_INCLUDE_DIR libstemmer.h REQUIRED)
find_library(CLD2_LIBRARY cld2 REQUIRED)
find_path(CLD2_INCLUDE_DIR cld2/public/compact_lang_det.h REQUIRED)
