// SPDX-License-Identifier: Apache-2.0
// Counts that do not fit memory: sorted runs in the scratch folder, one for each segment. A run holds the words in pieces,
// the same in all runs, so that different threads can merge pieces. A piece holds, for each of its words and each relation,
// the number of counts, and for each count the step from the last column and the count, as variable-length integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/varint.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "ops/word_similarity/counting/context_counter.hpp"
#include "ops/word_similarity/counting/pmi.hpp"

namespace quern::word_similarity_detail {

/// The words cut into pieces of about equal work, which threads take in turn.
class word_pieces {
  public:
    explicit word_pieces(std::vector<std::uint32_t> bounds) : bounds_(std::move(bounds)) {}
    std::size_t size() const { return bounds_.size() - 1; }
    std::uint32_t begin(std::size_t piece) const { return bounds_[piece]; }
    std::uint32_t end(std::size_t piece) const { return bounds_[piece + 1]; }

  private:
    std::vector<std::uint32_t> bounds_;
};
/// By the sums of rows, in the layout of marginals.
word_pieces cut_words(const counting_shape& shape, std::span<const std::uint64_t> rows);

template <class Count>
void append_counts(std::string& out, std::span<const std::uint32_t> columns, const Count* counts) {
    append_varint(out, columns.size());
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        append_varint(out, columns[i] - last);
        append_varint(out, counts[i]);
        last = columns[i];
    }
}

class count_runs {
  public:
    explicit count_runs(word_pieces pieces) : pieces_(std::move(pieces)) {}

    const word_pieces& pieces() const { return pieces_; }

    std::size_t size() const { return runs_.size(); }
    std::uint64_t bytes() const { return bytes_; }

    void begin_run(const context& ctx);
    /// Any thread may call it, in any order of pieces.
    void write_piece(std::size_t piece, std::string_view bytes);
    /// Makes the written data readable.
    void end_run() { file_->flush(); }

    /// Reads the numbers of a run's piece in sequence.
    class reader {
      public:
        static constexpr std::size_t min_buffer = 64;
        reader(const count_runs& runs, std::size_t run, std::size_t piece, std::span<char> buffer)
            : file_(*runs.file_), at_(runs.runs_[run][piece]), buffer_(buffer) {}
        std::uint64_t next() {
            if (static_cast<std::size_t>(end_ - next_) < longest_varint && at_.bytes != 0) refill();
            return read_varint(next_);
        }

      private:
        static constexpr std::size_t longest_varint = 10;
        friend class count_runs;
        struct extent {
            std::uint64_t offset = 0, bytes = 0;
        };
        void refill();

        const spill_file& file_;
        extent at_;  ///< not read yet
        std::span<char> buffer_;
        const char* next_ = nullptr;
        const char* end_ = nullptr;
    };

  private:
    word_pieces pieces_;
    std::optional<scratch_folder> folder_;
    std::optional<spill_file> file_;
    std::mutex writing_;
    std::vector<std::vector<reader::extent>> runs_;  ///< the position of each piece
    std::uint64_t bytes_ = 0;
};

/// Adds up all runs, row by row, and weighs the sums: fills offsets, columns and weights of `matrix`; the latter two go to
/// `take` instead if it is given. Returns the number of distinct triples.
std::uint64_t merge_runs(cpu_place& host, const counting_shape& shape, const count_runs& runs,
                         const pmi_formula& by, context_matrix& matrix,
                         const context_counter::entry_sink* take);

}  // namespace quern::word_similarity_detail
