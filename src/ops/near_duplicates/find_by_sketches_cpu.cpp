// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU. Classes of equal texts by rising length; each is compared with the others whose length
// allows a pair, which are neighbours in that order, by filters of rising cost: 64 bytes, then 1 KB of counts
// (sketch.hpp), then the q-grams of the texts themselves (gram_filter.hpp), then the bounded edit distance. Each
// filter is a lower bound of the edit distance, so none loses a pair.
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <array>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "ops/near_duplicates/gram_filter.hpp"
#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/pair_bounds.hpp"
#include "ops/near_duplicates/sketched_classes.hpp"
#include "ops/near_duplicates/verify.hpp"

namespace quern::near_duplicates_detail {
namespace {

/// What one thread finds for a stretch of classes.
template <class Unit>
class row_scan {
  public:
    row_scan(const sketched_classes<Unit>& all, const decimal& threshold, const duplicate_scope& scope,
             gram_filter<Unit>& grams)
        : all_(all), threshold_(threshold), scope_(scope), grams_(grams) {}

    /// The candidates (a, b) with class b as the one that others are compared with; first <= others < last.
    void scan(std::uint32_t b, std::uint32_t first, std::uint32_t last) {
        const text_classes& classes = all_.classes;
        const std::uint64_t length_b = classes.length(b);
        fresh_ = true;
        for (std::uint32_t begin = first; begin < last; begin += at_once) {
            const std::uint32_t count = std::min(at_once, last - begin);
            unit_norms(row(b), row(begin), count, norms_.data());
            compared += count;
            // The bound rises with the length: that of the last is a bound for all of them.
            const std::uint32_t most =
                largest_distance(threshold_, classes.length(begin + count - 1) + length_b);
            for (std::uint32_t k = 0; k < count; ++k)
                if (norms_[k] <= 2 * std::uint64_t{most}) look_closer(begin + k, b, norms_[k]);
        }
    }

    std::vector<candidate> found;
    std::uint64_t compared = 0;

  private:
    static constexpr std::uint32_t at_once = 64;

    const std::uint8_t* row(std::uint32_t c) const {
        return all_.units.data() + std::size_t{c} * unit_buckets;
    }
    const std::uint8_t* pair_row(std::uint32_t c) const {
        return all_.pairs.data() + std::size_t{c} * pair_buckets;
    }

    void look_closer(std::uint32_t a, std::uint32_t b, std::uint32_t norm) {
        const text_classes& classes = all_.classes;
        if (a == b || (a > b && classes.has_new(a)) || !classes.wanted(a, b, scope_.within_new)) return;
        const std::uint64_t x = classes.length(a), y = classes.length(b);
        const std::uint32_t d = largest_distance(threshold_, x + y);
        const auto apart = [&](unsigned q) {
            const std::uint64_t in_x = grams_in(x, q), in_y = grams_in(y, q);
            return in_x < in_y ? in_y - in_x : in_x - in_y;
        };
        if (apart(1) > d || norm > largest_norm(1, d, apart(1))) return;
        if (pair_norm(pair_row(a), pair_row(b)) > largest_norm(2, d, apart(2))) return;
        if (fresh_) grams_.set(all_.text(b));
        fresh_ = false;
        if (grams_.allows(all_.text(a), d)) found.push_back({std::min(a, b), std::max(a, b)});
    }

    const sketched_classes<Unit>& all_;
    const decimal& threshold_;
    const duplicate_scope& scope_;
    std::array<std::uint32_t, at_once> norms_{};
    gram_filter<Unit>& grams_;
    bool fresh_ = true;
};

constexpr std::size_t rows_at_once = 16;                       ///< of a piece of work
constexpr std::size_t most_candidates = std::size_t{1} << 22;  ///< that wait for their edit distances, about

}  // namespace

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cpu_place& place, const unit_list<Unit>& texts,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts) {
    const text_classes classes(place, texts, scope.first_new);
    const auto all = sketch_all(place, texts, classes);
    const std::size_t pieces = (classes.size() + rows_at_once - 1) / rows_at_once;
    std::vector<candidate> waiting;
    std::vector<duplicate_pair> class_pairs;
    const auto flush = [&] {
        counts.candidates += waiting.size();
        append_class_pairs(place, texts, classes, options.threshold, waiting, class_pairs, counts);
        waiting.clear();
    };
    tbb::enumerable_thread_specific<gram_filter<Unit>> grams;
    const std::size_t pieces_at_once = std::size_t{256} * place.threads();
    for (std::size_t begin = 0; begin < pieces; begin += pieces_at_once) {
        const std::size_t count = std::min(pieces_at_once, pieces - begin);
        std::vector<std::vector<candidate>> found(count);
        std::vector<std::uint64_t> compared(count);
        for_each_piece(place, count, [&](std::size_t p) {
            place.run().check_stop();
            row_scan<Unit> rows(all, options.threshold, scope, grams.local());
            const std::size_t first_row = (begin + p) * rows_at_once;
            for (std::size_t b = first_row;
                 b < std::min<std::size_t>(first_row + rows_at_once, classes.size()); ++b) {
                const auto row = static_cast<std::uint32_t>(b);
                if (!classes.has_new(row)) continue;
                const class_range window = window_of(classes, options.threshold, row);
                rows.scan(row, window.first, window.last);
            }
            found[p] = std::move(rows.found);
            compared[p] = rows.compared;
        });
        for (std::size_t p = 0; p < count; ++p) {
            counts.compared += compared[p];
            waiting.insert(waiting.end(), found[p].begin(), found[p].end());
        }
        if (waiting.size() >= most_candidates) flush();
    }
    flush();
    return pairs_of_texts(classes, scope, class_pairs);
}

template std::vector<duplicate_pair> find_by_sketches(cpu_place&, const unit_list<std::uint8_t>&,
                                                      const duplicate_options&, const duplicate_scope&,
                                                      duplicate_counts&);
template std::vector<duplicate_pair> find_by_sketches(cpu_place&, const unit_list<std::uint32_t>&,
                                                      const duplicate_options&, const duplicate_scope&,
                                                      duplicate_counts&);

}  // namespace quern::near_duplicates_detail
