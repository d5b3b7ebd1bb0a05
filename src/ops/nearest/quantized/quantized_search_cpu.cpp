// SPDX-License-Identifier: Apache-2.0
// The k best rows of a tile for every query, through its quantized form, on the CPU.
// - Queries are processed up to 256 at a time. From blocks spread over the tile, the best-looking rows give k exact
//   distances, and so a first limit for each query.
// - Then threads take pieces of the tile. The filter marks candidates for all queries, one bit each; each query's
//   candidates get exact distances; those among its k best are kept, under the query's lock, and its limit tightens.
// - Expected for randomly ordered rows: about k·ln(rows / rows sampled first) distances, plus a share for the error of the
//   codes.
// - If a quarter of a piece is marked, distances of the whole piece are computed, row after row; if that happens under a
//   limit, the query is finished in this way.
//
// The result is the k smallest pairs (key, row) of a set of distinct pairs: the same for any number of threads and any
// order of pieces. Only the number of candidates depends on these.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/quantized/quantized_cpu.hpp"

namespace quern::nearest_detail {
namespace {

constexpr std::size_t max_queries = 256;      ///< at a time: their codes stay in the second-level cache
constexpr std::size_t dense_queries = 16;     ///< that share rows when distances of whole pieces are computed
constexpr std::size_t dense_rows = 1024;      ///< of which, at a time
constexpr std::uint32_t min_rows = 4096;      ///< below: all distances are as fast
constexpr std::uint32_t min_rows_for_k = 16;  ///< rows per k; with fewer, all distances are as fast

row_tile<cpu_place> some_rows(const row_tile<cpu_place>& tile, std::size_t first, std::size_t count) {
    row_tile<cpu_place> some = tile;
    some.rows = static_cast<std::uint32_t>(count);
    some.values = tile.values.subspan(first * tile.stride);
    if (!tile.squares.empty()) some.squares = tile.squares.subspan(first, count);
    return some;
}

/// Contiguous copies of scattered rows.
class gathered_rows {
  public:
    gathered_rows(const row_tile<cpu_place>& from, std::span<const std::uint32_t> which) : tile_(from) {
        const std::size_t bytes = bytes_of_row(from.type, from.dimensions);
        tile_.stride = (bytes + 7) / 8 * 8;
        words_.resize(which.size() * tile_.stride / 8);
        auto* const to = static_cast<std::byte*>(static_cast<void*>(words_.data()));
        for (std::size_t i = 0; i < which.size(); ++i) {
            std::memcpy(to + i * tile_.stride, from.values.data() + which[i] * from.stride, bytes);
            if (!from.squares.empty()) squares_.push_back(from.squares[which[i]]);
        }
        tile_.rows = static_cast<std::uint32_t>(which.size());
        tile_.values = std::as_bytes(std::span(words_));
        tile_.squares = squares_;
    }
    gathered_rows(const gathered_rows&) = delete;  // the tile points into it
    gathered_rows& operator=(const gathered_rows&) = delete;
    const row_tile<cpu_place>& tile() const { return tile_; }

  private:
    row_tile<cpu_place> tile_;
    std::vector<std::uint64_t> words_;
    std::vector<double> squares_;
};

template <class Key>
struct ranked_row {
    Key key;
    std::uint32_t row;
    bool operator<(const ranked_row& other) const {
        return key != other.key ? key < other.key : row < other.row;
    }
};

/// The best rows of one query so far. Any number of threads.
template <class Key>
class best_rows {
  public:
    using entry = ranked_row<Key>;
    explicit best_rows(std::uint32_t k) : k_(k) {}

    /// Greater entries are not among the k best.
    entry worst() {
        const std::lock_guard hold(mutex_);
        return worst_;
    }
    /// Before anything is offered: k rows are at least as good.
    void begin_with(entry worst) { worst_ = worst; }
    /// Distinct rows, none offered before.
    void offer(std::span<const entry> rows) {
        const std::lock_guard hold(mutex_);
        for (const entry& row : rows)
            if (!(worst_ < row)) kept_.push_back(row);
        if (kept_.size() >= k_ + std::min<std::size_t>(k_ / 4, sorted_once_ ? k_ : 0)) keep_best();
    }
    /// The k best, best first.
    void write(std::span<Key> keys, std::span<std::uint32_t> ids) {
        std::sort(kept_.begin(), kept_.end());
        for (std::size_t j = 0; j < k_; ++j) {
            const bool is_present = j < kept_.size();
            keys[j] = is_present ? kept_[j].key : no_key<Key>;
            ids[j] = is_present ? kept_[j].row : no_row;
        }
    }

  private:
    void keep_best() {
        std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end());
        kept_.resize(k_);
        worst_ = std::min(worst_, kept_.back());
        sorted_once_ = true;
    }

    std::uint32_t k_;
    std::mutex mutex_;
    std::vector<entry> kept_;
    entry worst_{no_key<Key>, no_row};
    bool sorted_once_ = false;  ///< then k are known, and a few more may wait
};

/// One search for up to max_queries queries.
template <class Key>
class quantized_search {
  public:
    using entry = ranked_row<Key>;

    quantized_search(cpu_place& place, const row_tile<cpu_place>& tile,
                     const quantized_rows<cpu_place>::state& quantized, const row_tile<cpu_place>& queries,
                     vector_metric metric, std::uint32_t k, std::span<const std::uint64_t> allowed)
        : place_(place),
          tile_(tile),
          quantized_(quantized),
          queries_(queries),
          metric_(metric),
          k_(k),
          allowed_(allowed),
          codes_(quantized, queries, best_product_method()),
          is_plain_(queries.rows) {
        for (std::size_t q = 0; q < queries.rows; ++q) best_.push_back(std::make_unique<best_rows<Key>>(k));
    }

    filter_counts run() {
        if (tile_.rows < min_rows || k_ > tile_.rows / min_rows_for_k) {
            plain_count_ = queries_.rows;
            for (auto& plain : is_plain_) plain = true;
        } else {
            const std::size_t groups = pieces_for(place_, queries_.rows, 6, 2);
            for_each_piece(place_, groups, [&](std::size_t p) {
                const auto [begin, end] = piece_of(queries_.rows, groups, p);
                begin_queries(begin, end - begin);
            });
        }
        const std::size_t blocks = quantized_.blocks(), each = piece_blocks();
        const std::size_t pieces = (blocks + each - 1) / each;
        std::atomic<std::size_t> next{0};  // in turn: limits tighten as early as possible
        for_each_piece(place_, std::min<std::size_t>(place_.threads(), pieces), [&](std::size_t) {
            worker with(place_);
            for (std::size_t p = next++; p < pieces; p = next++) {
                place_.ctx().check_stop();
                take_piece(with, p * each, std::min(blocks, (p + 1) * each));
            }
        });
        return {filtered_, confirmed_};
    }

    void write(std::span<Key> keys, std::span<std::uint32_t> ids) {
        for_each_piece(place_, queries_.rows, [&](std::size_t q) {
            best_[q]->write(keys.subspan(q * k_, k_), ids.subspan(q * k_, k_));
        });
    }

  private:
    /// The working memory of one thread.
    struct worker {
        explicit worker(cpu_place& all) : place(one_thread(all)) {}
        cpu_place place;
        std::vector<std::uint64_t> masks;
        std::vector<float> limits;
        std::vector<entry> worst, found;
        std::vector<std::uint32_t> rows, dense;
        std::vector<Key> keys;

        static context one_thread(cpu_place& all) {
            context ctx = all.ctx();
            ctx.threads = 1;
            ctx.memory_bytes = std::max<std::uint64_t>(all.memory().left(), 1);
            return ctx;
        }
    };

    /// Blocks of a piece: much work for one query, and enough pieces for the threads.
    std::size_t piece_blocks() const {
        constexpr std::size_t piece_bytes = std::size_t{1} << 22;
        const std::size_t by_bytes =
            std::clamp<std::size_t>(piece_bytes / (block_rows * quantized_.padded), 32, 512);
        const std::size_t shares = std::size_t{4} * place_.threads();
        return std::clamp<std::size_t>(quantized_.blocks() / shares, 16, by_bytes);
    }

    /// The existing and allowed rows of a block.
    std::uint64_t rows_of_block(std::size_t block) const {
        const std::size_t left = tile_.rows - block * block_rows;
        const std::uint64_t present = left >= block_rows ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
        return allowed_.empty() ? present : present & allowed_[block];
    }

    /// Distances of some promising rows, for initial limits: for query after query from `first` on.
    void begin_queries(std::size_t first, std::size_t count) {
        const std::size_t blocks = quantized_.blocks();
        const std::size_t wanted = std::max<std::size_t>(
            {std::min<std::size_t>(std::size_t{2} * k_, blocks / 8), k_ / 8 + 1, std::size_t{32}});
        const std::size_t samples = std::min(wanted, blocks), pitch = samples * best_lanes;
        const auto block_of = [&](std::size_t sample) { return sample * blocks / samples; };
        std::vector<float> best(count * pitch);
        for (std::size_t i = 0; i < samples; ++i)
            find_best(quantized_.coded(), block_of(i), codes_.coded(first, count), rows_of_block(block_of(i)),
                      best.data() + i * best_lanes, pitch, codes_.method());
        filtered_ += count * samples * block_rows;
        worker with(place_);
        std::vector<std::pair<float, std::uint32_t>> guesses;
        for (std::size_t q = 0; q < count; ++q) {
            guesses.clear();
            for (std::size_t i = 0; i < pitch; ++i) {
                const float bound = best[q * pitch + i];
                const std::size_t row =
                    block_of(i / best_lanes) * block_rows + row_of_best(bound, i % best_lanes);
                if (bound > no_limit) guesses.emplace_back(bound, static_cast<std::uint32_t>(row));
            }
            if (guesses.size() >= k_) begin_query(with, first + q, guesses);
        }
    }

    void begin_query(worker& with, std::size_t q, std::span<std::pair<float, std::uint32_t>> guesses) {
        std::nth_element(guesses.begin(), guesses.begin() + (k_ - 1), guesses.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        place_.ctx().check_stop();  // these rows are anywhere in the file
        with.rows.clear();
        for (const auto& guess : guesses.first(k_)) with.rows.push_back(guess.second);
        with.keys.resize(k_);
        distance_keys<Key>(with.place, tile_, some_rows(queries_, q, 1), metric_, with.rows, with.keys);
        confirmed_ += k_;
        entry worst{0, 0};
        for (std::size_t i = 0; i < k_; ++i) worst = std::max(worst, entry{with.keys[i], with.rows[i]});
        best_[q]->begin_with(worst);
    }

    void take_piece(worker& with, std::size_t first, std::size_t last) {
        const std::size_t blocks = last - first, count = queries_.rows;
        with.dense.clear();
        with.worst.clear();
        for (std::size_t q = 0; q < count; ++q) with.worst.push_back(best_[q]->worst());
        if (plain_count_ >= count) {
            for (std::size_t q = 0; q < count; ++q) with.dense.push_back(static_cast<std::uint32_t>(q));
        } else {
            with.limits.clear();
            for (std::size_t q = 0; q < count; ++q)
                with.limits.push_back(limit_of_key(quantized_.kind, codes_.terms(q), with.worst[q].key));
            with.masks.resize(count * blocks);
            mark_candidates(quantized_.coded(), first, blocks, codes_.coded(), with.limits.data(),
                            with.masks.data(), codes_.method());
            filtered_ += count * blocks * block_rows;
            for (std::size_t q = 0; q < count; ++q) take_candidates(with, q, first, blocks);
        }
        for (std::size_t i = 0; i < with.dense.size(); i += dense_queries)
            take_whole_piece(
                with, std::span(with.dense).subspan(i).first(std::min(dense_queries, with.dense.size() - i)),
                first, last);
    }

    void take_candidates(worker& with, std::size_t q, std::size_t first, std::size_t blocks) {
        if (is_plain_[q]) {
            with.dense.push_back(static_cast<std::uint32_t>(q));
            return;
        }
        const std::uint64_t* const masks = with.masks.data() + q * blocks;
        with.rows.clear();
        for (std::size_t b = 0; b < blocks; ++b) {
            if (masks[b] == 0) continue;
            for (std::uint64_t left = masks[b] & rows_of_block(first + b); left != 0; left &= left - 1)
                with.rows.push_back(static_cast<std::uint32_t>((first + b) * block_rows) +
                                    static_cast<std::uint32_t>(std::countr_zero(left)));
        }
        if (with.rows.empty()) return;
        if (with.rows.size() > blocks * block_rows / 4) {
            with.dense.push_back(static_cast<std::uint32_t>(q));
            if (with.limits[q] > no_limit && !is_plain_[q].exchange(true)) ++plain_count_;
            return;
        }
        with.keys.resize(with.rows.size());
        distance_keys<Key>(with.place, tile_, some_rows(queries_, q, 1), metric_, with.rows, with.keys);
        confirmed_ += with.rows.size();
        with.found.clear();
        for (std::size_t i = 0; i < with.rows.size(); ++i) {
            const entry row{with.keys[i], with.rows[i]};
            if (!(with.worst[q] < row)) with.found.push_back(row);
        }
        if (!with.found.empty()) best_[q]->offer(with.found);
    }

    void take_whole_piece(worker& with, std::span<const std::uint32_t> which, std::size_t first,
                          std::size_t last) {
        const gathered_rows queries(queries_, which);
        const std::size_t end = std::min<std::size_t>(tile_.rows, last * block_rows);
        for (std::size_t row = first * block_rows; row < end; row += dense_rows) {
            const std::size_t count = std::min(dense_rows, end - row);
            with.keys.resize(which.size() * count);
            distance_keys<Key>(with.place, some_rows(tile_, row, count), queries.tile(), metric_, {},
                               with.keys);
            confirmed_ += with.keys.size();
            for (std::size_t i = 0; i < which.size(); ++i) {
                const entry worst = best_[which[i]]->worst();
                with.found.clear();
                for (std::size_t r = 0; r < count; ++r) {
                    const entry found{with.keys[i * count + r], static_cast<std::uint32_t>(row + r)};
                    if (worst < found) continue;
                    if (!allowed_.empty() && (allowed_[found.row / 64] >> (found.row % 64) & 1) == 0)
                        continue;
                    with.found.push_back(found);
                }
                if (!with.found.empty()) best_[which[i]]->offer(with.found);
            }
        }
    }

    cpu_place& place_;
    const row_tile<cpu_place>& tile_;
    const quantized_rows<cpu_place>::state& quantized_;
    const row_tile<cpu_place>& queries_;
    vector_metric metric_;
    std::uint32_t k_;
    std::span<const std::uint64_t> allowed_;
    query_codes codes_;
    std::vector<std::unique_ptr<best_rows<Key>>> best_;
    std::vector<std::atomic<bool>> is_plain_;  ///< the filter passes too many rows
    std::atomic<std::size_t> plain_count_{0};
    std::atomic<std::uint64_t> filtered_{0}, confirmed_{0};
};

}  // namespace

template <class Key>
filter_counts quantized_top_k(cpu_place& place, const row_tile<cpu_place>& tile,
                              const quantized_rows<cpu_place>& quantized, const row_tile<cpu_place>& queries,
                              vector_metric metric, std::uint32_t k, std::span<const std::uint64_t> allowed,
                              std::span<Key> keys, std::span<std::uint32_t> ids) {
    filter_counts all;
    if (k == 0) return all;
    for (std::size_t first = 0; first < queries.rows; first += max_queries) {
        const std::size_t count = std::min<std::size_t>(max_queries, queries.rows - first);
        const row_tile<cpu_place> some = some_rows(queries, first, count);
        quantized_search<Key> search(place, tile, quantized.get(), some, metric, k, allowed);
        const filter_counts counts = search.run();
        all.filtered += counts.filtered;
        all.confirmed += counts.confirmed;
        search.write(keys.subspan(first * k, count * k), ids.subspan(first * k, count * k));
    }
    return all;
}

template filter_counts quantized_top_k(cpu_place&, const row_tile<cpu_place>&,
                                       const quantized_rows<cpu_place>&, const row_tile<cpu_place>&,
                                       vector_metric, std::uint32_t, std::span<const std::uint64_t>,
                                       std::span<std::uint32_t>, std::span<std::uint32_t>);
template filter_counts quantized_top_k(cpu_place&, const row_tile<cpu_place>&,
                                       const quantized_rows<cpu_place>&, const row_tile<cpu_place>&,
                                       vector_metric, std::uint32_t, std::span<const std::uint64_t>,
                                       std::span<std::uint64_t>, std::span<std::uint32_t>);

}  // namespace quern::nearest_detail
