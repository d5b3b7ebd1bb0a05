// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/kept_output.hpp"

#include <algorithm>

#include "io/byte_source.hpp"
#include "quern/tasks/output_file.hpp"

namespace quern {

namespace fs = std::filesystem;

written_file describe_written(const fs::path& path, const context& ctx) {
    constexpr std::size_t piece_bytes = 1 << 20;
    const auto from = io::open_raw_bytes(path, ctx);
    hash128_stream checksum;
    written_file found;
    std::string piece(piece_bytes, '\0');
    while (const std::size_t got = from->read(piece)) {
        checksum.append(std::string_view(piece).substr(0, got));
        found.bytes += got;
        ctx.check_stop();
    }
    found.checksum = checksum.hex();
    return found;
}

kept_output::kept_output(const fs::path& path, form how, const context& ctx) : file_(path) {
    const auto to_file = [this](std::string_view bytes) {
        checksum_.append(bytes);
        file_.append(bytes);
    };
    if (how == form::as_it_is || !is_compressed_name(path)) return;
    const std::string ending = path.extension().string();
    if (std::ranges::count("gG", ending[1]) != 0) {
        gzip_.emplace(to_file, ctx);
    } else {
        zstd_.emplace(to_file, ctx);
    }
}

void kept_output::append(std::string_view bytes) {
    if (gzip_) return gzip_->append(bytes);
    if (zstd_) return zstd_->append(bytes);
    checksum_.append(bytes);
    file_.append(bytes);
}

written_file kept_output::close() {
    if (gzip_) gzip_->finish();
    if (zstd_) zstd_->finish();
    written_file done{file_.size(), checksum_.hex()};
    file_.close();
    return done;
}

}  // namespace quern
