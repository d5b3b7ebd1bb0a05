// SPDX-License-Identifier: Apache-2.0
// One pipeline over the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → judge, mask, rewrite (parallel)
//       → pass on, count, keep examples (in order).
#include "quern/tasks/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/filter_option_table.hpp"
#include "report/filter_report.hpp"
#include "report/html_page.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/decontaminate/kept_writer.hpp"
#include "tasks/dedup/kept_folder.hpp"
#include "tasks/filter/document_filter.hpp"
#include "tasks/filter/removed_examples.hpp"
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

void check_request(const filter_options& options) {
    require_documents(options);
    check_ranges(options);
    if (options.kept && !options.kept_folder.empty())
        throw usage_error("the kept documents can go to a file or to a folder, not to both");
    if (options.rules.empty() && options.languages.empty() && options.perplexity.empty() &&
        !options.mask_emails && !options.mask_ips)
        throw usage_error("there is nothing to do (expected rules, a language, a perplexity or a mask)");
    const bool has_limit = options.below || options.above;
    if (options.perplexity.empty() && has_limit)
        throw usage_error("below and above are limits of a perplexity; give a model");
    if (!options.perplexity.empty() && !has_limit)
        throw usage_error("a perplexity needs a limit (expected below, above or both)");
    for (const std::string& language : options.languages)
        static_cast<void>(text::detectable_language(language));
    for (const auto& input : options.inputs)
        if (input != "-") refuse_own_output(input);
}

std::string perplexity_parameters(const filter_options& options) {
    const auto limit = [](const std::optional<double>& value) { return value ? shortest(*value) : "none"; };
    return fmt::format("{} {} below {} above {} {}", options.perplexity.string(),
                       perplexity_measure_names[static_cast<std::size_t>(options.measure)],
                       limit(options.below), limit(options.above),
                       model_words_names[static_cast<std::size_t>(options.words_of_model)]);
}

/// For the list of files of a folder of outputs.
nlohmann::json parameters_of(const filter_options& options) {
    return {
        {"rules", options.rules.text()},
        {"words", word_split_names[static_cast<std::size_t>(options.words)]},
        {"languages", fmt::format("{}", fmt::join(options.languages, ","))},
        {"perplexity", options.perplexity.empty() ? "" : perplexity_parameters(options)},
        {"mask", fmt::format("{}{}", options.mask_emails ? "emails " : "", options.mask_ips ? "ips" : "")}};
}

/// The work of one call.
class filter_run {
  public:
    filter_run(const filter_options& options, const context& ctx)
        : options_(options),
          ctx_(pinned_to_device(ctx, "filter", statistics_, offered_places::cpu_only)),
          filter_(options, ctx_) {
        for (const document_filter::listed_rule& rule : filter_.rules())
            state_->removed.push_back({rule.name, rule.limit, 0});
        if (options.keep_examples) state_->examples.emplace(state_->removed.size(), options.sample_removed);
    }

    filter_result run() {
        filter_.begin();
        read_corpus();
        return result();
    }

  private:
    struct unit_in_work : document_unit {
        std::vector<judged> results;
    };

    void read_corpus() {
        std::optional<kept_writer> kept;
        std::optional<kept_folder> folder;
        if (options_.kept) kept.emplace(options_.kept, scratch_.path(), options_.fields);
        if (!options_.kept_folder.empty())
            folder.emplace(kept_target{options_.kept_folder, options_,
                                       describe_request(options_, parameters_of(options_))},
                           ctx_);
        const bool wants_records = kept || folder;
        constexpr std::uint64_t memory_of_judge = 64;  // bytes, see text_quality::judge
        admitted_corpus corpus(options_, {.a_byte = memory_of_judge}, {}, ctx_,
                               {.stage = "filter", .keep_records = wants_records});
        pipeline<unit_in_work> line(units_at_once(ctx_));
        corpus.begin(line);
        line.in_parallel([&](unit_in_work& unit) {
            for (document& d : unit.parsed.documents) {
                ctx_.check_stop();
                judged& found = unit.results.emplace_back(filter_.apply(d));
                if (found.is_changed && folder && d.line == 0) refuse_rewriting(d);
                if (found.reason < 0 && kept && !folder) kept_writer::prepare(d);
                if (found.reason >= 0 && !options_.keep_examples) release(d.text);
            }
        });
        std::vector<bool> is_kept;
        line.in_order([&](unit_in_work& unit) {
            for (std::size_t i = 0; i < unit.parsed.documents.size(); ++i) {
                const document& d = unit.parsed.documents[i];
                const judged& found = unit.results[i];
                decide(d, found);
                if (folder) {
                    is_kept.push_back(found.reason < 0);
                    folder->append(d);
                    if (found.is_changed && found.reason < 0 && folder->copies_rows()) refuse_rewriting(d);
                }
                if (kept && found.reason < 0) kept->take(d);
            }
            if (kept) kept->flush();
            unit.results.clear();
        });
        corpus.run(line);
        if (found_.documents == 0) corpus.record().refuse_empty(options_);
        if (kept) kept->finish();
        record_ = std::move(corpus.record());
        clock_.end_stage("filter", corpus.consumed_bytes());
        if (!folder) return;
        folder->end_batch(nullptr, record_, {});
        folder->publish([&](std::size_t i) { return is_kept[i]; }, {}, ctx_);
        clock_.end_stage("write", 0);
    }

    [[noreturn]] static void refuse_rewriting(const document& d) {
        throw usage_error(fmt::format(
            "{}: a rule or a mask changes the text of this document, which is a file or a row of Parquet, "
            "and is copied to a folder of outputs as it is (expected the name of a file as the "
            "output, or rules that do not change texts)",
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
    scratch_folder scratch_{ctx_};
    std::unique_ptr<state> state_ = std::make_unique<state>();
    filter_counts found_;
    reading_record record_;
};

}  // namespace

filter_result filter(const filter_options& options, const context& ctx) {
    check_request(options);
    return filter_run(options, ctx).run();
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
