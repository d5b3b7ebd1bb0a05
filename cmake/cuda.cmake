# The GPU back end: CUDA as a second language. The run-time library is linked statically, so that one program
# starts with and without a driver.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
if(QUERN_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${QUERN_CCACHE})
endif()
enable_language(CUDA)
