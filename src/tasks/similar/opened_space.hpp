// SPDX-License-Identifier: Apache-2.0
// The state of word_space: the mapped sections of a space, and the checks of their contents.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "io/store/section.hpp"
#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/words.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {

// Scores of pairs of words of an opened space, by their vectors. Equal to those that words() stored.

using word_pair = std::pair<std::uint32_t, std::uint32_t>;

/// By vectors, as similar_vectors() computes them; 0 if one of the two has no direction.
std::vector<double> scores_of_vectors(const std::function<std::span<const float>(std::uint32_t)>& vector,
                                      vector_measure measure, std::span<const word_pair> pairs,
                                      const context& ctx);

struct range_of {
    std::uint64_t begin, count;
};

struct context_row {
    std::span<const std::uint32_t> columns;
    std::span<const float> weights;
};

struct word_space::state {
    /// Throws as word_space::open().
    state(std::filesystem::path where, const context& ctx);

    /// The whole matrix; its bytes are checked on first use.
    context_matrix_view matrix(const context& ctx) const;
    quern::context_row context_row(std::uint32_t word) const;
    std::vector<neighbour> stored_neighbours(std::uint32_t word) const;
    std::span<const float> vector(std::uint32_t word) const;
    context_matrix neighbour_matrix(const context& ctx) const;
    std::vector<double> scores(std::span<const word_pair> pairs, const context& ctx) const;
    /// By the text options of the corpus. The analyzer is created on first use, from words read when the space was
    /// opened.
    text::token_list tokens_of(std::string_view typed) const;
    /// Sorted ids; determined on first use.
    std::span<const std::uint32_t> stop_words(const word_space& of) const;

    std::filesystem::path path;
    word_space_info info;
    text_options text;
    space_params params;
    bool of_triples = false;
    /// Instead of the contexts: the stored neighbours of each word and their scores.
    std::optional<context_matrix> second_order;
    io::section_view words, word_order, frequencies, relations, context_ends, contexts, context_weights,
        context_counts, neighbour_ends, neighbours, neighbour_scores, vectors;

  private:
    void refuse_other_sizes() const;
    static range_of row_of(const io::section_view& ends, std::uint32_t row, std::uint64_t max);

    mutable std::once_flag matrix_checked;
    mutable std::once_flag stop_words_requested;
    mutable std::vector<std::uint32_t> found_stop_words;
    std::optional<analyzer_maker> analyzers;
    mutable std::mutex analyzing;
    mutable std::optional<text::analyzer> analyzer;
};

}  // namespace quern
