# quern_precompile(TARGET [HEADERS…]): the standard headers that most files include, and HEADERS, are parsed once for the
# target: a third of the compiler's time of a first build. Sources still include what they use: clang-tidy reads them without
# this (scripts/lint), and so does a build with -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
function(quern_precompile target)
  set(headers <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
              <memory> <mutex> <numeric> <optional> <span> <string> <string_view> <unordered_map> <utility> <vector> ${ARGN})
  list(TRANSFORM headers REPLACE "(.+)>" "$<$<COMPILE_LANGUAGE:CXX>:\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
  # For the compiler cache, which reads preprocessed files.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()
