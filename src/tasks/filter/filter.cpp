// SPDX-License-Identifier: Apache-2.0
// One pipeline over the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → judge, mask, rewrite (parallel)
//       → pass on, count, keep examples (in order).
#include "quern/tasks/filter.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/corpus/record_text.hpp"
#include "ops/text_quality/judge.hpp"
#include "ops/text_quality/masking.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/filter_option_table.hpp"
#include "report/filter_report.hpp"
#include "report/html_page.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/decontaminate/kept_writer.hpp"
#include "tasks/dedup/kept_folder.hpp"
#include "tasks/filter/filter_words.hpp"
#include "tasks/filter/removed_examples.hpp"
#include "tasks/language_model/text_scorer.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "text/language_detection.hpp"
#include "text/letters.hpp"
#include "text/stop_words.hpp"

namespace quern {

struct filter_result::state {
    struct rule {
        std::string measure, limit_in_words;
    };
    std::vector<removed_by_rule> removed;
    std::vector<rule> rules;  ///< as `removed`
    std::optional<removed_examples> examples;
    std::vector<std::pair<std::string, std::string>> origin;
};

namespace {

using state = filter_result::state;

/// What the parallel step finds out about a document.
struct judged {
    std::int32_t reason = -1;  ///< number among the applied rules; -1: kept
    bool is_changed = false;
    std::string value;
    std::string text;  ///< for filter_decision::text
    std::uint32_t emails = 0, ips = 0;
};

std::string value_text(const text_quality::measured& value) {
    return value.denominator == 1 ? std::to_string(value.numerator) : shortest(value.value());
}

/// A list of bad words; its name for messages.
std::vector<std::string> read_bad_words(const std::string& path) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed))
        throw usage_error(fmt::format(
            "c4.bad-words: '{}' is not a file (expected one with a word or phrase per line)", path));
    return text::stop_words_of_file(text::read_stop_word_file(path));
}

/// The rules with their lists of words read.
rule_choice with_lists(rule_choice rules) {
    for (chosen_group& group : rules.groups()) {
        for (std::size_t i = 0; i < group.rules.size(); ++i) {
            const quality_rule& rule = quality_rules()[quality_groups()[group.group].first + i];
            chosen_rule& chosen = group.rules[i];
            if (rule.kind != rule_kind::words || !chosen.is_on || chosen.list.empty()) continue;
            chosen.words =
                rule.name == "bad-words" ? read_bad_words(chosen.list) : text::read_stop_words(chosen.list);
            if (chosen.words.empty())
                throw usage_error(fmt::format("{}: there is no word in '{}'", full_name(rule), chosen.list));
        }
    }
    return rules;
}

const std::vector<std::string>& bad_words_of(const rule_choice& rules) {
    static const std::vector<std::string> none;
    for (const chosen_group& group : rules.groups()) {
        for (std::size_t i = 0; i < group.rules.size(); ++i) {
            const quality_rule& rule = quality_rules()[quality_groups()[group.group].first + i];
            if (rule.name == "bad-words" && group.rules[i].is_on) return group.rules[i].words;
        }
    }
    return none;
}

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

/// Lines of TSV have no line ends in them.
bool is_tab_separated(const document& d) {
    using form = document::record_form;
    return d.record_kind == form::tsv || (d.record_kind == form::table && d.record_heading &&
                                          d.record_heading->find('\t') != std::string::npos);
}

/// Gives the document another text, in its record too.
void rewrite(document& d, std::string_view text, const document_fields& fields) {
    std::string made(text);
    if (!d.record.empty()) {
        if (is_tab_separated(d))
            std::ranges::replace_if(
                made, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
        d.record = io::with_text(d.record, d.record_kind,
                                 d.record_heading ? std::string_view(*d.record_heading) : std::string_view(),
                                 made, fields);
    }
    d.text = std::move(made);
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
          rules_(with_lists(options.rules)),
          bad_(bad_words_of(rules_)),
          models_(read_model_of(options, ctx_)),
          workers_([this] { return std::make_unique<worker>(*this); }) {
        for (const std::string& language : options.languages)
            languages_.push_back(text::detectable_language(language));
        if (models_) {
            ctx_ = with_remaining_memory(ctx_, models_->memory_bytes(), "the language model");
            scorer_.emplace(*models_, model_text(options), options.words_of_model == model_words::tokenized,
                            false);
        }
        list_rules();
    }

    filter_result run() {
        workers_.local();  // refuses what is wrong before the work
        read_corpus();
        return result();
    }

  private:
    struct worker {
        explicit worker(const filter_run& owner)
            : words(owner.options_.words, owner.bad_), rules(owner.rules_, words) {}
        filter_words words;
        text_quality::judge rules;
        std::string masked, again;
    };
    struct unit_in_work : document_unit {
        std::vector<judged> results;
    };

    static text_options model_text(const filter_options& options) {
        text_options text;
        if (options.words_of_model != model_words::tokenized)
            text.tokens = static_cast<token_rule>(options.words_of_model);
        return text;
    }
    static std::optional<model_mixture> read_model_of(const filter_options& options, const context& ctx) {
        if (options.perplexity.empty()) return {};
        perplexity_options model;
        model.model = options.perplexity;
        return read_mixture(model, ctx);
    }

    void add_rule(std::string name, std::string limit, std::string measure, std::string in_words) {
        state_->removed.push_back({std::move(name), std::move(limit), 0});
        state_->rules.push_back({std::move(measure), std::move(in_words)});
    }

    void list_rules() {
        if (!languages_.empty()) {
            std::string list;
            for (const std::string& l : languages_) list.append(list.empty() ? "" : ",").append(l);
            add_rule("language", list, "the language of most of the text", "one of " + list);
            const std::string least = to_text(options_.language_score);
            add_rule("language-score", least, "share of the text in this language", "at least " + least);
        }
        number_of_.assign(quality_rules().size(), -1);
        for (const chosen_group& group : rules_.groups()) {
            const std::uint32_t first = quality_groups()[group.group].first;
            for (std::uint32_t i = 0; i < group.rules.size(); ++i) {
                const quality_rule& rule = quality_rules()[first + i];
                const bool may_remove = rule.kind == rule_kind::at_least || rule.kind == rule_kind::at_most ||
                                        rule.kind == rule_kind::page || rule.name == "bad-words";
                if (!group.rules[i].is_on || !may_remove) continue;
                number_of_[first + i] = static_cast<std::int32_t>(state_->removed.size());
                const bool has_limit = rule.kind == rule_kind::at_least || rule.kind == rule_kind::at_most;
                const std::string limit = has_limit ? to_text(group.rules[i].limit) : "";
                add_rule(full_name(rule), limit, std::string(rule.help),
                         has_limit ? fmt::format("{} {}", name_of(rule.kind), limit) : "none");
            }
        }
        if (models_) {
            const std::string measure(perplexity_measure_names[static_cast<std::size_t>(options_.measure)]);
            const auto add = [&](const char* name, const std::optional<double>& limit) {
                if (!limit) return;
                const std::string text = shortest(*limit);
                add_rule(fmt::format("{}.{}", measure, name), text, measure + " by the language model",
                         fmt::format("{} {}", name, text));
            };
            first_of_model_ = static_cast<std::int32_t>(state_->removed.size());
            add("below", options_.below);
            add("above", options_.above);
        }
        if (options_.keep_examples) state_->examples.emplace(state_->removed.size(), options_.sample_removed);
    }

    /// Judges a document, and changes its text if a rule or a mask does. Any thread.
    judged apply(document& d, worker& mine) {
        judged made;
        if (!languages_.empty()) {
            const text::detected_language found = text::language_of(d.text);
            if (std::ranges::none_of(languages_,
                                     [&](const auto& l) { return text::is_language(found.code, l); })) {
                made.reason = 0;
                made.value = found.code;
                return made;
            }
            if (text_quality::compare({found.percent, 100}, options_.language_score) < 0) {
                made.reason = 1;
                made.value = shortest(found.percent / 100.0);
                return made;
            }
        }
        const text_quality::verdict verdict = mine.rules.apply(d.text);
        if (verdict.rule) {
            made.reason = number_of_[*verdict.rule];
            made.value = value_text(verdict.value);
            return made;
        }
        std::string_view text = mine.rules.text();
        made.is_changed = mine.rules.is_changed();
        if (scorer_ && judge_by_model(text, made)) return made;
        if (options_.mask_emails) {
            mine.masked.clear();
            made.emails = static_cast<std::uint32_t>(
                text_quality::mask_emails(text, text::is_word_character, mine.masked));
            if (made.emails != 0) text = mine.masked;
        }
        if (options_.mask_ips) {
            mine.again.clear();
            made.ips = static_cast<std::uint32_t>(text_quality::mask_public_ips(text, mine.again));
            if (made.ips != 0) text = mine.again;
        }
        made.is_changed = made.is_changed || made.emails != 0 || made.ips != 0;
        if (made.is_changed) rewrite(d, text, options_.fields);
        if (options_.wants_texts && options_.decided) made.text = d.text;
        return made;
    }

    /// Whether the document is removed.
    bool judge_by_model(std::string_view text, judged& made) {
        document scored;
        scored.text = text;
        const text_score score = scorer_->scores_of(scored).front();
        const double value = options_.measure == perplexity_measure::perplexity ? score.perplexity()
                             : score.scored == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                 : score.bits_per_byte(text.size());
        std::int32_t rule = first_of_model_;
        const auto removes = [&](bool is_limited, bool is_kept) {
            if (!is_limited) return false;
            if (!is_kept) made.reason = rule;
            ++rule;
            return !is_kept;
        };
        if (!removes(options_.below.has_value(), value < options_.below.value_or(0)) &&
            !removes(options_.above.has_value(), value > options_.above.value_or(0)))
            return false;
        made.value = shortest(value);
        return true;
    }

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
            worker& mine = *workers_.local();
            for (document& d : unit.parsed.documents) {
                ctx_.check_stop();
                judged& found = unit.results.emplace_back(apply(d, mine));
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
    rule_choice rules_;
    bad_words bad_;
    std::optional<model_mixture> models_;
    std::optional<document_scorer> scorer_;
    std::int32_t first_of_model_ = 0;  ///< rule
    std::vector<std::string> languages_;
    std::vector<std::int32_t> number_of_;  ///< by rule: among the applied ones
    scratch_folder scratch_{ctx_};
    std::unique_ptr<state> state_ = std::make_unique<state>();
    tbb::enumerable_thread_specific<std::unique_ptr<worker>> workers_;
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
