// SPDX-License-Identifier: Apache-2.0
// Codes of up to 10 bits take one table look-up; longer ones, rare by construction, are compared with the first code of
// each length. The move-to-front list keeps its first eight bytes, where most hits are, in one register: a hit there
// takes two shifts and two masks.
#include "io/compression/bzip2_block.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace quern::io::bzip2 {

const char* const bits_ended = "the block ends too early";

namespace {

constexpr unsigned table_bits = 10;
constexpr unsigned longest_code = 20;
constexpr unsigned max_symbols = 258;
constexpr unsigned group_size = 50;
constexpr unsigned max_groups = 18'002;

struct code_table {
    std::array<std::uint16_t, 1U << table_bits> fast{};         ///< symbol << 5 | length; 0: a longer code
    std::array<std::uint64_t, longest_code + 2> first_above{};  ///< codes of a length are below, left-aligned
    std::array<std::int32_t, longest_code + 2> index_offset{};  ///< code + offset = index in `symbols`
    std::array<std::uint16_t, max_symbols> symbols{};           ///< by length, then number
    unsigned longest = 0;

    bool build(std::span<const std::uint8_t> lengths);
};

/// False if the lengths claim more codes than exist.
bool code_table::build(std::span<const std::uint8_t> lengths) {
    std::array<std::uint32_t, longest_code + 2> how_many{};
    for (const std::uint8_t length : lengths) ++how_many[length];
    fast.fill(0);
    std::uint32_t code = 0;
    std::uint32_t index = 0;
    longest = 0;
    for (unsigned length = 1; length <= longest_code; ++length) {
        index_offset[length] = static_cast<std::int32_t>(index) - static_cast<std::int32_t>(code);
        for (std::uint32_t symbol = 0; how_many[length] != 0 && symbol < lengths.size(); ++symbol) {
            if (lengths[symbol] != length) continue;
            if (code >> length != 0) return false;
            symbols[index++] = static_cast<std::uint16_t>(symbol);
            if (length <= table_bits) {
                const auto entry = static_cast<std::uint16_t>(symbol << 5 | length);
                const std::uint32_t step = 1U << (table_bits - length);
                std::fill_n(fast.begin() + code * step, step, entry);
            }
            ++code;
            longest = length;
        }
        if (code > 1U << length) return false;
        first_above[length] = static_cast<std::uint64_t>(code) << (63 - length);  // >> 1: 2^length must fit
        code <<= 1;
    }
    return true;
}

/// A code longer than the table: symbol << 5 | length, or 0 if no code begins like this.
[[gnu::noinline]] std::uint32_t long_code(const code_table& table, std::uint64_t window) {
    for (unsigned length = table_bits + 1; length <= table.longest; ++length) {
        if (window >> 1 < table.first_above[length]) {
            const auto code = static_cast<std::int32_t>(window >> (64 - length));
            const auto index = static_cast<std::uint32_t>(code + table.index_offset[length]);
            return static_cast<std::uint32_t>(table.symbols[index]) << 5 | length;
        }
    }
    return 0;
}

/// The 256 bytes by most recent use.
class recent_bytes {
  public:
    explicit recent_bytes(const std::uint8_t* used) {
        std::memcpy(rest_, used, 256);
        for (unsigned i = 8; i-- != 0;) {
            front_ = front_ << 8 | used[i];
            middle_ = middle_ << 8 | used[i + 8];
        }
    }
    std::uint8_t first() const { return static_cast<std::uint8_t>(front_); }
    std::uint8_t move_to_front(unsigned index) {
        if (index < 8) [[likely]] {
            const std::uint64_t byte = front_ >> 8 * index & 0xff;
            front_ = shift_in(front_, byte, index);
            return static_cast<std::uint8_t>(byte);
        }
        std::uint64_t byte;
        if (index < 16) {
            byte = middle_ >> 8 * (index - 8) & 0xff;
            middle_ = shift_in(middle_, front_ >> 56, index - 8);
        } else {
            byte = rest_[index];
            std::memmove(rest_ + 17, rest_ + 16, index - 16);
            rest_[16] = static_cast<std::uint8_t>(middle_ >> 56);
            middle_ = middle_ << 8 | front_ >> 56;
        }
        front_ = front_ << 8 | byte;
        return static_cast<std::uint8_t>(byte);
    }

  private:
    /// Inserts `byte` before the first `index` bytes, which move up by one; later bytes stay.
    static std::uint64_t shift_in(std::uint64_t word, std::uint64_t byte, unsigned index) {
        const std::uint64_t moved = ~std::uint64_t{0} >> (56 - 8 * index);
        return (word & ~moved) | (word << 8 & moved) | byte;
    }
    std::uint64_t front_ = 0;   ///< places 0 to 7, the first in the lowest byte
    std::uint64_t middle_ = 0;  ///< places 8 to 15
    std::uint8_t rest_[256]{};  ///< places from 16
};

struct header {
    std::array<code_table, 6> tables;
    std::array<std::uint8_t, max_groups> selectors{};
    std::array<std::uint8_t, 256> used{};  ///< bytes that occur, in order
    unsigned used_count = 0;
    unsigned selector_count = 0;
};

const char* read_used_bytes(bit_reader& bits, header& head) {
    const std::uint32_t ranges = bits.take(16);
    for (unsigned range = 0; range < 16; ++range) {
        if ((ranges >> (15 - range) & 1) == 0) continue;
        const std::uint32_t members = bits.take(16);
        for (unsigned i = 0; i < 16; ++i) {
            if (members >> (15 - i) & 1)
                head.used[head.used_count++] = static_cast<std::uint8_t>(range * 16 + i);
        }
    }
    return head.used_count == 0 ? "no byte values are used" : nullptr;
}

/// `limit` is the end of the bits, without padding: checked occasionally, within what the padding allows.
const char* read_selectors(bit_reader& bits, header& head, unsigned table_count, const std::uint8_t* bytes,
                           std::uint64_t limit) {
    const unsigned count = bits.take(15);
    if (count == 0) return "no selectors";
    std::array<std::uint8_t, 6> order{0, 1, 2, 3, 4, 5};
    for (unsigned i = 0; i < count; ++i) {
        bits.refill();
        const auto index = static_cast<unsigned>(std::countl_one(bits.window()));
        if (index >= table_count) return "a selector refers to a missing table";
        bits.skip(index + 1);
        const std::uint8_t chosen = order[index];
        for (unsigned j = index; j != 0; --j) order[j] = order[j - 1];
        order[0] = chosen;
        if (i < max_groups) head.selectors[i] = chosen;  // some encoders pad with more than usable
        if (i % 256 == 0 && bits.position(bytes) > limit) return bits_ended;
    }
    head.selector_count = std::min(count, max_groups);
    return nullptr;
}

const char* read_table(bit_reader& bits, code_table& table, unsigned symbol_count, const std::uint8_t* bytes,
                       std::uint64_t limit) {
    std::array<std::uint8_t, max_symbols> lengths{};
    unsigned length = bits.take(5);
    for (unsigned i = 0; i < symbol_count; ++i) {
        while (true) {
            if (length < 1 || length > longest_code) return "a code length is out of range";
            bits.refill();
            if (bits.peek(1) == 0) break;
            length += bits.peek(2) == 2 ? 1U : ~0U;
            bits.skip(2);
            if (bits.position(bytes) > limit)
                return bits_ended;  // also ends an endless sequence of
                                    // increments and decrements
        }
        bits.skip(1);
        lengths[i] = static_cast<std::uint8_t>(length);
    }
    return table.build({lengths.data(), symbol_count}) ? nullptr : "too many codes";
}

const char* read_header(bit_reader& bits, header& head, column_result& result, const std::uint8_t* bytes,
                        std::uint64_t limit) {
    const std::uint64_t magic = std::uint64_t{bits.take(24)} << 24;
    if ((magic | bits.take(24)) != block_magic) return "no block begins here";
    result.checksum = bits.take(32);
    result.randomised = bits.take(1) != 0;
    result.origin = bits.take(24);
    if (const char* problem = read_used_bytes(bits, head)) return problem;
    const unsigned table_count = bits.take(3);
    if (table_count < 2 || table_count > 6) return "the number of tables is out of range";
    if (const char* problem = read_selectors(bits, head, table_count, bytes, limit)) return problem;
    for (unsigned i = 0; i < table_count; ++i) {
        if (const char* problem = read_table(bits, head.tables[i], head.used_count + 2, bytes, limit))
            return problem;
        if (bits.position(bytes) > limit) return bits_ended;
    }
    return nullptr;
}

/// Decodes the groups of 50 codes. Uses local copies, so that they stay in registers.
const char* read_groups(bit_reader& shared_bits, const header& head, std::span<const std::uint8_t> packed,
                        std::uint8_t* column, std::uint32_t* counts, std::uint32_t& size) {
    bit_reader bits = shared_bits;
    recent_bytes recent(head.used.data());
    const unsigned last_symbol = head.used_count + 1;
    const std::uint64_t limit = packed.size() * 8;
    std::uint32_t written = 0;
    std::uint32_t run = 0;        // length of the current run, in binary digits 1 and 2
    std::uint32_t run_digit = 1;  // weight of its next digit
    const auto end = [&](const char* problem) {
        shared_bits = bits;
        size = written;
        return problem;
    };
    for (unsigned group = 0; group < head.selector_count; ++group) {
        if (bits.position(packed.data()) > limit) return end(bits_ended);
        const code_table& table = head.tables[head.selectors[group]];
        for (unsigned i = 0; i < group_size; ++i) {
            bits.refill();
            std::uint32_t entry = table.fast[bits.peek(table_bits)];
            if (entry == 0) [[unlikely]] {
                entry = long_code(table, bits.window());
                if (entry == 0) return end("an unknown code");
            }
            bits.skip(entry & 31);
            const unsigned symbol = entry >> 5;
            if (symbol <= 1) {
                if (run_digit > largest_block) return end("a run is too long");
                run += run_digit << symbol;
                run_digit <<= 1;
                continue;
            }
            if (run != 0) {
                if (run > largest_block - written) return end("the block is too long");
                std::memset(column + written, recent.first(), run);
                counts[recent.first()] += run;
                written += run;
                run = 0;
                run_digit = 1;
            }
            if (symbol == last_symbol) return end(nullptr);
            if (written == largest_block) return end("the block is too long");
            const std::uint8_t byte = recent.move_to_front(symbol - 1);
            column[written++] = byte;
            ++counts[byte];
        }
    }
    return end("the end of the block is missing");
}

}  // namespace

column_result decode_column(std::span<const std::uint8_t> packed, std::uint64_t start_bit,
                            std::uint8_t* column, std::uint32_t* counts) {
    column_result result;
    header head;
    bit_reader bits(packed.data(), start_bit);
    std::fill_n(counts, 256, 0U);
    const std::uint64_t limit = packed.size() * 8;
    result.problem = read_header(bits, head, result, packed.data(), limit);
    if (result.problem == nullptr) {
        result.problem = read_groups(bits, head, packed, column, counts, result.size);
    }
    result.end_bit = bits.position(packed.data());
    if (result.end_bit > limit) result.problem = bits_ended;
    if (result.problem == nullptr && result.origin >= result.size) {
        result.problem = "the origin is outside the block";
    }
    return result;
}

}  // namespace quern::io::bzip2
