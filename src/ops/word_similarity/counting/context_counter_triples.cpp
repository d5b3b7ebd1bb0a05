// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/counting/context_counter_triples.hpp"

#include "device/array.hpp"
#include "ops/word_similarity/counting/context_counter_rows.hpp"
#include "ops/word_similarity/counting/pmi.hpp"
#include "quern/base/error.hpp"

namespace quern::word_similarity_detail {
namespace {

/// The rows of a sorted stream, one relation of one word at a time.
class row_stream {
  public:
    row_stream(cpu_place& host, const counting_shape& shape, const pmi_formula& by, context_matrix& matrix,
               const context_counter::entry_sink* take)
        : host_(host), shape_(shape), by_(by), matrix_(matrix), take_(take), pieces_(1) {
        lanes_.emplace_back(host);
    }

    void take(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> counts) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i] == last_key_) {
                counts_.back() += counts[i];
                continue;
            }
            const auto word = static_cast<std::uint32_t>(keys[i] >> 32);
            const auto context = static_cast<std::uint32_t>(keys[i]);
            const std::uint32_t relation = context / shape_.words;
            if (word != word_ || relation != relation_) pmi_row();
            word_ = word;
            relation_ = relation;
            last_key_ = keys[i];
            columns_.push_back(context % shape_.words);
            counts_.push_back(counts[i]);
        }
    }

    /// The number of distinct triples.
    std::uint64_t finish() {
        pmi_row();
        gather_rows(host_, lanes_, pieces_, matrix_, take_);
        return triples_;
    }

  private:
    static constexpr std::uint64_t no_key = ~std::uint64_t{0};

    void pmi_row() {
        triples_ += columns_.size();
        if (!columns_.empty()) {
            row_lane& lane = lanes_.front();
            lane.make_room(columns_.size());
            const std::size_t kept = by_.pmi(word_, relation_, std::span<const std::uint32_t>(columns_),
                                             counts_.data(), lane.columns(), lane.weights());
            lane.keep(kept, pieces_.front());
            matrix_.offsets[word_ + std::size_t{1}] += kept;
        }
        columns_.clear();
        counts_.clear();
    }

    cpu_place& host_;
    const counting_shape& shape_;
    const pmi_formula& by_;
    context_matrix& matrix_;
    const context_counter::entry_sink* take_;
    std::vector<row_lane> lanes_;
    std::vector<row_piece> pieces_;
    std::uint64_t last_key_ = no_key, triples_ = 0;
    std::uint32_t word_ = 0, relation_ = 0;
    std::vector<std::uint32_t> columns_;
    std::vector<std::uint64_t> counts_;
};

}  // namespace

triple_counter::triple_counter(cpu_place& host, const counting_shape& shape,
                               std::unique_ptr<triple_sorter> sorter)
    : host_(host), shape_(shape), sorter_(std::move(sorter)) {
    const std::size_t contexts = std::size_t{shape.words} * shape.relations;
    sums_.rows.resize(contexts);
    sums_.columns.resize(contexts);
}

void triple_counter::add(std::span<const word_triple> triples) {
    constexpr std::size_t at_once = 4096;
    for (; !triples.empty(); triples = triples.subspan(std::min(at_once, triples.size()))) {
        keys_.clear();
        counts_.clear();
        for (const word_triple& t : triples.first(std::min(at_once, triples.size()))) take(t);
        sorter_->push(keys_, counts_);
    }
}

context_matrix triple_counter::pmi(const pmi_options& options, counting_record& record,
                                   const context_counter::entry_sink* take) {
    if (total_ > std::uint64_t{1} << 63)
        throw usage_error("the counts of all triples come to more than 2^63");
    sums_.add_up(shape_);
    context_matrix matrix{shape_.words,
                          shape_.relations,
                          std::vector<std::uint64_t>(shape_.words + std::size_t{1}),
                          {},
                          {},
                          {}};
    const pmi_formula by(host_, shape_, sums_, options);
    row_stream rows(host_, shape_, by, matrix, take);
    sorter_->finish([&](std::span<const std::uint64_t> keys, std::span<const std::uint64_t> counts) {
        rows.take(keys, counts);
    });
    record.triples = rows.finish();
    record.cooccurrences = sums_.total;
    record.runs_spilled = sorter_->record().runs;
    record.bytes_spilled = sorter_->record().bytes_written;
    matrix.column_counts = std::move(sums_.columns);
    return matrix;
}

void triple_counter::take(const word_triple& t) {
    if (t.count == 0 || t.word == unknown_word || t.other == unknown_word) return;
    if (t.word == t.other && !shape_.count_self) return;
    const std::uint64_t context = t.relation * std::uint64_t{shape_.words} + t.other;
    keys_.push_back(std::uint64_t{t.word} << 32 | context);
    counts_.push_back(t.count);
    sums_.rows[std::size_t{t.word} * shape_.relations + t.relation] += t.count;
    sums_.columns[context] += t.count;
    constexpr std::uint64_t max = ~std::uint64_t{0};
    total_ = t.count > max - total_ ? max : total_ + t.count;  // saturates at most
}

std::unique_ptr<triple_sorter> make_triple_sorter(cpu_place&, cpu_place& host, std::uint64_t memory_bytes) {
    return std::make_unique<triple_sorter_at<cpu_place>>(host, memory_bytes);
}

}  // namespace quern::word_similarity_detail
