// SPDX-License-Identifier: Apache-2.0
// The method `signature` on the CPU, and the code that the thesis's methods share with it on every place.
//
// Rows of one segment and length form a class. For two classes the limit of the filter is one number, so the work consists
// of rectangles of rows that fit a core's caches; the edit distance of passing pairs is computed immediately.
#include "ops/near_duplicates/papers/signatures/signature_join.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/papers/signatures/signature_join_bits.hpp"
#include "ops/near_duplicates/papers/signatures/thesis_kernels.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {

signature_bounds::signature_bounds(const decimal& slack, const decimal& threshold, unsigned length)
    : length_(length),
      rate_(slack.value() * threshold.value()),
      largest_(2 * length + 1),
      longest_(length + 1, -1) {
    __extension__ using wide = unsigned __int128;  // 10^18 · 10^9 · 2000 exceeds 64 bits
    const wide numerator = wide{slack.numerator} * threshold.numerator;
    const wide denominator = wide{slack.denominator} * threshold.denominator;
    for (unsigned total = 0; total <= 2 * length; ++total) {
        if (numerator == 0)
            largest_[total] = -1;
        else if (numerator > denominator ||
                 total == 0)  // no two strings are further apart than their lengths
            largest_[total] = static_cast<int>(total);
        else
            largest_[total] = static_cast<int>((numerator * total - 1) / denominator);
    }
    for (int shorter = 0; shorter <= static_cast<int>(length); ++shorter)
        for (int longer = shorter; longer <= static_cast<int>(length); ++longer)
            if (longer - shorter <= largest_[static_cast<unsigned>(shorter + longer)])
                longest_[static_cast<unsigned>(shorter)] = longer;
}

void check_texts(std::size_t texts) {
    if (texts > max_signatures)
        throw usage_error("signatures of " + std::to_string(texts) + " texts: at most " +
                          std::to_string(max_signatures) + " can be compared");
}

namespace {

/// Rows of one segment and one length, old or new.
struct row_class {
    std::uint32_t begin, end;
    unsigned segment, length;
    bool is_new;
};

/// Every signature as rows, sorted by (segment, old or new, length, text).
class row_list {
  public:
    row_list(cpu_place& place, const signature_view& signatures, unsigned length,
             const duplicate_scope& scope)
        : longest_(length) {
        const std::uint32_t texts = signatures.texts();
        std::array<bool, row_segments> has_double{};
        for (const std::uint8_t level : signatures.levels) has_double[level + 2u] = true;
        const auto for_rows = [&](const auto& take) {  // the segments in which each string is a row
            for (std::uint32_t i = 0; i < texts; ++i) {
                const unsigned level = signatures.levels[i];
                const bool is_new = i >= scope.first_new;
                take(0u, is_new, 2 * i);
                if (has_double[level + 1]) take(level + 1, is_new, 2 * i);
                take(level + 2, is_new, 2 * i + 1);
            }
        };
        std::vector<std::uint32_t> begins(std::size_t{row_segments} * 2 * (length + 1) + 1);
        const auto bucket = [&](unsigned segment, bool is_new, std::uint32_t source) {
            return (segment * 2 + (is_new ? 1 : 0)) * (length + 1) + signatures.length(source);
        };
        for_rows([&](unsigned segment, bool is_new, std::uint32_t source) {
            ++begins[bucket(segment, is_new, source) + 1];
        });
        for (std::size_t b = 1; b < begins.size(); ++b) {
            begins[b] += begins[b - 1];
            if (begins[b] == begins[b - 1]) continue;
            const auto key = static_cast<unsigned>(b - 1), list = key / (length + 1);
            classes_.push_back({begins[b - 1], begins[b], list / 2, key % (length + 1), list % 2 == 1});
        }
        const std::uint32_t rows = begins.back();
        sources_ = make_array<std::uint32_t>(place, rows, "the rows of the signatures");
        for_rows([&](unsigned segment, bool is_new, std::uint32_t source) {
            sources_.data()[begins[bucket(segment, is_new, source)]++] = source;
        });
        make_codes(place, signatures);
    }

    const std::vector<row_class>& classes() const { return classes_; }
    std::uint32_t source(std::uint32_t row) const { return sources_.data()[row]; }
    code_planes codes() const { return {words_.data(), sources_.size(), code_levels(longest_)}; }

  private:
    void make_codes(cpu_place& place, const signature_view& signatures) {
        const std::size_t rows = sources_.size();
        const unsigned levels = code_levels(longest_);
        words_ = make_array<std::uint64_t>(place, rows * levels, "the codes of the signatures");
        const std::size_t pieces = pieces_for(place, rows, 1000);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const item_range mine = piece_of(rows, pieces, p);
            std::vector<std::uint64_t> code(levels);
            for (std::size_t row = mine.begin; row < mine.end; ++row) {
                std::fill(code.begin(), code.end(), 0);
                for (const std::uint8_t letter : signatures.string(sources_.data()[row])) {
                    std::uint64_t bit = std::uint64_t{1} << letter;
                    for (std::uint64_t& word : code) {  // the first plane without it takes it
                        const std::uint64_t carried = word & bit;
                        word |= bit;
                        bit = carried;
                    }
                }
                for (unsigned n = 0; n < levels; ++n) words_.data()[n * rows + row] = code[n];
            }
        });
    }

    unsigned longest_;
    std::vector<row_class> classes_;
    cpu_array<std::uint32_t> sources_;
    cpu_array<std::uint64_t> words_;
};

/// The positions of each letter in a pattern.
template <unsigned Words>
struct letter_masks {
    std::array<std::array<std::uint64_t, Words>, signature_letters> bits{};
    explicit letter_masks(std::span<const std::uint8_t> pattern) {
        for (std::size_t i = 0; i < pattern.size(); ++i)
            bits[pattern[i]][i / 64] |= std::uint64_t{1} << i % 64;
    }
    std::uint64_t operator()(std::uint8_t letter, unsigned word) const { return bits[letter][word]; }
};

/// The work of one thread: rectangles of rows, and the candidates found in them.
class row_joiner {
  public:
    row_joiner(const signature_view& signatures, const row_list& rows, const signature_bounds& bounds,
               std::vector<candidate>& found)
        : signatures_(signatures),
          rows_(rows),
          bounds_(bounds),
          found_(found),
          passed_(std::make_unique_for_overwrite<row_pair[]>(std::size_t{max_rows} * max_columns)) {}

    static constexpr std::uint32_t max_rows = 64, max_columns = 1024;

    /// Joins rows [begin, end) of class a with all of class b, or with the later ones if b is a.
    void join(const row_class& a, std::uint32_t begin, std::uint32_t end, const row_class& b) {
        const bool triangle = &a == &b;
        const unsigned shorter = std::min(a.length, b.length), longer = std::max(a.length, b.length);
        const int bound = bounds_.at(shorter + longer);
        const auto limit = static_cast<std::uint64_t>(2 * bound) - (longer - shorter);
        for (std::uint32_t at = triangle ? begin : b.begin; at < b.end; at += max_columns) {
            const std::size_t passed =
                filter_rows(rows_.codes(), begin, end, at, std::min(b.end, at + max_columns), triangle, limit,
                            passed_.get());
            for (std::size_t first = 0, last = 0; first < passed; first = last) {
                while (last < passed && passed_[last].a == passed_[first].a) ++last;
                measure({passed_.get() + first, last - first}, a.segment, bound);
            }
        }
    }

  private:
    void measure(std::span<const row_pair> pairs, unsigned segment, int bound) {
        const auto pattern = signatures_.string(rows_.source(pairs.front().a));
        if (pattern.empty())
            measure_with(pairs, segment, bound,
                         [](std::span<const std::uint8_t> text) { return static_cast<int>(text.size()); });
        else if (pattern.size() <= 64)
            measure_in<1>(pattern, pairs, segment, bound);
        else if (pattern.size() <= 128)
            measure_in<2>(pattern, pairs, segment, bound);
        else if (pattern.size() <= 256)
            measure_in<4>(pattern, pairs, segment, bound);
        else
            measure_in<16>(pattern, pairs, segment, bound);
    }

    template <unsigned Words>
    void measure_in(std::span<const std::uint8_t> pattern, std::span<const row_pair> pairs, unsigned segment,
                    int bound) {
        const letter_masks<Words> masks(pattern);
        measure_with(pairs, segment, bound, [&](std::span<const std::uint8_t> text) {
            return bit_distance<Words>(masks, static_cast<unsigned>(pattern.size()), text.data(),
                                       static_cast<unsigned>(text.size()), bound);
        });
    }

    template <class Distance>
    void measure_with(std::span<const row_pair> pairs, unsigned segment, int bound,
                      const Distance& distance) {
        const std::uint32_t a = rows_.source(pairs.front().a);
        for (const row_pair& pair : pairs) {
            const std::uint32_t b = rows_.source(pair.b);
            if (segment != 0 && a % 2 == 0 && b % 2 == 0) continue;  // they were compared in segment 0
            if (distance(signatures_.string(b)) <= bound)
                found_.push_back({std::min(a, b) / 2, std::max(a, b) / 2});
        }
    }

    const signature_view& signatures_;
    const row_list& rows_;
    const signature_bounds& bounds_;
    std::vector<candidate>& found_;
    std::unique_ptr<row_pair[]> passed_;
};

/// Calls sink(b) for the classes to join class a with; each two classes occur once.
template <class Sink>
void for_partners(const std::vector<row_class>& classes, std::size_t a, const signature_bounds& bounds,
                  bool within_new, const Sink& sink) {
    const row_class& mine = classes[a];
    if (!mine.is_new) return;
    if (within_new) {
        const int longest = bounds.longest(mine.length);
        for (std::size_t b = a; b < classes.size(); ++b) {
            const row_class& other = classes[b];
            if (other.segment != mine.segment || static_cast<int>(other.length) > longest) break;
            sink(other);
        }
    }
    for (std::size_t b = a; b-- > 0 && classes[b].segment == mine.segment;) {
        const row_class& other = classes[b];
        const unsigned shorter = std::min(mine.length, other.length),
                       longer = std::max(mine.length, other.length);
        if (!other.is_new && bounds.longest(shorter) >= static_cast<int>(longer)) sink(other);
    }
}

/// A tile is a block of rows with all their partners.
class host_tiles final : public signature_tiles {
  public:
    host_tiles(cpu_place& place, const signature_view& signatures, const signature_bounds& bounds,
               const duplicate_scope& scope)
        : place_(place),
          signatures_(signatures),
          bounds_(bounds),
          within_new_(scope.within_new),
          rows_(place, signatures, bounds.length(), scope) {
        const auto& classes = rows_.classes();
        for (std::size_t c = 0; c < classes.size(); ++c) {
            const row_class& mine = classes[c];
            for (std::uint32_t begin = mine.begin; begin < mine.end; begin += row_joiner::max_rows)
                tiles_.push_back({c, begin, std::min(mine.end, begin + row_joiner::max_rows)});
            if (mine.segment != 0) continue;
            const std::uint64_t size = mine.end - mine.begin;
            for_partners(classes, c, bounds, within_new_, [&](const row_class& other) {
                compared_ += &other == &mine ? size * (size - 1) / 2 : size * (other.end - other.begin);
            });
        }
    }

    std::uint64_t size() const override { return tiles_.size(); }
    std::uint64_t compared() const override { return compared_; }
    std::vector<candidate> join(std::uint64_t begin, std::uint64_t end) override {
        std::vector<std::vector<candidate>> found(end - begin);
        progress_meter meter(place_.ctx(), "compare", found.size(), "blocks");
        for_each_piece(place_, found.size(), [&](std::size_t t) {
            meter.add(1);
            const tile& mine = tiles_[begin + t];
            const row_class& of = rows_.classes()[mine.of];
            row_joiner joiner(signatures_, rows_, bounds_, found[t]);
            for_partners(rows_.classes(), mine.of, bounds_, within_new_,
                         [&](const row_class& other) { joiner.join(of, mine.begin, mine.end, other); });
            sort_candidates(found[t]);
        });
        std::vector<candidate> all;
        for (std::vector<candidate>& some : found) {
            all.insert(all.end(), some.begin(), some.end());
            std::vector<candidate>().swap(some);
        }
        return all;
    }

  private:
    struct tile {
        std::size_t of;
        std::uint32_t begin, end;
    };

    cpu_place& place_;
    signature_view signatures_;
    const signature_bounds& bounds_;
    bool within_new_;
    row_list rows_;
    std::vector<tile> tiles_;
    std::uint64_t compared_ = 0;
};

}  // namespace

std::unique_ptr<signature_tiles> tiles_of_join(cpu_place& place, const signature_view& signatures,
                                               const signature_bounds& bounds, const duplicate_scope& scope) {
    return std::make_unique<host_tiles>(place, signatures, bounds, scope);
}

std::vector<candidate> join_signatures(cpu_place& place, const signature_view& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts) {
    check_texts(signatures.levels.size());
    host_tiles tiles(place, signatures, bounds, scope);
    counts.compared += tiles.compared();
    std::vector<candidate> all = tiles.join(0, tiles.size());
    sort_candidates(all);
    counts.candidates += all.size();
    return all;
}

template <>
std::vector<candidate> signature_candidates(cpu_place& place, const text_list& texts,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts) {
    const signature_list signatures(place, texts, options.signature_length);
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    if (options.method == duplicate_method::signature)
        return join_signatures(place, signatures.view(), bounds, scope, counts);
    return thesis_candidates(place, signatures.view(), bounds, scope, counts);
}

}  // namespace quern::near_duplicates_detail
