// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/index.hpp"

#include <malloc.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "device/cpu/threads.hpp"
#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/field_columns.hpp"

namespace quern {
namespace {

void add_steps(stage_clock& clock, const step_seconds& s) {
    for (const auto& [name, seconds] : {std::pair{"read", s.read},
                                        {"parse", s.parse},
                                        {"admit", s.admit},
                                        {"analyse", s.analyse},
                                        {"compress", s.compress},
                                        {"append", s.append}}) {
        clock.add_step(std::string("collection/") + name, seconds);
    }
}

}  // namespace

void warn_of_field_without_words(std::string_view name, const context& ctx) {
    ctx.log(log_level::warning,
            fmt::format(
                "the indexed field '{}' has no words in any document: strings, numbers, true and false are "
                "searched, alone or in lists, and no objects",
                name));
}

namespace {

void tell_of_fields(const field_census& fields, const context& ctx) {
    std::string names;
    for (std::size_t i = 0; i < fields.names().size(); ++i) {
        if (!fields.kinds(i).are_texts_of_numbers()) continue;
        names.append(names.empty() ? "" : ", ").append(fields.names()[i]);
    }
    if (fields.names().empty())
        ctx.log(log_level::warning,
                "no document has a field to keep, and the store has none (--keep-fields)");
    if (names.empty()) return;
    ctx.log(log_level::info,
            "all values of " + names +
                " are strings that hold numbers: they sort and compare as texts, 10 before 9; for numbers, "
                "write them in JSON, without quotes");
}

}  // namespace

index_outcome make_index(const build_options& options, const text_options& text, index_source source,
                         const std::filesystem::path& store, const scratch_folder& scratch,
                         stage_clock& clock, const context& ctx) {
    const std::uint64_t memory = ctx.memory_limit();
    collection_pieces pieces(scratch, memory / 4, options.indexed_fields.size());
    if (!options.skip.contains(build_stage::thesaurus))
        pieces.passages.emplace(scratch.file("passages"), memory / 64);
    run_parallel(with_threads_that_read(ctx), [&] {
        read_collection(options, with_stop_words_of(text, store), std::move(source), store, scratch, pieces,
                        ctx);
    });
    if (pieces.documents == 0) pieces.record.refuse_empty(options);
    ::malloc_trim(0);  // freed memory goes back to the system, also from the threads' heaps
    clock.end_stage("collection", pieces.input_bytes);
    add_steps(clock, pieces.seconds);

    const std::vector<field_info> fields = pieces.fields.columns(options.fields.kept);
    if (!options.fields.kept.empty()) {
        for (store_section& section :
             make_field_columns(store, pieces.sections, fields, pieces.documents, scratch, ctx))
            pieces.sections.push_back(std::move(section));
        clock.end_stage("fields", 0);
        tell_of_fields(pieces.fields, ctx);
    }

    const auto links = pieces.links.resolve(pieces.ids, store, ctx);
    pieces.ids = {};
    clock.end_stage("links", links.links * sizeof(std::uint32_t));

    const auto merge = [&](std::string_view stage, run_store& runs,
                           const store_layout::word_index_names& names, std::optional<int> weight_exponent,
                           const run_store::range_visitor& also = {}) {
        return run_parallel(ctx, [&] {
            return runs.merge(stage, store, names, pieces.document_lengths, ctx, memory / 2, also,
                              weight_exponent);
        });
    };
    std::optional<int> weight_exponent;
    if (pieces.listed == word_listing::weights) weight_exponent = pieces.weights.unit_exponent();
    const auto words = merge("merge", pieces.words_of_all, store_layout::all_words, weight_exponent,
                             [&](const auto& range) { pieces.tokens.take_words(range); });
    const auto title_words = merge("merge titles", pieces.words_of_titles, store_layout::title_words, {});
    std::vector<store_section> field_sections;
    index_outcome outcome;
    outcome.spilled_bytes = pieces.words_of_all.spilled_bytes() + pieces.words_of_titles.spilled_bytes() +
                            pieces.tokens.spilled_bytes();
    for (std::size_t i = 0; i < pieces.words_of_fields.size(); ++i) {
        auto merged = merge("merge fields", pieces.words_of_fields[i], store_layout::field_words(i), {});
        outcome.spilled_bytes += pieces.words_of_fields[i].spilled_bytes();
        if (merged.vocabulary == 0) warn_of_field_without_words(options.indexed_fields[i], ctx);
        std::ranges::move(merged.sections, std::back_inserter(field_sections));
    }
    clock.end_stage("merge", outcome.spilled_bytes);

    const auto tokens = run_parallel(ctx, [&] {
        return pieces.tokens.write(
            store, pieces.words_in_order.empty() ? pieces.document_lengths : pieces.words_in_order, ctx);
    });
    clock.end_stage("tokens", tokens.front().bytes);

    store_info& info = outcome.info;
    info.format_version = store_format_version;
    info.unicode_version = text::unicode_version();
    info.text = text;
    info.verbatim = pieces.verbatim;
    info.listed = pieces.listed;
    info.weight_exponent = weight_exponent.value_or(0);
    info.max_weight = pieces.weights.max();
    info.documents = pieces.documents;
    info.words = pieces.words;
    info.vocabulary = words.vocabulary;
    info.postings = words.postings;
    info.links = links.links;
    info.kept_fields = options.fields.kept;
    info.fields = fields;
    info.indexed_fields = options.indexed_fields;
    info.sections = std::move(pieces.sections);
    for (const std::vector<store_section>& part :
         {links.sections, words.sections, title_words.sections, field_sections, tokens}) {
        info.sections.insert(info.sections.end(), part.begin(), part.end());
    }
    outcome.record = std::move(pieces.record);
    outcome.dangling_links = links.dangling;
    outcome.compared = pieces.compared;
    outcome.passages = std::move(pieces.passages);
    return outcome;
}

}  // namespace quern
