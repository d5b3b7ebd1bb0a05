// SPDX-License-Identifier: Apache-2.0
// The rankings of a batch of queries whose words are in device memory. For a small k the best are kept while tiles are
// scored (keep_best.cuh). For a large k, and for queries left undecided by that, all scores are written, one row per query,
// and the best of every row are selected.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/search/keep_best.cuh"
#include "ops/search/score_tiles.cuh"
#include "primitives/top_k/top_k.hpp"

namespace quern::search_detail {

/// The bytes of a query's row of scores, of its selection if k is large, and of the best. `best`: k, or all documents.
constexpr std::uint64_t row_bytes(std::uint64_t documents, std::uint64_t best) {
    constexpr std::uint64_t small_k = 2048, sorted = 64;
    return documents * (sizeof(std::int64_t) + (best > small_k ? sorted : 0)) +
           best * (sizeof(std::int64_t) + sizeof(std::uint32_t));
}

using ranking_of = std::vector<scored_document>;  ///< per query

template <class Scorer>
class batch_ranking {
  public:
    /// Rows, or kept documents, take at most `bytes`, or what one query needs. `longest`: maximum words of a query.
    batch_ranking(cuda_place& place, const device_batch<Scorer>& batch, std::size_t longest, std::size_t k,
                  std::uint64_t bytes)
        : place_(place),
          batch_(batch),
          longest_(longest),
          documents_(static_cast<std::size_t>(batch.last - batch.first)),
          best_(std::min(k, documents_)),
          bytes_(bytes) {}

    /// Appends to *rankings[i] the ranking of queries[i].
    void run(std::span<const device_query> queries, std::span<ranking_of* const> rankings) {
        std::size_t chunk = queries.size();
        if (best_ > max_kept || !fits(chunk)) return by_all_scores(queries, rankings);
        std::vector<device_query> undecided;
        std::vector<ranking_of*> theirs;
        for (std::size_t from = 0; from < queries.size(); from += chunk) {
            place_.ctx().check_stop();
            const std::size_t count = std::min(chunk, queries.size() - from);
            by_limits(queries.subspan(from, count), rankings.subspan(from, count), undecided, theirs);
        }
        by_all_scores(undecided, theirs);  // after the memory of kept documents is released
    }

  private:
    static constexpr std::size_t max_kept = max_sorted / 4;
    static constexpr std::uint64_t kept_bytes = sizeof(std::int64_t) + sizeof(std::uint32_t);

    /// About eight blocks for each that runs at a time; a block with many tiles finds its lists' positions once.
    void cut(std::size_t queries) {
        constexpr std::uint64_t max_tiles = 16, blocks_running = 6, rounds = 8;
        const std::uint64_t tiles = (documents_ + tile_documents - 1) / tile_documents;
        const std::uint64_t wanted = std::uint64_t{place_.multiprocessors()} * blocks_running * rounds;
        batch_.tiles =
            static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tiles * queries / wanted, 1, max_tiles));
        batch_.pieces = static_cast<std::uint32_t>((tiles + batch_.tiles - 1) / batch_.tiles);
    }

    /// All pieces may start in parallel and keep k each, and some that share the last one's bucket; later ones keep fewer.
    std::uint64_t capacity() const {
        const std::uint64_t first_tiles = std::uint64_t{batch_.pieces} * (best_ + best_ / 2 + 256);
        return std::min<std::uint64_t>(documents_, first_tiles + 16 * best_ + max_sorted);
    }
    std::uint64_t query_bytes() const {
        return capacity() * kept_bytes + best_ * kept_bytes + score_buckets * sizeof(std::uint32_t) + 64;
    }

    /// Reduces `chunk` until it fits. False if keeping takes as much as writing all scores.
    bool fits(std::size_t& chunk) {
        cut(chunk);
        while (chunk > 1 && chunk * query_bytes() > bytes_) {
            chunk = static_cast<std::size_t>(std::clamp<std::uint64_t>(bytes_ / query_bytes(), 1, chunk - 1));
            cut(chunk);
        }
        return capacity() * kept_bytes < documents_ * sizeof(std::int64_t) || documents_ <= max_sorted;
    }

    template <class Finish>
    void score_tiles(const cuda_array<device_query>& queries, const Finish& finish) {
        batch_.queries = queries.data();
        QUERN_LAUNCH(place_,
                     (cuda::launch_shape{dim3(static_cast<unsigned>(queries.size() * batch_.pieces)),
                                         dim3(tile_threads), 2 * longest_ * sizeof(std::uint32_t)}),
                     (score_tiles_kernel<Scorer, Finish>), batch_, finish);
    }

    void hand_out(const cuda_array<std::int64_t>& scores, const cuda_array<std::uint32_t>& ids,
                  std::span<ranking_of* const> rankings) {
        const std::vector<std::int64_t> found_scores = to_host(place_, scores.span());
        const std::vector<std::uint32_t> found_ids = to_host(place_, ids.span());
        append_rankings(found_scores, found_ids, best_, batch_.first, rankings, place_.ctx());
    }

    /// Adds the undecided queries, with their rankings, to `again` and `others`.
    void by_limits(std::span<const device_query> queries, std::span<ranking_of* const> rankings,
                   std::vector<device_query>& again, std::vector<ranking_of*>& others) {
        cut(queries.size());
        const std::size_t count = queries.size(), places = count * static_cast<std::size_t>(capacity());
        const auto requested = array_from(place_, queries, "queries");
        const cuda_array<std::uint32_t> counts(place_, count * (score_buckets + 2), "counts of scores");
        const cuda_array<std::int64_t> scores(place_, places, "the scores of documents");
        const cuda_array<std::uint32_t> documents(place_, places, "documents");
        place_.fill_bytes(counts.data(), 0, counts.size() * sizeof(std::uint32_t));
        std::uint32_t* const limits = counts.data() + count * score_buckets;
        const kept_on_device kept{counts.data(),
                                  limits,
                                  limits + count,
                                  scores.data(),
                                  documents.data(),
                                  static_cast<std::uint32_t>(capacity()),
                                  static_cast<std::uint32_t>(best_)};
        score_tiles(requested, keep_best{kept});
        const cuda_array<std::int64_t> best_scores(place_, count * best_, "the best scores");
        const cuda_array<std::uint32_t> best_ids(place_, count * best_, "the best documents");
        const cuda_array<std::uint32_t> undecided(place_, count, "which queries are undecided");
        constexpr std::size_t sorted_bytes = max_sorted * kept_bytes;
        place_.make_current();  // the attribute is the current device's
        QUERN_CHECK(cudaFuncSetAttribute(sort_kept_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(sorted_bytes)));
        QUERN_LAUNCH(
            place_,
            (cuda::launch_shape{dim3(static_cast<unsigned>(count)), dim3(sort_threads), sorted_bytes}),
            sort_kept_kernel, kept, requested.data(), batch_.first, best_scores.data(), best_ids.data(),
            undecided.data());
        const std::vector<std::uint32_t> left = to_host(place_, undecided.span());
        std::vector<ranking_of*> decided(rankings.begin(), rankings.end());
        for (std::size_t q = 0; q < count; ++q) {
            if (left[q] == 0) continue;
            again.push_back(queries[q]);
            others.push_back(rankings[q]);
            decided[q] = nullptr;
        }
        hand_out(best_scores, best_ids, decided);
    }

    void by_all_scores(std::span<const device_query> queries, std::span<ranking_of* const> rankings) {
        const std::size_t chunk =
            static_cast<std::size_t>(std::max<std::uint64_t>(bytes_ / row_bytes(documents_, best_), 1));
        for (std::size_t from = 0; from < queries.size(); from += chunk) {
            place_.ctx().check_stop();
            const std::size_t count = std::min(chunk, queries.size() - from);
            cut(count);
            const auto requested = array_from(place_, queries.subspan(from, count), "queries");
            const cuda_array<std::int64_t> scores(place_, count * documents_, "the scores of documents");
            score_tiles(requested, write_scores{scores.data()});
            const cuda_array<std::int64_t> best_scores(place_, count * best_, "the best scores");
            const cuda_array<std::uint32_t> best_ids(place_, count * best_, "the best documents");
            primitives::batched_top_k<std::int64_t>(place_, scores.span(), documents_, best_,
                                                    best_scores.span(), best_ids.span());
            hand_out(best_scores, best_ids, rankings.subspan(from, count));
        }
    }

    cuda_place& place_;
    device_batch<Scorer> batch_;
    std::size_t longest_, documents_, best_;
    std::uint64_t bytes_;
};

}  // namespace quern::search_detail
