// SPDX-License-Identifier: Apache-2.0
// What the stages of counting hand to each other. The door (context_counter.cpp) gathers text in segments; a
// segment_counter of the place counts them; triples of the user's own take a way of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/place.hpp"
#include "device/cuda/place.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

struct counting_shape {
    std::uint32_t words, relations;
    unsigned window;
    bool positional, count_self;

    /// The two marks as segments have them: a word beside the vocabulary, so that it can be counted and left out;
    /// and the end of a passage.
    std::uint32_t unknown() const { return words; }
    std::uint32_t end() const { return words + 1; }
    /// The relation to the word `distance` places before or after.
    std::uint32_t before(unsigned distance) const { return positional ? window - distance : 0; }
    std::uint32_t after(unsigned distance) const { return positional ? window + distance - 1 : 0; }
    /// w meets w' in r as often as w' meets w in mirrored(r).
    std::uint32_t mirrored(std::uint32_t relation) const { return relations - 1 - relation; }
};

/// Sums of counts.
struct marginals {
    std::vector<std::uint64_t> rows;       ///< |w,r,*| at w · relations + r
    std::vector<std::uint64_t> columns;    ///< |*,r,w'| at r · words + w'
    std::vector<std::uint64_t> relations;  ///< |*,r,*|
    std::uint64_t total = 0;

    /// Fills the last two.
    void add_up(const counting_shape& shape);
    /// Fills the columns of counted text too: windows are symmetric.
    void add_up_mirrored(const counting_shape& shape);
};

/// Text with an end mark in front and behind. The words at [begin, end) meet those around them; words before and behind
/// are only met, and belong to the segments beside.
struct text_segment {
    std::span<const std::uint32_t> text;
    std::size_t begin, end;
};

/// Counts what the words of segments meet, at one place. One thread calls.
class segment_counter {
  public:
    segment_counter() = default;
    segment_counter(const segment_counter&) = delete;  // owns scratch files and memory of a place
    segment_counter& operator=(const segment_counter&) = delete;
    virtual ~segment_counter() = default;

    /// The most words in a segment.
    virtual std::size_t capacity() const = 0;
    virtual void add(const text_segment& segment) = 0;
    /// Ends counting, with the last segment. Notes meetings, triples and what was spilled.
    virtual context_matrix weigh(const text_segment& last, const weighing_options& options,
                                 counting_record& record) = 0;
};

/// `host`: where host memory comes from.
std::unique_ptr<segment_counter> make_segment_counter(cpu_place& place, cpu_place& host,
                                                      const counting_shape& shape);
std::unique_ptr<segment_counter> make_segment_counter(cuda_place& place, cpu_place& host,
                                                      const counting_shape& shape);

}  // namespace quern::word_similarity_detail
