// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/stages.hpp"

#include <cstdint>
#include <filesystem>

#include "io/store/section.hpp"
#include "quern/ops/link_rank.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/shared/file_checksum.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/words/space_layout.hpp"
#include "tasks/words/words_checks.hpp"

namespace quern {

void add_outcome(store_info& info, const stage_outcome& outcome) {
    for (const store_section& section : outcome.sections) {
        std::erase_if(info.sections, [&](const store_section& old) { return old.name == section.name; });
        info.sections.push_back(section);
    }
    if (outcome.thesaurus) info.thesaurus = outcome.thesaurus;
    if (outcome.vectors.dimensions != 0) info.vectors = outcome.vectors;
}

// The words task over a store's texts, with the store's word rules: the space that `quern words STORE` would write with
// these options. The parameters are chosen for a build that waits for the result (docs/thesaurus.md).

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

stage_outcome make_thesaurus_by(const words_reader& read, const opened_store& store, const context& ctx) {
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
        const words_result made = words_of_store(store, options, quiet, read);
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

}  // namespace

stage_outcome make_thesaurus(const opened_store& store, const context& ctx) {
    return make_thesaurus_by({}, store, ctx);
}

stage_outcome make_thesaurus_of_index(const opened_store& store, text_passages& passages,
                                      const context& ctx) {
    // A count and an id of each word of the store are in memory then.
    const std::uint64_t table_bytes = std::uint64_t{16} * store.words().dictionary().size();
    if (store.info().verbatim || store.info().listed != word_listing::none ||
        table_bytes > ctx.memory_limit() / 8)
        return make_thesaurus(store, ctx);
    return make_thesaurus_by(
        [&](corpus_words& into, const context& run) { read_words_in_order(store, passages, into, run); },
        store, ctx);
}

// PageRank computes in integers of 2^-62 and returns doubles, each the nearest to its integer. The section stores that
// double in the same units, an integer again, so that section and command agree.

stage_outcome make_link_ranks(const opened_store& store, const context& ctx) {
    stage_outcome outcome;
    if (store.info().links == 0) {
        outcome.nothing = "there are no links";
        return outcome;
    }
    ctx.report({"link ranks", 0, 0, "links"});
    run_statistics unused;
    const input_graph nodes = read_input_graph(store.path(), "", false, ctx, unused);
    const link_ranks found = page_rank(nodes.graph.view(), {},
                                       with_remaining_memory(ctx, nodes.bytes_held, "the links of a store"));

    io::section_writer section(store_layout::file_of(store.path(), store_layout::link_ranks));
    for (const double rank : found.ranks) {
        section.append_value(static_cast<std::uint64_t>(rank * store_layout::link_rank_units));
    }
    const auto done = section.finish();
    outcome.sections = {listed_section(store_layout::link_ranks, done)};
    outcome.counts = {{"link_rank_iterations", found.iterations}};
    return outcome;
}

}  // namespace quern
