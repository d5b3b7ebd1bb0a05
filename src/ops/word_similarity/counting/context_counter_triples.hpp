// SPDX-License-Identifier: Apache-2.0
// Triples from the user's parser, in any order and with repetitions: sorted by (word, relation, other word), on disk if
// necessary, and added up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/word_similarity/counting/context_counter.hpp"
#include "primitives/external_sort/external_sort.hpp"

namespace quern::word_similarity_detail {

/// Sorts (word · 2^32 + context, count) by the first.
class triple_sorter {
  public:
    using take_pairs =
        std::function<void(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> counts)>;

    triple_sorter() = default;
    triple_sorter(const triple_sorter&) = delete;  // owns scratch files
    triple_sorter& operator=(const triple_sorter&) = delete;
    virtual ~triple_sorter() = default;

    virtual void push(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> counts) = 0;
    virtual void finish(const take_pairs& take) = 0;
    virtual primitives::external_sort_record record() const = 0;
};

template <class Place>
class triple_sorter_at final : public triple_sorter {
  public:
    triple_sorter_at(Place& place, std::uint64_t memory_bytes) : sorter_(place, memory_bytes, {}, 0) {}
    void push(std::span<const std::uint64_t> keys, std::span<const std::uint64_t> counts) override {
        sorter_.push(keys, counts);
    }
    void finish(const take_pairs& take) override { sorter_.finish(take); }
    primitives::external_sort_record record() const override { return sorter_.record(); }

  private:
    primitives::external_sorter<Place, std::uint64_t, std::uint64_t> sorter_;
};

/// The place sorts, with that much memory of the host's.
std::unique_ptr<triple_sorter> make_triple_sorter(cpu_place& place, cpu_place& host,
                                                  std::uint64_t memory_bytes);
std::unique_ptr<triple_sorter> make_triple_sorter(cuda_place& place, cpu_place& host,
                                                  std::uint64_t memory_bytes);

/// Adds up, and weighs on the host, the stream from the sort.
class triple_counter {
  public:
    triple_counter(cpu_place& host, const counting_shape& shape, std::unique_ptr<triple_sorter> sorter);

    /// Ids are below `words`, or unknown_word; a triple with the latter counts nowhere.
    void add(std::span<const word_triple> triples);
    context_matrix pmi(const pmi_options& options, counting_record& record,
                       const context_counter::entry_sink* take);

  private:
    void take(const word_triple& t);

    cpu_place& host_;
    counting_shape shape_;
    std::unique_ptr<triple_sorter> sorter_;
    marginals sums_;
    std::uint64_t total_ = 0;
    std::vector<std::uint64_t> keys_, counts_;
};

}  // namespace quern::word_similarity_detail
