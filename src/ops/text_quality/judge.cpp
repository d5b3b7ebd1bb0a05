// SPDX-License-Identifier: Apache-2.0
#include "ops/text_quality/judge.hpp"

#include <algorithm>

#include "base/release.hpp"
#include "ops/text_quality/characters.hpp"
#include "ops/text_quality/chosen_rules.hpp"
#include "ops/text_quality/rule_numbers.hpp"

namespace quern::text_quality {
namespace {

using namespace rule_numbers;

constexpr std::string_view ellipsis = "…", three_points = "...", bullet = "•";
constexpr std::string_view english[] = {"the", "be", "to", "of", "and", "that", "have", "with"};
constexpr std::string_view policies[] = {"terms of use", "privacy policy", "cookie policy",
                                         "uses cookies", "use of cookies", "use cookies"};

bool has_policy(std::string_view lower_case) {
    return (has(lower_case, "policy") || has(lower_case, "use")) &&
           std::ranges::any_of(policies, [&](std::string_view p) { return has(lower_case, p); });
}

std::uint64_t occurrences(std::string_view text, std::string_view part) {
    std::uint64_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size()))
        ++count;
    return count;
}

bool ends_sentence(std::string_view line) {
    if (line.empty()) return false;
    std::size_t at = last_character(line);
    return is_terminal_mark(next_utf8(line, at));
}

bool closes(char32_t c) {
    return c == '"' || c == '\'' || c == ')' || c == ']' || c == '}' || c == 0x201D || c == 0x2019 ||
           c == 0xBB || c == 0x300D || c == 0x300F || c == 0xFF09;
}

/// The paragraphs (`least` 2) or lines (1) of a text: parts between so many line ends or more.
void add_parts(std::string_view text, std::size_t least, repeated_parts& to) {
    std::size_t begin = 0;
    for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at)) {
        const std::size_t end = std::min(text.find_first_not_of('\n', at), text.size());
        if (end - at >= least) {
            to.add(text.substr(begin, at - begin));
            begin = end;
        }
        at = end;
    }
    to.add(text.substr(begin));
}

/// "3 likes", "1.2K views": a number, then a word with a letter.
bool is_counter(std::string_view first, std::string_view second) {
    const std::size_t end = first.find_first_not_of("0123456789.,");
    if (first.front() < '0' || first.front() > '9') return false;
    if (end != std::string_view::npos &&
        !(end + 1 == first.size() && std::string_view("KkMm").find(first[end]) != std::string_view::npos))
        return false;
    return second.find_first_of("0123456789") == std::string_view::npos;
}

}  // namespace

int compare(measured value, const decimal& limit) {
    using wide = unsigned __int128;
    if (value.denominator == 0) value = {0, 1};
    const wide left = wide{value.numerator} * limit.denominator,
               right = wide{limit.numerator} * value.denominator;
    return left < right ? -1 : left > right ? 1 : 0;
}

std::uint64_t sentences(std::string_view line) {
    std::uint64_t count = 0;
    bool in_sentence = false;
    for (std::size_t at = 0; at < line.size();) {
        char32_t c = next_utf8(line, at);
        if (is_white_space(c)) continue;
        in_sentence = true;
        if (!is_terminal_mark(c)) continue;
        bool ends = c >= 0x80;
        std::size_t next = at;
        while (next < line.size()) {
            c = next_utf8(line, next);
            if (!is_terminal_mark(c) && !closes(c)) break;
            ends = ends || (c >= 0x80 && is_terminal_mark(c));
            at = next;
        }
        if (!ends && at < line.size() && !is_white_space(c)) continue;
        ++count;
        in_sentence = false;
    }
    return count + (in_sentence ? 1 : 0);
}

void append_without_citations(std::string_view line, std::string& out) {
    constexpr std::string_view names[] = {"[edit]", "[citation needed]"};
    std::size_t begin = 0;
    for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at)) {
        const std::string_view rest = line.substr(at);
        std::size_t bytes = 0;
        const std::size_t digits = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
        if (digits < rest.size() && rest[digits] == ']') bytes = digits + 1;
        for (const std::string_view name : names)
            if (rest.starts_with(name)) bytes = name.size();
        if (bytes != 0) {
            out += line.substr(begin, at - begin);
            begin = at + bytes;
        }
        at += std::max<std::size_t>(1, bytes);
    }
    out += line.substr(begin);
}

judge::judge(const rule_choice& choice, text_words& words) : choice_(choice), source_(words) {
    for (const chosen_group& g : choice.groups()) {
        if (quality_groups()[g.group].first != gopher_min_words) continue;
        if (!g.rules[gopher_min_stop_words - gopher_min_words].is_on) continue;
        const chosen_rule& list = g.rules[rule_numbers::gopher_stop_words - gopher_min_words];
        const auto add = [&](std::string_view word) {
            stop_words_.emplace(word, static_cast<std::uint32_t>(stop_words_.size()));
        };
        if (list.words.empty()) std::ranges::for_each(english, add);
        std::ranges::for_each(list.words, add);
    }
}

verdict judge::apply(std::string_view text) {
    text_ = text;
    is_changed_ = false;
    verdict_ = {};
    forget_words();
    for (group_ = 0; group_ < choice_.groups().size(); ++group_)
        if (!apply_group(choice_.groups()[group_])) break;
    is_changed_ = is_changed_ && text_ != text;
    return verdict_;
}

bool judge::apply_group(const chosen_group& group) {
    const std::uint32_t first = quality_groups()[group.group].first;
    switch (first) {
        case min_characters:
            return apply_length(group.rules, first);
        case gopher_min_words:
            return apply_gopher_quality(group.rules);
        case repetition_min_characters:
            return apply_repetition(group.rules);
        case c4_bad_words:
            return apply_c4(group.rules);
        case min_paragraphs:
            return apply_c4_paragraphs(group.rules);
        case fineweb_min_lines:
            return apply_fineweb(group.rules);
        default:
            return apply_refinedweb(group.rules);
    }
}

bool judge::passes(std::uint32_t rule, const chosen_rule& setting, measured value) {
    if (!setting.is_on) return true;
    const rule_kind kind = quality_rules()[rule].kind;
    const int order =
        kind == rule_kind::at_least || kind == rule_kind::at_most || rule == refinedweb_dropped_words
            ? compare(value, setting.limit)
            : 1;
    if (kind == rule_kind::at_least ? order >= 0 : order <= 0) return true;
    verdict_ = {rule, value};
    return false;
}

void judge::forget() {
    text_ = {};
    forget_words();
    release(made_);
    release(next_);
    parts_ = {};
    ngrams_ = {};
}

std::uint64_t judge::characters_of_text() {
    if (!characters_) characters_ = characters(text_);
    return *characters_;
}

bool judge::apply_length(limits chosen, std::uint32_t first) {
    const auto check = [&](std::uint32_t rule, auto&& value) {
        return !chosen[rule - first].is_on || passes(rule, chosen[rule - first], value());
    };
    const auto length = [&] { return measured{characters_of_text()}; };
    const auto plain = [&] { return measured{counted().plain}; };
    const auto mean = [&] { return measured{counted().plain_characters, counted().plain}; };
    return check(min_characters, length) && check(max_characters, length) && check(min_words, plain) &&
           check(max_words, plain) && check(min_mean_word_length, mean) && check(max_mean_word_length, mean);
}

bool judge::apply_gopher_quality(limits chosen) {
    const auto check = [&](std::uint32_t rule, auto&& value) {
        const chosen_rule& setting = chosen[rule - gopher_min_words];
        return !setting.is_on || passes(rule, setting, value());
    };
    const auto plain = [&] { return measured{counted().plain}; };
    const auto mean = [&] { return measured{counted().plain_characters, counted().plain}; };
    const auto hashes = [&] {
        return measured{static_cast<std::uint64_t>(std::ranges::count(text_, '#')), counted().words};
    };
    const auto ellipses = [&] {
        return measured{occurrences(text_, three_points) + occurrences(text_, ellipsis), counted().words};
    };
    if (!(check(gopher_min_words, plain) && check(gopher_max_words, plain) &&
          check(gopher_min_mean_word_length, mean) && check(gopher_max_mean_word_length, mean) &&
          check(gopher_max_hashes, hashes) && check(gopher_max_ellipses, ellipses)))
        return false;
    if (any_on(chosen, gopher_min_words, gopher_max_bullet_lines, gopher_min_words_with_letter)) {
        std::uint64_t lines = 0, bullets = 0, ends = 0;
        for_each_unicode_line(text_, [&](std::string_view line) {
            ++lines;
            const std::string_view from = without_blanks_before(line), to = without_blanks_after(line);
            bullets += from.starts_with(bullet) || from.starts_with('-') ? 1 : 0;
            ends += to.ends_with(three_points) || to.ends_with(ellipsis) ? 1 : 0;
        });
        if (!check(gopher_max_bullet_lines,
                   [&] {
                       return measured{bullets, lines};
                   }) ||
            !check(gopher_max_ellipsis_lines, [&] {
                return measured{ends, lines};
            }))
            return false;
    }
    return check(gopher_min_words_with_letter,
                 [&] {
                     return measured{counted().with_letter, counted().words};
                 }) &&
           check(gopher_min_stop_words, [&] { return measured{different_stop_words()}; });
}

bool judge::apply_repetition(limits chosen) {
    constexpr std::uint32_t base = repetition_min_characters;
    const auto passed = [&](std::uint32_t rule, measured value) {
        return passes(rule, chosen[rule - base], value);
    };
    const std::uint64_t all = characters_of_text();
    if (!passed(repetition_min_characters, {all})) return false;
    const auto parts_pass = [&](std::uint32_t first, std::string_view text, std::size_t line_ends) {
        if (!any_on(chosen, base, first, first + 2)) return true;
        parts_.begin();
        add_parts(text, line_ends, parts_);
        parts_.find();
        return passed(first, {parts_.repeated(), parts_.parts()}) &&
               passed(first + 1, {parts_.repeated_characters(), all});
    };
    if (!parts_pass(duplicate_paragraphs, trimmed(text_), 2) || !parts_pass(duplicate_lines, text_, 1))
        return false;
    if (!any_on(chosen, base, top_2_gram, duplicate_10_grams + 1)) return true;
    find_ngrams();
    for (std::uint32_t rule = top_2_gram; rule <= duplicate_10_grams; ++rule) {
        if (!chosen[rule - base].is_on) continue;
        ngrams_.go_to(2 + rule - top_2_gram);
        const std::uint64_t characters =
            rule < duplicate_5_grams ? ngrams_.top_characters() : ngrams_.duplicate_characters();
        if (!passed(rule, {characters, all})) return false;
    }
    return true;
}

/// The new text is in next_.
void judge::take_next() {
    made_.swap(next_);
    text_ = made_;
    is_changed_ = true;
    forget_words();
}

bool judge::apply_c4(limits chosen) {
    const auto setting = [&](std::uint32_t rule) -> const chosen_rule& {
        return chosen[rule - c4_bad_words];
    };
    const auto is_on = [&](std::uint32_t rule) { return setting(rule).is_on; };
    const auto& longest = setting(c4_max_word_length);
    const auto& least = setting(c4_min_line_words);
    const bool drops = longest.is_on || is_on(c4_citations) || is_on(c4_terminal_punctuation) ||
                       least.is_on || is_on(c4_javascript) || is_on(c4_policy);
    // The bad words are those of the whole text, as in C4, where lines were dropped after that.
    if (is_on(c4_bad_words) && source_.has_bad_word(text_))
        return passes(c4_bad_words, setting(c4_bad_words), {1});
    std::uint64_t found = 0;
    std::string cleaned, lower;
    next_.clear();
    bool keeps = true;
    for_each_unicode_line(text_, [&](std::string_view raw) {
        if (!keeps) return;
        std::string_view line = trimmed(raw);
        std::uint64_t parts = 0;
        bool has_long = false;
        for_each_part(line, [&](std::string_view part) {
            ++parts;
            has_long = has_long || (longest.is_on && compare({part.size()}, longest.limit) > 0 &&
                                    compare({characters(part)}, longest.limit) > 0);
        });
        if (has_long) return;
        if (is_on(c4_citations) && line.find('[') != std::string_view::npos) {
            cleaned.clear();
            append_without_citations(line, cleaned);
            line = cleaned;
        }
        if (is_on(c4_terminal_punctuation)) {
            const char last = line.empty() ? ' ' : line.back();
            const bool is_end = last == '.' || last == '?' || last == '!' || last == '"' || last == '\'';
            if (!is_end || line.ends_with(three_points)) return;
        }
        if (least.is_on && compare({parts}, least.limit) < 0) return;
        if (is_on(c4_lorem_ipsum) || is_on(c4_javascript) || is_on(c4_policy)) {
            lower.clear();
            append_lower_case(line, lower);
        }
        if (is_on(c4_lorem_ipsum) && has(lower, "lorem ipsum"))
            keeps = passes(c4_lorem_ipsum, setting(c4_lorem_ipsum), {1});
        if (is_on(c4_javascript) && has(lower, "javascript")) return;
        if (keeps && is_on(c4_curly_bracket) && line.find('{') != std::string_view::npos)
            keeps = passes(c4_curly_bracket, setting(c4_curly_bracket), {1});
        if (is_on(c4_policy) && has_policy(lower)) return;
        if (is_on(c4_min_sentences)) found += sentences(line);
        if (!drops) return;
        if (!next_.empty()) next_ += '\n';
        next_ += line;
    });
    if (!keeps || !passes(c4_min_sentences, setting(c4_min_sentences), {found})) return false;
    if (drops) {
        const std::string_view whole = trimmed(next_);
        if (whole.size() != next_.size()) next_ = std::string(whole);
        take_next();
    }
    return true;
}

bool judge::apply_c4_paragraphs(limits chosen) {
    const decimal& least = chosen[paragraph_characters - min_paragraphs].limit;
    std::uint64_t paragraphs = 0;
    for_each_line(text_, [&](std::string_view line) {
        if (compare({line.size()}, least) >= 0 && compare({characters(line)}, least) >= 0) ++paragraphs;
    });
    return passes(min_paragraphs, chosen[0], {paragraphs});
}

bool judge::apply_fineweb(limits chosen) {
    constexpr std::uint32_t base = fineweb_min_lines;
    const decimal& short_line = chosen[fineweb_short_line_characters - base].limit;
    const auto passed = [&](std::uint32_t rule, measured value) {
        return passes(rule, chosen[rule - base], value);
    };
    std::uint64_t ended = 0, is_short = 0, line_ends = 0;
    parts_.begin();
    for_each_line(text_, [&](std::string_view line) {
        ++line_ends;
        if (without_blanks_before(line).empty()) return;
        parts_.add(line);
        ended += ends_sentence(line) ? 1 : 0;
        is_short +=
            compare({line.size()}, short_line) <= 0 || compare({characters(line)}, short_line) <= 0 ? 1 : 0;
    });
    --line_ends;
    const std::uint64_t lines = parts_.parts();
    if (!passed(fineweb_min_lines, {lines}) || !passed(fineweb_line_punctuation, {ended, lines}) ||
        !passed(fineweb_short_lines, {is_short, lines}))
        return false;
    if (chosen[fineweb_duplicate_line_characters - base].is_on) {
        parts_.find();
        if (!passed(fineweb_duplicate_line_characters,
                    {parts_.repeated_characters(), characters_of_text() - line_ends}))
            return false;
    }
    return !chosen[fineweb_line_ends - base].is_on || passed(fineweb_line_ends, {line_ends, counted().words});
}

bool judge::apply_refinedweb(limits chosen) {
    constexpr std::uint32_t base = refinedweb_uppercase_lines;
    const auto& upper = chosen[refinedweb_uppercase_lines - base];
    const auto is_on = [&](std::uint32_t rule) { return chosen[rule - base].is_on; };
    std::uint64_t all = 0, dropped = 0;
    bool is_first = true;
    next_.clear();
    for_each_line(text_, [&](std::string_view line) {
        std::uint64_t parts = 0;
        std::string_view first, second;
        for_each_part(line, [&](std::string_view part) {
            (parts == 0 ? first : second) = part;
            ++parts;
        });
        all += parts;
        bool drop = parts == 1 && is_on(refinedweb_one_word_lines);
        drop = drop || (parts == 2 && is_on(refinedweb_counter_lines) && is_counter(first, second));
        if (!drop && parts != 0 && (upper.is_on || is_on(refinedweb_number_lines))) {
            const auto letters = source_.letters_of(line);
            drop = (upper.is_on && letters.letters != 0 &&
                    compare({letters.upper_case, letters.letters}, upper.limit) > 0) ||
                   (is_on(refinedweb_number_lines) && letters.letters == 0 && letters.digits != 0);
        }
        if (drop) {
            dropped += parts;
            return;
        }
        if (!is_first) next_ += '\n';
        is_first = false;
        next_ += line;
    });
    if (!passes(refinedweb_dropped_words, chosen[refinedweb_dropped_words - base], {dropped, all}))
        return false;
    if (dropped != 0) take_next();
    return true;
}

}  // namespace quern::text_quality
