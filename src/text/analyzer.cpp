// SPDX-License-Identifier: Apache-2.0
// The pipeline from text to words: find and normalise them by the chosen rule, mark sentences and paragraphs, then drop
// and stem. Each step is a class that works on the whole token list.
#include "quern/text/analyzer.hpp"

#include <unicode/locid.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/base/text_option_table.hpp"
#include "text/chinese_scripts.hpp"
#include "text/folding.hpp"
#include "text/passages.hpp"
#include "text/plain_words.hpp"
#include "text/stop_words.hpp"
#include "text/unicode_words.hpp"
#include "text/word_filter.hpp"

namespace quern::text {
namespace {

icu::Locale locale_of(const std::string& language) {
    if (language == "auto") return icu::Locale::getRoot();
    icu::Locale locale = icu::Locale::createCanonical(language.c_str());
    const bool known = !locale.isBogus() && *locale.getLanguage() != 0 && *locale.getISO3Language() != 0;
    if (!known) {
        throw usage_error("unknown language '" + language + "' (expected auto or a code such as en, de, zh)");
    }
    return locale;
}

/// The script of zh-Hans and zh-Hant, in which Chinese words are written then.
std::optional<script_joiner::script> script_of(const icu::Locale& locale) {
    const std::string_view script = locale.getScript();
    if (std::string_view(locale.getLanguage()) != "zh") return std::nullopt;
    if (script == "Hans") return script_joiner::script::simplified;
    if (script == "Hant") return script_joiner::script::traditional;
    return std::nullopt;
}

const text_options& checked(const text_options& options) {
    check_ranges(options);
    return options;
}

void refuse_too_long(std::string_view text) {
    if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
        throw out_of_memory("a text as one document", text.size(),
                            std::numeric_limits<std::uint32_t>::max() - 1);
    }
}

void clear(token_list& list) {
    list.words.clear();
    list.tokens.clear();
    list.sentence_ends.clear();
    list.paragraph_ends.clear();
}

}  // namespace

struct analyzer::state {
    state(const text_options& options, std::span<const std::string> stop_list)
        : rule(options.tokens), locale(locale_of(options.language)) {
        // Words of the other rules are ASCII, or unchanged.
        if (const auto script = script_of(locale); script && rule == token_rule::unicode) {
            words.emplace(locale, word_path::best, unicode_words::chinese::in_both_scripts);
            joiner.emplace(*script);
        } else if (rule == token_rule::unicode) {
            words.emplace(locale);
        }
        if (rule == token_rule::unicode && options.fold == folding::accents) folder.emplace();
        word_set stop_words;
        token_list list;
        for (const std::string& line : stop_list) {
            clear(list);
            find_words(line, list);
            for (const token& t : list.tokens) stop_words.insert(list.word(t));
        }
        filter.emplace(options, std::move(stop_words));
    }

    void find_words(std::string_view text, token_list& out) { find_words(text, 0, text.size(), out); }
    /// Finds the words that begin in text[from, to), by whole segments; returns where it stopped.
    std::size_t find_words(std::string_view text, std::size_t from, std::size_t to, token_list& out) {
        if (rule == token_rule::blanks) return find_words_between_blanks(text, from, to, out);
        if (!words) return find_plain_words(text, from, to, rule == token_rule::ascii, out);
        const std::size_t end = words->find(text, from, to, out);
        if (joiner) joiner->join(out);
        if (folder) folder->fold(out);
        return end;
    }

    token_rule rule;
    icu::Locale locale;
    std::optional<unicode_words> words;      // with that rule only
    std::optional<script_joiner> joiner;     // if Chinese is written in one script
    std::optional<accent_folder> folder;     // if they are folded
    std::optional<passage_marker> passages;  // made on first use
    std::optional<word_filter> filter;
};

analyzer::analyzer(const text_options& options) : analyzer(options, read_stop_words(options.stop_words)) {}
analyzer::analyzer(const text_options& options, std::span<const std::string> stop_words)
    : state_(std::make_unique<state>(checked(options), stop_words)) {}
analyzer::~analyzer() = default;
analyzer::analyzer(analyzer&&) noexcept = default;
analyzer& analyzer::operator=(analyzer&&) noexcept = default;

void analyzer::analyze(std::string_view text, token_list& out, boundaries wanted, dropped_words dropped) {
    refuse_too_long(text);
    clear(out);
    state_->find_words(text, out);
    if (wanted != boundaries::none) {
        if (!state_->passages) state_->passages.emplace(state_->locale);
        state_->passages->mark(text, out, wanted);
    }
    if (!state_->filter->idle()) state_->filter->apply(out, dropped);
}

void analyzer::analyze_in_pieces(std::string_view text, token_list& scratch,
                                 const std::function<void(const token_list&)>& sink, dropped_words dropped) {
    constexpr std::size_t piece_bytes = std::size_t{1} << 18;
    refuse_too_long(text);
    for (std::size_t at = 0; at < text.size();) {
        clear(scratch);
        at = state_->find_words(text, at, std::min(at + piece_bytes, text.size()), scratch);
        if (!state_->filter->idle()) state_->filter->apply(scratch, dropped);
        sink(scratch);
    }
}

void analyzer::take_lines(std::string_view text, token_list& out) {
    refuse_too_long(text);
    clear(out);
    out.words.assign(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find('\n', at), text.size());
        const std::size_t end = next > at && text[next - 1] == '\r' ? next - 1 : next;
        const auto first = static_cast<std::uint32_t>(at), last = static_cast<std::uint32_t>(end);
        if (last > first) out.tokens.push_back({first, last, first, last});
        at = next + 1;
    }
}

std::string unicode_version() {
    UVersionInfo version;
    u_getUnicodeVersion(version);
    return std::to_string(version[0]) + "." + std::to_string(version[1]);
}

void warn_of_other_unicode(const std::filesystem::path& path, const std::string& made_with,
                           const context& ctx) {
    if (made_with == unicode_version()) return;
    ctx.log(log_level::warning, path.string() + " was made with Unicode " + made_with +
                                    "; this program has " + unicode_version() +
                                    ", and may segment some words differently");
}

}  // namespace quern::text
