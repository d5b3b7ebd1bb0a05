// SPDX-License-Identifier: Apache-2.0
// Two passes over a text. The first finds the block size and the cuts: a cut for 2B is also one for B, so the cuts for the
// smallest possible B are kept, and thinned out whenever they exceed the letters of a signature. The second hashes the
// pieces, several at a time, because each byte of a piece waits for the product of the previous one.
#include "ops/near_duplicates/papers/signatures/fuzzy_signature.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <string>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/duplicate_option_table.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::uint64_t fnv_basis = 14695981039346656037u, fnv_prime = 1099511628211u;

std::uint8_t letter_of(std::uint64_t hash) {
    return static_cast<std::uint8_t>((hash ^ (hash >> 32)) % signature_letters);
}

/// Reusable state of one thread that signs texts.
class signer {
  public:
    explicit signer(unsigned length) : length_(length), found_(max_stride) {}

    /// Appends the letters at 2^level and at 2^(level + 1); returns the level.
    struct lengths {
        std::uint32_t level, at_level, at_double;
    };
    lengths sign(std::string_view text, std::vector<std::uint8_t>& letters) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
        const std::uint32_t level = find_level(bytes, text.size());
        pieces_.clear();
        const std::uint32_t at_level = add_pieces(level), at_double = add_pieces(level + 1);
        const std::size_t old_size = letters.size();
        letters.resize(old_size + pieces_.size());
        hash_pieces(bytes, letters.data() + old_size);
        return {level, at_level, at_double};
    }

  private:
    static constexpr std::size_t max_stride = 4096;
    static constexpr std::uint32_t max_level = 32;  ///< the maximum for a hash of 32 bits
    struct piece {
        std::size_t begin, end;
    };

    /// Finds the level, and leaves its cuts in cuts_. Skips cuts below a level that is still likely too low: there are many
    /// of them, and each costs more than the bytes without one.
    std::uint32_t find_level(const std::uint8_t* text, std::size_t size) {
        const std::size_t min_block = size * 4 / (5 * length_);  // expected to make 5/4 of the cuts that fit
        const auto likely = min_block == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(min_block) - 1);
        const std::uint32_t from = std::min<std::uint32_t>(likely, max_level);
        const std::uint32_t level = find_level_from(from, text, size);
        return level > from || from == 0 ? level : find_level_from(0, text, size);
    }

    /// The smallest level from `from` on with few enough cuts.
    std::uint32_t find_level_from(const std::uint32_t from, const std::uint8_t* text, std::size_t size) {
        std::array<std::size_t, max_level + 1> of_level{};  // the number of cuts seen, by level
        std::size_t kept = 0;                               // of `level` and above
        std::uint32_t level = from;
        cuts_.clear();
        for (std::size_t begin = 0, end = 0; begin < size && level <= max_level; begin = end) {
            end = std::min(size, begin + std::clamp<std::size_t>(begin, 2 * length_, max_stride));
            const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << level) - 1);
            const std::size_t found = find_cuts(text, begin, end, mask, found_.data());
            for (std::size_t i = 0; i < found; ++i) ++of_level[found_[i].level];
            const std::uint32_t old_level = level;
            for (kept += found; kept > length_; ++level) kept -= of_level[level];
            if (level != old_level) std::erase_if(cuts_, [&](const text_cut& c) { return c.level < level; });
            std::copy_if(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(found),
                         std::back_inserter(cuts_), [&](const text_cut& c) { return c.level >= level; });
        }
        return level;
    }

    std::uint32_t add_pieces(std::uint32_t level) {
        const std::size_t old_size = pieces_.size();
        std::size_t begin = 0;
        for (const text_cut& c : cuts_) {
            if (c.level < level) continue;
            pieces_.push_back({begin, c.position + 1});
            begin = c.position + 1;
        }
        return static_cast<std::uint32_t>(pieces_.size() - old_size);
    }

    /// FNV-1a, 64 bits, of every piece; the letter of piece i goes to letters[i].
    void hash_pieces(const std::uint8_t* text, std::uint8_t* letters) const {
        constexpr std::size_t lanes = 4;
        std::size_t next = 0;
        std::array<std::size_t, lanes> at{}, end{}, which{};
        std::array<std::uint64_t, lanes> hash{};
        const auto begin_next = [&](std::size_t lane) {
            at[lane] = pieces_[next].begin;
            end[lane] = pieces_[next].end;
            hash[lane] = fnv_basis;
            which[lane] = next++;
        };
        std::size_t busy = std::min(lanes, pieces_.size());
        for (std::size_t l = 0; l < busy; ++l) begin_next(l);
        while (busy == lanes) {
            std::size_t steps = end[0] - at[0];
            for (std::size_t l = 1; l < lanes; ++l) steps = std::min(steps, end[l] - at[l]);
            auto [h0, h1, h2, h3] = hash;
            const std::uint8_t *const t0 = text + at[0], *const t1 = text + at[1], *const t2 = text + at[2],
                                      *const t3 = text + at[3];
            for (std::size_t i = 0; i < steps; ++i) {
                h0 = (h0 ^ t0[i]) * fnv_prime;
                h1 = (h1 ^ t1[i]) * fnv_prime;
                h2 = (h2 ^ t2[i]) * fnv_prime;
                h3 = (h3 ^ t3[i]) * fnv_prime;
            }
            hash = {h0, h1, h2, h3};
            for (std::size_t l = 0; l < lanes; ++l) at[l] += steps;
            for (std::size_t l = 0; l < busy;) {
                if (at[l] < end[l]) {
                    ++l;
                    continue;
                }
                letters[which[l]] = letter_of(hash[l]);
                if (next < pieces_.size()) {
                    begin_next(l++);
                } else {
                    --busy;
                    at[l] = at[busy];
                    end[l] = end[busy];
                    hash[l] = hash[busy];
                    which[l] = which[busy];
                }
            }
        }
        for (std::size_t l = 0; l < busy; ++l) {
            std::uint64_t h = hash[l];
            for (std::size_t i = at[l]; i < end[l]; ++i) h = (h ^ text[i]) * fnv_prime;
            letters[which[l]] = letter_of(h);
        }
    }

    std::size_t length_;
    std::vector<text_cut> found_, cuts_;
    std::vector<piece> pieces_;
};

/// The signatures of a range of texts, before all are joined.
struct signed_range {
    std::size_t begin = 0, end = 0;
    std::vector<std::uint8_t> letters;
    std::vector<signer::lengths> lengths;
};

}  // namespace

signature_list::signature_list(cpu_place& place, const text_list& texts, unsigned length) {
    const std::size_t count = texts.size();
    offsets_ = make_array<std::uint64_t>(place, 2 * count + 1, "the offsets of the signatures");
    levels_ = make_array<std::uint8_t>(place, count, "the block sizes of the signatures");
    offsets_.data()[0] = 0;
    if (count == 0) return;

    // Ranges of about equal bytes: the first text that begins at or after each share's start begins a range.
    constexpr std::size_t min_bytes = std::size_t{1} << 18;
    const std::uint64_t first = texts.offsets.front(), bytes = texts.offsets.back() - first;
    std::vector<signed_range> chunks(pieces_for(place, bytes + count * 64, min_bytes, 16));
    for (std::size_t s = 0; s < chunks.size(); ++s) {
        const std::uint64_t from = first + piece_of(bytes, chunks.size(), s).begin;
        const auto* const begin = std::lower_bound(texts.offsets.data(), texts.offsets.data() + count, from);
        chunks[s].begin = s == 0 ? 0 : static_cast<std::size_t>(begin - texts.offsets.data());
        if (s > 0) chunks[s - 1].end = chunks[s].begin;
    }
    chunks.back().end = count;

    for_each_piece(place, chunks.size(), [&](std::size_t s) {
        signed_range& mine = chunks[s];
        signer sign(length);
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            if (i % 64 == 0) place.ctx().check_stop();
            mine.lengths.push_back(sign.sign(texts[i], mine.letters));
        }
    });

    std::vector<std::uint64_t> begins;
    std::uint64_t letters = 0;
    for (const signed_range& s : chunks) {
        begins.push_back(letters);
        letters += s.letters.size();
    }
    letters_ = make_array<std::uint8_t>(place, letters, "the letters of the signatures");
    for_each_piece(place, chunks.size(), [&](std::size_t s) {
        signed_range& mine = chunks[s];
        std::copy(mine.letters.begin(), mine.letters.end(), letters_.data() + begins[s]);
        std::uint64_t at = begins[s];
        for (std::size_t i = mine.begin; i < mine.end; ++i) {
            const signer::lengths& l = mine.lengths[i - mine.begin];
            levels_.data()[i] = static_cast<std::uint8_t>(l.level);
            offsets_.data()[2 * i + 1] = at += l.at_level;
            offsets_.data()[2 * i + 2] = at += l.at_double;
        }
        mine = {};
    });
}

}  // namespace quern::near_duplicates_detail

namespace quern {

fuzzy_signature signature_of(std::string_view text, unsigned length) {
    using namespace near_duplicates_detail;
    check_value(option_of<duplicate_options>("signature_length"), std::uint64_t{length});
    std::vector<std::uint8_t> numbers;
    const auto lengths = signer(length).sign(text, numbers);
    static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string all(numbers.size(), '\0');
    std::transform(numbers.begin(), numbers.end(), all.begin(), [](std::uint8_t n) { return letters[n]; });
    return {std::uint64_t{1} << lengths.level, all.substr(0, lengths.at_level), all.substr(lengths.at_level)};
}

}  // namespace quern
