// SPDX-License-Identifier: Apache-2.0
#include "quern/base/error.hpp"

#include <cstddef>
#include <system_error>

namespace quern {
namespace {

std::string at(std::string_view path, std::uint64_t line, std::string_view reason) {
    std::string text(path);
    if (line != 0) text += ':' + std::to_string(line);
    text.append(": ").append(reason);
    // what() would end at a NUL, of an id for example.
    for (std::size_t nul = 0; (nul = text.find('\0', nul)) != std::string::npos; ++nul)
        text.replace(nul, 1, "\\0");
    return text;
}

constexpr std::uint64_t mib = std::uint64_t{1} << 20, gib = std::uint64_t{1} << 30;

/// In a readable unit: whole bytes below a MiB, else one decimal, rounded up on request, so that the amount named
/// suffices.
std::string memory_size(std::uint64_t bytes, bool rounded_up) {
    if (bytes < mib) return std::to_string(bytes) + " bytes";
    const std::uint64_t unit = bytes < gib ? mib : gib;
    const std::uint64_t whole = bytes / unit, rest = bytes % unit;
    const std::uint64_t tenths = whole * 10 + (rest * 10 + (rounded_up ? unit - 1 : 0)) / unit;
    const std::string fraction = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
    return std::to_string(tenths / 10) + fraction + (unit == mib ? " MiB" : " GiB");
}

}  // namespace

invalid_input::invalid_input(std::string_view path, std::uint64_t line, std::string_view reason)
    : error(at(path, line, reason)), path_(path), line_(line), reason_(reason) {}

io_error::io_error(std::string_view path, std::string_view action, int code)
    : error(std::string(path) + ": " + std::string(action) + ": " + std::generic_category().message(code)),
      code_(code) {}

out_of_memory::out_of_memory(std::string_view what_for, std::uint64_t requested_bytes,
                             std::uint64_t free_bytes)
    : error(std::string(what_for) + " needs " + memory_size(requested_bytes, true) + " of memory; " +
            (requested_bytes < mib && free_bytes < mib ? std::to_string(free_bytes)
                                                       : memory_size(free_bytes, false)) +
            " are free") {}

damaged_store::damaged_store(std::string_view path, std::string_view section, std::string_view reason)
    : error(std::string(path) + ": section " + std::string(section) + ": " + std::string(reason)),
      section_(section) {}

interrupted::interrupted(int signal) : error("interrupted"), signal_(signal) {}

}  // namespace quern
