// SPDX-License-Identifier: Apache-2.0
#include "quern/base/error.hpp"

#include <system_error>

namespace quern {
namespace {

std::string at(std::string_view path, std::uint64_t line, std::string_view reason) {
    std::string text(path);
    if (line != 0) text += ':' + std::to_string(line);
    return text.append(": ").append(reason);
}

}  // namespace

invalid_input::invalid_input(std::string_view path, std::uint64_t line, std::string_view reason)
    : error(at(path, line, reason)), path_(path), line_(line), reason_(reason) {}

io_error::io_error(std::string_view path, std::string_view action, int code)
    : error(std::string(path) + ": " + std::string(action) + ": " + std::generic_category().message(code)),
      code_(code) {}

out_of_memory::out_of_memory(std::string_view what_for, std::uint64_t asked_bytes, std::uint64_t free_bytes)
    : error(std::string(what_for) + " needs " + std::to_string(asked_bytes) + " bytes of memory; " +
            std::to_string(free_bytes) + " are free") {}

damaged_store::damaged_store(std::string_view path, std::string_view section, std::string_view reason)
    : error(std::string(path) + ": section " + std::string(section) + ": " + std::string(reason)),
      section_(section) {}

interrupted::interrupted(int signal) : error("interrupted"), signal_(signal) {}

}  // namespace quern
