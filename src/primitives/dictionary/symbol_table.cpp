// SPDX-License-Identifier: Apache-2.0
// Five rounds as in FSST: code the samples by the current table, count how often each symbol and each pair of neighbours
// occurs, and keep the strings (symbols or joined pairs) that cover the most letters. Ties are broken by letters, so that
// the same samples make the same table.
#include "primitives/dictionary/symbol_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace quern::primitives {
namespace {

constexpr int rounds = 5;
constexpr std::size_t max_symbols = 255, max_bytes = 200, max_letters = 8;

static_assert(std::endian::native == std::endian::little, "the first letter of a symbol is its lowest byte");

std::uint64_t load(std::string_view letters) {
    std::uint64_t number = 0;
    std::memcpy(&number, letters.data(), std::min(letters.size(), max_letters));
    return number;
}

constexpr std::uint64_t mask(std::uint64_t length) {
    return length == 0 ? 0 : ~std::uint64_t{0} >> (64 - 8 * length);
}

}  // namespace

struct symbol_table::counts {
    std::vector<std::uint32_t> symbols = std::vector<std::uint32_t>(256);
    std::vector<std::uint32_t> pairs = std::vector<std::uint32_t>(256 * 256);
};

symbol_table::symbol_table(const std::vector<std::string_view>& samples,
                           const std::array<std::uint64_t, 256>& known) {
    std::vector<std::uint8_t> bytes;
    for (unsigned b = 0; b < 256; ++b) {
        if (known[b] > 0) bytes.push_back(static_cast<std::uint8_t>(b));
    }
    std::ranges::stable_sort(bytes, [&](std::uint8_t a, std::uint8_t b) { return known[a] > known[b]; });
    if (bytes.size() > max_bytes) bytes.resize(max_bytes);
    for (const std::uint8_t b : bytes) symbols_.push_back({b, 1});
    index();
    std::vector<std::uint8_t> codes;
    for (int round = 0; round < rounds; ++round) {
        counts seen;
        for (const std::string_view sample : samples) {
            codes.resize(sample.size());
            const int count = encode(sample, codes);
            for (int i = 0; i < count; ++i) {
                ++seen.symbols[codes[static_cast<std::size_t>(i)]];
                if (i == 0) continue;
                ++seen.pairs[codes[static_cast<std::size_t>(i) - 1] * 256U +
                             codes[static_cast<std::size_t>(i)]];
            }
        }
        choose_again(seen, bytes);
    }
}

void symbol_table::choose_again(const counts& seen, const std::vector<std::uint8_t>& bytes) {
    struct candidate {
        symbol what;
        std::uint64_t gain;
    };
    std::vector<candidate> candidates;
    const auto add = [&](symbol what, std::uint64_t count) {
        if (count > 0 && what.length > 1) candidates.push_back({what, count * what.length});
    };
    for (std::size_t a = 0; a < symbols_.size(); ++a) {
        const symbol& first = symbols_[a];
        add(first, seen.symbols[a + 1]);
        for (std::size_t b = 0; b < symbols_.size(); ++b) {
            const symbol& second = symbols_[b];
            if (first.length + second.length > static_cast<int>(max_letters)) continue;
            add({first.letters | second.letters << (8 * first.length),
                 static_cast<std::uint8_t>(first.length + second.length)},
                seen.pairs[(a + 1) * 256 + b + 1]);
        }
    }
    // Several pairs may give the same string: their gains are added.
    const auto named = [](const candidate& c) { return std::tuple(c.what.letters, c.what.length); };
    std::ranges::sort(candidates, {}, named);
    std::size_t kept = 0;
    for (const candidate& c : candidates) {
        if (kept > 0 && candidates[kept - 1].what == c.what) {
            candidates[kept - 1].gain += c.gain;
        } else {
            candidates[kept++] = c;
        }
    }
    candidates.resize(kept);
    std::ranges::stable_sort(candidates,
                             [](const candidate& a, const candidate& b) { return a.gain > b.gain; });
    symbols_.clear();
    for (const std::uint8_t b : bytes) symbols_.push_back({b, 1});
    for (const candidate& c : candidates) {
        if (symbols_.size() == max_symbols) break;
        symbols_.push_back(c.what);
    }
    index();
}

void symbol_table::index() {
    std::ranges::sort(symbols_, {}, [](const symbol& s) {
        return std::tuple(s.length > 1, s.letters & 0xFFFF, -static_cast<int>(s.length), s.letters);
    });
    single_ = {};
    first_.assign(std::size_t{1} << 16, 0);
    for (std::size_t i = symbols_.size(); i > 0; --i) {
        const auto code = static_cast<std::uint8_t>(i);
        const symbol& s = symbols_[i - 1];
        if (s.length == 1) {
            single_[s.letters] = code;
        } else {
            first_[s.letters & 0xFFFF] = code;
        }
    }
}

std::uint8_t symbol_table::longest(std::uint64_t letters, std::uint64_t left) const {
    if (left > 1) {
        const std::uint64_t two = letters & 0xFFFF;
        for (std::size_t code = first_[two]; code != 0 && code <= symbols_.size(); ++code) {
            const symbol& s = symbols_[code - 1];
            if ((s.letters & 0xFFFF) != two) break;
            if (s.length <= left && ((letters ^ s.letters) & mask(s.length)) == 0) {
                return static_cast<std::uint8_t>(code);
            }
        }
    }
    return single_[letters & 0xFF];
}

int symbol_table::encode(std::string_view letters, std::span<std::uint8_t> codes) const {
    std::size_t count = 0;
    while (!letters.empty()) {
        const std::uint8_t code = longest(load(letters), letters.size());
        if (code == 0) return -1;
        if (count == codes.size()) return static_cast<int>(count) + 1;
        codes[count++] = code;
        letters.remove_prefix(symbols_[code - 1U].length);
    }
    return static_cast<int>(count);
}

void symbol_table::append_to(std::string& out) const {
    std::array<std::uint64_t, 256> letters{};
    std::array<char, 256> lengths{};
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
        letters[i + 1] = symbols_[i].letters;
        lengths[i + 1] = static_cast<char>(symbols_[i].length);
    }
    out.append(reinterpret_cast<const char*>(letters.data()), sizeof letters);
    out.append(lengths.data(), lengths.size());
}

}  // namespace quern::primitives
