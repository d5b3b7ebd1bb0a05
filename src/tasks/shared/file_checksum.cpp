// SPDX-License-Identifier: Apache-2.0
#include "tasks/shared/file_checksum.hpp"

#include <algorithm>

#include "io/files/mapped_file.hpp"

namespace quern {

std::uint64_t checksum_of_file(const std::filesystem::path& file, const context& ctx) {
    constexpr std::size_t piece = 8 << 20;
    const io::mapped_file mapped(file, io::mapped_file::access::sequential);
    running_checksum checksum;
    for (std::size_t at = 0; at < mapped.size(); at += piece) {
        ctx.check_stop();
        checksum.add(mapped.text().substr(at, piece));
        ctx.report({"verify", std::min(at + piece, mapped.size()), mapped.size(), "bytes"});
    }
    return checksum.value();
}

}  // namespace quern
