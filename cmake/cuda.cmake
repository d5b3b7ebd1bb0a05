# The GPU back end: CUDA as a second language. The runtime library is linked statically, so that one program
# starts with and without a driver.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # nvcc supports it since 12.0; CMake 3.25 does not
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
if(QUERN_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${QUERN_CCACHE})
endif()
