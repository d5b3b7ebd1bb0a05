// SPDX-License-Identifier: Apache-2.0
// The words task over a store's texts, read as the store's words were: the space that `quern words STORE` would write with
// these options. What is asked here is chosen for a build that waits for it (docs/thesaurus.md).
#include <filesystem>

#include "tasks/build/stages.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/door.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/space_writer.hpp"

namespace quern {
namespace {

/// Vectors of documents want words that are told apart by the documents they stand in, not by their neighbours. A single
/// document tells nothing apart.
space_question thesaurus_question(std::uint64_t documents) {
    space_question question;
    question.top = 20;
    question.dimensions = 100;
    question.lsa_of = documents > 1 ? reduced_matrix::documents : reduced_matrix::mi;
    question.lsa_words = 1 << 24;  // at most 270 MB while they are turned into a matrix
    return question;
}

}  // namespace

stage_outcome make_thesaurus(const opened_store& store, const context& run) {
    words_options options;
    options.inputs = {store.path()};
    options.space = store.path() / store_layout::thesaurus;
    options.text = with_stop_words_of(store.info().text, store.path());
    options.question = thesaurus_question(store.info().documents);
    options.force = true;  // what an interrupted run left
    stage_outcome outcome;
    // What the task says to those who chose its options is no news here.
    context quiet = run;
    quiet.on_log = [&run](log_level level, std::string_view text) {
        if (level != log_level::info) run.log(level, text);
    };
    try {
        const words_result made = words_of_store(store, options, quiet);
        outcome.thesaurus = {std::string(store_layout::thesaurus), made.space_bytes,
                             checksum_of_file(options.space / space_layout::manifest, run)};
        outcome.counts = {{"thesaurus_words", made.vocabulary},
                          {"thesaurus_entries", made.entries},
                          {"thesaurus_bytes", made.space_bytes}};
    } catch (const too_little&) {
        outcome.nothing = "there is too little text for one";
    }
    return outcome;
}

}  // namespace quern
