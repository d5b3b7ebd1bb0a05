// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/scratch_texts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "device/own_threads.hpp"
#include "io/files/joined_files.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::uint64_t first_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t files_of_a_size = 1024;
static_assert(first_bytes % io::joined_files::joint == 0, "files follow each other without an overlap");

constexpr std::size_t max_pieces = 1024;  ///< of one call, as the system allows

}  // namespace

scratch_texts::scratch_texts(std::filesystem::path folder, std::string_view overlap)
    : folder_(std::move(folder)), overlap_(overlap.size()) {
    std::vector<std::string_view> pieces{overlap};
    write_at(0, pieces);
}

scratch_texts::~scratch_texts() {
    constexpr std::size_t threads = 8;
    const auto remove_some = [this](std::size_t thread) {
        std::error_code ignored;
        for (std::size_t i = thread; i < files_.size(); i += threads)
            std::filesystem::remove(path_of(i), ignored);
    };
    try {
        on_threads_of_their_own(std::min(threads, files_.size()), remove_some);
    } catch (const std::exception&) {  // no thread: their folder is removed with them
    }
}

scratch_texts::place scratch_texts::place_of(std::uint64_t at) {
    constexpr std::uint64_t group_bytes = first_bytes * files_of_a_size;
    const auto group = static_cast<unsigned>(std::bit_width(at / group_bytes + 1)) - 1;
    const std::uint64_t bytes = first_bytes << group;
    const std::uint64_t within = at - group_bytes * ((std::uint64_t{1} << group) - 1);
    return {group * files_of_a_size + within / bytes, within % bytes, bytes - within % bytes};
}

std::filesystem::path scratch_texts::path_of(std::size_t file) const {
    return folder_ / fmt::format("texts-{}", file);
}

int scratch_texts::opened(std::size_t file) {
    const std::lock_guard lock(mutex_);
    while (files_.size() <= file) {
        files_.emplace_back();
        files_.back().file = open_file(path_of(files_.size() - 1), O_WRONLY | O_CREAT | O_TRUNC);
    }
    return files_[file].file.number();
}

void scratch_texts::note(std::size_t file, std::uint64_t bytes, std::uint64_t whole) {
    const std::lock_guard lock(mutex_);
    open_one& one = files_[file];
    one.written += bytes;
    if (one.written < whole) return;
    // Network file systems report a full disk only here.
    if (::close(one.file.release()) != 0 && errno != EINTR)
        throw io_error(path_of(file).string(), "cannot write", errno);
}

void scratch_texts::write(std::uint64_t begin, std::span<const document> documents) {
    std::vector<std::string_view> pieces;
    pieces.reserve(documents.size());
    for (const document& d : documents) pieces.emplace_back(d.text);
    write_at(overlap_ + begin, pieces);
}

/// Cuts the pieces at the ends of files.
void scratch_texts::write_at(std::uint64_t at, std::vector<std::string_view>& pieces) {
    std::size_t begin = 0;
    while (begin < pieces.size()) {
        const std::uint64_t left = place_of(at).left;
        std::uint64_t bytes = 0;
        std::size_t end = begin;
        while (end < pieces.size() && end - begin < max_pieces && bytes + pieces[end].size() <= left)
            bytes += pieces[end++].size();
        if (end < pieces.size() && end - begin < max_pieces && bytes < left) {
            std::string_view& cut = pieces[end];
            const std::string_view rest = cut.substr(left - bytes);
            cut = cut.substr(0, left - bytes);
            write_pieces(at, std::span(pieces).subspan(begin, end + 1 - begin));
            cut = rest;
            bytes = left;
        } else if (bytes != 0) {
            write_pieces(at, std::span(pieces).subspan(begin, end - begin));
        }
        at += bytes;
        begin = end;
    }
}

/// Pieces within one file, at most max_pieces, with some bytes.
void scratch_texts::write_pieces(std::uint64_t at, std::span<const std::string_view> pieces) {
    const place where = place_of(at);
    const int number = opened(where.file);
    std::vector<iovec> rest;
    std::uint64_t bytes = 0;
    for (const std::string_view piece : pieces) {
        rest.push_back({const_cast<char*>(piece.data()), piece.size()});
        bytes += piece.size();
    }
    std::uint64_t offset = where.offset;
    for (std::span<iovec> left = rest; !left.empty();) {
        if (left.front().iov_len == 0) {
            left = left.subspan(1);
            continue;
        }
        const ssize_t written =
            ::pwritev(number, left.data(), static_cast<int>(left.size()), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw io_error(path_of(where.file).string(), "cannot write", errno);
        offset += static_cast<std::uint64_t>(written);
        for (auto done = static_cast<std::size_t>(written); done != 0;) {
            iovec& front = left.front();
            const std::size_t some = std::min(done, front.iov_len);
            front = {static_cast<char*>(front.iov_base) + some, front.iov_len - some};
            done -= some;
            if (front.iov_len == 0) left = left.subspan(1);
        }
    }
    note(where.file, bytes, where.offset + where.left);
}

std::vector<scratch_texts::file> scratch_texts::finish() {
    std::vector<file> all;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        all.push_back({path_of(i), files_[i].written});
        if (files_[i].file.is_open() && ::close(files_[i].file.release()) != 0 && errno != EINTR)
            throw io_error(all.back().path.string(), "cannot write", errno);
    }
    return all;
}

}  // namespace quern
