// SPDX-License-Identifier: Apache-2.0
// From rows by n-gram to rows by document, however many there are. Rows are partitioned into buckets of neighbouring
// documents. When its turn comes, a bucket that fits into memory is sorted; a larger one is partitioned again. Threads sort
// different buckets at once.
//
// Rows of one n arrive in the order of their n-grams, so that a stable sort by document and n suffices. A document that
// fills a bucket by itself has one bucket per n, whose rows arrive in order. What does not fit into memory is kept in
// one scratch file, in chunks of equal size. Each chunk names the chunk of its bucket before it: memory grows neither
// with the rows nor with the documents, but for one number a document.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <ranges>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "device/cpu/parallel.hpp"
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
    /// Consecutive rows. Made by next(), sorted by any thread, also after its document_rows is gone.
    class piece;

    /// `offsets`: the beginning of each document among the words, and the end; must outlive it. With `pieces` pieces in
    /// use and a text of each, all take about `memory_bytes` at most, and 4 bytes for each document.
    document_rows(scratch_folder& scratch, std::span<const std::uint64_t> offsets,
                  const ngram_options& options, std::uint64_t memory_bytes, std::size_t pieces)
        : document_rows(scratch, offsets, 0, options.only ? options.order : 1, options.order, memory_bytes,
                        pieces, 0) {}
    document_rows(const document_rows&) = delete;  // it removes its scratch file
    document_rows& operator=(const document_rows&) = delete;
    ~document_rows() {
        if (!spill_) return;
        spill_.reset();
        std::error_code ignored;  // the folder is removed later
        std::filesystem::remove(path_, ignored);
        scratch_.give_back(spilled_);
    }

    /// Rows of one n, in the order of n-grams over all calls. If they are many, each thread of `host` looks for those of
    /// some neighbouring documents.
    void add(cpu_place& host, const ngram_rows& rows) {
        constexpr std::size_t least = std::size_t{1} << 14;
        const std::size_t parts = std::clamp<std::size_t>(rows.documents.size() / least, 1, host.threads());
        for_each_piece(host, parts, [&](std::size_t p) {
            add_rows_of(first_of_part(p, parts), first_of_part(p + 1, parts), rows);
        });
    }

    /// The next rows, by document, n, n-gram; false after the last. Nothing may be added after the first call.
    bool next(piece& to) {
        if (spill_ && next_bucket_ == 0) spill_->flush();
        for (;; ++next_bucket_) {
            if (finer_) {
                if (finer_->next(to)) return true;
                spilled_again_ += finer_->spilled_bytes();
                finer_.reset();
            }
            if (next_bucket_ == buckets_.size()) return false;
            bucket& b = buckets_[next_bucket_];
            if (b.rows == 0) continue;
            if (!b.one_n && b.rows > bucket_rows_) {
                partition_again(b);
                continue;
            }
            to = piece(*this);
            if (!b.one_n) {
                to.rest_ = std::move(b);
                ++next_bucket_;
                return true;
            }
            if (next_chunk_ == 0) chunks_ = chunks_of(b, spill_.get(), chunk_rows_);
            for (std::uint64_t rows = 0; next_chunk_ != chunks_.size() && rows < bucket_rows_;
                 ++next_chunk_) {
                rows += chunks_[next_chunk_].rows;
                to.chunks_.push_back(std::move(chunks_[next_chunk_]));
            }
            if (next_chunk_ == chunks_.size()) {
                next_chunk_ = 0;
                ++next_bucket_;
            }
            return true;
        }
    }

    /// Of this object; those of a bucket that was partitioned again count, too, once its last piece was made.
    std::uint64_t spilled_bytes() const { return spilled_ + spilled_again_; }

  private:
    static constexpr std::uint64_t min_bucket = std::uint64_t{1} << 16, max_bucket = std::uint64_t{1} << 22;
    static constexpr std::uint64_t min_chunk_rows = 128, max_chunk_rows = std::uint64_t{1} << 13;
    static constexpr std::uint64_t min_buckets = 16;  // more than n-grams have words

    /// In the scratch file: this, then the rows.
    struct chunk_header {
        std::uint64_t previous;  ///< of the same bucket
    };
    static constexpr std::uint64_t no_chunk = ~std::uint64_t{0};

    struct bucket {
        std::uint32_t begin = 0, end = 0;          ///< its documents
        bool one_n = false;                        ///< rows of one document and one n
        std::vector<std::unique_ptr<Row[]>> held;  ///< the first full chunks
        std::uint64_t last_spilled = no_chunk;     ///< of the chunks after them
        std::unique_ptr<Row[]> open;
        std::uint64_t filled = 0;  ///< of `open`
        std::uint64_t rows = 0;
    };
    /// Rows in memory, or from `offset` of the scratch file on.
    struct chunk {
        std::unique_ptr<Row[]> held;
        std::uint64_t offset = 0, rows = 0;
    };

    /// The documents from `first` on. `depth`: how often the rows have been partitioned before.
    document_rows(scratch_folder& scratch, std::span<const std::uint64_t> offsets, std::uint32_t first,
                  unsigned first_n, unsigned order, std::uint64_t memory_bytes, std::size_t pieces,
                  unsigned depth)
        : scratch_(scratch),
          path_(scratch.file("rows_" + std::to_string(depth))),
          offsets_(offsets),
          first_document_(first),
          first_n_(first_n),
          lengths_(order - first_n + 1),
          depth_(depth),
          memory_bytes_(memory_bytes),
          pieces_(pieces),
          // A piece in use takes four times its rows: as they came, in order, and as text.
          bucket_rows_(std::clamp<std::uint64_t>(memory_bytes / 12 / pieces, min_bucket, max_bucket) /
                       sizeof(Row)) {
        partition();
        const std::uint64_t each = memory_bytes / 8 / std::max<std::size_t>(1, buckets_.size()) / sizeof(Row);
        chunk_rows_ = std::clamp(each, min_chunk_rows, max_chunk_rows);
    }

    /// Into buckets that can be sorted in memory; where their open chunks would take too much, into fewer and larger ones.
    void partition() {
        bucket_of_.resize(offsets_.size() - 1);
        if (partition(bucket_rows_, true)) return;
        const std::uint64_t all = (offsets_.back() - offsets_.front() + bucket_of_.size()) * lengths_;
        partition(all / (max_buckets() / 2) + 1, false);
    }

    std::uint64_t max_buckets() const {
        return std::max(min_buckets, memory_bytes_ / 8 / (min_chunk_rows * sizeof(Row)));
    }

    /// Into buckets of at most `max_rows` rows, or of one document. `by_n`: such a document has one bucket per n. False if
    /// these are too many.
    bool partition(std::uint64_t max_rows, bool by_n) {
        buckets_.clear();
        std::uint64_t rows = 0;
        for (std::size_t d = 0; d < bucket_of_.size(); ++d) {
            const auto number = first_document_ + static_cast<std::uint32_t>(d);
            // Empty documents count, too: sorting keeps a number for each.
            const std::uint64_t of_document = (offsets_[d + 1] - offsets_[d] + 1) * lengths_;
            const bool split = by_n && of_document > max_rows;
            if (buckets_.empty() || buckets_.back().one_n || split || rows + of_document > max_rows) {
                rows = 0;
                for (unsigned i = 0; i < (split ? lengths_ : 1); ++i) {
                    bucket& b = buckets_.emplace_back();
                    b.begin = number;
                    b.one_n = split;
                }
                if (by_n && bucket_of_.size() > 1 && buckets_.size() > max_buckets()) return false;
            }
            rows += of_document;
            buckets_.back().end = number + 1;
            bucket_of_[d] = static_cast<std::uint32_t>(buckets_.size() - (split ? lengths_ : 1));
        }
        return true;
    }

    /// The first document of one of so many parts: of about the same number of words, and of whole buckets.
    std::uint32_t first_of_part(std::size_t part, std::size_t parts) const {
        if (part == 0) return first_document_;
        if (part == parts) return first_document_ + static_cast<std::uint32_t>(bucket_of_.size());
        const std::uint64_t word = offsets_.front() + (offsets_.back() - offsets_.front()) / parts * part;
        const auto at = static_cast<std::size_t>(std::ranges::upper_bound(offsets_, word) - offsets_.begin());
        return buckets_[bucket_of_[std::clamp<std::size_t>(at, 1, bucket_of_.size()) - 1]].begin;
    }

    /// Those of the documents [first, last).
    void add_rows_of(std::uint32_t first, std::uint32_t last, const ngram_rows& rows) {
        for (std::size_t r = 0; r < rows.documents.size(); ++r) {
            const std::uint32_t document = rows.documents[r];
            if (document - first >= last - first) continue;
            Row& to = next_row(document, rows.n);
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

    /// Of a bucket that no other thread uses.
    Row& next_row(std::uint32_t document, unsigned n) {
        const std::uint32_t first = bucket_of_[document - first_document_];
        bucket& b = buckets_[first + (buckets_[first].one_n ? n - first_n_ : 0)];
        if (b.filled == chunk_rows_) complete(b);
        if (!b.open) b.open = std::make_unique_for_overwrite<Row[]>(chunk_rows_);
        ++b.rows;
        return b.open[b.filled++];
    }

    /// Called when the open chunk is full.
    void complete(bucket& b) {
        const std::lock_guard one_at_a_time(completing_);
        const std::uint64_t bytes = chunk_rows_ * sizeof(Row);
        b.filled = 0;
        if (!spill_ && held_ + bytes <= memory_bytes_ / 2) {
            held_ += bytes;
            b.held.push_back(std::move(b.open));
            return;
        }
        if (!spill_) spill_ = std::make_shared<spill_file>(path_);
        if (room_ < chunk_bytes()) take_room();
        room_ -= chunk_bytes();
        const chunk_header header{b.last_spilled};
        b.last_spilled = spill_->append({reinterpret_cast<const char*>(&header), sizeof header});
        spill_->append({reinterpret_cast<const char*>(b.open.get()), bytes});
    }

    std::uint64_t chunk_bytes() const { return sizeof(chunk_header) + chunk_rows_ * sizeof(Row); }
    /// Many chunks at a time: asking the disk for its free room takes longer than writing one.
    void take_room() {
        const std::uint64_t bytes = 64 * chunk_bytes();
        scratch_.take(bytes);
        spilled_ += bytes;
        room_ += bytes;
    }

    /// Of a bucket, which gives away what it holds. `chunk_rows`: of a full chunk.
    static std::vector<chunk> chunks_of(bucket& b, const spill_file* spill, std::uint64_t chunk_rows) {
        std::vector<chunk> chunks;  // of the scratch file, backwards
        for (std::uint64_t at = b.last_spilled; at != no_chunk;) {
            chunks.push_back({nullptr, at + sizeof(chunk_header), chunk_rows});
            chunk_header header{};
            spill->read_at(at, {reinterpret_cast<char*>(&header), sizeof header});
            at = header.previous;
        }
        for (std::unique_ptr<Row[]>& rows : b.held | std::views::reverse)
            chunks.push_back({std::move(rows), 0, chunk_rows});
        std::ranges::reverse(chunks);
        if (b.filled != 0) chunks.push_back({std::move(b.open), 0, b.filled});
        return chunks;
    }

    /// In the quarter of the memory that sorting would take.
    void partition_again(bucket& b) {
        finer_.reset(new document_rows(
            scratch_, offsets_.subspan(b.begin - first_document_, b.end - b.begin + std::size_t{1}), b.begin,
            first_n_, first_n_ + lengths_ - 1, memory_bytes_ / 4, pieces_, depth_ + 1));
        for (chunk& c : chunks_of(b, spill_.get(), chunk_rows_)) {
            load(c, spill_.get());
            for (const Row& row : std::span(c.held.get(), c.rows))
                finer_->next_row(row.document, row.n) = row;
            c.held.reset();
        }
        b = bucket{};
    }

    static void load(chunk& c, const spill_file* spill) {
        if (c.held) return;
        c.held = std::make_unique_for_overwrite<Row[]>(c.rows);
        spill->read_at(c.offset, {reinterpret_cast<char*>(c.held.get()), c.rows * sizeof(Row)});
    }

    scratch_folder& scratch_;
    std::filesystem::path path_;
    std::span<const std::uint64_t> offsets_;
    std::uint32_t first_document_ = 0;
    unsigned first_n_ = 0, lengths_ = 0, depth_ = 0;
    std::uint64_t memory_bytes_ = 0;
    std::size_t pieces_ = 1;
    std::uint64_t bucket_rows_ = 0, chunk_rows_ = 0;
    std::vector<bucket> buckets_;           ///< in the order of their rows
    std::vector<std::uint32_t> bucket_of_;  ///< of each document, the first
    std::shared_ptr<spill_file> spill_;     ///< pieces read it
    std::mutex completing_;
    std::uint64_t held_ = 0, room_ = 0, spilled_ = 0, spilled_again_ = 0;

    std::size_t next_bucket_ = 0;  ///< of next()
    std::vector<chunk> chunks_;    ///< of that bucket, if it is of one n
    std::size_t next_chunk_ = 0;
    std::unique_ptr<document_rows> finer_;  ///< that bucket, partitioned again
};

template <class Row>
class document_rows<Row>::piece {
  public:
    piece() = default;

    /// Calls sink(rows) with all rows in order, once or several times; releases them. Throws io_error.
    template <class Sink>
    void drain(const Sink& sink) {
        const bool ordered = !chunks_.empty();  // rows of one document and one n
        if (!ordered) chunks_ = chunks_of(rest_, spill_.get(), chunk_rows_);
        for (chunk& c : chunks_) {
            load(c, spill_.get());
            if (!ordered) continue;
            sink(std::span<const Row>(c.held.get(), c.rows));
            c.held.reset();
        }
        if (!ordered) sort(sink);
        *this = piece();
    }

  private:
    friend document_rows;

    explicit piece(const document_rows& from)
        : first_n_(from.first_n_),
          lengths_(from.lengths_),
          chunk_rows_(from.chunk_rows_),
          spill_(from.spill_) {}

    /// Stable, by document and n.
    template <class Sink>
    void sort(const Sink& sink) {
        const auto place_of = [&](const Row& row) {
            return std::uint64_t{row.document - rest_.begin} * lengths_ + (row.n - first_n_);
        };
        std::vector<std::uint64_t> begins(std::uint64_t{rest_.end - rest_.begin} * lengths_ + 1);
        for (const chunk& c : chunks_)
            for (const Row& row : std::span(c.held.get(), c.rows)) ++begins[place_of(row) + 1];
        for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
        const auto sorted = std::make_unique_for_overwrite<Row[]>(rest_.rows);
        for (chunk& c : chunks_) {
            for (const Row& row : std::span(c.held.get(), c.rows)) sorted[begins[place_of(row)]++] = row;
            c.held.reset();
        }
        sink(std::span<const Row>(sorted.get(), rest_.rows));
    }

    unsigned first_n_ = 0, lengths_ = 0;
    std::uint64_t chunk_rows_ = 0;
    std::shared_ptr<const spill_file> spill_;
    bucket rest_;                ///< whose rows are to be sorted
    std::vector<chunk> chunks_;  ///< otherwise: rows in order
};

}  // namespace quern
