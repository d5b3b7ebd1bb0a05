// SPDX-License-Identifier: Apache-2.0
#include "tasks/filter/document_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/release.hpp"
#include "io/corpus/folder_walk.hpp"
#include "io/corpus/record_text.hpp"
#include "io/corpus/table_columns.hpp"
#include "ops/text_quality/judge_memory.hpp"
#include "ops/text_quality/masking.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/perplexity.hpp"
#include "tasks/language_model/device_scorer.hpp"
#include "tasks/shared/file_checksum.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "text/language_detection.hpp"
#include "text/letters.hpp"
#include "text/stop_words.hpp"

namespace quern {
namespace {

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

/// Lines of TSV have no line ends in them.
bool is_tab_separated(const document& d) {
    using form = document::record_form;
    return d.record_kind == form::tsv || (d.record_kind == form::table && d.record_heading &&
                                          io::table_separator(*d.record_heading) == '\t');
}

/// Gives the document another text, in its record too.
void rewrite(document& d, std::string made, const document_fields& fields) {
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

text_options model_text(const filter_options& options) {
    text_options text;
    if (options.words_of_model != model_words::tokenized)
        text.tokens = static_cast<token_rule>(options.words_of_model);
    return text;
}
std::optional<model_mixture> read_model_of(const filter_options& options, const context& ctx) {
    if (options.perplexity.empty()) return {};
    perplexity_options model;
    model.model = options.perplexity;
    return read_mixture(model, ctx);
}

/// Of the model's bytes, since another model may have the same path later. A model that is not a regular file, such as a
/// pipe, can be read only once.
std::string checksum_of_model(const filter_options& options, const context& ctx) {
    if (options.perplexity.empty()) return {};
    std::error_code failed;
    if (std::filesystem::is_regular_file(options.perplexity, failed))
        return fmt::format("{:016x}", checksum_of_file(options.perplexity, ctx));
    if (options.resume && std::filesystem::exists(options.perplexity, failed))
        throw usage_error(options.perplexity.string() +
                          ": to resume a run, the language model must be a file (it cannot be compared with "
                          "that of the earlier run)");
    return "unknown";
}

/// Of the names and bytes of the files of the reference, as of the model.
std::string checksum_of_reference(const filter_options& options, const context& ctx) {
    std::string files;
    const auto add = [&](const std::filesystem::path& file) {
        files += fmt::format("{}\n{:016x}\n", file.string(), checksum_of_file(file, ctx));
    };
    for (const std::filesystem::path& input : options.reference) {
        std::error_code failed;
        if (std::filesystem::is_directory(input, failed)) {
            io::folder_walk walk(input, false);  // as it is read
            io::parsed_unit ignored;
            while (const auto file = walk.next(ignored)) {
                add(file->path);
                ignored = {};
            }
        } else if (std::filesystem::is_regular_file(input, failed)) {
            add(input);
        } else if (options.resume && (input == "-" || std::filesystem::exists(input, failed))) {
            throw usage_error(input.string() +
                              ": to resume a run, the reference must be files or folders (it cannot be "
                              "compared with that of the earlier run)");
        } else {
            return "unknown";
        }
    }
    return fmt::format("{:016x}", hash64(files));
}

std::string perplexity_parameters(const filter_options& options) {
    const auto limit = [](const std::optional<double>& value) { return value ? shortest(*value) : "none"; };
    const std::string of(perplexity_measure_names[static_cast<std::size_t>(options.measure)]),
        words(model_words_names[static_cast<std::size_t>(options.words_of_model)]);
    if (options.reference.empty())
        return fmt::format("{} {} below {} above {} {}", options.perplexity.string(), of,
                           limit(options.below), limit(options.above), words);
    std::string names;
    for (const auto& input : options.reference) names.append(" ").append(input.string());
    return fmt::format("{} {} below percentile {} above percentile {} {} of{}", options.perplexity.string(),
                       of, limit(options.below_percentile), limit(options.above_percentile), words, names);
}

/// Of the words of lists, which may lie in files.
std::string checksum_of_lists(const rule_choice& rules) {
    std::string words;
    for (const chosen_group& group : rules.groups())
        for (const chosen_rule& rule : group.rules)
            for (const std::string& word : rule.words) words.append(word).append(1, '\n');
    return fmt::format("{:016x}", hash64(words));
}

}  // namespace

nlohmann::json parameters_of(const filter_options& options, const context& ctx) {
    context quiet = ctx;  // the reading of the corpus is what is reported
    quiet.on_progress = nullptr;
    nlohmann::json parameters = {
        {"rules", options.rules.text()},
        {"lists", checksum_of_lists(with_lists(options.rules))},
        {"words", word_split_names[static_cast<std::size_t>(options.words)]},
        {"unicode", text::unicode_version()},
        {"languages", fmt::format("{}", fmt::join(options.languages, ","))},
        {"language_score", options.languages.empty() ? "" : to_text(options.language_score)},
        {"perplexity", options.perplexity.empty() ? "" : perplexity_parameters(options)},
        {"model", checksum_of_model(options, quiet)},
        {"mask", fmt::format("{}{}", options.mask_emails ? "emails " : "", options.mask_ips ? "ips" : "")}};
    if (!options.reference.empty()) parameters["reference"] = checksum_of_reference(options, quiet);
    return parameters;
}

filter_options with_percentile_limits(const filter_options& options, const context& ctx) {
    filter_options limited = options;
    if (options.reference.empty()) return limited;
    perplexity_options scored;
    scored.model = options.perplexity;
    scored.inputs = options.reference;
    scored.fields = options.fields;
    scored.max_errors = options.max_errors;
    scored.text = model_text(options);
    scored.tokenized = options.words_of_model == model_words::tokenized;
    std::vector<double> values;
    perplexity(scored, ctx, [&](const perplexity_row& row) {
        const double value =
            options.measure == perplexity_measure::perplexity ? row.perplexity : row.bits_per_byte;
        if (!std::isnan(value)) values.push_back(value);
    });
    if (values.empty()) throw usage_error("no document of the reference has words");
    std::ranges::sort(values);
    const auto value_at = [&](double percentile) {
        const double rank = std::ceil(percentile / 100 * static_cast<double>(values.size()));
        return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
    };
    // A document with exactly this value is kept below it.
    if (options.below_percentile)
        limited.below =
            std::nextafter(value_at(*options.below_percentile), std::numeric_limits<double>::infinity());
    if (options.above_percentile) limited.above = value_at(*options.above_percentile);
    return limited;
}

work_on_document work_of(const filter_options& options) {
    const text_quality::judge_memory rules = text_quality::memory_of(options.rules);
    // The text, its record, and the record that is written, twice while it grows.
    constexpr std::uint64_t of_document = 4, of_language = 1, of_mask = 2, of_model = 64;
    const std::uint64_t a_byte = of_document + rules.a_byte + (options.languages.empty() ? 0 : of_language) +
                                 (options.mask_emails ? of_mask : 0) + (options.mask_ips ? of_mask : 0) +
                                 (options.perplexity.empty() ? 0 : of_model);
    work_on_document work;
    constexpr std::uint64_t bytes_of_a_word =
        2 * sizeof(text_quality::quality_word) + 2 * sizeof(text::token) + 2;
    work.a_byte = a_byte + rules.a_word + rules.a_line + (rules.finds_words ? bytes_of_a_word : 0);
    work.of_text = [=](std::string_view text) {
        std::uint64_t bytes = a_byte * text.size();
        if (rules.a_line != 0) bytes += rules.a_line * text_quality::lines_at_most(text);
        if (!rules.finds_words) return bytes;
        const text_quality::word_bounds most = text_quality::words_at_most(text);
        return bytes + rules.a_word * most.words + filter_words::memory_of_words(text, most);
    };
    return work;
}

void document_filter::worker::forget(std::size_t bytes) {
    if (bytes <= text_quality::longest_text_at_once) return;
    words.forget();
    rules.forget();
    release(masked);
    release(again);
}

document_filter::document_filter(const filter_options& options, context& ctx)
    : options_(options),
      rules_(with_lists(options.rules)),
      bad_(bad_words_of(rules_)),
      models_(read_model_of(options, ctx)),
      workers_([this] { return std::make_unique<worker>(*this); }) {
    for (const std::string& language : options.languages)
        languages_.push_back(text::detectable_language(language));
    if (models_) {
        ctx = with_remaining_memory(ctx, models_->memory_bytes(), "the language model");
        if (options.verdicts.empty())
            device_ = hold_on_device(*models_, bytes_for_choice(options.inputs, ctx), ctx, "filter");
        scorer_.emplace(*models_, model_text(options), options.words_of_model == model_words::tokenized,
                        false);
    }
    list_rules();
}

void document_filter::add_rule(std::string name, std::string limit, std::string measure,
                               std::string in_words) {
    listed_.push_back({std::move(name), std::move(limit), std::move(measure), std::move(in_words)});
}

void document_filter::list_rules() {
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
            number_of_[first + i] = static_cast<std::int32_t>(listed_.size());
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
        first_of_model_ = static_cast<std::int32_t>(listed_.size());
        add("below", options_.below);
        add("above", options_.above);
    }
}

std::vector<judged> document_filter::apply(std::span<document* const> documents, const context& ctx) {
    worker& mine = *workers_.local();
    std::vector<judged> results(documents.size());
    struct passed {  // the rules
        std::size_t document;
        std::string text;  ///< if a rule changed it
    };
    std::vector<passed> left;
    std::optional<document_scorer::series> series;
    if (scorer_) series.emplace(*scorer_);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        ctx.check_stop();
        document& d = *documents[i];
        judged& made = results[i];
        const std::size_t bytes = d.text.size();
        const bool is_removed = judge_by_rules(d, mine, made);
        const std::string_view text = mine.rules.text();
        if (!is_removed) made.is_changed = mine.rules.is_changed();
        if (!is_removed && !series) mask(d, text, mine, made);
        if (!is_removed && series) {
            document scored;
            scored.text = text;
            series->add(scored);
            left.push_back({i, made.is_changed ? std::move(scored.text) : std::string()});
        }
        mine.forget(bytes);
    }
    if (!series) return results;
    const std::vector<std::vector<text_score>> scores = series->finish();
    for (std::size_t i = 0; i < left.size(); ++i) {
        document& d = *documents[left[i].document];
        judged& made = results[left[i].document];
        const std::string_view text = made.is_changed ? left[i].text : d.text;
        if (!judge_by_model(scores[i].front(), text.size(), made)) mask(d, text, mine, made);
    }
    return results;
}

bool document_filter::judge_by_rules(const document& d, worker& mine, judged& made) const {
    if (!languages_.empty()) {
        const text::detected_language found = text::language_of(d.text);
        if (std::ranges::none_of(languages_,
                                 [&](const auto& l) { return text::is_language(found.code, l); })) {
            made.reason = 0;
            made.value = found.code;
            return true;
        }
        if (text_quality::compare({found.percent, 100}, options_.language_score) < 0) {
            made.reason = 1;
            made.value = shortest(found.percent / 100.0);
            return true;
        }
    }
    const text_quality::verdict verdict = mine.rules.apply(d.text);
    if (!verdict.rule) return false;
    made.reason = number_of_[*verdict.rule];
    made.value = value_text(verdict.value);
    return true;
}

/// Masks the text of a document that is kept, `text`, and gives it to the document if it is another.
void document_filter::mask(document& d, std::string_view text, worker& mine, judged& made) const {
    if (options_.mask_emails) {
        mine.masked.clear();
        made.emails =
            static_cast<std::uint32_t>(text_quality::mask_emails(text, text::is_word_character, mine.masked));
        if (made.emails != 0) text = mine.masked;
    }
    if (options_.mask_ips) {
        mine.again.clear();
        made.ips = static_cast<std::uint32_t>(text_quality::mask_public_ips(text, mine.again));
        if (made.ips != 0) text = mine.again;
    }
    made.is_changed = made.is_changed || made.emails != 0 || made.ips != 0;
    if (made.is_changed) {
        // A long text is not copied.
        std::string changed = made.ips != 0      ? std::move(mine.again)
                              : made.emails != 0 ? std::move(mine.masked)
                                                 : std::string(text);
        constexpr std::size_t max_kept = 1 << 20;
        if (changed.size() > max_kept) {
            release(mine.masked);
            release(mine.again);
        }
        rewrite(d, std::move(changed), options_.fields);
    }
    if (options_.wants_texts && options_.decided) made.text = d.text;
}

judged document_filter::accept(document& d, judged found, std::string_view text) const {
    if (found.reason >= static_cast<std::int32_t>(listed_.size()))
        throw usage_error("a verdict names a rule that does not apply");
    if (found.reason >= 0) return found;
    if (found.is_changed) rewrite(d, std::string(text), options_.fields);
    if (options_.wants_texts && options_.decided) found.text = d.text;
    return found;
}

/// Whether a document of so many bytes is removed.
bool document_filter::judge_by_model(const text_score& score, std::uint64_t bytes, judged& made) const {
    const double value = options_.measure == perplexity_measure::perplexity ? score.perplexity()
                         : score.scored == 0 ? std::numeric_limits<double>::quiet_NaN()
                                             : score.bits_per_byte(bytes);
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

}  // namespace quern
