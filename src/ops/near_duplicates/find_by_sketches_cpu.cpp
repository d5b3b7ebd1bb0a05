// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on the CPU. Classes of equal new texts by rising length; each is compared with those before it
// whose length allows a pair, which are neighbours in that order, by filters of rising cost: 64 bytes, then 1 KB of
// counts (sketch.hpp), then the q-grams of the texts themselves (gram_filter.hpp), then the bounded edit distance. Each
// filter is a lower bound of the edit distance, so none loses a pair. Old texts meet the new ones before (old_texts.hpp).
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <array>

#include "ops/near_duplicates/candidate_scan.hpp"
#include "ops/near_duplicates/gram_filter.hpp"
#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/old_texts.hpp"
#include "ops/near_duplicates/pair_bounds.hpp"
#include "ops/near_duplicates/sketched_classes.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr std::size_t rows_at_once = 16;  ///< of a piece of work

/// What one thread needs, again and again.
template <class Unit>
struct row_scratch {
    gram_filter<Unit> grams;
    std::vector<Unit> unused;  ///< new texts are decoded already
};

/// What one thread finds for a stretch of classes. `skipped`: classes whose pairs are known.
template <class Unit>
class row_scan {
  public:
    row_scan(const unit_texts<Unit>& texts, const sketched_classes& all,
             const std::vector<std::uint8_t>& skipped, const decimal& threshold, row_scratch<Unit>& scratch)
        : texts_(texts), all_(all), skipped_(skipped), threshold_(threshold), scratch_(scratch) {}

    /// The candidates of class b and those before it.
    void scan(std::uint32_t b) {
        if (skipped_[b] != 0) return;
        const text_classes& classes = all_.classes;
        const class_range window = window_of(classes, threshold_, b);
        const std::uint64_t length_b = classes.length(b);
        fresh_ = true;
        for (std::uint32_t begin = window.first; begin < window.last; begin += at_once) {
            const std::uint32_t count = std::min(at_once, window.last - begin);
            unit_norms(all_.unit_row(b), all_.unit_row(begin), count, norms_.data());
            result.compared += count;
            // The bound rises with the length: that of the last is a bound for all of them.
            const std::uint32_t most =
                largest_distance(threshold_, classes.length(begin + count - 1) + length_b);
            for (std::uint32_t k = 0; k < count; ++k)
                if (norms_[k] <= 2 * std::uint64_t{most}) look_closer(begin + k, b, norms_[k]);
        }
    }

    scanned result;

  private:
    static constexpr std::uint32_t at_once = 64;

    void look_closer(std::uint32_t a, std::uint32_t b, std::uint32_t norm) {
        if (skipped_[a] != 0) return;
        const text_classes& classes = all_.classes;
        const std::uint64_t shorter = classes.length(a), longer = classes.length(b);
        const std::uint32_t d = largest_distance(threshold_, shorter + longer);
        const auto apart = [&](unsigned q) { return grams_in(longer, q) - grams_in(shorter, q); };
        if (apart(1) > d || norm > largest_norm(1, d, apart(1))) return;
        if (pair_norm(all_.pair_row(a), all_.pair_row(b)) > largest_norm(2, d, apart(2))) return;
        const std::uint32_t x = classes.text(a), y = classes.text(b);
        if (fresh_) scratch_.grams.set(texts_.read(y, scratch_.unused));
        fresh_ = false;
        if (scratch_.grams.allows(texts_.read(x, scratch_.unused), d))
            result.found.push_back({std::min(x, y), std::max(x, y)});
    }

    const unit_texts<Unit>& texts_;
    const sketched_classes& all_;
    const std::vector<std::uint8_t>& skipped_;
    const decimal& threshold_;
    row_scratch<Unit>& scratch_;
    std::array<std::uint32_t, at_once> norms_{};
    bool fresh_ = true;
};

}  // namespace

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(cpu_place& place, const text_list& list,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    const sketch_list sketches(place, list, known, unit_of<Unit>, scope.first_new);
    const unit_texts<Unit> texts(place, list, sketches);
    const text_classes classes(place, sketches, scope.first_new, sketches.size(), true);
    const sketched_classes fresh = sketch_classes(place, texts, sketches, classes);
    std::vector<duplicate_pair> found;
    std::vector<text_copy> copies;
    const auto take = [&](std::span<const candidate> candidates) {
        texts.append_pairs(place, options.threshold, candidates, found, counts);
    };
    scan_old_texts(place, texts, sketches, fresh, options.threshold, take, copies, counts);
    const std::vector<std::uint8_t> skipped = lead_to_old(classes, copies);
    if (scope.within_new) {
        tbb::enumerable_thread_specific<row_scratch<Unit>> scratch;
        const auto scan = [&](std::size_t p) {
            row_scan<Unit> rows(texts, fresh, skipped, options.threshold, scratch.local());
            const std::size_t begin = p * rows_at_once;
            for (std::size_t b = begin; b < std::min<std::size_t>(begin + rows_at_once, classes.size()); ++b)
                rows.scan(static_cast<std::uint32_t>(b));
            return std::move(rows.result);
        };
        scan_pieces(place, (classes.size() + rows_at_once - 1) / rows_at_once, scan, take, copies, counts);
    }
    return pairs_of_texts(sketches, scope, std::move(copies), std::move(found));
}

template std::vector<duplicate_pair> find_by_sketches<std::uint8_t>(cpu_place&, const text_list&,
                                                                    const text_sketches&,
                                                                    const duplicate_options&,
                                                                    const duplicate_scope&,
                                                                    duplicate_counts&);
template std::vector<duplicate_pair> find_by_sketches<std::uint32_t>(cpu_place&, const text_list&,
                                                                     const text_sketches&,
                                                                     const duplicate_options&,
                                                                     const duplicate_scope&,
                                                                     duplicate_counts&);

}  // namespace quern::near_duplicates_detail
