// SPDX-License-Identifier: Apache-2.0
#include "io/files/spooled_file.hpp"

#include <string>

#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"

namespace quern::io {

mapped_file spooled(byte_source& source, const context& ctx) {
    constexpr std::size_t piece_bytes = 1 << 20;
    scratch_folder folder(ctx);
    file_writer writer(folder.file("input"));
    std::string piece(piece_bytes, '\0');
    while (const std::size_t count = source.read(piece)) {
        ctx.check_stop();
        folder.take(count);
        writer.append({piece.data(), count});
    }
    writer.close();
    return mapped_file(writer.path());
}

}  // namespace quern::io
