# Dependencies of the build only: header-only libraries, and those of the program.
find_path(NLOHMANN_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
find_path(BEAST_INCLUDE_DIR boost/beast/http.hpp REQUIRED)
