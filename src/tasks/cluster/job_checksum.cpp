// SPDX-License-Identifier: Apache-2.0
#include "tasks/cluster/job_checksum.hpp"

#include <algorithm>
#include <system_error>

#include "device/cpu/parallel.hpp"
#include "device/progress_meter.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"

namespace quern::job_files {
namespace {

namespace fs = std::filesystem;

std::uint64_t joined(std::span<const std::uint64_t> pieces) {
    if (pieces.size() == 1) return pieces.front();
    running_checksum all;
    all.add({reinterpret_cast<const char*>(pieces.data()), pieces.size_bytes()});
    return all.value();
}

/// Of a piece of a file. One that became shorter has other checksums.
std::uint64_t checksum_of_piece(const fs::path& path, std::uint64_t begin, progress_meter& meter) {
    constexpr std::size_t at_once = std::size_t{8} << 20;
    const io::mapped_file file(path, io::mapped_file::access::sequential);
    const std::string_view text = file.text();
    const std::size_t end = std::min<std::uint64_t>(begin + checksum_piece, text.size());
    running_checksum checksum;
    for (std::size_t at = begin; at < end; at += at_once) {
        const std::string_view some = text.substr(at, std::min(at_once, end - at));
        checksum.add(some);
        meter.add(some.size());
    }
    return checksum.value();
}

}  // namespace

void job_checksum::add(std::string_view bytes) {
    while (!bytes.empty()) {
        if (in_piece_ == checksum_piece) {
            whole_.push_back(piece_.value());
            piece_ = running_checksum();
            in_piece_ = 0;
        }
        const std::string_view some = bytes.substr(0, checksum_piece - in_piece_);
        piece_.add(some);
        in_piece_ += some.size();
        bytes.remove_prefix(some.size());
    }
}

std::uint64_t job_checksum::value() const {
    std::vector<std::uint64_t> pieces = whole_;
    pieces.push_back(piece_.value());
    return joined(pieces);
}

std::vector<std::uint64_t> checksums_of_files(std::span<const fs::path> files, const context& ctx) {
    struct piece {
        std::size_t file;
        std::uint64_t begin;
    };
    std::vector<piece> pieces;
    std::vector<std::size_t> first;  // of a file, and the end
    std::uint64_t bytes = 0;
    for (const fs::path& file : files) {
        std::error_code failed;
        const std::uint64_t size = fs::file_size(file, failed);
        if (failed) throw io_error(file.string(), "cannot read", failed.value());
        first.push_back(pieces.size());
        bytes += size;
        std::uint64_t at = 0;
        do pieces.push_back({first.size() - 1, at});
        while ((at += checksum_piece) < size);
    }
    first.push_back(pieces.size());
    std::vector<std::uint64_t> of_piece(pieces.size()), of_file;
    progress_meter meter(ctx, "verify", bytes, "bytes");
    cpu_place place(ctx);
    for_each_piece(place, pieces.size(), [&](std::size_t p) {
        of_piece[p] = checksum_of_piece(files[pieces[p].file], pieces[p].begin, meter);
    });
    for (std::size_t i = 0; i < files.size(); ++i)
        of_file.push_back(joined(std::span(of_piece).subspan(first[i], first[i + 1] - first[i])));
    return of_file;
}

}  // namespace quern::job_files
