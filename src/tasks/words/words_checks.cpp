// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/words_checks.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words_option_table.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/output_folder.hpp"
#include "tasks/words/space_layout.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr unsigned default_dimensions = svd_options{}.dimensions;

void validate_params(const words_options& options) {
    const space_params& q = options.params;
    check_ranges(q);
    validate(q.counting);
    validate(q.pmi);
    validate(similarity_of(options));
}

/// lsa compares vectors instead: any measure.
similarity_measure measure_of(word_measure measure) {
    switch (measure) {
        case word_measure::cosine:
            return similarity_measure::cosine;
        case word_measure::jaccard:
            return similarity_measure::jaccard;
        case word_measure::weeds:
            return similarity_measure::weeds;
        case word_measure::jensen_shannon:
            return similarity_measure::jensen_shannon;
        case word_measure::skew:
            return similarity_measure::skew;
        default:
            return similarity_measure::lin;
    }
}

void check_place(const words_options& options) {
    for (const fs::path& input : options.inputs) {
        if (input == "-") continue;
        refuse_overlap(options.space, input);
        if (is_store(input) && options.inputs.size() > 1) {
            throw usage_error(input.string() + " is a store, which must be the only input");
        }
        if (is_store(input) && !options.input_format.empty()) {
            throw usage_error("an input format applies to files, but " + input.string() + " is a store");
        }
        if (!is_store(input)) refuse_own_output(input);
    }
    refuse_to_replace(options.space,
                      {"word space",
                       is_word_space,
                       {space_layout::manifest, space_layout::statistics, space_layout::matrix_file}},
                      options.force);
}

}  // namespace

words_options checked(const words_options& request) {
    require_documents(request);
    if (request.space.empty()) throw usage_error("no space given");
    words_options options = request;
    options.space = resolved_folder(options.space);
    space_params& q = options.params;
    validate_params(options);
    if (q.measure == word_measure::lsa && q.dimensions == 0) q.dimensions = default_dimensions;
    if (options.input_format == triples_format) {
        if (q.dimensions != 0 && q.lsa_of == reduced_matrix::documents) {
            throw usage_error("triples have no documents; use vectors of mi");
        }
    } else {
        text::analyzer{options.text};  // refuses an unknown language, an unreadable list
    }
    check_place(options);
    return options;
}

similarity_options similarity_of(const space_params& params, similarity_method method) {
    similarity_options requested;
    requested.method = method;
    requested.measure = measure_of(params.measure);
    requested.top = std::max<std::uint32_t>(params.top, 1);  // 0: not run at all, but checked
    requested.columns = params.columns;
    return requested;
}

similarity_options similarity_of(const words_options& options) {
    similarity_options requested = similarity_of(options.params, options.method);
    requested.blocks = options.blocks;
    requested.threads = options.block_threads;
    requested.tile_bytes = options.tile_bytes;
    return requested;
}

}  // namespace quern
