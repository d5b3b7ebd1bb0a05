# quern_join(TARGET [MOST]): up to QUERN_JOIN source files (or MOST, if that is less) of one folder of the target are compiled
# as one, so that the headers that they share are read and their templates are made once: half of the compiler's time of a
# first build. With 0, as in the preset dev, each file is compiled alone and a changed one is ready sooner.
set(QUERN_JOIN 8 CACHE STRING "Source files of a folder that are compiled as one; 0: each alone")

# Joined files see the names of each other's unnamed namespaces, which a local name may shadow.
if(QUERN_JOIN LESS 2)
  target_compile_options(quern_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>)
endif()

# quern_alone(FILES…): FILES of this folder are not joined, since their unnamed namespaces use names of other files.
function(quern_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(quern_join target)
  if(QUERN_JOIN LESS 2)
    return()
  endif()
  set(most ${QUERN_JOIN})
  if(ARGC GREATER 1 AND ARGV1 LESS most)
    set(most ${ARGV1})
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/.*[.]cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    # Highway compiles a file that includes foreach_target.h once for each instruction set: it stays alone.
    file(STRINGS ${source} targets REGEX "hwy/foreach_target[.]h" LIMIT_COUNT 1)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(targets OR alone)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH folder ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR unit "0${joined_${folder}} / ${most}")
    math(EXPR joined_${folder} "0${joined_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${unit}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes joined files for headers, whose types should not use unnamed namespaces.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
