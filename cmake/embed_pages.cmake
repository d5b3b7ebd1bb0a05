# cmake -DPAGES="FILE;…" -DOUTPUT=FILE.cpp -P embed_pages.cmake: writes the files as the
# constants that apps/server/pages.hpp declares.
set(arrays "")
set(entries "")
set(number 0)
foreach(file IN LISTS PAGES)
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  if(extension STREQUAL ".html")
    set(type "text/html; charset=utf-8")
  elseif(extension STREQUAL ".js")
    set(type "text/javascript; charset=utf-8")
  elseif(extension STREQUAL ".css")
    set(type "text/css; charset=utf-8")
  elseif(extension STREQUAL ".svg")
    set(type "image/svg+xml")
  elseif(extension STREQUAL ".json")
    set(type "application/json")
  else()
    message(FATAL_ERROR "${file}: no content type for ${extension}")
  endif()
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  file(READ ${file} bytes HEX)
  file(SHA256 ${file} hash)
  string(SUBSTRING ${hash} 0 24 hash)
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char file_${number}[] = {\n    ${bytes}\n};\n")
  string(APPEND entries "    {\"${path}\", \"${type}\",\n"
         "     {reinterpret_cast<const char*>(file_${number}), sizeof(file_${number})},\n     \"\\\"${hash}\\\"\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Generated from web/ by CMake.
#include \"server/pages.hpp\"

namespace quern::server {
namespace {

${arrays}
const page pages[] = {
${entries}};

}  // namespace

std::span<const page> all_pages() {
    return pages;
}

}  // namespace quern::server
")
