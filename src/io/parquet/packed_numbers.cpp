// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/packed_numbers.hpp"

#include <array>

namespace quern::io::parquet {

hybrid_decoder::hybrid_decoder(std::string_view bytes, unsigned width) : in_(bytes), width_(width) {
    if (width > 32) throw fault("packed numbers of more than 32 bits");
}

std::size_t hybrid_decoder::next_part(std::uint64_t max) {
    while (left_ == 0) {
        if (in_.left() == 0) throw fault("packed numbers end early");
        const std::uint64_t head = in_.varint();
        taken_ = 0;
        packed_ = (head & 1) != 0;
        if (packed_) {
            constexpr std::uint64_t max_groups = std::uint64_t{1} << 32;
            const std::uint64_t groups = head >> 1;
            if (groups > max_groups) throw fault("packed numbers of an impossible count");
            // The last group may lack what is not used.
            const std::string_view bytes = in_.take(std::min<std::uint64_t>(groups * width_, in_.left()));
            group_ = bit_string(bytes, width_);
            left_ = groups * 8;
            if (width_ != 0) left_ = std::min<std::uint64_t>(left_, bytes.size() * 8 / width_);
        } else {
            left_ = head >> 1;
            repeated_ = 0;
            const std::string_view bytes = in_.take((width_ + 7) / 8);
            std::memcpy(&repeated_, bytes.data(), bytes.size());
        }
    }
    return static_cast<std::size_t>(std::min(left_, max));
}

std::uint64_t hybrid_decoder::skip(std::uint64_t count, std::uint32_t wanted) {
    std::uint64_t equal = 0;
    while (count != 0) {
        const std::size_t part = next_part(count);
        if (packed_) {
            for (std::size_t i = 0; i < part; ++i)
                equal += static_cast<std::uint64_t>(group_.at(taken_ + i) == wanted);
        } else if (repeated_ == wanted) {
            equal += part;
        }
        advance(part);
        count -= part;
    }
    return equal;
}

delta_decoder::delta_decoder(std::string_view bytes) : in_(bytes) {
    constexpr std::uint64_t max_block = 1 << 20;
    const std::uint64_t block = in_.varint();
    parts_a_block_ = in_.varint();
    total_ = in_.varint();
    value_ = static_cast<std::uint64_t>(in_.zigzag());
    if (block == 0 || block > max_block || parts_a_block_ == 0 || parts_a_block_ > block)
        throw fault("differences in blocks of an impossible size");
    part_numbers_ = block / parts_a_block_;
    if (part_numbers_ * parts_a_block_ != block || part_numbers_ % 8 != 0)
        throw fault("differences in blocks of an impossible size");
}

void delta_decoder::begin_block() {
    least_ = static_cast<std::uint64_t>(in_.zigzag());
    widths_ = in_.take(parts_a_block_);
}

void delta_decoder::begin_part() {
    if (widths_.empty()) begin_block();
    const auto width = static_cast<unsigned char>(widths_.front());
    if (width > 64) throw fault("differences of more than 64 bits");
    widths_.remove_prefix(1);
    const std::string_view bytes = in_.take(part_numbers_ / 8 * width);
    part_ = bit_string(bytes, width);
    left_in_part_ = part_numbers_;
}

std::string_view delta_decoder::bytes_after(std::string_view bytes) {
    delta_decoder scan(bytes);
    // The parts of a block after its last number have no bytes.
    for (std::uint64_t left = scan.total_ == 0 ? 0 : scan.total_ - 1; left != 0;) {
        scan.begin_part();
        left -= std::min(left, scan.part_numbers_);
    }
    return scan.in_.rest();
}

}  // namespace quern::io::parquet
