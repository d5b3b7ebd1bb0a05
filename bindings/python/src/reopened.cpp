// SPDX-License-Identifier: Apache-2.0
#include "reopened.hpp"

#include <array>
#include <cerrno>
#include <fstream>

#include "fingerprint.hpp"
#include "quern/base/error.hpp"

namespace quern::python {

std::string fingerprint_of_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw io_error(file.string(), "cannot open", errno);
    fingerprint made;
    std::vector<char> buffer(std::size_t{1} << 20);
    while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
        made.add({buffer.data(), static_cast<std::size_t>(in.gcount())});
    if (in.bad()) throw io_error(file.string(), "cannot read", errno);
    return made.text();
}

std::string hexadecimal(std::uint64_t number) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (auto at = text.rbegin(); at != text.rend(); ++at, number /= 16) *at = digits[number % 16];
    return text;
}

void check_unchanged(const std::filesystem::path& path, const std::string& checksum,
                     const std::string& expected) {
    if (checksum == expected) return;
    throw invalid_input(path.string(), 0,
                        "has changed since this object was pickled: its checksum is " + checksum +
                            " (expected " + expected + "); open the file again");
}

}  // namespace quern::python
