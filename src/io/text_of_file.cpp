// SPDX-License-Identifier: Apache-2.0
#include "io/text_of_file.hpp"

#include <algorithm>

#include "io/byte_source.hpp"

namespace quern::io {
namespace {

std::vector<char> all_of(byte_source& source) {
    std::vector<char> bytes;
    std::size_t size = 0;
    for (std::size_t step = std::size_t{1} << 20;; step = bytes.size()) {
        bytes.resize(size + step);
        const std::size_t got = source.read({bytes.data() + size, step});
        size += got;
        if (got < step) break;
    }
    bytes.resize(size);
    return bytes;
}

/// Whether a file's bytes are the text itself: open_bytes knows compressed ones by these beginnings.
bool is_plain(std::string_view text) {
    constexpr std::string_view beginnings[] = {"\x1f\x8b", "BZh", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ"};
    const bool skippable = text.size() >= 4 && text.substr(1, 3) == "\x2a\x4d\x18";
    return !skippable &&
           std::ranges::none_of(beginnings, [&](std::string_view first) { return text.starts_with(first); });
}

}  // namespace

text_of_file::text_of_file(const std::filesystem::path& path, const context& run) {
    if (path != "-" && std::filesystem::is_regular_file(path)) {
        file_ = mapped_file(path, mapped_file::access::sequential);
        text_ = file_.text();
    }
    if (text_.data() == nullptr || !is_plain(text_)) {
        decoded_ = all_of(*open_bytes(path, run));
        text_ = {decoded_.data(), decoded_.size()};
    }
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
}

}  // namespace quern::io
