// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/checked_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/corpus/corpus.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/sync_options.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/output_folder.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

/// Text options, stages and fields of the store that is there.
void adopt_options_of_store(build_options& options, const store_info& info) {
    options.text = with_stop_words_of(info.text, options.store);
    options.fields.kept = info.kept_fields;
    options.indexed_fields = info.indexed_fields;
    options.skip = all_build_stages;
    for (const build_stage stage : info.stages) options.skip.erase(stage);
    options.force = true;
}

/// Whether the documents are lists of words, from which the other stages make nothing.
bool has_lists(const build_options& options, const context& ctx) {
    if (options.source != nullptr) return options.source->listed() != word_listing::none;
    if (const auto form = io::corpus_form_named(options.input_format)) return io::is_listed(*form);
    // Inputs are all lists, or none is.
    return !options.inputs.empty() && io::is_list_file(options.inputs.front(), ctx);
}

void check_indexed(const build_options& options) {
    const std::vector<std::string>& names = options.indexed_fields;
    if (names.size() > store_layout::max_indexed_fields)
        throw usage_error(fmt::format("index_fields: at most {} fields can be indexed (here {})",
                                      store_layout::max_indexed_fields, names.size()));
    for (const std::string& name : names) {
        if (name.empty() || std::ranges::count(names, name) != 1)
            throw usage_error(
                fmt::format("index_fields: '{}' is {}", name, name.empty() ? "not a name" : "given twice"));
        if (name == "title" || name == "text" || name == "body")
            throw usage_error(fmt::format(
                "index_fields: '{}' is the name of a part that every document has (expected other members)",
                name));
        if (name == options.fields.title || std::ranges::count(options.fields.text, name) != 0)
            throw usage_error(fmt::format(
                "index_fields: '{}' is searched as the title or text already (expected other members)",
                name));
    }
}

/// Whether the names are the same, in any order.
bool are_same(std::vector<std::string> a, std::vector<std::string> b) {
    for (std::vector<std::string>* names : {&a, &b}) {
        std::ranges::sort(*names);
        const auto rest = std::ranges::unique(*names);
        names->erase(rest.begin(), rest.end());
    }
    return a == b;
}

/// They are read after all other stages.
void require_file_of_vectors(const fs::path& file) {
    if (file.empty()) return;
    std::error_code unseen;
    const fs::file_status status = fs::status(file, unseen);
    if (fs::is_directory(status))
        throw usage_error(
            fmt::format("{} is a folder (expected a file with vectors of documents)", file.string()));
    if (!fs::exists(status))
        throw usage_error(
            fmt::format("{}: {} (expected vectors of documents)", file.string(),
                        status.type() == fs::file_type::none ? unseen.message() : "no such file"));
}

}  // namespace

std::optional<std::string> with_own_option(std::string_view reason, const std::vector<std::string>& indexed) {
    for (const std::string& name : indexed) {
        const std::string missing = "no record has a field \"" + name + "\" (--", as_kept = "keep-fields)";
        if (reason.starts_with(missing + as_kept))
            return missing + "index-fields)" + std::string(reason.substr(missing.size() + as_kept.size()));
    }
    return {};
}

build_options checked_options(const build_options& request, const context& ctx) {
    if (request.sync && request.changes_store())
        throw usage_error(
            "a synchronised store mirrors the inputs: it cannot also be updated, or lose documents");
    if (!request.vectors.empty() && (request.sync || request.changes_store()))
        throw usage_error(
            "vectors of documents cannot be combined with an update, replaced or deleted documents, or a "
            "synchronised store: build the store from all inputs");
    const bool only_deletes =
        !request.deleted_ids.empty() && request.inputs.empty() && request.source == nullptr;
    if (!only_deletes) require_documents(request);
    if (request.store.empty()) throw usage_error("no store given");
    require_file_of_vectors(request.vectors.file);
    build_options options = request;
    options.update = options.changes_store();
    check_indexed(options);
    keep_indexed(options);
    options.store = resolved_folder(options.store);
    if (options.ngrams)
        options.skip.erase(build_stage::ngrams);
    else
        options.skip.insert(build_stage::ngrams);
    for (const fs::path& input : options.inputs) {
        if (input == "-") continue;
        refuse_own_output(input);
        refuse_overlap(options.store, input);
    }
    if (options.update) {
        const store_info info = read_store_info(options.store);
        if (info.unicode_version != text::unicode_version()) {
            throw usage_error(fmt::format("{} was made with the data of Unicode {}, but this program has {}",
                                          options.store.string(), info.unicode_version,
                                          text::unicode_version()));
        }
        adopt_options_of_store(options, info);
    } else if (options.sync && is_store(options.store)) {
        adopt_options_of_store(options, read_store_info(options.store));
    }
    if ((options.update || options.sync) && is_store(options.store) &&
        store_layout::lists_section(read_store_info(options.store), store_layout::user_vectors))
        throw usage_error(
            options.store.string() +
            " keeps vectors of its documents, which others do not have: build it again from all "
            "inputs, with their vectors");
    if (!options.indexed_fields.empty() && has_lists(options, ctx))
        throw usage_error(
            "index_fields: documents that are lists of words have no further fields to search (expected "
            "documents with texts)");
    if (options.skip != all_build_stages && has_lists(options, ctx)) options.skip = all_build_stages;
    const text::analyzer refused_here(options.text);  // refuses an unknown language, an unreadable list
    refuse_to_replace(
        options.store,
        {"store", is_store, {store_layout::manifest, store_layout::statistics, store_layout::thesaurus}},
        options.force);
    return options;
}

void keep_indexed(build_options& options) {
    if (options.fields.keeps_all()) return;
    for (const std::string& name : options.indexed_fields)
        if (std::ranges::find(options.fields.kept, name) == options.fields.kept.end())
            options.fields.kept.push_back(name);
}

std::string_view options_unlike_store(const build_options& options, const text_options& text,
                                      const store_info& store) {
    if (text != store.text && recorded_text_options(text) != store.text) return "text options";
    build_options given = options;
    keep_indexed(given);
    if (!options.fields.kept.empty() && !are_same(given.fields.kept, store.kept_fields)) return "keep_fields";
    if (!given.indexed_fields.empty() && given.indexed_fields != store.indexed_fields) return "index_fields";
    std::set<build_stage> skipped = all_build_stages;
    for (const build_stage stage : store.stages) skipped.erase(stage);
    if (options.ngrams && skipped.contains(build_stage::ngrams)) return "ngrams";
    skipped.erase(build_stage::ngrams);
    std::set<build_stage> requested = options.skip;
    requested.erase(build_stage::ngrams);
    return !requested.empty() && requested != skipped ? "skip" : "";
}

}  // namespace quern
