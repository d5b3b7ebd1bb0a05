// SPDX-License-Identifier: Apache-2.0
// The words task over a store's texts, with the store's word rules: the space that `quern words STORE` would write with
// these options. The parameters are chosen for a build that waits for the result (docs/thesaurus.md).
#include <filesystem>

#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/stages.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"
#include "tasks/words/words_checks.hpp"

namespace quern {
namespace {

/// Vectors of documents need words distinguished by their documents, not by their neighbours. A single document
/// distinguishes nothing.
space_params thesaurus_params(std::uint64_t documents) {
    space_params params;
    params.top = 20;
    params.dimensions = 100;
    params.lsa_of = documents > 1 ? reduced_matrix::documents : reduced_matrix::mi;
    params.lsa_words = 1 << 24;  // at most 270 MB during the conversion into a matrix
    return params;
}

}  // namespace

stage_outcome make_thesaurus(const opened_store& store, const context& ctx) {
    words_options options;
    options.inputs = {store.path()};
    options.space = store.path() / store_layout::thesaurus;
    options.text = with_stop_words_of(store.info().text, store.path());
    options.params = thesaurus_params(store.info().documents);
    options.force = true;  // leftovers of an interrupted run
    stage_outcome outcome;
    // The task's notes about options are not relevant here: the user did not choose them.
    context quiet = ctx;
    quiet.on_log = [&ctx](log_level level, std::string_view text) {
        if (level != log_level::info) ctx.log(level, text);
    };
    try {
        const words_result made = words_of_store(store, options, quiet);
        outcome.thesaurus = {std::string(store_layout::thesaurus), made.space_bytes,
                             checksum_of_file(options.space / space_layout::manifest, ctx)};
        outcome.counts = {{"thesaurus_words", made.vocabulary},
                          {"thesaurus_entries", made.entries},
                          {"thesaurus_bytes", made.space_bytes}};
    } catch (const too_little&) {
        outcome.nothing = "there is too little text";
    }
    return outcome;
}

}  // namespace quern
