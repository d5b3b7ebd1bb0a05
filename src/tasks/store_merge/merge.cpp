// SPDX-License-Identifier: Apache-2.0
// Stores in, one store out: near-duplicates across the stores first, because documents that are excluded have no number;
// then documents, words and tokens, from the sections of the stores; then the stages that need the whole index, as in a build.
// Everything is written to a folder under a temporary name, which gets the final name at the very end.
#include "quern/tasks/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/files/atomic_folder.hpp"
#include "io/files/name_lock.hpp"
#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/output_folder.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/rethrow_with_context.hpp"
#include "tasks/store_build/stages.hpp"
#include "tasks/store_build/store_to_update.hpp"
#include "tasks/store_merge/merged_documents.hpp"
#include "tasks/store_merge/merged_words.hpp"
#include "tasks/store_merge/source_stores.hpp"
#include "tasks/store_merge/stored_duplicates.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

bool runs(const merge_options& options, build_stage stage) {
    return !options.skip.contains(stage);
}

/// Near-duplicates whose texts no store has any more.
void check_duplicates(const merge_options& options) {
    for (std::size_t i = 0; i < options.stores.size(); ++i) {
        const std::uint64_t copies = read_store_info(options.stores[i]).duplicates;
        if (copies == 0) continue;
        const std::string what = fmt::format("{} excluded {} near-duplicate{}, whose texts it does not have",
                                             options.stores[i].string(), copies, copies == 1 ? "" : "s");
        if (i != 0)
            throw usage_error(
                what +
                ", and only the first store may have done so: a document of another store may now be kept "
                "for them, or none; build this one with --skip duplicates, merging finds them");
        if (!runs(options, build_stage::duplicates))
            throw usage_error(what + "; merge without --skip duplicates, or build that store with it");
    }
}

merge_options checked_merge(const merge_options& request) {
    merge_options options = request;
    if (options.stores.empty())
        throw usage_error("no stores to merge (expected the folders of one store or more)");
    if (options.store.empty()) throw usage_error("no store given");
    options.store = resolved_folder(options.store);
    if (options.ngrams)
        options.skip.erase(build_stage::ngrams);
    else
        options.skip.insert(build_stage::ngrams);
    std::set<fs::path> seen;
    bool lists = false;
    for (const fs::path& store : options.stores) {
        lists |= read_store_info(store).listed != word_listing::none;
        const fs::path resolved = resolved_folder(store);
        if (!seen.insert(resolved).second)
            throw usage_error(store.string() + " is given twice (expected different stores)");
        if (resolved != options.store) refuse_overlap(options.store, resolved);
    }
    if (lists) options.skip = all_build_stages;  // the stages make nothing of lists of words, in a build too
    check_duplicates(options);
    refuse_to_replace(
        options.store,
        {"store", is_store, {store_layout::manifest, store_layout::statistics, store_layout::thesaurus}},
        options.force);
    return options;
}

/// The work of one call.
class merge_run {
  public:
    merge_run(const merge_options& options, const context& ctx, run_statistics statistics)
        : options_(options),
          ctx_(ctx),
          statistics_(std::move(statistics)),
          stores_(options.stores),
          scratch_(ctx),
          folder_(options.store, options.force ? io::existing::replace : io::existing::refuse) {}

    merge_result run() {
        try {
            return make_all();
        } catch (const damaged_store& failed) {
            rethrow_with_context(failed, of_the_store(failed));
        } catch (const out_of_memory& failed) {
            rethrow_with_context(failed, with_advice(failed));
        } catch (const io_error& failed) {
            rethrow_with_context(failed, with_advice(failed));
        } catch (const device_error& failed) {
            rethrow_with_context(failed, with_advice(failed));
        }
    }

  private:
    const fs::path& folder() const { return folder_.temporary(); }

    merge_result make_all() {
        if (stores_.size() > 1) stores_.refuse_common_ids(ctx_);
        info_.text = keep_stop_words(with_stop_words_of(stores_.info().text, stores_[0].path()), folder());
        end_stage("open", 0);
        duplicates_outcome found;
        if (runs(options_, build_stage::duplicates)) {
            at_work_ = build_stage::duplicates;
            found = leave_out_stored_duplicates(stores_, folder(), scratch_, ctx_);
            stores_.exclude(found.excluded);
            statistics_.counts.insert(found.counts.begin(), found.counts.end());
            at_work_.reset();
            end_stage("duplicates", bytes_of(found.sections));
            log_stage("duplicates");
        }
        merge_index(found);
        for (const added_stage& stage : added_stages)
            if (runs(options_, stage.stage)) add(stage);
        if (stores_[0].user_vectors()) add_user_vectors();
        return result();
    }

    void merge_index(const duplicates_outcome& found) {
        const context left = with_remaining_memory(ctx_, std::span(found.excluded).size_bytes(),
                                                   "the list of near-duplicates");
        merged_documents documents = merge_documents(stores_, found.excluded, folder(), scratch_, left);
        end_stage("documents", bytes_of(documents.sections));

        const std::vector<added_word> titles =
            title_words_of_duplicates(stores_, found, documents.lengths, folder(), left);
        const word_numbers numbers(stores_, scratch_);
        search_detail::frequent_words frequent;
        const auto weight_exponent = stores_.weight_exponent();
        const word_sections::outcome words = merge_words(stores_,
                                                         {.stage = "merge",
                                                          .names = store_layout::all_words,
                                                          .document_lengths = documents.lengths,
                                                          .weight_exponent = weight_exponent,
                                                          .numbers = &numbers,
                                                          .frequent = &frequent},
                                                         folder(), left);
        const word_sections::outcome title_words = merge_words(stores_,
                                                               {.stage = "merge titles",
                                                                .names = store_layout::title_words,
                                                                .document_lengths = documents.lengths,
                                                                .added = titles},
                                                               folder(), left);
        std::vector<store_section> field_words;
        for (std::size_t i = 0; i < stores_.info().indexed_fields.size(); ++i) {
            const word_sections::outcome field = merge_words(stores_,
                                                             {.stage = "merge fields",
                                                              .names = store_layout::field_words(i),
                                                              .document_lengths = documents.lengths},
                                                             folder(), left);
            field_words.insert(field_words.end(), field.sections.begin(), field.sections.end());
        }
        end_stage("merge", bytes_of(words.sections) + bytes_of(title_words.sections) + bytes_of(field_words));
        const std::vector<store_section> tokens =
            merge_tokens(stores_, numbers, frequent.finish(), static_cast<std::uint32_t>(words.vocabulary),
                         folder(), scratch_, left);
        end_stage("tokens", bytes_of(tokens));

        info_.format_version = store_format_version;
        info_.unicode_version = text::unicode_version();
        info_.verbatim = stores_.info().verbatim;
        info_.listed = stores_.info().listed;
        info_.weight_exponent = weight_exponent.value_or(0);
        info_.max_weight = stores_.max_weight();
        info_.documents = stores_.documents();
        info_.words = documents.words;
        info_.vocabulary = words.vocabulary;
        info_.postings = words.postings;
        info_.links = documents.links;
        info_.kept_fields = stores_.info().kept_fields;
        info_.fields = std::move(documents.fields);
        info_.indexed_fields = stores_.info().indexed_fields;
        for (const auto& part :
             {documents.sections, words.sections, title_words.sections, field_words, tokens, found.sections})
            info_.sections.insert(info_.sections.end(), part.begin(), part.end());
        if (runs(options_, build_stage::duplicates)) {
            info_.stages.insert(build_stage::duplicates);
            info_.duplicates = statistics_.counts["copies"];
        }
        statistics_.counts["dangling_links"] = documents.dangling_links;
        statistics_.counts["text_blocks"] = documents.frames;
        statistics_.counts["copied_text_blocks"] = documents.copied_frames;
        write_manifest();
    }

    void write_manifest() const {
        replace_file(folder() / store_layout::manifest, store_layout::manifest_text(info_));
    }

    void add(const added_stage& stage) {
        ctx_.check_stop();
        at_work_ = stage.stage;
        const std::string_view name = name_of(stage.stage);
        const stage_outcome outcome = stage.make(opened_store(folder()), ctx_);
        info_.stages.insert(stage.stage);
        add_outcome(info_, outcome);
        for (const auto& [counted, count] : outcome.counts) statistics_.counts[counted] = count;
        write_manifest();
        end_stage(std::string(name), bytes_of(outcome.sections));
        at_work_.reset();
        if (outcome.nothing.empty()) return log_stage(name);
        ctx_.log(log_level::info, fmt::format("{}: {}", name, outcome.nothing));
    }

    /// The rows of the stores.
    void add_user_vectors() {
        io::section_writer section(store_layout::file_of(folder(), store_layout::user_vectors));
        for (std::size_t store = 0; store < stores_.size(); ++store) {
            const vectors_view rows = stores_[store].user_vectors().value();
            for (std::uint32_t d = 0; d < rows.rows; ++d) {
                if (d % 1024 == 0) ctx_.check_stop();
                if (stores_.numbers(store)[d] == document_numbers::none) continue;
                section.append_values(rows.values.subspan(d * rows.stride, rows.row_bytes()));
            }
        }
        const auto done = section.finish();
        info_.sections.push_back(listed_section(store_layout::user_vectors, done));
        write_manifest();
        end_stage("user vectors", done.file_bytes);
    }

    void end_stage(std::string name, std::uint64_t bytes) { clock_.end_stage(std::move(name), bytes); }

    /// The text of an error, with the hidden folder replaced by the store.
    std::string of_the_store(const error& failed) const {
        std::string text = failed.what();
        const std::string hidden = folder().string(), store = options_.store.string();
        if (hidden.empty()) return text;
        for (std::size_t at = 0; (at = text.find(hidden, at)) != std::string::npos; at += store.size())
            text.replace(at, hidden.size(), store);
        return text;
    }

    std::string with_advice(const error& failed) const {
        std::string text = of_the_store(failed);
        if (at_work_ && *at_work_ != build_stage::ngrams)
            text += fmt::format("; --skip {} merges without this stage", name_of(*at_work_));
        return text;
    }

    void log_stage(std::string_view name) const {
        if (options_.skip != all_build_stages)
            ctx_.log(log_level::info, fmt::format("{}: done on {}", name, statistics_.device));
    }

    merge_result result() {
        merge_result result;
        result.documents = info_.documents;
        result.duplicates = info_.duplicates;
        result.words = info_.words;
        result.vocabulary = info_.vocabulary;
        result.postings = info_.postings;
        result.links = info_.links;
        result.dangling_links = statistics_.counts["dangling_links"];
        result.store_bytes = bytes_of(info_.sections) + (info_.thesaurus ? info_.thesaurus->bytes : 0);
        statistics_.counts.merge(std::map<std::string, std::uint64_t>{{"stores", stores_.size()},
                                                                      {"documents", info_.documents},
                                                                      {"words", info_.words},
                                                                      {"vocabulary", info_.vocabulary},
                                                                      {"postings", info_.postings},
                                                                      {"links", info_.links},
                                                                      {"store_bytes", result.store_bytes}});
        statistics_.threads = ctx_.thread_count();
        statistics_.peak_memory_bytes = peak_memory_bytes();
        write_file(folder() / store_layout::statistics, to_json(statistics_));
        ctx_.check_stop();
        ctx_.report({"commit", 0, 0, "bytes"});
        folder_.commit();
        end_stage("commit", result.store_bytes);
        result.statistics = std::move(statistics_);
        return result;
    }

    const merge_options& options_;
    const context ctx_;
    run_statistics statistics_;
    stage_clock clock_{statistics_};
    source_stores stores_;
    store_info info_;
    scratch_folder scratch_;
    io::atomic_folder folder_;
    std::optional<build_stage> at_work_;
};

}  // namespace

merge_result merge(const merge_options& request, const context& requested) {
    // A refused request leaves no trace; the existing folder is checked again once no other process writes it.
    const io::name_lock only_one(checked_merge(request).store);
    const merge_options options = checked_merge(request);
    run_statistics statistics;
    const bool cpu_only =
        requested.device.where == device_choice::kind::automatic && options.skip == all_build_stages;
    const context ctx = pinned_to_device(requested, cpu_only ? "an index" : "merge", statistics,
                                         cpu_only ? offered_places::cpu_only : offered_places::several_gpus);
    return merge_run(options, ctx, std::move(statistics)).run();
}

}  // namespace quern
