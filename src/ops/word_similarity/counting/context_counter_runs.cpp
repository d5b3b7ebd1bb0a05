// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/counting/context_counter_runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "ops/word_similarity/counting/context_counter_rows.hpp"

namespace quern::word_similarity_detail {
namespace {

void add_run(count_runs::reader& from, row_counters<std::uint64_t>& counters) {
    std::uint32_t column = 0;
    for (std::uint64_t left = from.next(); left != 0; --left) {
        column += static_cast<std::uint32_t>(from.next());
        counters.add(column, from.next());
    }
}

}  // namespace

word_pieces cut_words(const counting_shape& shape, std::span<const std::uint64_t> rows) {
    constexpr std::uint64_t max_pieces = 1024, work_of_a_word = 64;
    const auto work_of = [&](std::size_t word) {
        std::uint64_t work = work_of_a_word;
        for (std::uint32_t r = 0; r < shape.relations; ++r) work += rows[word * shape.relations + r];
        return work;
    };
    std::uint64_t all = 0, done = 0;
    for (std::uint32_t w = 0; w < shape.words; ++w) all += work_of(w);
    std::vector<std::uint32_t> bounds{0};
    for (std::uint32_t w = 0; w < shape.words; ++w) {
        done += work_of(w);
        if (done <= all / max_pieces && w + 1 < shape.words) continue;
        bounds.push_back(w + 1);
        done = 0;
    }
    return word_pieces(std::move(bounds));
}

void count_runs::begin_run(const context& ctx) {
    if (!file_) {
        folder_.emplace(ctx);
        file_.emplace(folder_->file("counts"));
    }
    runs_.emplace_back(pieces_.size());
}

void count_runs::write_piece(std::size_t piece, std::string_view bytes) {
    const std::lock_guard one_at_a_time(writing_);
    folder_->take(bytes.size());
    runs_.back()[piece] = {file_->append(bytes), bytes.size()};
    bytes_ += bytes.size();
}

void count_runs::reader::refill() {
    const auto left = static_cast<std::size_t>(end_ - next_);
    if (left != 0) std::memmove(buffer_.data(), next_, left);
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size() - left, at_.bytes));
    file_.read_at(at_.offset, buffer_.subspan(left, more));
    at_.offset += more;
    at_.bytes -= more;
    next_ = buffer_.data();
    end_ = next_ + left + more;
}

std::uint64_t merge_runs(cpu_place& host, const counting_shape& shape, const count_runs& runs,
                         const pmi_formula& by, context_matrix& matrix,
                         const context_counter::entry_sink* take) {
    const word_pieces& pieces = runs.pieces();
    std::vector<row_piece> made(pieces.size());
    std::vector<row_lane> lanes;
    std::atomic<std::uint64_t> triples{0};
    {
        using counters_64 = row_counters<std::uint64_t>;
        auto counting =
            one_per_thread<counters_64>(host, pieces.size(), [&] { return counters_64(host, shape.words); });
        for (std::size_t t = 0; t < counting.size(); ++t) lanes.emplace_back(host);
        const std::uint64_t share =
            host.memory().left() / 4 / std::max<std::size_t>(1, counting.size() * runs.size());
        const auto buffer_bytes = static_cast<std::size_t>(
            std::clamp<std::uint64_t>(share, count_runs::reader::min_buffer, std::uint64_t{1} << 18));
        std::vector<cpu_array<char>> buffers;
        for (std::size_t t = 0; t < counting.size(); ++t)
            buffers.emplace_back(host, runs.size() * buffer_bytes, "sorted runs of counts");
        for_each_taken(host, counting.size(), pieces.size(), [&](std::size_t thread, std::size_t p) {
            auto& counters = counting[thread];
            std::vector<count_runs::reader> readers;
            for (std::size_t r = 0; r < runs.size(); ++r)
                readers.emplace_back(runs, r, p,
                                     buffers[thread].span().subspan(r * buffer_bytes, buffer_bytes));
            std::uint64_t seen = 0;
            for (std::uint32_t w = pieces.begin(p); w < pieces.end(p); ++w) {
                for (std::uint32_t r = 0; r < shape.relations; ++r) {
                    for (count_runs::reader& from : readers) add_run(from, counters);
                    counters.take();
                    seen += counters.columns().size();
                    matrix.offsets[w + std::size_t{1}] +=
                        pmi_taken(by, w, r, counters, lanes[thread], made[p]);
                }
            }
            triples += seen;
        });
    }
    gather_rows(host, lanes, made, matrix, take);
    return triples;
}

}  // namespace quern::word_similarity_detail
