// SPDX-License-Identifier: Apache-2.0
// One pipeline over the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → judge, mask, rewrite (parallel)
//       → pass on, count, keep examples (in order).
// If tasks of a job have judged the documents, their verdicts are read (in order) instead.
#include "quern/tasks/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/filter_option_table.hpp"
#include "report/filter_report.hpp"
#include "report/html_page.hpp"
#include "tasks/cluster/document_findings.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/decontaminate/kept_writer.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/dedup/kept_folder.hpp"
#include "tasks/dedup/kept_request.hpp"
#include "tasks/dedup/kept_rows.hpp"
#include "tasks/filter/document_filter.hpp"
#include "tasks/filter/removed_examples.hpp"
#include "tasks/filter/verdicts.hpp"
#include "tasks/language_model/device_scorer.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "text/language_detection.hpp"

namespace quern {

struct filter_result::state {
    std::vector<removed_by_rule> removed;
    std::vector<document_filter::listed_rule> rules;  ///< as `removed`
    std::optional<removed_examples> examples;
    std::vector<std::pair<std::string, std::string>> origin;
};

namespace {

using state = filter_result::state;

/// Whether a rule may remove or change a document. Parameters and lists of words with a default are always on.
bool has_rule(const rule_choice& rules) {
    return std::ranges::any_of(rules.groups(), [](const chosen_group& g) {
        const quality_group& group = quality_groups()[g.group];
        for (std::size_t i = 0; i < g.rules.size(); ++i) {
            const quality_rule& rule = quality_rules()[group.first + i];
            const bool is_setting =
                rule.kind == rule_kind::parameter || (rule.kind == rule_kind::words && rule.has_default);
            if (g.rules[i].is_on && !is_setting) return true;
        }
        return false;
    });
}

void check_request(const filter_options& options) {
    require_documents(options);
    check_ranges(options);
    if (options.kept && !options.kept_folder.empty())
        throw usage_error("the kept documents can go to a file or to a folder, not to both");
    if (!has_rule(options.rules) && options.languages.empty() && options.perplexity.empty() &&
        !options.mask_emails && !options.mask_ips)
        throw usage_error(options.rules.empty()
                              ? "there is nothing to do (expected rules, a language, a perplexity or a mask)"
                              : "there is nothing to do: every rule is off (expected one that is on)");
    const bool has_percentile = options.below_percentile || options.above_percentile;
    if (has_percentile && (options.below || options.above))
        throw usage_error("limits of a perplexity are values or percentiles, not both");
    if (has_percentile != !options.reference.empty())
        throw usage_error(has_percentile ? "percentiles need a reference corpus"
                                         : "a reference corpus needs a percentile below or above");
    const bool has_limit = options.below || options.above || has_percentile;
    if (options.resume && !options.verdicts.empty())
        throw usage_error(
            "the verdicts of a job are for the whole corpus, and a resumed run reads a part of it");
    if (options.resume && options.kept_folder.empty())
        throw usage_error("to resume a run requires a folder for the kept documents");
    if (options.perplexity.empty() && has_limit)
        throw usage_error("below and above are limits of a perplexity; give a model");
    if (!options.perplexity.empty() && !has_limit)
        throw usage_error("a perplexity needs a limit (expected below, above or both)");
    for (const std::string& language : options.languages)
        static_cast<void>(text::detectable_language(language));
    for (const auto& input : options.inputs)
        if (input != "-") refuse_own_output(input);
}

/// The record of a document for a run that is resumed; and back.
std::string text_of(const judged& found) {
    return fmt::format("{} {} {} {} {}", found.reason, found.is_changed ? 1 : 0, found.emails, found.ips,
                       found.value);
}
judged judged_of(std::string_view text) {
    judged result;
    int is_changed = 0;
    std::istringstream in{std::string(text)};
    in >> result.reason >> is_changed >> result.emails >> result.ips;
    in.ignore();
    std::getline(in, result.value);
    result.is_changed = is_changed != 0;
    return result;
}

/// The work of one call.
class filter_run {
  public:
    filter_run(const filter_options& options, const context& ctx)
        : options_(options),
          ctx_(options.perplexity.empty()
                   ? pinned_to_device(ctx, "filter", statistics_, offered_places::cpu_only)
                   : with_requested_device(ctx, "filter")),
          filter_(options, ctx_) {
        if (!options.perplexity.empty()) {
            statistics_.device = filter_.device().name;
            statistics_.device_reason = filter_.device().reason;
        }
        for (const document_filter::listed_rule& rule : filter_.rules())
            state_->removed.push_back({rule.name, rule.limit, 0});
        if (options.keep_examples) state_->examples.emplace(state_->removed.size(), options.sample_removed);
        if (!options.verdicts.empty()) verdicts_.emplace(options.verdicts, "verdicts");
    }

    filter_result run() {
        filter_.begin();
        read_corpus();
        return result();
    }

  private:
    struct unit_in_work : document_unit {
        std::vector<judged> results;
        std::vector<std::uint64_t> hashes;  ///< with verdicts of a job
        std::vector<verdict_of_text> verdicts;
    };

    void read_corpus() {
        if (options_.kept && options_.keep_rows) {
            rows_.emplace(scratch_.file("rows"));
        } else if (options_.kept) {
            kept_.emplace(options_.kept, scratch_.path(), options_.fields);
        }
        if (!options_.kept_folder.empty())
            folder_.emplace(
                kept_target{options_.kept_folder, options_,
                            describe_request(options_, parameters_of(options_, ctx_)), options_.resume},
                ctx_);
        std::optional<io::corpus_place> start = io::corpus_place();
        reading_record earlier;
        if (keeps_parts())
            start = folder_->take_batches(
                earlier_, earlier, [](const document&) {}, ctx_);
        if (start) {
            read_from(*start, std::move(earlier));
        } else {
            take_earlier([](std::string_view) {});
            record_ = std::move(earlier);
            clock_.end_stage("filter", 0);
        }
        if (kept_) kept_->finish();
        if (rows_) rows_->write([&](std::size_t i) { return is_kept_[i]; }, options_.kept, ctx_);
        if (!folder_) return;
        folder_->publish([&](std::size_t i) { return is_kept_[i]; }, options_.before_folder, ctx_);
        clock_.end_stage("write", 0);
    }

    /// Whether what was read is kept for a later run.
    bool keeps_parts() const {
        const bool is_numbered = options_.input_format == io::name_of(io::corpus_form::lines);
        return folder_ && options_.resume && !options_.keep_examples && !options_.wants_texts && !is_numbered;
    }

    /// Decides again what an earlier run did.
    void take_earlier(const std::function<void(std::string_view)>& know) {
        for (std::uint32_t i = 0; i < earlier_.size(); ++i) {
            document d;
            d.id = earlier_.id(i);
            know(d.id);
            const judged found = judged_of(earlier_.text(i));
            is_kept_.push_back(found.reason < 0);
            decide(d, found);
        }
    }

    void read_from(const io::corpus_place& start, reading_record earlier) {
        admitted_corpus corpus(options_, work_of(options_), {}, ctx_,
                               {.stage = "filter", .keep_records = kept_ || folder_, .start = start});
        corpus.record() = std::move(earlier);
        take_earlier([&](std::string_view id) { corpus.know(id); });
        if (keeps_parts()) corpus.in_parts_of(options_.part_bytes);
        do read_part(corpus);
        while (corpus.next_part());
        record_ = std::move(corpus.record());
        clock_.end_stage("filter", corpus.consumed_bytes());
    }

    /// Everything, or as much as is kept at once.
    void read_part(admitted_corpus& corpus) {
        std::optional<shard_writer> notes;
        if (keeps_parts())
            notes.emplace(folder_->notes(), folder_->batch_number(), earlier_.overlap(),
                          scratch_.file("ids"));
        pipeline<unit_in_work> line(units_at_once(ctx_));
        corpus.begin(line);
        if (verdicts_) take_verdicts(line);
        line.in_parallel([&](unit_in_work& unit) {
            judge(unit);
            for (std::size_t i = 0; i < unit.parsed.documents.size(); ++i) {
                document& d = unit.parsed.documents[i];
                const judged& found = unit.results[i];
                if (found.is_changed && folder_ && d.line == 0) refuse_rewriting(d);
                if (found.reason < 0 && kept_ && !folder_) kept_writer::prepare(d);
                if (found.reason >= 0 && !options_.keep_examples) release(d.text);
            }
        });
        line.in_order([&](unit_in_work& unit) {
            for (std::size_t i = 0; i < unit.parsed.documents.size(); ++i)
                take(unit.parsed.documents[i], unit.results[i], notes ? &*notes : nullptr);
            if (kept_) kept_->flush();
            unit.results.clear();
        });
        corpus.run(line);
        if (!corpus.next_part() && found_.documents == 0) corpus.record().refuse_empty(options_);
        if (notes) earlier_.map_texts(notes->finish_texts());
        if (folder_) folder_->end_batch(notes ? &*notes : nullptr, corpus.record(), corpus.next_part());
    }

    void take_verdicts(pipeline<unit_in_work>& line) {
        line.in_parallel([](unit_in_work& unit) {
            unit.hashes.clear();
            for (const document& d : unit.parsed.documents) unit.hashes.push_back(hash64(d.text));
        });
        line.in_order([this](unit_in_work& unit) {
            unit.verdicts.resize(unit.hashes.size());
            verdicts_->take(unit.hashes, unit.parsed.counts.documents,
                            [&](std::size_t i, std::string_view found) {
                                unit.verdicts[i] = verdict_of(found, options_.verdicts);
                            });
        });
    }

    void judge(unit_in_work& unit) {
        io::document_list& documents = unit.parsed.documents;
        if (!verdicts_) {
            std::vector<document*> all;
            for (document& d : documents) all.push_back(&d);
            unit.results = filter_.apply(all, ctx_);
            return;
        }
        for (std::size_t i = 0; i < documents.size(); ++i) {
            ctx_.check_stop();
            verdict_of_text& verdict = unit.verdicts[i];
            unit.results.push_back(filter_.accept(documents[i], std::move(verdict.found), verdict.text));
        }
    }

    void take(const document& d, const judged& found, shard_writer* notes) {
        decide(d, found);
        if (folder_) {
            is_kept_.push_back(found.reason < 0);
            folder_->append(d);
            if (found.is_changed && found.reason < 0 && folder_->copies_rows()) refuse_rewriting(d);
        }
        if (rows_) {
            if (found.is_changed && found.reason < 0) refuse_rewriting(d);
            is_kept_.push_back(found.reason < 0);
            rows_->append(d, ctx_);
        }
        if (notes != nullptr) {
            const std::string text = text_of(found);
            earlier_.add(d.id, text.size());
            notes->add(d.id, text);
        }
        if (kept_ && found.reason < 0) kept_->take(d);
    }

    [[noreturn]] static void refuse_rewriting(const document& d) {
        throw usage_error(fmt::format(
            "{}: a rule or a mask changes the text of this document, which is a file or a row of Parquet, "
            "and is copied as it is (expected a file of lines as the output, such as kept.jsonl, or rules "
            "that do not change texts)",
            d.path));
    }

    void decide(const document& d, const judged& found) {
        state& s = *state_;
        filter_decision decision;
        decision.id = d.id;
        decision.position = found_.documents++;
        decision.is_kept = found.reason < 0;
        decision.is_changed = found.is_changed;
        decision.value = found.value;
        decision.text = found.text;
        found_.changed += found.is_changed ? 1 : 0;
        found_.emails += found.emails;
        found_.ips += found.ips;
        if (!decision.is_kept) {
            const auto rule = static_cast<std::size_t>(found.reason);
            ++found_.removed;
            ++s.removed[rule].documents;
            decision.rule = s.removed[rule].rule;
            decision.limit = s.removed[rule].limit;
            if (s.examples) s.examples->consider(rule, decision.position, d.id, found.value, d.text);
        }
        if (options_.decided) options_.decided(decision);
    }

    filter_result result() {
        state_->rules = filter_.rules();
        take_statistics();
        take_origin();
        filter_result made(std::move(state_));
        made.found = found_;
        made.counts = record_.counts;
        made.issues = record_.issues;
        made.statistics = std::move(statistics_);
        return made;
    }

    void take_statistics() {
        auto& counts = statistics_.counts;
        counts["documents"] = found_.documents;
        counts["removed"] = found_.removed;
        counts["changed"] = found_.changed;
        if (options_.mask_emails) counts["emails"] = found_.emails;
        if (options_.mask_ips) counts["ips"] = found_.ips;
        for (const removed_by_rule& rule : state_->removed) counts["removed: " + rule.rule] = rule.documents;
        counts["rejected"] = record_.counts.rejected;
        counts["damaged"] = record_.counts.damaged;
        counts["cut"] = record_.counts.truncated;
        for (const auto& [reason, count] : record_.counts.skipped) counts["skipped: " + reason] = count;
        statistics_.threads = ctx_.thread_count();
        statistics_.peak_memory_bytes = peak_memory_bytes();
    }

    void take_origin() {
        const auto add = [&](std::string_view name, std::string value) {
            state_->origin.emplace_back(name, std::move(value));
        };
        std::string files;
        for (const auto& name : names_of(options_))
            files.append(files.empty() ? "" : ", ").append(name.string());
        add("documents", report::grouped(found_.documents));
        add("removed", report::grouped(found_.removed));
        add("kept with another text", report::grouped(found_.changed));
        if (options_.mask_emails) add("e-mail addresses masked", report::grouped(found_.emails));
        if (options_.mask_ips) add("IP addresses masked", report::grouped(found_.ips));
        add("words", std::string(word_split_names[static_cast<std::size_t>(options_.words)]));
        add("corpus", files);
        add("rejected documents", report::grouped(record_.counts.rejected));
        add("made by", "Quern " QUERN_VERSION);
    }

    const filter_options& options_;
    run_statistics statistics_;
    context ctx_;
    stage_clock clock_{statistics_};
    document_filter filter_;
    std::optional<document_findings> verdicts_;
    scratch_folder scratch_{ctx_};
    std::optional<kept_writer> kept_;
    std::optional<kept_folder> folder_;
    std::optional<row_file> rows_;
    std::vector<bool> is_kept_;  ///< with a folder or rows
    document_table earlier_;     ///< what was decided, for a run that is resumed
    std::unique_ptr<state> state_ = std::make_unique<state>();
    filter_counts found_;
    reading_record record_;
};

}  // namespace

filter_result filter(const filter_options& options, const context& ctx) {
    check_request(options);
    const filter_options limited = with_percentile_limits(options, ctx);
    return filter_run(limited, ctx).run();
}

bool is_kept_folder_complete(const filter_options& options) {
    return kept_folder::is_complete(options.kept_folder,
                                    describe_request(options, parameters_of(options, context{})));
}

std::span<const std::string_view> detectable_languages() {
    return text::detectable_languages();
}

std::string detectable_language(std::string_view code) {
    return text::detectable_language(code);
}

filter_result::filter_result(std::unique_ptr<state> made) : state_(std::move(made)) {}
filter_result::filter_result(filter_result&&) noexcept = default;
filter_result& filter_result::operator=(filter_result&&) noexcept = default;
filter_result::~filter_result() = default;

std::span<const removed_by_rule> filter_result::removed_by() const {
    return state_->removed;
}

void filter_result::write_report(const sink& out) const {
    const state& s = *state_;
    if (!s.examples) throw usage_error("the examples to report were not kept");
    report::filter_report page;
    page.summary = s.origin;
    page.documents = found.documents;
    for (std::size_t i = 0; i < s.removed.size(); ++i) {
        report::filter_report::rule rule{
            s.removed[i].rule, s.rules[i].measure, s.rules[i].limit_in_words, s.removed[i].documents, {}};
        for (removed_example& e : s.examples->of_rule(i))
            rule.examples.push_back({std::move(e.id), std::move(e.value), std::move(e.text), e.bytes});
        page.rules.push_back(std::move(rule));
    }
    report::write_filter_report(page, out);
}

}  // namespace quern
