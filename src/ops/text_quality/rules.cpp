// SPDX-License-Identifier: Apache-2.0
// The table of rules, and the choice among them.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "ops/text_quality/rule_numbers.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "quern/ops/text_quality.hpp"

namespace quern {
namespace {

using enum rule_kind;

constexpr decimal whole(std::uint64_t n) {
    return {n, 1};
}
constexpr decimal tenths(std::uint64_t n) {
    return {n, 10};
}
constexpr decimal hundredths(std::uint64_t n) {
    return {n, 100};
}

constexpr std::string_view length = "length", gopher = "gopher-quality", repetition = "gopher-repetition",
                           c4 = "c4", paragraphs = "c4-paragraphs", fineweb = "fineweb",
                           refinedweb = "refinedweb";

constexpr quality_rule rules[] = {
    {length, "min-characters", at_least, {}, false, "characters of the text"},
    {length, "max-characters", at_most, {}, false, "characters of the text"},
    {length, "min-words", at_least, {}, false, "words with a character that is not punctuation"},
    {length, "max-words", at_most, {}, false, "words with a character that is not punctuation"},
    {length, "min-mean-word-length", at_least, {}, false, "characters of these words / these words"},
    {length, "max-mean-word-length", at_most, {}, false, "characters of these words / these words"},

    {gopher, "min-words", at_least, whole(50), true, "words with a character that is not punctuation"},
    {gopher, "max-words", at_most, whole(100'000), true, "words with a character that is not punctuation"},
    {gopher, "min-mean-word-length", at_least, whole(3), true, "characters of these words / these words"},
    {gopher, "max-mean-word-length", at_most, whole(10), true, "characters of these words / these words"},
    {gopher, "max-hashes", at_most, tenths(1), true, "number of # / words"},
    {gopher, "max-ellipses", at_most, tenths(1), true, "number of ... and … / words"},
    {gopher, "max-bullet-lines", at_most, tenths(9), true, "lines that begin with • or - / lines"},
    {gopher, "max-ellipsis-lines", at_most, tenths(3), true, "lines that end with ... or … / lines"},
    {gopher, "min-words-with-letter", at_least, tenths(8), true, "words with a letter / words"},
    {gopher, "min-stop-words", at_least, whole(2), true, "different words of stop-words in the text"},
    {gopher, "stop-words", words, {}, true, "the, be, to, of, and, that, have, with"},

    {repetition, "min-characters", at_least, whole(1), true, "characters of the text"},
    {repetition, "max-duplicate-paragraphs", at_most, tenths(3), true,
     "paragraphs equal to an earlier one / paragraphs"},
    {repetition, "max-duplicate-paragraph-characters", at_most, tenths(2), true,
     "characters of these paragraphs / characters"},
    {repetition, "max-duplicate-lines", at_most, tenths(3), true, "lines equal to an earlier one / lines"},
    {repetition, "max-duplicate-line-characters", at_most, tenths(2), true,
     "characters of these lines / characters"},
    {repetition, "max-top-2-gram", at_most, tenths(2), true,
     "characters of the most frequent 2-gram, with blanks, · its number / characters"},
    {repetition, "max-top-3-gram", at_most, hundredths(18), true, "the same of 3-grams"},
    {repetition, "max-top-4-gram", at_most, hundredths(16), true, "the same of 4-grams"},
    {repetition, "max-duplicate-5-grams", at_most, hundredths(15), true,
     "characters of words in 5-grams that occurred before / characters"},
    {repetition, "max-duplicate-6-grams", at_most, hundredths(14), true, "the same of 6-grams"},
    {repetition, "max-duplicate-7-grams", at_most, hundredths(13), true, "the same of 7-grams"},
    {repetition, "max-duplicate-8-grams", at_most, hundredths(12), true, "the same of 8-grams"},
    {repetition, "max-duplicate-9-grams", at_most, hundredths(11), true, "the same of 9-grams"},
    {repetition, "max-duplicate-10-grams", at_most, tenths(1), true, "the same of 10-grams"},

    {c4,
     "bad-words",
     words,
     {},
     false,
     "a word or phrase of the list, in any case, between characters of no word"},
    {c4, "max-word-length", line, whole(1000), true, "drops lines with a word of more characters"},
    {c4, "citations", line, {}, true, "deletes [1], [], [edit], [citation needed]"},
    {c4,
     "terminal-punctuation",
     line,
     {},
     true,
     "drops lines that do not end with . ? ! \" or ', or end with ..."},
    {c4, "min-line-words", line, whole(3), true, "drops lines of fewer words between white space"},
    {c4, "lorem-ipsum", page, {}, true, "a line that was not dropped has lorem ipsum, in any case"},
    {c4, "javascript", line, {}, true, "drops lines with javascript, in any case"},
    {c4, "curly-bracket", page, {}, true, "a line that was not dropped has {"},
    {c4,
     "policy",
     line,
     {},
     true,
     "drops lines with terms of use, privacy policy, cookie policy, uses cookies, use of cookies or use "
     "cookies, in "
     "any case"},
    {c4, "min-sentences", at_least, whole(5), true, "sentences of the lines that remain"},

    {paragraphs, "min-paragraphs", at_least, whole(3), true, "lines of at least paragraph-characters"},
    {paragraphs, "paragraph-characters", parameter, whole(200), true, "characters of a paragraph"},

    {fineweb, "min-lines", at_least, whole(1), true, "lines that are not blank"},
    {fineweb, "min-line-punctuation", at_least, hundredths(12), true,
     "lines that end with a mark that ends sentences / lines that are not blank"},
    {fineweb, "max-short-lines", at_most, hundredths(67), true,
     "lines of at most short-line-characters / lines that are not blank"},
    {fineweb, "max-duplicate-line-characters", at_most, hundredths(1), true,
     "characters of lines equal to an earlier one / characters without line ends"},
    {fineweb, "max-line-ends", at_most, tenths(3), true, "line ends / words"},
    {fineweb, "short-line-characters", parameter, whole(30), true, "characters of a short line"},

    {refinedweb, "uppercase-lines", line, tenths(5), true,
     "drops lines with a larger share of upper-case letters among the letters"},
    {refinedweb, "number-lines", line, {}, true, "drops lines without a letter that have a digit"},
    {refinedweb, "counter-lines", line, {}, true, "drops lines of a number and one word, such as 3 likes"},
    {refinedweb, "one-word-lines", line, {}, true, "drops lines of one word"},
    {refinedweb, "max-dropped-words", at_most, hundredths(5), true, "words in dropped lines / words"},
};

constexpr std::pair<std::string_view, std::string_view> sources[] = {
    {length, ""},
    {gopher, "Rae et al. 2021, section A.1.1"},
    {repetition, "Rae et al. 2021, table A1"},
    {c4, "Raffel et al. 2020, section 2.2"},
    {paragraphs, "Xue et al. 2021 (mC4), section 3.1"},
    {fineweb, "Penedo et al. 2024, section 3.5"},
    {refinedweb, "Penedo et al. 2023, section G.2"},
};

constexpr auto made_groups() {
    std::array<quality_group, std::size(sources)> groups;
    std::uint32_t at = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        groups[g] = {sources[g].first, sources[g].second, at, at};
        while (at < std::size(rules) && rules[at].group == groups[g].name) ++at;
        groups[g].end = at;
    }
    if (at != std::size(rules)) throw "a rule is in no group";
    return groups;
}
constexpr auto all_groups = made_groups();

static_assert(std::size(rules) == rule_numbers::count);
static_assert(rules[rule_numbers::gopher_min_stop_words].name == "min-stop-words");
static_assert(rules[rule_numbers::top_2_gram].name == "max-top-2-gram");
static_assert(rules[rule_numbers::duplicate_10_grams].name == "max-duplicate-10-grams");
static_assert(rules[rule_numbers::c4_bad_words].name == "bad-words");
static_assert(rules[rule_numbers::fineweb_short_line_characters].name == "short-line-characters");
static_assert(rules[rule_numbers::refinedweb_dropped_words].name == "max-dropped-words");

std::string joined(std::initializer_list<std::string_view> parts) {
    std::string all;
    for (const std::string_view part : parts) all += part;
    return all;
}

std::string names_of_groups() {
    std::string names;
    for (const quality_group& g : all_groups) names.append(names.empty() ? "" : ", ").append(g.name);
    return names;
}

std::string names_in(const quality_group& group) {
    std::string names;
    for (std::uint32_t r = group.first; r < group.end; ++r)
        names.append(names.empty() ? "" : ", ").append(rules[r].name);
    return names;
}

std::uint32_t group_named(std::string_view name) {
    const auto at = std::ranges::find(all_groups, name, &quality_group::name);
    if (at == all_groups.end())
        throw usage_error(joined({"there is no rule or group '", shown(name), "' (expected one of ",
                                  names_of_groups(), "; quern filter --list-rules shows all)"}));
    return static_cast<std::uint32_t>(at - all_groups.begin());
}

/// The number of a rule by its full name.
std::uint32_t rule_named(std::string_view name) {
    const std::size_t point = name.find('.');
    const quality_group& group = all_groups[group_named(name.substr(0, point))];
    const std::string_view rule = point == std::string_view::npos ? "" : name.substr(point + 1);
    for (std::uint32_t r = group.first; r < group.end; ++r)
        if (rules[r].name == rule) return r;
    if (rule.empty())
        throw usage_error(
            joined({group.name,
                    " is a group, which takes no value (expected one of its rules: ", names_in(group), ")"}));
    throw usage_error(
        joined({group.name, " has no rule '", shown(rule), "' (expected one of ", names_in(group), ")"}));
}

void set_value(const quality_rule& rule, chosen_rule& chosen, std::string_view value) {
    const std::string name = full_name(rule);
    const bool is_on = value == "on" || value == "true", is_off = value == "off" || value == "false";
    if (is_off) {
        if (rule.kind == parameter)
            throw usage_error(joined({name, " is a parameter, which cannot be off (expected a number)"}));
        chosen.is_on = false;
        return;
    }
    const bool has_limit = rule.kind == at_least || rule.kind == at_most || rule.limit.has_value();
    chosen.is_on = true;
    if (rule.kind == words) {
        if (is_on || value.empty())
            throw usage_error(joined(
                {name, ": expected a file with one word per line, a language that has a list, or off"}));
        chosen.list = value;
        chosen.words.clear();
        return;
    }
    if (is_on && (rule.limit || !has_limit)) return;
    if (!has_limit)
        throw usage_error(joined({name, ": invalid value '", shown(value), "' (expected on or off)"}));
    try {
        chosen.limit = parse_decimal(value);
    } catch (const usage_error&) {
        throw usage_error(
            joined({name, ": invalid value '", shown(value), "' (expected a number from 0 to 999999999",
                    rule.kind == parameter ? "" : ", or off", ")"}));
    }
}

}  // namespace

std::string_view name_of(rule_kind kind) {
    constexpr std::string_view names[] = {"at least", "at most", "page", "line", "parameter", "words"};
    return names[static_cast<std::size_t>(kind)];
}

std::span<const quality_group> quality_groups() {
    return all_groups;
}

std::span<const quality_rule> quality_rules() {
    return rules;
}

std::string full_name(const quality_rule& rule) {
    return joined({rule.group, ".", rule.name});
}

chosen_group& rule_choice::group_of(std::uint32_t group, bool with_defaults) {
    auto at = std::ranges::find(groups_, group, &chosen_group::group);
    if (at == groups_.end()) {
        chosen_group made{group, {}};
        for (std::uint32_t r = all_groups[group].first; r < all_groups[group].end; ++r) {
            const bool is_always =
                rules[r].has_default && (rules[r].kind == parameter || rules[r].kind == words);
            made.rules.push_back(
                {.is_on = is_always, .limit = rules[r].limit.value_or(decimal()), .list = {}, .words = {}});
        }
        groups_.push_back(std::move(made));
        at = groups_.end() - 1;
    }
    for (std::size_t i = 0; with_defaults && i < at->rules.size(); ++i)
        at->rules[i].is_on = at->rules[i].is_on || rules[all_groups[group].first + i].has_default;
    return *at;
}

chosen_rule& rule_choice::rule_of(std::string_view full_name) {
    const std::uint32_t rule = rule_named(full_name);
    const std::uint32_t group = group_named(rules[rule].group);
    return group_of(group, false).rules[rule - all_groups[group].first];
}

void rule_choice::add(std::string_view list) {
    for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
        end = list.find(',', begin);
        std::string_view entry = list.substr(begin, end == std::string_view::npos ? end : end - begin);
        while (entry.starts_with(' ')) entry.remove_prefix(1);
        while (entry.ends_with(' ')) entry.remove_suffix(1);
        if (entry.empty()) throw usage_error("a name is empty (expected names of rules separated by commas)");
        const std::size_t equals = entry.find('=');
        const std::string_view name = entry.substr(0, equals);
        if (equals != std::string_view::npos) {
            set(name, entry.substr(equals + 1));
        } else if (name.find('.') != std::string_view::npos) {
            const quality_rule& rule = rules[rule_named(name)];
            if (rule.kind == parameter || rule.kind == words ||
                (rule.kind != page && rule.kind != line && !rule.limit))
                throw usage_error(
                    joined({full_name(rule), " needs a value (expected ", full_name(rule), "=VALUE)"}));
            rule_of(name).is_on = true;
        } else {
            const quality_group& group = all_groups[group_named(name)];
            if (!has(name) &&
                std::ranges::none_of(quality_rules().subspan(group.first, group.end - group.first),
                                     &quality_rule::has_default))
                throw usage_error(joined({"the rules of ", name,
                                          " have no defaults (expected one of them with a value, such as ",
                                          full_name(rules[group.first]), "=50)"}));
            group_of(group_named(name), true);
        }
    }
}

bool rule_choice::has(std::string_view name) const {
    const bool is_rule = name.find('.') != std::string_view::npos;
    const std::uint32_t group = is_rule ? group_named(rules[rule_named(name)].group) : group_named(name);
    const auto at = std::ranges::find(groups_, group, &chosen_group::group);
    return at != groups_.end() && (!is_rule || at->rules[rule_named(name) - all_groups[group].first].is_on);
}

void rule_choice::set(std::string_view name, std::string_view value) {
    set_value(rules[rule_named(name)], rule_of(name), value);
}

void rule_choice::set(std::string_view name, std::vector<std::string> list) {
    const quality_rule& rule = rules[rule_named(name)];
    if (rule.kind != words) throw usage_error(joined({full_name(rule), " is no list of words"}));
    if (list.empty() || std::ranges::count(list, "") != 0)
        throw usage_error(joined({full_name(rule), ": expected at least one word, and no empty one"}));
    chosen_rule& chosen = rule_of(name);
    chosen.is_on = true;
    chosen.list.clear();
    chosen.words = std::move(list);
}

chosen_rule rule_choice::setting(std::uint32_t rule) const {
    for (const chosen_group& g : groups_) {
        const quality_group& group = all_groups[g.group];
        if (group.first <= rule && rule < group.end) return g.rules[rule - group.first];
    }
    return {};
}

std::string rule_choice::text() const {
    std::string all;
    for (const chosen_group& g : groups_) {
        for (std::size_t i = 0; i < g.rules.size(); ++i) {
            const quality_rule& rule = rules[all_groups[g.group].first + i];
            const chosen_rule& chosen = g.rules[i];
            if (!chosen.is_on || (rule.kind == words && chosen.list.empty() && chosen.words.empty()))
                continue;
            all.append(all.empty() ? "" : ",").append(full_name(rule));
            if (rule.kind == words) {
                all += '=' + (chosen.words.empty()
                                  ? chosen.list
                                  : joined({"(", std::to_string(chosen.words.size()), " words)"}));
            } else if (rule.kind != page && (rule.kind != rule_kind::line || rule.limit)) {
                all += '=' + to_text(chosen.limit);
            }
        }
    }
    return all;
}

}  // namespace quern
