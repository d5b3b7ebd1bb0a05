// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/build_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/grouped.hpp"
#include "device/files/file_writer.hpp"
#include "io/corpus/file_log.hpp"
#include "quern/base/decimal.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/described_corpus.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/build_description.hpp"
#include "tasks/store_build/duplicates.hpp"
#include "tasks/store_build/duplicates_log.hpp"
#include "tasks/store_build/rethrow_with_context.hpp"
#include "tasks/store_build/unchanged_stages.hpp"
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

build_result result_of(const store_info& info) {
    build_result result;
    result.documents = info.documents;
    result.duplicates = info.duplicates;
    result.words = info.words;
    result.vocabulary = info.vocabulary;
    result.postings = info.postings;
    result.links = info.links;
    result.store_bytes = bytes_of(info.sections) + (info.thesaurus ? info.thesaurus->bytes : 0);
    return result;
}

build_run::build_run(const build_options& options, std::unique_ptr<store_to_update> old,
                     store_changes changes, const context& ctx, run_statistics statistics)
    : options_(options),
      ctx_(ctx),
      description_(is_repeatable(options_) ? describe_build(options_, ctx_) : std::string()),
      old_(std::move(old)),
      before_(options.sync && is_store(options.store) ? std::make_unique<store_comparison>(options.store)
                                                      : nullptr),
      changes_(std::move(changes)),
      statistics_(std::move(statistics)),
      scratch_(ctx),
      folder_(options.store, options.force ? io::existing::replace : io::existing::refuse,
              [this](const std::filesystem::path& folder, const std::filesystem::path& notes) {
                  return take_over(folder, notes);
              }) {
    if (!journal_)
        journal_.emplace(is_repeatable(options_) ? folder_.notes() : std::filesystem::path(), request());
}

build_result build_run::run() {
    try {
        return make_all();
    } catch (const interrupted&) {
        throw;
    } catch (const damaged_store& failed) {
        rethrow_with_context(failed, of_the_store(failed));
    } catch (const out_of_memory& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const io_error& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const device_error& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const usage_error& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (...) {
        keep_what_is_made();
        throw;
    }
}

build_result build_run::make_all() {
    report_what_exists();
    const text_options text = keep_stop_words(options_.text, folder_.folder());
    if (!journal_->info()) index(text);
    for (const added_stage& stage : added_stages) add(stage);
    if (!options_.vectors.empty()) add_user_vectors();
    return result();
}

std::string build_run::request() const {
    if (!is_repeatable(options_)) return {};
    std::string out = description_;
    if (old_) out += "\n" + old_->description();
    if (options_.replace) out += "\nreplace";
    for (const std::string& id : options_.deleted_ids) out += "\ndelete " + id;
    return out;
}

bool build_run::take_over(const std::filesystem::path& folder, const std::filesystem::path& notes) {
    if (is_repeatable(options_)) journal_ = build_journal::take_over(folder, notes, request(), ctx_);
    const auto is_unwanted = [this](const added_stage& stage) {
        return options_.skip.contains(stage.stage) && journal_->info()->stages.contains(stage.stage);
    };
    if (journal_ && journal_->info() && std::ranges::any_of(added_stages, is_unwanted)) journal_.reset();
    if (!journal_) return false;
    if (journal_->info()) forget_what_lacked_something();
    statistics_.stages = journal_->stages;
    for (const stage_statistics& stage : journal_->stages) statistics_.seconds += stage.seconds;
    return true;
}

void build_run::forget_what_lacked_something() {
    const std::set<build_stage> done = journal_->info()->stages;
    for (const added_stage& stage : added_stages) {
        if (stage.reads && !done.contains(*stage.reads) && !options_.skip.contains(*stage.reads)) {
            journal_->forget(stage.stage);
        }
    }
}

void build_run::report_what_exists() const {
    std::string done;
    if (journal_->duplicates()) done += " duplicates";
    if (journal_->info()) done += " index";
    if (journal_->info()) {
        for (const added_stage& stage : added_stages) {
            if (journal_->info()->stages.contains(stage.stage)) done.append(" ").append(name_of(stage.stage));
        }
    }
    if (!done.empty()) ctx_.log(log_level::info, "resuming an interrupted build; finished stages:" + done);
}

void build_run::add(const added_stage& stage) {
    if (options_.skip.contains(stage.stage) || journal_->info()->stages.contains(stage.stage)) return;
    ctx_.check_stop();
    at_work_ = &stage;
    make(stage);
    at_work_ = nullptr;
}

std::string build_run::of_the_store(const error& failed) const {
    std::string text = failed.what();
    const std::string hidden = folder_.folder().string(), store = options_.store.string();
    for (std::size_t at = 0; (at = text.find(hidden, at)) != std::string::npos; at += store.size()) {
        text.replace(at, hidden.size(), store);
    }
    return text;
}

bool build_run::keep_what_is_made() {
    const bool is_committed = folder_.notes().empty();
    if (is_committed || !is_repeatable(options_) || !(journal_->duplicates() || journal_->info()))
        return false;
    folder_.keep();
    return true;
}

std::string build_run::kept_after(const error& failed) {
    std::string text = of_the_store(failed), without;
    if (at_work_ != nullptr && at_work_->stage != build_stage::ngrams && !options_.update)
        without = fmt::format("--skip {}", name_of(at_work_->stage));
    if (keep_what_is_made()) {
        text += "; finished stages are kept; the same command resumes from there";
        if (!without.empty()) text += ", with " + without + " without this stage";
    } else if (!without.empty()) {
        text += "; " + without + " builds without this stage";
    }
    return text;
}

void build_run::make(const added_stage& stage) {
    store_info info = *journal_->info();
    const std::optional<stage_outcome> unchanged = unchanged_of(stage.stage);
    const stage_outcome outcome = unchanged ? *unchanged : stage.make(opened_store(folder_.folder()), ctx_);
    if (unchanged) ++journal_->counts["unchanged_stages"];
    info.stages.insert(stage.stage);
    add_outcome(info, outcome);
    for (const auto& [name, count] : outcome.counts) journal_->counts[name] = count;
    end_stage(stage.stage, outcome.sections);
    journal_->add(folder_.folder(), info);
    if (unchanged) {
        ctx_.log(log_level::info, fmt::format("{}: as before, from the store", name_of(stage.stage)));
    } else if (outcome.nothing.empty()) {
        log_stage(name_of(stage.stage), statistics_.device);
    } else {
        ctx_.log(log_level::info, fmt::format("{}: {}", name_of(stage.stage), outcome.nothing));
    }
}

std::optional<stage_outcome> build_run::unchanged_of(build_stage stage) const {
    if (!before_ || !is_made_alike(options_.store, ctx_)) return {};
    return unchanged_outcome(stage, options_.store, before_->store().info(), folder_.folder(),
                             *journal_->info(), ctx_);
}

void build_run::add_user_vectors() {
    store_info info = *journal_->info();
    const stage_outcome outcome = keep_user_vectors(opened_store(folder_.folder()), options_.vectors, ctx_);
    add_outcome(info, outcome);
    for (const auto& [name, count] : outcome.counts) journal_->counts[name] = count;
    clock_.end_stage("user vectors", bytes_of(outcome.sections));
    journal_->stages = statistics_.stages;
    journal_->add(folder_.folder(), info);
}

void build_run::end_stage(build_stage stage, const std::vector<store_section>& sections) {
    clock_.end_stage(std::string(name_of(stage)), bytes_of(sections));
    journal_->stages = statistics_.stages;
}

void build_run::log_stage(std::string_view name, std::string_view device) const {
    if (options_.skip != all_build_stages) {
        ctx_.log(log_level::info, fmt::format("{}: done on {}", name, device));
    }
}

build_result build_run::result() {
    const store_info& info = *journal_->info();
    const reading_counts& counts = journal_->record.counts;
    build_result result = result_of(info);
    result.counts = counts;
    result.issues = journal_->record.issues;
    result.dangling_links = journal_->counts["dangling_links"];
    if (old_ || before_) {
        changes_.added = journal_->counts["documents added"];
        changes_.changed = journal_->counts["documents changed"];
        changes_.removed = journal_->counts["documents removed"];
        result.changes = changes_;
    }

    statistics_.counts = journal_->counts;
    statistics_.counts.merge(std::map<std::string, std::uint64_t>{{"documents", info.documents},
                                                                  {"words", info.words},
                                                                  {"vocabulary", info.vocabulary},
                                                                  {"postings", info.postings},
                                                                  {"links", info.links},
                                                                  {"redirects", counts.redirects},
                                                                  {"rejected", counts.rejected},
                                                                  {"damaged", counts.damaged},
                                                                  {"cut", counts.truncated},
                                                                  {"store_bytes", result.store_bytes}});
    for (const auto& [reason, count] : counts.skipped) statistics_.counts["skipped: " + reason] = count;
    statistics_.threads = ctx_.thread_count();
    statistics_.peak_memory_bytes = peak_memory_bytes();
    const bool is_known = !old_ && is_repeatable(options_) && is_settled(options_, begin_) &&
                          describe_build(options_, ctx_) == description_;
    write_file(folder_.folder() / store_layout::statistics,
               statistics_of_store(statistics_, is_known ? std::optional(description_) : std::nullopt, ctx_));
    ctx_.check_stop();
    ctx_.report({"commit", 0, 0, "bytes"});
    folder_.commit();
    clock_.end_stage("commit", result.store_bytes);
    result.statistics = std::move(statistics_);
    return result;
}

std::unique_ptr<io::corpus_reader> build_run::open_inputs(const io::corpus_options& corpus) const {
    if (options_.inputs.empty() && options_.source == nullptr) return std::make_unique<empty_corpus>();
    io::corpus_options with_lists = corpus;
    with_lists.take_lists = options_.skip.contains(build_stage::duplicates);
    if (read_files_) return io::open_corpus(options_.inputs, with_lists, *read_files_, ctx_);
    return open_documents(options_, with_lists, ctx_);
}

std::unique_ptr<io::corpus_reader> build_run::open_corpus() const {
    const io::corpus_options corpus = corpus_options_for(options_, ctx_);
    auto inputs = replacements_ ? replacements_->read_again(corpus.unit_bytes) : open_inputs(corpus);
    return old_ ? old_->followed_by(std::move(inputs), corpus.unit_bytes) : std::move(inputs);
}

void build_run::keep_read_files() {
    constexpr std::uint64_t min_memory = 128 << 20;
    const auto is_folder = [](const fs::path& input) {
        std::error_code unseen;
        return fs::is_directory(input, unseen);
    };
    if (options_.sync && is_repeatable(options_) && std::ranges::any_of(options_.inputs, is_folder) &&
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
        source.corpus = spool->read_again(corpus_options_for(options_, ctx_).unit_bytes);
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
    duplicates_outcome found =
        leave_out_duplicates(spool, old(), log ? &*log : nullptr, folder_.folder(), scratch_, ctx_);
    journal_->record = std::move(spool.record());
    warn_of_many_excluded(found.excluded.size(), spool.documents().size() - (old_ ? old_->documents() : 0));
    end_stage(build_stage::duplicates, found.sections);
    journal_->add_duplicates(std::move(found));
    log_stage(name_of(build_stage::duplicates), statistics_.device);
}

void build_run::warn_of_many_excluded(std::uint64_t excluded, std::uint64_t documents) const {
    constexpr std::uint64_t many = 10;  // more than one of so many
    if (excluded > documents / many)
        ctx_.log(
            log_level::warning,
            fmt::format("{} of {} documents are excluded as near-duplicates of others (edit rate below {}); "
                        "a build with --skip duplicates keeps them",
                        grouped(excluded), grouped(documents), to_text(duplicate_options().threshold)));
}

}  // namespace quern
