// SPDX-License-Identifier: Apache-2.0
// The data that the stages of counting exchange. The entry point (context_counter.cpp) gathers text in segments; a
// segment_counter of the place counts them; the user's own triples take a separate path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern::word_similarity_detail {

struct counting_shape {
    std::uint32_t words, relations;
    unsigned window;
    bool positional, count_self;

    /// The two marks in segments: an extra word after the vocabulary for unknown words, so that it can be counted and
    /// skipped; and the end of a passage.
    std::uint32_t unknown() const { return words; }
    std::uint32_t end() const { return words + 1; }
    /// The relation to the word `distance` positions before or after.
    std::uint32_t before(unsigned distance) const { return positional ? window - distance : 0; }
    std::uint32_t after(unsigned distance) const { return positional ? window + distance - 1 : 0; }
    /// w co-occurs with w' in r as often as w' with w in mirrored(r).
    std::uint32_t mirrored(std::uint32_t relation) const { return relations - 1 - relation; }
};

/// Sums of counts.
struct marginals {
    std::vector<std::uint64_t> rows;       ///< |w,r,*| at w · relations + r
    std::vector<std::uint64_t> columns;    ///< |*,r,w'| at r · words + w'
    std::vector<std::uint64_t> relations;  ///< |*,r,*|
    std::uint64_t total = 0;

    /// Computes the last two.
    void add_up(const counting_shape& shape);
    /// Also computes the columns of counted text: windows are symmetric.
    void add_up_mirrored(const counting_shape& shape);
};

/// Text with an end mark in front and after it. The words at [begin, end) are counted with those around them; words before
/// and after serve only as contexts, and belong to the neighbouring segments.
struct text_segment {
    std::span<const std::uint32_t> text;
    std::size_t begin, end;
};

/// Passes the entries of a matrix to `sink`.
void hand_over(context_matrix& matrix, const context_counter::entry_sink& sink);

/// Counts the co-occurrences of the words of segments, at one place. Called by one thread.
class segment_counter {
  public:
    segment_counter() = default;
    segment_counter(const segment_counter&) = delete;  // owns scratch files and memory of a place
    segment_counter& operator=(const segment_counter&) = delete;
    virtual ~segment_counter() = default;

    /// The maximum number of words in a segment.
    virtual std::size_t capacity() const = 0;
    virtual void add(const text_segment& segment) = 0;
    /// Ends counting, with the last segment. Records co-occurrences, triples and spilled data.
    virtual context_matrix pmi(const text_segment& last, const pmi_options& options,
                               counting_record& record) = 0;
    /// The same; entries go to `sink`.
    virtual context_matrix pmi_for(const text_segment& last, const pmi_options& options,
                                   counting_record& record, const context_counter::entry_sink& sink) {
        context_matrix matrix = pmi(last, options, record);
        hand_over(matrix, sink);
        return matrix;
    }
    /// The counts themselves (quern/ops/word_similarity.hpp). Throws usage_error where they are not offered.
    virtual context_matrix counts_for(const text_segment& last, counting_record& record,
                                      const context_counter::count_sink& sink);
};

/// `host`: the source of host memory.
std::unique_ptr<segment_counter> make_segment_counter(cpu_place& place, cpu_place& host,
                                                      const counting_shape& shape);
std::unique_ptr<segment_counter> make_segment_counter(cuda_place& place, cpu_place& host,
                                                      const counting_shape& shape);

}  // namespace quern::word_similarity_detail
