// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/build_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "device/files/file_writer.hpp"
#include "quern/base/document.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/described_corpus.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "tasks/store_build/build_description.hpp"
#include "tasks/store_build/rethrow_with_context.hpp"
#include "tasks/store_build/unchanged_stages.hpp"

namespace quern {

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

namespace {

/// Of the stages that can use a GPU. A build without such stages looks for a GPU only if one is requested.
device_ahead choose_device_ahead(const build_options& options, const context& ctx) {
    const bool cpu_only =
        ctx.device.where == device_choice::kind::automatic && options.skip == all_build_stages;
    if (cpu_only) return {ctx, "an index", offered_places::cpu_only};
    return {ctx, "build", offered_places::several_gpus};
}

}  // namespace

build_run::build_run(const build_options& options, std::optional<described_content> described,
                     std::unique_ptr<store_to_update> old, store_changes changes, const context& ctx)
    : options_(options),
      device_(choose_device_ahead(options, ctx)),
      ctx_(device_.reading()),
      described_(std::move(described)),
      old_(std::move(old)),
      before_(options.sync && is_store(options.store) ? std::make_unique<store_comparison>(options.store)
                                                      : nullptr),
      changes_(std::move(changes)),
      scratch_(ctx),
      folder_(options.store, options.force ? io::existing::replace : io::existing::refuse,
              [this](const std::filesystem::path& folder, const std::filesystem::path& notes) {
                  return take_over(folder, notes);
              }) {
    if (!journal_) journal_.emplace(described_ ? folder_.notes() : std::filesystem::path(), request());
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
    } catch (const std::filesystem::filesystem_error& caught) {
        const io_error failed(caught.path1().string(), "cannot be created, copied or removed",
                              caught.code().value());
        rethrow_with_context(failed, kept_after(failed));
    } catch (const device_error& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const usage_error& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const too_much_lost& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const invalid_input& failed) {
        rethrow_with_context(failed, kept_after(failed));
    } catch (const std::bad_alloc&) {
        const error failed("out of memory; reduce --memory to spill to disk earlier");
        rethrow_with_context(out_of_memory({}, 0, 0), kept_after(failed));
    } catch (...) {
        keep_what_is_made();
        throw;
    }
}

build_result build_run::make_all() {
    report_what_exists();
    const text_options text = keep_stop_words(options_.text, folder_.folder());
    if (!journal_->info()) index(text);
    settle_device();
    for (const added_stage& stage : added_stages) add(stage);
    if (!options_.vectors.empty()) add_user_vectors();
    return result();
}

void build_run::settle_device() {
    if (statistics_.device.empty()) ctx_ = device_.pinned(statistics_);
}

std::string build_run::request() const {
    if (!described_) return {};
    std::string out = described_->text;
    if (old_) out += "\n" + old_->description();
    if (options_.replace) out += "\nreplace";
    for (const std::string& id : options_.deleted_ids) out += "\ndelete " + id;
    return out;
}

bool build_run::take_over(const std::filesystem::path& folder, const std::filesystem::path& notes) {
    if (described_) journal_ = build_journal::take_over(folder, notes, request(), ctx_);
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
    if (is_committed || !described_ || !(journal_->duplicates() || journal_->info())) return false;
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
    const auto made = [&] {
        const opened_store store(folder_.folder());
        if (stage.stage == build_stage::thesaurus && passages_)
            return make_thesaurus_of_index(store, *passages_, ctx_);
        return stage.make(store, ctx_);
    };
    const stage_outcome outcome = unchanged ? *unchanged : made();
    if (stage.stage == build_stage::thesaurus) passages_.reset();
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
    const bool is_known = !old_ && described_ && described_->is_settled &&
                          describe_build(options_, ctx_).text == described_->text;
    write_file(
        folder_.folder() / store_layout::statistics,
        statistics_of_store(statistics_, is_known ? std::optional(described_->text) : std::nullopt, ctx_));
    ctx_.check_stop();
    ctx_.report({"commit", 0, 0, "bytes"});
    folder_.commit();
    clock_.end_stage("commit", result.store_bytes);
    result.statistics = std::move(statistics_);
    return result;
}

}  // namespace quern
