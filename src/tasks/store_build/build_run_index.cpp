// SPDX-License-Identifier: Apache-2.0
// The index of a build, with the search for near-duplicates before it and the comparison with the store that is replaced.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/grouped.hpp"
#include "io/corpus/file_log.hpp"
#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store_build/build_description.hpp"
#include "tasks/store_build/build_run.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_build/duplicates_log.hpp"
#include "tasks/store_sync/joined_index.hpp"
#include "tasks/store_sync/unchanged_documents.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr const char* lists_are_never_joined =
    "word lines and lists of words are never taken over from a store";

class empty_corpus : public io::corpus_reader {
  public:
    std::unique_ptr<io::corpus_unit> next() override { return nullptr; }
    std::uint64_t consumed_bytes() const override { return 0; }
    std::uint64_t total_bytes() const override { return 0; }
};

}  // namespace

std::unique_ptr<io::corpus_reader> build_run::open_inputs(const io::corpus_options& corpus) const {
    if (options_.inputs.empty() && options_.source == nullptr) return std::make_unique<empty_corpus>();
    io::corpus_options with_lists = corpus;
    with_lists.take_lists = options_.skip.contains(build_stage::duplicates);
    if (read_files_) return io::open_corpus(options_.inputs, with_lists, *read_files_, ctx_);
    return open_documents(options_, with_lists, ctx_);
}

std::unique_ptr<io::corpus_reader> build_run::open_corpus() const {
    const io::corpus_options corpus = corpus_options_for(options_, ctx_);
    auto inputs = replacements_ ? replacements_->read_again(corpus.unit_bytes, ctx_.thread_count())
                                : open_inputs(corpus);
    return old_ ? old_->followed_by(std::move(inputs), corpus.unit_bytes) : std::move(inputs);
}

void build_run::keep_read_files() {
    constexpr std::uint64_t min_memory = 128 << 20;
    const auto is_folder = [](const fs::path& input) {
        std::error_code unseen;
        return fs::is_directory(input, unseen);
    };
    if (options_.sync && described_ && std::ranges::any_of(options_.inputs, is_folder) &&
        ctx_.memory_limit() >= min_memory)
        read_files_ = std::make_unique<io::file_log>(options_.store / read_files_name,
                                                     folder_.folder() / read_files_name,
                                                     describe_reading(options_, ctx_));
}

void build_run::read_replacements() {
    replacements_.emplace(options_, open_inputs(corpus_options_for(options_, ctx_)), nullptr, scratch_, ctx_);
    const document_table& read = replacements_->documents();
    if (read.size() == 0) replacements_->record().refuse_empty(options_);
    std::vector<std::string> ids;
    ids.reserve(read.size());
    for (std::uint32_t d = 0; d < read.size(); ++d) ids.emplace_back(read.id(d));
    const auto dropped = old_->drop(ids);
    changes_.changed = read.size() - dropped.unknown_ids;
}

void build_run::index(const text_options& text) {
    keep_read_files();
    if (options_.replace) read_replacements();
    const std::uint64_t taken = (old_ ? old_->memory_bytes() : 0) + (before_ ? before_->memory_bytes() : 0) +
                                (replacements_ ? replacements_->memory_bytes() : 0);
    const context left = with_remaining_memory(ctx_, taken, "the store to add to");
    index_source source;
    source.before = before_.get();
    std::optional<document_spool> spool;
    std::vector<excluded_document> excluded;
    if (!options_.skip.contains(build_stage::duplicates)) {
        if (!journal_->duplicates()) {
            spool.emplace(options_, open_corpus(), old(), scratch_, ctx_);
            leave_out(*spool);
        }
        excluded = journal_->take_excluded();
        source.excluded = excluded;
        source.duplicates = document_duplicates(folder_.folder(), journal_->duplicates()->sections);
    }
    if (is_change() && !spool && !reason_not_to_join()) {
        spool.emplace(options_, open_corpus(), old(), scratch_, ctx_);
        if (spool->documents().size() == 0) spool->record().refuse_empty(options_);
        clock_.end_stage("read", spool->input_bytes());
        journal_->record = std::move(spool->record());
    }
    source.old = old();
    if (spool) {
        source.corpus = spool->read_again(corpus_options_for(options_, ctx_).unit_bytes, ctx_.thread_count());
        source.progress = "index";
        source.is_admitted = true;
    } else {
        source.corpus = open_corpus();
    }
    const std::uint64_t held = (spool ? spool->memory_bytes() : 0) + std::span(source.excluded).size_bytes();
    const context remaining = with_remaining_memory(left, held, "the table of documents");
    std::optional<index_outcome> joined;
    if (is_change()) joined = join_with_store(text, spool ? &*spool : nullptr, source, remaining);
    index_outcome outcome =
        joined ? *std::move(joined)
               : make_index(options_, text, std::move(source), folder_.folder(), scratch_, clock_, remaining);
    if (read_files_) {
        read_files_->finish();
        journal_->counts["unchanged_files"] = read_files_->unchanged();
        read_files_.reset();
    }
    if (replacements_) {
        journal_->record = std::move(replacements_->record());
    } else if (!spool) {
        journal_->record = std::move(outcome.record);
    }
    note_changes(outcome);
    passages_ = std::move(outcome.passages);
    store_info& info = outcome.info;
    if (journal_->duplicates()) {
        const duplicates_outcome& found = *journal_->duplicates();
        info.stages.insert(build_stage::duplicates);
        info.duplicates = journal_->counts["copies"];
        info.sections.insert(info.sections.end(), found.sections.begin(), found.sections.end());
    }
    journal_->counts["dangling_links"] = outcome.dangling_links;
    journal_->counts["spilled_bytes"] = outcome.spilled_bytes;
    journal_->stages = statistics_.stages;
    journal_->add(folder_.folder(), info);
    log_stage("index", "cpu");
}

std::optional<std::string> build_run::reason_not_to_join() const {
    const store_info& info = (old_ ? old_->store() : before_->store()).info();
    if (info.verbatim || info.listed != word_listing::none) return lists_are_never_joined;
    if (!is_made_alike(options_.store, ctx_) || info.unicode_version != text::unicode_version())
        return "the store was made by another version of Quern or zstd, or with another --seed";
    return {};
}

std::optional<index_outcome> build_run::join_with_store(const text_options& text, const document_spool* read,
                                                        const index_source& source, const context& ctx) {
    std::optional<std::string> reason = reason_not_to_join();
    if (!reason) {
        try {
            const auto find = [&](const auto& earlier) {
                return find_unchanged(*read, source.excluded, source.duplicates, earlier, options_, ctx);
            };
            const unchanged_documents unchanged = old_ ? find(*old_) : find(*before_);
            clock_.end_stage("compare", 0);
            const std::uint64_t all = unchanged.before.size(), others = all - unchanged.count;
            if (unchanged.are_texts && unchanged.count >= others && unchanged.count != 0) {
                const joined_documents documents{*read, source.excluded, source.duplicates, unchanged, old()};
                index_outcome made =
                    join_index(options_, text, documents, options_.store, folder_.folder(), clock_,
                               with_remaining_memory(ctx, unchanged.memory_bytes(), "the list of documents"));
                journal_->counts["unchanged_documents"] = unchanged.count;
                ctx_.log(log_level::info,
                         fmt::format("index: {} of {} documents indexed, the others from the store",
                                     grouped(others), grouped(all)));
                return made;
            }
            reason = unchanged.are_texts
                         ? fmt::format("{} of {} are new or changed", grouped(others), grouped(all))
                         : lists_are_never_joined;
        } catch (const damaged_store& damaged) {
            reason = of_the_store(damaged);
        }
    }
    ctx_.log(log_level::info, "index: all documents indexed: " + *reason);
    return {};
}

void build_run::note_changes(const index_outcome& outcome) {
    if (before_) {
        changes_.added = outcome.compared.added;
        changes_.changed = outcome.compared.changed;
        changes_.removed =
            before_->store().info().documents - outcome.compared.changed - outcome.compared.same;
    } else if (old_) {
        const std::uint64_t last = outcome.info.documents - old_->documents();
        changes_.added = last - std::min(changes_.changed, last);  // a replacement may be a near-duplicate
    } else {
        return;
    }
    journal_->counts["documents added"] = changes_.added;
    journal_->counts["documents changed"] = changes_.changed;
    journal_->counts["documents removed"] = changes_.removed;
}

void build_run::leave_out(document_spool& spool) {
    if (spool.documents().size() == 0) spool.record().refuse_empty(options_);
    clock_.end_stage("read", spool.input_bytes());
    std::optional<duplicates_log> log;
    if (options_.sync)
        log.emplace(options_.store / duplicates_log_name, folder_.folder() / duplicates_log_name,
                    describe_duplicates());
    const bool does_not_wait = statistics_.device.empty() && device_.is_automatic() &&
                               is_quick_on_cpu(spool.documents(), ctx_.thread_count());
    if (!does_not_wait) settle_device();
    duplicates_outcome found =
        leave_out_duplicates(spool, old(), log ? &*log : nullptr, folder_.folder(), scratch_, ctx_);
    journal_->record = std::move(spool.record());
    warn_of_many_excluded(found.excluded.size(), spool.documents().size() - (old_ ? old_->documents() : 0),
                          "a build", ctx_);
    end_stage(build_stage::duplicates, found.sections);
    journal_->add_duplicates(std::move(found));
    log_stage(name_of(build_stage::duplicates), does_not_wait ? "cpu" : statistics_.device);
}

}  // namespace quern
