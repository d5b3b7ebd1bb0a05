// SPDX-License-Identifier: Apache-2.0
// What word_space holds: the sections of a space, mapped, and the checks of what they say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/store/section.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/similar.hpp"
#include "tasks/similar/row_scores.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/analyzer.hpp"

namespace quern {

struct stretch_of {
    std::uint64_t begin, count;
};

struct context_row {
    std::span<const std::uint32_t> columns;
    std::span<const float> weights;
};

struct word_space::state {
    /// Throws as word_space::open().
    state(std::filesystem::path where, const context& run);

    /// The whole matrix; its bytes are checked when it is first asked for.
    context_matrix_view matrix(const context& run) const;
    quern::context_row context_row(std::uint32_t word) const;
    std::vector<neighbour> stored_neighbours(std::uint32_t word) const;
    std::span<const float> vector(std::uint32_t word) const;
    std::vector<double> scores(std::span<const word_pair> pairs, const context& run) const;
    /// By the text options of the corpus. The analyzer is made when it is first needed, of words that opening read.
    text::token_list tokens_of(std::string_view typed) const;

    std::filesystem::path path;
    word_space_info info;
    text_options text;
    space_question question;
    bool of_triples = false;
    io::section_view words, word_order, frequencies, relations, context_ends, contexts, context_weights,
        context_counts, neighbour_ends, neighbours, neighbour_scores, vectors;

  private:
    void refuse_other_sizes() const;
    static stretch_of row_of(const io::section_view& ends, std::uint32_t row, std::uint64_t most);

    mutable std::once_flag matrix_checked;
    std::optional<analyzer_maker> analyzers;
    mutable std::mutex analyzing;
    mutable std::optional<text::analyzer> analyzer;
};

}  // namespace quern
