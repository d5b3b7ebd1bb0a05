// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/door.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/output_folder.hpp"
#include "tasks/words/space_layout.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr unsigned default_dimensions = 300, most_dimensions = 4096;

void check_question(const space_question& q, similarity_method method) {
    if (q.min_count == 0) throw usage_error("a word of the vocabulary occurs at least once");
    if (q.vocabulary < 2) throw usage_error("the vocabulary needs at least two words");
    if (q.dimensions > most_dimensions) throw usage_error("vectors have at most 4096 dimensions");
    // The operation's own refusals, before the corpus is read and not after it.
    const context alone = context::cpu(1);
    context_counter(2, 1, q.counting, alone).weigh(q.weighing);
    const std::uint64_t no_rows[] = {0, 0, 0};
    const std::uint64_t no_counts[] = {0, 0};
    similar_words({2, 1, no_rows, {}, {}, no_counts}, similarity_of(q, method), alone);
}

void check_place(const words_options& options) {
    for (const fs::path& input : options.inputs) {
        if (input == "-") continue;
        refuse_overlap(options.space, input);
        if (is_store(input) && options.inputs.size() > 1) {
            throw usage_error(input.string() + " is a store, and read alone");
        }
        if (is_store(input) && !options.input_format.empty()) {
            throw usage_error("an input format is for files, and " + input.string() + " is a store");
        }
        if (!is_store(input)) refuse_own_output(input);
    }
    refuse_to_replace(options.space,
                      {"space of words",
                       is_word_space,
                       {space_layout::manifest, space_layout::statistics, space_layout::matrix_file}},
                      options.force);
}

}  // namespace

words_options checked(const words_options& request) {
    require_inputs(request.inputs);
    if (request.space.empty()) throw usage_error("no space is given");
    words_options options = request;
    options.space = resolved_folder(options.space);
    space_question& q = options.question;
    check_question(q, options.method);
    if (q.measure == word_measure::lsa && q.dimensions == 0) q.dimensions = default_dimensions;
    if (options.input_format == triples_format) {
        if (q.dimensions != 0 && q.lsa_of == reduced_matrix::documents) {
            throw usage_error("triples have no documents; vectors are made of mi");
        }
    } else {
        text::analyzer{options.text};  // an unknown language, an unreadable list
    }
    check_place(options);
    return options;
}

similarity_options similarity_of(const space_question& question, similarity_method method) {
    similarity_options asked;
    asked.method = method;
    asked.measure =
        question.measure == word_measure::cosine ? similarity_measure::cosine : similarity_measure::lin;
    asked.top = std::max<std::uint32_t>(question.top, 1);  // 0: not asked at all, but checked
    asked.columns = question.columns;
    return asked;
}

}  // namespace quern
