// SPDX-License-Identifier: Apache-2.0
// Counting on a GPU, where sorting is cheap. Every co-occurrence becomes a number (word in the high bits, context in the
// low ones, as few as needed); a segment's numbers are sorted and run lengths counted. The results of several segments are
// merged. If they do not fit the device, they go to the host's sorted runs (context_counter_runs.hpp), and the host merges
// and weighs them. Atomic additions of integers count the sums of rows, in any order. Weights use pmi.hpp's formula on
// the host's tables: the same bits.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "ops/word_similarity/counting/context_counter.hpp"
#include "ops/word_similarity/counting/context_counter_rows.hpp"
#include "ops/word_similarity/counting/context_counter_runs.hpp"
#include "ops/word_similarity/counting/context_counter_triples.hpp"
#include "ops/word_similarity/counting/pmi.hpp"
#include "primitives/merge/merge.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::word_similarity_detail {
namespace {

using cuda::blocks_for;
using cuda::launch_shape;
using device_sum = unsigned long long;  // the type of CUDA's atomics

constexpr unsigned block_threads = 256;

__device__ inline std::size_t global_thread() {
    return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}

/// The packing of a co-occurrence: the context in the low bits, the word above. Word `words` means none.
struct key_form {
    std::uint32_t words;
    unsigned context_bits, key_bits;

    explicit key_form(const counting_shape& shape)
        : words(shape.words),
          context_bits(static_cast<unsigned>(
              std::bit_width(std::max<std::uint64_t>(1, std::uint64_t{shape.words} * shape.relations) - 1))),
          key_bits(context_bits + static_cast<unsigned>(std::bit_width(shape.words))) {}
    __host__ __device__ std::uint64_t key(std::uint64_t word, std::uint64_t context) const {
        return word << context_bits | context;
    }
    __host__ __device__ std::uint32_t word(std::uint64_t key) const {
        return static_cast<std::uint32_t>(key >> context_bits);
    }
    __host__ __device__ std::uint32_t context(std::uint64_t key) const {
        return static_cast<std::uint32_t>(key & ((std::uint64_t{1} << context_bits) - 1));
    }
};

/// One thread for each position of a word and each distance to it, before or after: writes the co-occurrence's key, or
/// none, and adds one to its row's sum. Threads of one word are adjacent, so that keys are written contiguously, and the
/// few words around it, read to find the end of the passage, are cached.
__global__ void make_keys_kernel(const std::uint32_t* __restrict__ text, std::size_t cooccurrences,
                                 counting_shape shape, key_form form, std::uint64_t* __restrict__ keys,
                                 device_sum* __restrict__ rows) {
    const std::size_t t = global_thread();
    if (t >= cooccurrences) return;
    const unsigned both = 2 * shape.window, slot = static_cast<unsigned>(t % both);
    const bool forward = slot >= shape.window;
    const unsigned distance = forward ? slot - shape.window + 1 : shape.window - slot;
    const std::uint32_t* const at = text + t / both;
    const std::uint32_t word = *at;
    std::uint64_t key = form.key(form.words, 0);
    if (word < shape.words) {
        const int step = forward ? 1 : -1;
        std::uint32_t other = word;
        for (int d = 1; d <= static_cast<int>(distance) && other != shape.words + 1; ++d)
            other = at[d * step];
        if (other < shape.words && (other != word || shape.count_self)) {
            const std::uint32_t relation = shape.positional ? slot : 0;
            key = form.key(word, relation * std::uint64_t{shape.words} + other);
            atomicAdd(rows + word * std::size_t{shape.relations} + relation, device_sum{1});
        }
    }
    keys[t] = key;
}

/// One thread for each pair of a merge of two runs without repetitions. The first of two equal keys takes both counts and
/// is flagged, as is a key without an equal. The second's count is read, and never written.
__global__ void add_equal_kernel(const std::uint64_t* __restrict__ keys, std::size_t size,
                                 std::uint64_t* counts, std::uint8_t* __restrict__ flags) {
    const std::size_t i = global_thread();
    if (i >= size) return;
    const bool first = i == 0 || keys[i - 1] != keys[i];
    flags[i] = first;
    if (first && i + 1 < size && keys[i + 1] == keys[i]) counts[i] += counts[i + 1];
}

/// A thread for each distinct triple: its weight, and whether it is kept.
__global__ void pmi_kernel(const std::uint64_t* __restrict__ keys, const std::uint64_t* __restrict__ counts,
                           std::size_t size, key_form form, std::uint32_t relations, weight_rule rule,
                           const double* __restrict__ scales, const double* __restrict__ bases,
                           std::size_t base_stride, std::uint32_t* __restrict__ weights,
                           std::uint8_t* __restrict__ flags) {
    const std::size_t i = global_thread();
    if (i >= size) return;
    const std::uint32_t context = form.context(keys[i]);
    const std::uint32_t relation = context / form.words, other = context % form.words;
    const double scale = scales[form.word(keys[i]) * std::size_t{relations} + relation];
    const double weight =
        weight_of(rule, static_cast<double>(counts[i]), scale, bases[relation * base_stride + other]);
    weights[i] = __float_as_uint(static_cast<float>(weight));
    flags[i] = weight > rule.least;
}

__global__ void take_columns_kernel(const std::uint64_t* __restrict__ keys, std::size_t size, key_form form,
                                    std::uint32_t* __restrict__ columns) {
    const std::size_t i = global_thread();
    if (i < size) columns[i] = form.context(keys[i]);
}

/// One thread for each word, and one for the end: the start of its keys.
__global__ void find_offsets_kernel(const std::uint64_t* __restrict__ keys, std::size_t size, key_form form,
                                    std::uint64_t* __restrict__ offsets) {
    const std::size_t w = global_thread();
    if (w > form.words) return;
    std::size_t begin = 0, end = size;
    while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        if (form.word(keys[middle]) < w)
            begin = middle + 1;
        else
            end = middle;
    }
    offsets[w] = begin;
}

/// Distinct keys, ascending, and their counts. The arrays may be longer.
struct counted_keys {
    cuda_array<std::uint64_t> keys, counts;
    std::size_t size = 0;

    device_span<std::uint64_t> all_keys() const { return keys.span().first(size); }
    device_span<std::uint64_t> all_counts() const { return counts.span().first(size); }
};

/// Writes sorted keys, which arrive in ranges, as a run of the host's.
class run_writer {
  public:
    run_writer(count_runs& runs, const counting_shape& shape) : runs_(runs), shape_(shape) {}

    void take(std::uint32_t word, std::uint32_t context, std::uint64_t count) {
        if (const std::uint64_t row = word * std::uint64_t{shape_.relations} + context / shape_.words;
            row != row_)
            go_to(row);
        columns_.push_back(context % shape_.words);
        counts_.push_back(count);
    }
    void finish() { go_to(shape_.words * std::uint64_t{shape_.relations}); }

  private:
    /// Ends the current row, and writes the empty ones up to `row`.
    void go_to(std::uint64_t row) {
        for (; row_ < row; ++row_) {
            append_counts(bytes_, std::span<const std::uint32_t>(columns_), counts_.data());
            columns_.clear();
            counts_.clear();
            const std::uint64_t end_of_piece = runs_.pieces().end(piece_) * std::uint64_t{shape_.relations};
            if (row_ + 1 != end_of_piece) continue;
            runs_.write_piece(piece_++, bytes_);
            bytes_.clear();
        }
    }

    count_runs& runs_;
    const counting_shape& shape_;
    std::uint64_t row_ = 0;
    std::size_t piece_ = 0;
    std::vector<std::uint32_t> columns_;
    std::vector<std::uint64_t> counts_;
    std::string bytes_;
};

class segment_counter_cuda final : public segment_counter {
  public:
    segment_counter_cuda(cuda_place& place, cpu_place& host, const counting_shape& shape)
        : place_(place),
          host_(host),
          shape_(shape),
          form_(shape),
          rows_(place, std::size_t{shape.words} * shape.relations, "the sums of rows") {
        place.fill_bytes(rows_.data(), 0, rows_.span().size_bytes());
    }

    std::size_t capacity() const override {
        // A quarter of device memory to count a segment, a third of the host's for its text.
        const std::uint64_t on_device = place_.memory().limit() / 4 / bytes_of_a_word();
        return std::min<std::uint64_t>(
            {on_device, host_.memory().limit() / 3 / sizeof(std::uint32_t), std::uint64_t{1} << 31});
    }

    void add(const text_segment& segment) override {
        place_.ctx().check_stop();
        if (segment.begin == segment.end || shape_.words == 0) return;
        if (place_.memory().left() < (segment.end - segment.begin) * bytes_of_a_word()) spill();
        counted_keys fresh = count(segment);
        if (counted_.size == 0) {
            counted_ = std::move(fresh);
            return;
        }
        constexpr std::uint64_t bytes_of_a_pair = 40;  // merged: twice the pair, flags, and some margin
        if (place_.memory().left() < (counted_.size + fresh.size) * bytes_of_a_pair) {
            spill();
            counted_ = std::move(fresh);
        } else {
            merge(fresh);
        }
    }

    context_matrix pmi(const text_segment& last, const pmi_options& options,
                       counting_record& record) override {
        add(last);
        marginals sums;
        sums.rows = rows_to_host();
        if (runs_) spill();
        sums.add_up_mirrored(shape_);
        const pmi_formula by(host_, shape_, sums, options);
        context_matrix matrix{shape_.words,
                              shape_.relations,
                              std::vector<std::uint64_t>(shape_.words + std::size_t{1}),
                              {},
                              {},
                              std::move(sums.columns)};
        record.cooccurrences = sums.total;
        record.triples = runs_ ? merge_runs(host_, shape_, *runs_, by, matrix, nullptr) : counted_.size;
        if (runs_) {
            record.runs_spilled = runs_->size();
            record.bytes_spilled = runs_->bytes();
        } else if (counted_.size != 0) {
            pmi_counted(by, matrix);
        }
        return matrix;
    }

  private:
    /// Device memory while a segment is counted: the text; and keys, with a copy while they are sorted, or later distinct
    /// keys and counts.
    std::uint64_t bytes_of_a_word() const { return sizeof(std::uint32_t) + 2 * shape_.window * 25; }

    template <class Kernel, class... Arguments>
    void launch(std::size_t threads, const Kernel& kernel, Arguments... arguments) {
        place_.ctx().check_stop();
        QUERN_LAUNCH(place_, (launch_shape{blocks_for(threads, block_threads), block_threads}), kernel,
                     arguments...);
    }

    std::vector<std::uint64_t> rows_to_host() {
        std::vector<std::uint64_t> rows(rows_.size());
        place_.copy_out(rows.data(), rows_.data(), rows_.span().size_bytes());
        return rows;
    }

    counted_keys count(const text_segment& segment) {
        const std::size_t cooccurrences = (segment.end - segment.begin) * 2 * shape_.window;
        cuda_array<std::uint64_t> keys(place_, cooccurrences, "meetings of words");
        {
            const auto text = array_from(place_, segment.text, "text to count");
            launch(cooccurrences, make_keys_kernel, text.data() + segment.begin, cooccurrences, shape_, form_,
                   keys.data(), rows_.data());
        }
        primitives::sort_keys(place_, keys.span(), {.key_bits = form_.key_bits});
        counted_keys made{
            {place_, cooccurrences, "distinct meetings"}, {place_, cooccurrences, "their counts"}, 0};
        made.size = primitives::run_length_encode<std::uint64_t>(place_, keys.span(), made.keys.span(),
                                                                 made.counts.span());
        std::uint64_t greatest = 0;  // words without contexts come last
        place_.copy_out(&greatest, made.keys.data() + made.size - 1, sizeof greatest);
        if (form_.word(greatest) == shape_.words) --made.size;
        return made;
    }

    void merge(counted_keys& fresh) {
        const std::size_t before = counted_.size, size = before + fresh.size;
        counted_keys merged{{place_, size, "merged meetings"}, {place_, size, "their counts"}, size};
        {
            counted_keys both{{place_, size, "meetings to merge"}, {place_, size, "their counts"}, size};
            const auto put = [&](const counted_keys& from, std::size_t at) {
                const std::size_t bytes = from.size * sizeof(std::uint64_t);
                place_.copy_within(both.keys.data() + at, from.keys.data(), bytes);
                place_.copy_within(both.counts.data() + at, from.counts.data(), bytes);
            };
            put(counted_, 0);
            put(fresh, before);
            const std::uint64_t offsets[] = {0, before, size};
            primitives::merge_pairs<std::uint64_t, std::uint64_t>(
                place_, both.all_keys(), both.all_counts(), offsets, merged.all_keys(), merged.all_counts());
        }
        fresh = {};
        counted_ = {};
        const cuda_array<std::uint8_t> flags(place_, size, "first of equal meetings");
        launch(size, add_equal_kernel, merged.keys.data(), size, merged.counts.data(), flags.data());
        counted_ = {{place_, size, "distinct meetings"}, {place_, size, "their counts"}, 0};
        counted_.size =
            primitives::compact<std::uint64_t>(place_, merged.all_keys(), flags.span(), counted_.keys.span());
        primitives::compact<std::uint64_t>(place_, merged.all_counts(), flags.span(), counted_.counts.span());
    }

    /// Writes the counts as a sorted run of the host's, and clears them.
    void spill() {
        if (counted_.size == 0) return;
        if (!runs_) runs_.emplace(cut_words(shape_, rows_to_host()));
        runs_->begin_run(place_.ctx());
        run_writer to(*runs_, shape_);
        constexpr std::size_t at_once = std::size_t{1} << 20;
        std::vector<std::uint64_t> keys(std::min(at_once, counted_.size)), counts(keys.size());
        for (std::size_t begin = 0; begin < counted_.size; begin += at_once) {
            place_.ctx().check_stop();
            const std::size_t size = std::min(at_once, counted_.size - begin);
            place_.copy_out(keys.data(), counted_.keys.data() + begin, size * sizeof(std::uint64_t));
            place_.copy_out(counts.data(), counted_.counts.data() + begin, size * sizeof(std::uint64_t));
            for (std::size_t i = 0; i < size; ++i)
                to.take(form_.word(keys[i]), form_.context(keys[i]), counts[i]);
        }
        to.finish();
        runs_->end_run();
        counted_ = {};
    }

    void pmi_counted(const pmi_formula& by, context_matrix& matrix) {
        const std::size_t size = counted_.size;
        std::size_t kept = 0;
        cuda_array<std::uint64_t> kept_keys;
        cuda_array<std::uint32_t> kept_weights;
        {
            const auto scales = array_from(place_, by.scales(), "the sums of the words");
            const auto bases = array_from(place_, by.bases(), "the sums of the contexts");
            const cuda_array<std::uint32_t> weights(place_, size, "weights");
            const cuda_array<std::uint8_t> flags(place_, size, "weights that are kept");
            launch(size, pmi_kernel, counted_.keys.data(), counted_.counts.data(), size, form_,
                   shape_.relations, by.rule(), scales.data(), bases.data(), by.base_stride(), weights.data(),
                   flags.data());
            counted_.counts = {};
            kept_keys = cuda_array<std::uint64_t>(place_, size, "contexts that are kept");
            kept = primitives::compact<std::uint64_t>(place_, counted_.all_keys(), flags.span(),
                                                      kept_keys.span());
            counted_ = {};
            kept_weights = cuda_array<std::uint32_t>(place_, size, "weights that are kept");
            primitives::compact<std::uint32_t>(place_, weights.span(), flags.span(), kept_weights.span());
        }
        cuda_array<std::uint64_t> offsets(place_, matrix.offsets.size(), "the rows of contexts");
        launch(offsets.size(), find_offsets_kernel, kept_keys.data(), kept, form_, offsets.data());
        cuda_array<std::uint32_t> columns(place_, kept, "the rows of contexts");
        launch(kept, take_columns_kernel, kept_keys.data(), kept, form_, columns.data());
        place_.copy_out(matrix.offsets.data(), offsets.data(), offsets.span().size_bytes());
        resize_rows(host_, matrix, kept);
        place_.copy_out(matrix.columns.data(), columns.data(), kept * sizeof(std::uint32_t));
        place_.copy_out(matrix.weights.data(), kept_weights.data(), kept * sizeof(float));
    }

    cuda_place& place_;
    cpu_place& host_;
    counting_shape shape_;
    key_form form_;
    cuda_array<device_sum> rows_;
    counted_keys counted_;
    std::optional<count_runs> runs_;
};

}  // namespace

std::unique_ptr<segment_counter> make_segment_counter(cuda_place& place, cpu_place& host,
                                                      const counting_shape& shape) {
    return std::make_unique<segment_counter_cuda>(place, host, shape);
}

std::unique_ptr<triple_sorter> make_triple_sorter(cuda_place& place, cpu_place&, std::uint64_t memory_bytes) {
    return std::make_unique<triple_sorter_at<cuda_place>>(place, memory_bytes);
}

}  // namespace quern::word_similarity_detail
