// SPDX-License-Identifier: Apache-2.0
// Ids, titles and links come from the documents that were read: links are resolved anew, because what they name may have changed.
// Those of the old documents of an update come from the store; they were not read.
// Texts, fields, lengths and words come from the two stores.
#include "tasks/store_sync/joined_index.hpp"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/field_columns.hpp"
#include "tasks/store_build/link_store.hpp"
#include "tasks/store_build/store_to_update.hpp"
#include "tasks/store_merge/merged_blocks.hpp"
#include "tasks/store_merge/merged_words.hpp"
#include "tasks/store_merge/source_stores.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t old_store = 0, changed_store = 1;

/// A store of the changed documents alone: of its sections those of texts, fields, lengths and words are used.
void index_changed(const build_options& options, const joined_documents& documents, const fs::path& store,
                   const scratch_folder& scratch, const context& ctx) {
    fs::create_directory(store);
    const text_options text = keep_stop_words(options.text, store);
    index_source source;
    source.corpus = documents.read.read_some(documents.unchanged.changed_positions,
                                             corpus_options_for(options, ctx).unit_bytes);
    source.duplicates = documents.duplicates;
    source.numbers = documents.unchanged.changed_numbers;
    source.progress = "index";
    source.is_admitted = true;
    context quiet = ctx;
    quiet.on_log = {};  // what it would say of these documents need not be true of all
    run_statistics unused;
    stage_clock clock(unused);
    const index_outcome made = make_index(options, text, std::move(source), store, scratch, clock, quiet);
    write_file(store / store_layout::manifest, store_layout::manifest_text(made.info));
}

std::vector<source_range> order_of(const unchanged_documents& unchanged) {
    std::vector<source_range> order;
    std::uint32_t next_changed = 0;
    for (const std::uint32_t before : unchanged.before) {
        const std::size_t store = before == unchanged_documents::none ? changed_store : old_store;
        const std::uint32_t d = store == changed_store ? next_changed++ : before;
        if (order.empty() || order.back().store != store || order.back().last != d)
            order.push_back({store, d, d});
        order.back().last = d + 1;
    }
    return order;
}

class index_join {
  public:
    index_join(const build_options& options, const joined_documents& documents, const source_stores& stores,
               const fs::path& store, scratch_folder& scratch, stage_clock& clock, const context& ctx)
        : options_(options),
          documents_(documents),
          stores_(stores),
          store_(store),
          scratch_(scratch),
          clock_(clock),
          ctx_(ctx) {}

    index_outcome make() {
        join_documents();
        join_links();
        join_texts();
        join_words();
        outcome_.compared = documents_.unchanged.compared;
        return std::move(outcome_);
    }

  private:
    void list(std::string_view name, const io::section_writer::summary& written) {
        outcome_.info.sections.push_back(listed_section(name, written));
    }
    void list(std::vector<store_section> sections) {
        std::ranges::move(sections, std::back_inserter(outcome_.info.sections));
    }
    void end_stage(std::string name) { clock_.end_stage(std::move(name), 0); }

    /// Ids and titles; the links wait until all ids are known.
    void join_documents() {
        const document_spool& read = documents_.read;
        io::string_column_writer ids(store_layout::file_of(store_, store_layout::ids),
                                     scratch_.file("id_ends"));
        io::string_column_writer titles(store_layout::file_of(store_, store_layout::titles),
                                        scratch_.file("title_ends"));
        auto excluded = documents_.excluded;
        std::uint32_t next = 0;
        std::optional<stored_links> old_links;
        if (const store_to_update* const old = documents_.old) {
            for (std::uint64_t i = 0; i < old->copies(); ++i) ids_.insert(old->copy(i).id, old->kept(i));
            old_links.emplace(*old);
            for (const auto& r : old_links->redirects()) links_.add_redirect(r);
        }
        for (std::uint32_t position = 0; position < read.documents().size(); ++position) {
            if (position % 1024 == 0) check(position);
            const document d = read.without_text(position);
            const bool is_excluded = !excluded.empty() && excluded.front().position == position;
            const std::uint32_t number = is_excluded ? excluded.front().kept : next;
            ids_.insert(d.id, number);
            if (!d.given.empty()) links_.add_scoped_id(d, number, ids_);
            if (is_excluded) {
                excluded = excluded.subspan(1);
                continue;
            }
            ids.append(d.id);
            titles.append(d.title);
            if (old_links && next < documents_.old->documents()) {
                links_.add_document(old_links->next());
            } else {
                links_.add_document(d);
            }
            ++next;
        }
        read.each_redirect([this](const redirect& r) { links_.add_redirect(r); });
        list(store_layout::ids, ids.finish());
        list(store_layout::titles, titles.finish());
    }
    void check(std::uint32_t position) const {
        ctx_.check_stop();
        ctx_.report({"documents", position, documents_.read.documents().size(), "documents"});
        if (ids_.memory_bytes() > ctx_.memory_limit() / 2)
            throw out_of_memory("the table of document ids", 2 * ids_.memory_bytes(),
                                ctx_.memory_limit() / 2);
    }

    void join_links() {
        auto links = links_.resolve(ids_, store_, ctx_);
        ids_ = {};
        list(std::move(links.sections));
        outcome_.info.links = links.links;
        outcome_.dangling_links = links.dangling;
        end_stage("documents");
    }

    void join_texts() {
        lengths_.reserve(stores_.documents());
        for (const source_range& range : stores_.order()) {
            const auto of_store = stores_[range.store].collection().document_lengths;
            const auto some = of_store.subspan(range.first, range.last - range.first);
            lengths_.insert(lengths_.end(), some.begin(), some.end());
        }
        io::section_writer lengths(store_layout::file_of(store_, store_layout::document_lengths));
        lengths.append_values(std::span<const std::uint32_t>(lengths_));
        list(store_layout::document_lengths, lengths.finish());
        list(merge_blocks(stores_, blocks_of_texts, "texts", nullptr, store_, ctx_).sections);
        end_stage("texts");
        if (options_.fields.kept.empty()) return;
        field_census census;
        list(merge_blocks(stores_, blocks_of_fields, "fields", &census, store_, ctx_).sections);
        store_info& info = outcome_.info;
        info.fields = census.columns(options_.fields.kept);
        list(make_field_columns(store_, info.sections, info.fields, stores_.documents(), scratch_, ctx_));
        end_stage("fields");
    }

    void join_words() {
        store_info& info = outcome_.info;
        const word_numbers numbers(stores_, scratch_);
        search_detail::frequent_words frequent;
        const auto merge = [&](std::string_view stage, const store_layout::word_index_names& names) {
            words_to_merge words{.stage = stage, .names = names, .document_lengths = lengths_};
            if (stage == "merge") {
                words.numbers = &numbers;
                words.frequent = &frequent;
            }
            auto made = merge_words(stores_, words, store_, ctx_);
            list(std::move(made.sections));
            return made;
        };
        const auto words = merge("merge", store_layout::all_words);
        info.vocabulary = words.vocabulary;
        info.postings = words.postings;
        merge("merge titles", store_layout::title_words);
        for (std::size_t i = 0; i < options_.indexed_fields.size(); ++i)
            if (merge("merge fields", store_layout::field_words(i)).vocabulary == 0)
                warn_of_field_without_words(options_.indexed_fields[i], ctx_);
        end_stage("merge");
        list(merge_tokens(stores_, numbers, frequent.finish(), static_cast<std::uint32_t>(info.vocabulary),
                          store_, scratch_, ctx_));
        end_stage("tokens");
        for (const std::uint32_t length : lengths_) info.words += length;
    }

    const build_options& options_;
    const joined_documents& documents_;
    const source_stores& stores_;
    const fs::path& store_;
    scratch_folder& scratch_;
    stage_clock& clock_;
    const context& ctx_;
    id_table ids_;
    link_collector links_{scratch_.path()};
    std::vector<std::uint32_t> lengths_;
    index_outcome outcome_;
};

}  // namespace

index_outcome join_index(const build_options& options, const text_options& text,
                         const joined_documents& documents, const fs::path& old, const fs::path& store,
                         stage_clock& clock, const context& ctx) {
    std::vector<fs::path> paths{old};
    std::optional<scratch_folder> small;
    if (!documents.unchanged.changed_positions.empty()) {
        small.emplace(ctx);
        paths.push_back(small->file("changed"));
        index_changed(options, documents, paths.back(), *small, ctx);
        clock.end_stage("collection", 0);
    }
    source_stores stores(paths);
    stores.arrange(order_of(documents.unchanged));
    std::uint64_t positions = 0;
    for (const opened_store& source : stores.all()) positions += source.info().documents;
    scratch_folder scratch(ctx);
    const context left = with_remaining_memory(ctx,
                                               (positions + stores.documents()) * sizeof(std::uint32_t) +
                                                   stores.order().size() * sizeof(source_range),
                                               "the order of the documents");
    index_outcome outcome = index_join(options, documents, stores, store, scratch, clock, left).make();
    store_info& info = outcome.info;
    info.format_version = store_format_version;
    info.unicode_version = text::unicode_version();
    info.text = text;
    info.documents = stores.documents();
    info.kept_fields = options.fields.kept;
    info.indexed_fields = options.indexed_fields;
    return outcome;
}

}  // namespace quern
