// SPDX-License-Identifier: Apache-2.0
// From rows by n-gram to rows by document, in one pass, however many there are. Rows are partitioned into buckets of
// neighbouring documents, each of which fits into memory; a bucket is sorted when its turn comes.
//
// Rows of one n arrive in the order of their n-grams, so that a stable sort by document and n suffices. A document that
// fills a bucket by itself has one bucket per n, whose rows arrive in order. What does not fit into memory is kept in
// one scratch file, in chunks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern {

struct document_row {
    std::uint32_t document, n;
    std::uint32_t first, in_document;
    std::uint64_t in_collection;
    double weight;
};
struct document_row_with_history : document_row {
    std::uint64_t history_in_collection;
    std::uint64_t history_in_document;
};

/// `Row` is one of the two.
template <class Row>
class document_rows {
    static constexpr bool with_history = std::is_same_v<Row, document_row_with_history>;

  public:
    /// `documents`: their offsets. Holds about `memory_bytes` at most.
    document_rows(scratch_folder& scratch, std::span<const std::uint64_t> documents,
                  const ngram_options& options, std::uint64_t memory_bytes)
        : scratch_(scratch),
          first_n_(options.only ? options.order : 1),
          lengths_(options.order - first_n_ + 1),
          budget_(memory_bytes / 2),
          bucket_rows_(std::clamp<std::uint64_t>(memory_bytes / 8, min_bucket, max_bucket) / sizeof(Row)) {
        partition(documents);
        const std::uint64_t each = memory_bytes / 8 / std::max<std::size_t>(1, buckets_.size()) / sizeof(Row);
        chunk_rows_ = std::clamp<std::uint64_t>(each, 128, std::uint64_t{1} << 13);
    }

    /// Rows of one n, in the order of n-grams over all calls.
    void add(const ngram_rows& rows) {
        const unsigned length = rows.n - first_n_;
        for (std::size_t r = 0; r < rows.documents.size(); ++r) {
            const std::uint32_t document = rows.documents[r];
            bucket& b = buckets_[bucket_of_[document] + (buckets_[bucket_of_[document]].one_n ? length : 0)];
            if (b.filled == chunk_rows_) complete(b);
            if (!b.open) b.open = std::make_unique_for_overwrite<Row[]>(chunk_rows_);
            Row& to = b.open[b.filled++];
            to.document = document;
            to.n = rows.n;
            to.first = rows.firsts[r];
            to.in_document = rows.in_document[r];
            to.in_collection = rows.in_collection[r];
            to.weight = rows.weights[r];
            if constexpr (with_history) {
                to.history_in_document = rows.history_in_document[r];
                to.history_in_collection = rows.history_in_collection[r];
            }
        }
    }

    /// Calls sink(rows) for batches of all rows, by document, n, n-gram. Once; batches are released afterwards.
    template <class Sink>
    void drain(const Sink& sink) {
        if (spill_) spill_->flush();
        std::vector<Row> rows, sorted;
        for (bucket& b : buckets_) {
            rows.clear();
            for_each_chunk(b, [&](std::span<const Row> part) {
                if (b.one_n && rows.size() + part.size() > bucket_rows_ && !rows.empty()) {
                    sink(std::span<const Row>(rows));
                    rows.clear();
                }
                rows.insert(rows.end(), part.begin(), part.end());
            });
            if (!b.one_n) sort(b, rows, sorted);
            const std::vector<Row>& ordered = b.one_n ? rows : sorted;
            if (!ordered.empty()) sink(std::span<const Row>(ordered));
            b = bucket{};
        }
    }

    std::uint64_t spilled_bytes() const { return spilled_; }

  private:
    static constexpr std::uint64_t min_bucket = std::uint64_t{1} << 20, max_bucket = std::uint64_t{1} << 25;

    struct chunk {
        std::unique_ptr<Row[]> memory;  ///< null: in the scratch file
        std::uint64_t offset;
    };
    struct bucket {
        std::uint32_t begin = 0, end = 0;  ///< its documents
        bool one_n = false;                ///< rows of one document and one n
        std::vector<chunk> chunks;         ///< full ones
        std::unique_ptr<Row[]> open;
        std::uint64_t filled = 0;  ///< of `open`
    };

    void partition(std::span<const std::uint64_t> documents) {
        const std::size_t count = documents.size() - 1;
        bucket_of_.resize(count);
        std::uint64_t rows = 0;
        for (std::size_t d = 0; d < count; ++d) {
            const auto number = static_cast<std::uint32_t>(d);
            const std::uint64_t max = (documents[d + 1] - documents[d]) * lengths_;
            const bool large = max > bucket_rows_;
            if (buckets_.empty() || buckets_.back().one_n || large || rows + max > bucket_rows_) {
                rows = 0;
                for (unsigned i = 0; i < (large ? lengths_ : 1); ++i) {
                    bucket& b = buckets_.emplace_back();
                    b.begin = number;
                    b.one_n = large;
                }
            }
            rows += max;
            buckets_.back().end = number + 1;
            bucket_of_[d] = static_cast<std::uint32_t>(buckets_.size() - (large ? lengths_ : 1));
        }
    }

    /// Called when the open chunk is full.
    void complete(bucket& b) {
        const std::uint64_t bytes = chunk_rows_ * sizeof(Row);
        b.filled = 0;
        if (held_ + bytes <= budget_) {
            held_ += bytes;
            b.chunks.push_back({std::move(b.open), 0});
            return;
        }
        if (!spill_) spill_ = std::make_unique<spill_file>(scratch_.file("rows"));
        scratch_.take(bytes);
        spilled_ += bytes;
        const std::uint64_t offset = spill_->append({reinterpret_cast<const char*>(b.open.get()), bytes});
        b.chunks.push_back({nullptr, offset});
    }

    template <class Sink>
    void for_each_chunk(bucket& b, const Sink& sink) {
        std::unique_ptr<Row[]> read;
        for (chunk& c : b.chunks) {
            if (c.memory) {
                sink(std::span<const Row>(c.memory.get(), chunk_rows_));
                c.memory.reset();
                continue;
            }
            if (!read) read = std::make_unique_for_overwrite<Row[]>(chunk_rows_);
            spill_->read_at(c.offset, {reinterpret_cast<char*>(read.get()), chunk_rows_ * sizeof(Row)});
            sink(std::span<const Row>(read.get(), chunk_rows_));
        }
        if (b.filled != 0) sink(std::span<const Row>(b.open.get(), b.filled));
    }

    /// Stable, by document and n.
    void sort(const bucket& b, const std::vector<Row>& rows, std::vector<Row>& sorted) {
        const auto place_of = [&](const Row& row) {
            return std::uint64_t{row.document - b.begin} * lengths_ + (row.n - first_n_);
        };
        begins_.assign(std::uint64_t{b.end - b.begin} * lengths_ + 1, 0);
        for (const Row& row : rows) ++begins_[place_of(row) + 1];
        for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
        sorted.resize(rows.size());
        for (const Row& row : rows) sorted[begins_[place_of(row)]++] = row;
    }

    scratch_folder& scratch_;
    unsigned first_n_, lengths_;
    std::uint64_t budget_, bucket_rows_, chunk_rows_ = 0;
    std::vector<bucket> buckets_;           ///< in the order of their rows
    std::vector<std::uint32_t> bucket_of_;  ///< of each document, the first
    std::vector<std::uint64_t> begins_;
    std::unique_ptr<spill_file> spill_;
    std::uint64_t held_ = 0, spilled_ = 0;
};

}  // namespace quern
