// SPDX-License-Identifier: Apache-2.0
// The vectors nearest by angle: a fast pass in floats selects candidates, which are then scored in double in one order.
//
// A candidate's fast score is within `error_bound` of its score. So at least `top` vectors have a score of at least the
// top-th fast score minus that bound, and a vector whose fast score is more than two bounds below the top-th is not among
// the best. The bound, with u = 2^-24:
// - The unit vectors are rounded to floats, a relative error of u in each component.
// - Their D products are summed in any order, fused or not, with an error of at most D u / (1 − D u) of the sum of their
//   absolute values (Higham 2002, §3.1), which is at most 1 by Cauchy and Schwarz.
// - Scores in double have an error of about D · 2^-53, and their bound is within the slack.
//
// The fast pass takes every pair of vectors once, in tiles of two blocks of vectors; the candidate lists of both blocks
// grow. Their intermediate contents depend on the order of the threads, the final scores do not. If ties make a list long
// (vectors of one dimension, a thousand copies of one vector), it is reduced early to the best by their scores in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "device/files/spilled_array.hpp"
#include "device/progress_meter.hpp"
#include "ops/word_similarity/vectors/similar_vectors_kernels.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {
namespace {

using namespace word_similarity_detail;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr std::size_t block_rows = 384;  // whole strips, and whole groups of rows
static_assert(block_rows % strip_width == 0 && block_rows % score_rows == 0);

struct candidate {
    float score;
    std::uint32_t row;
};

double error_bound(std::size_t dimensions) {
    // If D u is not small there is no bound: every vector is a candidate.
    return dimensions > 65'536 ? 4 : 1.01 * 0x1p-24 * static_cast<double>(dimensions + 8);
}

// The vectors as scored: minus their mean for Pearson's correlation.
class scored_vectors {
  public:
    scored_vectors(const word_vectors& vectors, vector_measure measure)
        : vectors_(vectors),
          centred_(measure == vector_measure::pearson),
          means_(vectors.words),
          lengths_(vectors.words) {}

    /// False for a vector without a direction.
    bool measure(std::uint32_t word) {
        const float* const v = values(word);
        if (centred_) {
            if (std::all_of(v, v + size(), [v](float x) { return x == v[0]; })) return false;
            // The second sum subtracts the rounding error of the first.
            const auto count = static_cast<double>(size());
            double sum = 0, rest = 0;
            for (std::size_t d = 0; d < size(); ++d) sum += double{v[d]};
            const double about = sum / count;
            for (std::size_t d = 0; d < size(); ++d) rest += double{v[d]} - about;
            means_[word] = about + rest / count;
        }
        lengths_[word] = std::sqrt(dot(word, word));
        return lengths_[word] > 0;
    }

    double score(std::uint32_t a, std::uint32_t b) const {
        return std::clamp(dot(a, b) / (lengths_[a] * lengths_[b]), -1.0, 1.0);
    }
    float unit(std::uint32_t word, std::size_t d) const {
        return static_cast<float>((double{values(word)[d]} - means_[word]) / lengths_[word]);
    }
    std::size_t size() const { return vectors_.dimensions; }

  private:
    const float* values(std::uint32_t word) const {
        return vectors_.values.data() + std::size_t{word} * size();
    }

    // Eight sums by the remainder of d modulo 8, which a compiler may vectorise.
    double dot(std::uint32_t a, std::uint32_t b) const {
        const float *const x = values(a), *const y = values(b);
        const double of_x = means_[a], of_y = means_[b];
        std::array<double, 8> sums{};
        std::size_t d = 0;
        for (; d + 8 <= size(); d += 8)
            for (std::size_t i = 0; i < 8; ++i)
                sums[i] += (double{x[d + i]} - of_x) * (double{y[d + i]} - of_y);
        for (; d < size(); ++d) sums[d % 8] += (double{x[d]} - of_x) * (double{y[d]} - of_y);
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    const word_vectors& vectors_;
    const bool centred_;
    std::vector<double> means_, lengths_;
};

// The candidates of one row: those that may be among its best, as far as known.
struct candidate_list {
    std::vector<candidate> found;
    std::size_t full = 0;  // the size at which it is pruned next

    /// Takes a candidate at or above `limit`, which rises.
    void take(candidate c, std::size_t top, double twice_bound, float& limit) {
        if (!(c.score >= limit)) return;
        found.push_back(c);
        if (full == 0) full = found.size() + std::max(top, std::size_t{32});
        if (found.size() < full) return;
        look_through(top, twice_bound, limit);
        full = found.size() + std::max(top, std::size_t{32});
    }
    void look_through(std::size_t top, double twice_bound, float& limit) {
        if (found.size() < top) return;
        const auto last = found.begin() + static_cast<std::ptrdiff_t>(top - 1);
        std::nth_element(found.begin(), last, found.end(),
                         [](const candidate& a, const candidate& b) { return a.score > b.score; });
        limit = std::max(limit, std::nextafter(static_cast<float>(last->score - twice_bound), -infinity));
        std::erase_if(found, [limit](const candidate& c) { return c.score < limit; });
    }
};

// The rows of a block: their candidates, and the fast score that a new one needs.
struct row_block {
    std::mutex mutex;
    std::array<candidate_list, block_rows> lists;
    std::array<float, block_rows> limits{};

    row_block() { limits.fill(-infinity); }
};

class vector_search {
  public:
    vector_search(cpu_place& place, const word_vectors& vectors, vector_measure measure, std::uint32_t top)
        : place_(place), words_(vectors.words), top_(top), vectors_(vectors, measure) {}

    neighbour_lists run() {
        measure();
        blocks_ = std::vector<row_block>((rows_.size() + block_rows - 1) / block_rows);
        lay_out();
        const std::size_t tiles = blocks_.size() * (blocks_.size() + 1) / 2;
        progress_meter meter(place_.ctx(), "similar", tiles, "tiles");
        for_each_piece(place_, tiles, [&](std::size_t t) {
            meter.add(1);
            // Tiles by rows of a triangle, from its tip: row r has r + 1.
            auto r = static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(t) + 1) - 1) / 2);
            while (r * (r + 1) / 2 > t) --r;
            while ((r + 1) * (r + 2) / 2 <= t) ++r;
            score_tile(r, t - r * (r + 1) / 2);
        });
        return best();
    }

  private:
    struct hit {
        std::uint32_t row, column;  // of the two blocks
        float score;
    };

    void measure() {
        std::vector<std::uint8_t> kept(words_);
        const std::size_t pieces = pieces_for(place_, words_, 1024);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            const item_range part = piece_of(words_, pieces, p);
            for (std::size_t w = part.begin; w < part.end; ++w)
                kept[w] = vectors_.measure(static_cast<std::uint32_t>(w));
        });
        for (std::uint32_t w = 0; w < words_; ++w)
            if (kept[w] != 0) rows_.push_back(w);
    }

    // The unit vectors in two layouts: by rows, and in strips. Padded with zeros.
    void lay_out() {
        const std::size_t size = blocks_.size() * block_rows * vectors_.size();
        by_rows_ = spilled_array<float>(place_, size, "unit vectors");
        by_strips_ = spilled_array<float>(place_, size, "unit vectors");
        for_each_piece(place_, blocks_.size(), [&](std::size_t b) {
            for (std::size_t r = b * block_rows; r < (b + 1) * block_rows; ++r) {
                place_.ctx().check_stop();
                float* const row = by_rows_.data() + r * vectors_.size();
                float* const strip = strip_of(r) + r % strip_width;
                for (std::size_t d = 0; d < vectors_.size(); ++d)
                    row[d] = strip[d * strip_width] = r < rows_.size() ? vectors_.unit(rows_[r], d) : 0;
            }
        });
    }
    float* strip_of(std::size_t row) const {
        return by_strips_.data() + row / strip_width * strip_width * vectors_.size();
    }

    std::array<float, block_rows> limits_of(std::size_t b) {
        const std::lock_guard hold(blocks_[b].mutex);
        return blocks_[b].limits;
    }

    // All pairs of block a's rows with block b's.
    void score_tile(std::size_t a, std::size_t b) {
        const auto of_a = limits_of(a), of_b = limits_of(b);
        std::vector<hit> hits;
        std::array<float, score_rows * strip_width> scores{};
        const std::size_t size = vectors_.size(), first_a = a * block_rows, first_b = b * block_rows;
        const std::size_t count_a = std::min(block_rows, rows_.size() - first_a);
        const std::size_t count_b = std::min(block_rows, rows_.size() - first_b);
        for (std::size_t j = 0; j < count_b; j += strip_width)
            for (std::size_t i = 0; i < count_a; i += score_rows) {
                const std::uint32_t found =
                    score_strip({by_rows_.data() + (first_a + i) * size, strip_of(first_b + j), size,
                                 of_a.data() + i, of_b.data() + j, scores.data()});
                if (found == 0) continue;
                for (std::size_t r = i; r < std::min(i + score_rows, count_a); ++r)
                    for (std::size_t c = j; found >> (r - i) & 1 && c < std::min(j + strip_width, count_b);
                         ++c) {
                        const float score = scores[(r - i) * strip_width + (c - j)];
                        if (score >= std::min(of_a[r], of_b[c]))
                            hits.push_back(
                                {static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(c), score});
                    }
            }
        const auto take = [&](std::size_t block, std::size_t from, auto own, auto other) {
            row_block& into = blocks_[block];
            const std::lock_guard hold(into.mutex);
            for (const hit& h : hits) {
                const std::size_t row = block * block_rows + h.*own, other_row = from + h.*other;
                candidate_list& list = into.lists[h.*own];
                float& limit = into.limits[h.*own];
                if (row == other_row) continue;
                list.take({h.score, static_cast<std::uint32_t>(other_row)}, top_, twice_bound_, limit);
                if (list.found.size() > 4 * top_ + 1024) cut(row, list, limit);
            }
        };
        take(a, first_b, &hit::row, &hit::column);
        if (a != b) take(b, first_a, &hit::column, &hit::row);
    }

    struct scored_candidate {
        double score;
        candidate from;
    };
    // The best of a row's candidates in their order: rows ascend like words.
    std::vector<scored_candidate> best_of(std::size_t row, const candidate_list& list) const {
        std::vector<scored_candidate> scored;
        for (const candidate& c : list.found) scored.push_back({vectors_.score(rows_[row], rows_[c.row]), c});
        const std::size_t kept = std::min(top_, scored.size());
        std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(kept), scored.end(),
                          [](const scored_candidate& x, const scored_candidate& y) {
                              return x.score != y.score ? x.score > y.score : x.from.row < y.from.row;
                          });
        scored.resize(kept);
        return scored;
    }
    void cut(std::size_t row, candidate_list& list, float& limit) const {
        const auto best = best_of(row, list);
        list.found.clear();
        for (const scored_candidate& c : best) list.found.push_back(c.from);
        list.full = 0;
        if (best.size() < top_) return;
        const double least = best.back().score - twice_bound_ / 2;
        limit = std::max(limit, std::nextafter(static_cast<float>(least), -infinity));
    }

    neighbour_lists best() {
        std::vector<std::vector<scored_candidate>> found(rows_.size());
        for_each_piece(place_, blocks_.size(), [&](std::size_t b) {
            place_.ctx().check_stop();
            for (std::size_t row = b * block_rows; row < std::min((b + 1) * block_rows, rows_.size());
                 ++row) {
                candidate_list& list = blocks_[b].lists[row - b * block_rows];
                list.look_through(top_, twice_bound_, blocks_[b].limits[row - b * block_rows]);
                found[row] = best_of(row, list);
                std::vector<candidate>().swap(list.found);
            }
        });
        neighbour_lists result;
        result.offsets.assign(std::size_t{words_} + 1, 0);
        for (std::size_t row = 0; row < rows_.size(); ++row)
            result.offsets[rows_[row] + 1] = found[row].size();
        for (std::size_t w = 0; w < words_; ++w) result.offsets[w + 1] += result.offsets[w];
        for (const auto& of_row : found)
            for (const scored_candidate& c : of_row) {
                result.words.push_back(rows_[c.from.row]);
                result.scores.push_back(c.score);
            }
        result.place = "cpu: vectors are compared there";
        return result;
    }

    cpu_place& place_;
    const std::uint32_t words_;
    const std::size_t top_;
    scored_vectors vectors_;
    const double twice_bound_ = 2 * error_bound(vectors_.size());
    std::vector<std::uint32_t> rows_;  // words whose vectors have a direction
    std::vector<row_block> blocks_;
    spilled_array<float> by_rows_, by_strips_;
};

void check(const word_vectors& vectors) {
    if (vectors.values.size() != std::size_t{vectors.words} * vectors.dimensions)
        throw usage_error("the values are not those of " + std::to_string(vectors.words) + " vectors of " +
                          std::to_string(vectors.dimensions));
    for (std::size_t i = 0; i < vectors.values.size(); ++i)
        if (!std::isfinite(vectors.values[i]))
            throw usage_error("value " + std::to_string(i) + " of the vectors is not a finite number");
}

}  // namespace

neighbour_lists similar_vectors(const word_vectors& vectors, vector_measure measure, std::uint32_t top,
                                const context& ctx) {
    if (top == 0) throw usage_error("invalid number of neighbours 0 (expected at least 1)");
    check(vectors);
    cpu_place place(ctx);
    return vector_search(place, vectors, measure, top).run();
}

std::vector<double> pair_similarities(const word_vectors& vectors, vector_measure measure,
                                      std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs,
                                      const context& ctx) {
    check(vectors);
    for (const auto& [a, b] : pairs)
        if (a >= vectors.words || b >= vectors.words) throw usage_error("a pair has a word past the last");
    ctx.check_stop();
    cpu_place place(ctx);
    scored_vectors scored(vectors, measure);
    std::vector<std::uint8_t> has_direction(vectors.words);
    const auto in_pieces = [&place](std::size_t items, const auto& work) {
        constexpr std::size_t at_once = 1024;
        for_each_piece(place, (items + at_once - 1) / at_once, [&](std::size_t p) {
            place.ctx().check_stop();
            for (std::size_t i = p * at_once; i < std::min(items, (p + 1) * at_once); ++i) work(i);
        });
    };
    in_pieces(vectors.words, [&](std::size_t w) {
        has_direction[w] = scored.measure(static_cast<std::uint32_t>(w)) ? 1 : 0;
    });
    std::vector<double> scores(pairs.size());
    in_pieces(pairs.size(), [&](std::size_t i) {
        const auto [a, b] = pairs[i];
        if (has_direction[a] != 0 && has_direction[b] != 0) scores[i] = a == b ? 1 : scored.score(a, b);
    });
    return scores;
}

}  // namespace quern
