// SPDX-License-Identifier: Apache-2.0
// The last stage of a bzip2 block: runs of four equal bytes are followed by the number of further ones. Eight bytes are
// checked in one word: x ^ (x >> one byte) has a zero byte where two neighbours are equal.
#include <bzlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "io/compression/bzip2_block.hpp"

namespace quern::io::bzip2 {
namespace {

constexpr std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7fU;

std::uint64_t load_little_endian(const std::uint8_t* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

/// Bit 7 of each byte that is zero.
std::uint64_t zero_bytes(std::uint64_t word) {
    return ~(((word & low_bits) + low_bits) | word | low_bits);
}

constexpr auto checksum_tables = [] {
    std::array<std::array<std::uint32_t, 256>, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte << 24;
        for (int bit = 0; bit < 8; ++bit) value = value << 1 ^ (value >> 31 ? 0x04c11db7U : 0U);
        tables[0][byte] = value;
    }
    for (std::size_t t = 1; t < 8; ++t) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[t - 1][byte];
            tables[t][byte] = before << 8 ^ tables[0][before >> 24];
        }
    }
    return tables;
}();

}  // namespace

std::size_t run_expander::expand(std::span<char> out) {
    char* to = out.data();
    char* const end = to + out.size();
    while (to != end) {
        if (pending_ != 0) {
            const auto count = std::min<std::size_t>(pending_, static_cast<std::size_t>(end - to));
            std::memset(to, byte_, count);
            to += count;
            pending_ -= static_cast<std::uint32_t>(count);
            continue;
        }
        // A run may begin at *next_; none is in progress.
        if (left_ >= 9 && end - to >= 8) {
            const std::uint64_t word = load_little_endian(next_);
            const std::uint64_t equal = zero_bytes(word ^ load_little_endian(next_ + 1));
            const std::uint64_t four = equal & equal >> 8 & equal >> 16;
            // Up to the first run of four; else up to the last byte that differs from its right neighbour.
            const auto count = static_cast<std::size_t>(
                four != 0 ? std::countr_zero(four) / 8 : 8 - std::countl_one(equal | low_bits) / 8);
            std::memcpy(to, next_, 8);
            to += count;
            next_ += count;
            left_ -= count;
            if (four == 0) continue;
        }
        if (left_ == 0) break;
        byte_ = *next_;
        std::size_t run = 1;
        while (run < 4 && run < left_ && next_[run] == byte_) ++run;
        pending_ = static_cast<std::uint32_t>(run);
        if (run == 4 && left_ > 4) pending_ += next_[run++];
        next_ += run;
        left_ -= run;
    }
    return static_cast<std::size_t>(to - out.data());
}

std::uint32_t update_checksum(std::uint32_t checksum, std::span<const char> bytes) {
    const auto& t = checksum_tables;
    const auto* at = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        const std::uint64_t w = load_big_endian(at) ^ static_cast<std::uint64_t>(checksum) << 32;
        checksum = t[7][w >> 56] ^ t[6][w >> 48 & 255] ^ t[5][w >> 40 & 255] ^ t[4][w >> 32 & 255] ^
                   t[3][w >> 24 & 255] ^ t[2][w >> 16 & 255] ^ t[1][w >> 8 & 255] ^ t[0][w & 255];
    }
    for (; left != 0; --left) checksum = checksum << 8 ^ t[0][checksum >> 24 ^ *at++];
    return checksum;
}

std::uint64_t find_block(std::span<const std::uint8_t> bytes, std::uint64_t from) {
    // For each bit offset in a byte, the magic's second and third bytes are known: one table entry has the offsets that
    // a byte allows, and two bytes exclude all but one in 8,000 positions.
    static constexpr auto allowed = [] {
        std::array<std::array<std::uint8_t, 256>, 2> tables{};
        for (unsigned shift = 0; shift < 8; ++shift) {
            tables[0][block_magic >> (32 + shift) & 255] |= static_cast<std::uint8_t>(1U << shift);
            tables[1][block_magic >> (24 + shift) & 255] |= static_cast<std::uint8_t>(1U << shift);
        }
        return tables;
    }();
    if (bytes.size() < 6) return UINT64_MAX;
    for (std::size_t i = from / 8; i + 6 <= bytes.size(); ++i) {
        unsigned shifts = allowed[0][bytes[i + 1]] & allowed[1][bytes[i + 2]];
        for (; shifts != 0; shifts &= shifts - 1) {
            const auto shift = static_cast<unsigned>(std::countr_zero(shifts));
            if (i * 8 + shift < from || (shift != 0 && i + 7 > bytes.size())) continue;
            std::uint64_t found = 0;
            for (std::size_t k = 0; k < 6; ++k) found = found << 8 | bytes[i + k];
            if (shift != 0) found = found << shift | static_cast<unsigned>(bytes[i + 6]) >> (8 - shift);
            if ((found & ((std::uint64_t{1} << magic_bits) - 1)) == block_magic) return i * 8 + shift;
        }
    }
    return UINT64_MAX;
}

// Randomised blocks were written by a sorter of 1998 that avoided repetitive data. libbz2 knows the random numbers.

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
