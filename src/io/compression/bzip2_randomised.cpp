// SPDX-License-Identifier: Apache-2.0
// Randomised blocks were written by a sorter of 1998 that avoided repetitive data. libbz2 knows the random numbers.
#include <bzlib.h>

#include <array>
#include <new>

#include "io/compression/bzip2_block.hpp"

namespace quern::io::bzip2 {
namespace {

void append_bits(std::vector<std::uint8_t>& bytes, std::uint64_t& used, std::uint64_t value, unsigned count) {
    for (; count != 0; --count, ++used) {
        if (used % 8 == 0) bytes.push_back(0);
        bytes.back() |= static_cast<std::uint8_t>((value >> (count - 1) & 1) << (7 - used % 8));
    }
}

/// A stream of the one block: header, block, end magic, checksum (for one block: the block's).
std::vector<std::uint8_t> as_stream(std::span<const std::uint8_t> packed, std::uint64_t start_bit,
                                    const block& which) {
    std::vector<std::uint8_t> stream;
    std::uint64_t used = 0;
    append_bits(stream, used, 0x425a6839U, 32);  // "BZh9"
    for (std::uint64_t bit = start_bit; bit < which.end_bit; ++bit) {
        append_bits(stream, used, packed[bit / 8] >> (7 - bit % 8) & 1U, 1);
    }
    append_bits(stream, used, end_magic, magic_bits);
    append_bits(stream, used, which.checksum, 32);
    return stream;
}

/// Converts plain bytes back into the form that run_expander expands.
class run_packer {
  public:
    explicit run_packer(std::vector<std::uint8_t>& out) : out_(out) { out_.clear(); }
    void append(std::uint8_t byte) {
        if (run_ != 0 && byte == last_ && run_ < 4 + 255) {
            ++run_;
            if (run_ <= 4) out_.push_back(byte);
            if (run_ == 4) out_.push_back(0);
            if (run_ > 4) ++out_.back();
            return;
        }
        last_ = byte;
        run_ = 1;
        out_.push_back(byte);
    }

  private:
    std::vector<std::uint8_t>& out_;
    std::uint8_t last_ = 0;
    unsigned run_ = 0;
};

}  // namespace

void decode_randomised(std::span<const std::uint8_t> packed, std::uint64_t start_bit, block& result) {
    std::vector<std::uint8_t> stream = as_stream(packed, start_bit, result);
    run_packer packer(result.bytes);
    std::array<char, 4096> piece{};
    bz_stream state{};
    if (BZ2_bzDecompressInit(&state, 0, 0) != BZ_OK) throw std::bad_alloc();
    state.next_in = reinterpret_cast<char*>(stream.data());
    state.avail_in = static_cast<unsigned>(stream.size());
    int code = BZ_OK;
    while (code == BZ_OK) {
        state.next_out = piece.data();
        state.avail_out = piece.size();
        code = BZ2_bzDecompress(&state);
        const std::size_t count = piece.size() - state.avail_out;
        for (std::size_t i = 0; i < count; ++i) packer.append(static_cast<std::uint8_t>(piece[i]));
        if (code == BZ_OK && count == 0) break;
    }
    BZ2_bzDecompressEnd(&state);
    result.state = code == BZ_STREAM_END ? block_state::whole : block_state::damaged;
    if (code != BZ_STREAM_END) result.problem = "checksum mismatch in a randomised block";
}

}  // namespace quern::io::bzip2
