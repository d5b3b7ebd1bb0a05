// SPDX-License-Identifier: Apache-2.0
#include "io/compression/bzip2_pieces.hpp"

#include <algorithm>

namespace quern::io::bzip2 {

std::shared_ptr<piece> piece_reader::next() {
    std::uint64_t end = 0;
    bool next_begins_block = true;
    scanned_ = std::max(scanned_, start_ + (begins_block_ ? 1 : 0));
    while (true) {
        const std::uint64_t found = find_block(buffer_, scanned_ - base_ * 8);
        if (found != UINT64_MAX) {
            end = base_ * 8 + found;
            break;
        }
        if (buffer_.size() > 6) scanned_ = std::max(scanned_, (base_ + buffer_.size() - 6) * 8);
        if (scanned_ >= start_ + largest_packed_block * 8) {  // damaged, or not bzip2 data
            end = scanned_;
            next_begins_block = false;
            break;
        }
        if (ended_ || !read_more()) {
            end = (base_ + buffer_.size()) * 8;
            if (end == start_) return nullptr;
            break;
        }
    }
    auto result = std::make_shared<piece>();
    result->start_bit = start_;
    result->end_bit = end;
    result->begins_block = begins_block_;
    result->state = begins_block_ ? piece::progress::waiting : piece::progress::done;
    const auto from = static_cast<std::ptrdiff_t>(start_ / 8 - base_);
    const auto to = static_cast<std::ptrdiff_t>((end + 7) / 8 - base_);
    result->packed.reserve(static_cast<std::size_t>(to - from) + padding);
    result->packed.assign(buffer_.begin() + from, buffer_.begin() + to);
    result->packed.resize(result->packed.size() + padding);
    const std::uint64_t keep = end / 8;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(keep - base_));
    base_ = keep;
    start_ = end;
    begins_block_ = next_begins_block;
    return result;
}

bool piece_reader::read_more() {
    constexpr std::size_t more = std::size_t{1} << 17;
    const std::size_t had = buffer_.size();
    buffer_.resize(had + more);
    std::size_t bytes_read = 0;
    try {
        bytes_read = input_.read({reinterpret_cast<char*>(buffer_.data()) + had, more});
    } catch (...) {
        buffer_.resize(had);
        throw;
    }
    buffer_.resize(had + bytes_read);
    ended_ = bytes_read == 0;
    return !ended_;
}

}  // namespace quern::io::bzip2
