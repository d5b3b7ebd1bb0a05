// SPDX-License-Identifier: Apache-2.0
// The words of a text for the rules: those of a text of ordinary length are kept while rules need them, and those of a longer one
// are found in parts, at most twice: for the rules that count, and for all others together.
#include "ops/text_quality/chosen_rules.hpp"
#include "ops/text_quality/judge.hpp"
#include "ops/text_quality/rule_numbers.hpp"

namespace quern::text_quality {

using namespace rule_numbers;

void judge::forget_words() {
    words_.reset();
    counts_.reset();
    characters_.reset();
    stop_words_found_.reset();
    has_ngrams_ = false;
}

bool judge::is_long() const {
    return text_.size() > longest_text_at_once;
}

void judge::find_words() {
    if (!words_) words_ = source_.words_of(text_);
}

void judge::count(std::span<const quality_word> words) {
    for (const quality_word& w : words) {
        ++counts_->words;
        counts_->plain += w.is_symbol ? 0 : 1;
        counts_->plain_characters += w.is_symbol ? 0 : w.characters;
        counts_->with_letter += w.has_letter ? 1 : 0;
    }
}

void judge::find_stop_words(std::span<const quality_word> words) {
    for (const quality_word& w : words) {
        const auto at = stop_words_.find(text_.substr(w.begin, w.end - w.begin));
        if (at == stop_words_.end() || seen_[at->second]) continue;
        seen_[at->second] = true;
        ++*stop_words_found_;
    }
}

/// Whether this group or a later one does, before one that may drop lines.
bool judge::counts_ngrams_of_this_text() const {
    constexpr std::uint32_t base = repetition_min_characters;
    for (const chosen_group& group : std::span(choice_.groups()).subspan(group_)) {
        const std::uint32_t first = quality_groups()[group.group].first;
        if (first == base) return any_on(group.rules, base, top_2_gram, duplicate_10_grams + 1);
        if (first == c4_bad_words || first == refinedweb_uppercase_lines) return false;
    }
    return false;
}

/// The words of a long text are found for all rules that need them, rather than kept. Most rules only count, and most long texts
/// fail one of these: then nothing else has been done.
void judge::count_long() {
    counts_ = word_counts();
    source_.words_in_parts(text_, [&](std::span<const quality_word> words) { count(words); });
}

void judge::read_long() {
    counts_ = word_counts();
    stop_words_found_ = 0;
    seen_.assign(stop_words_.size(), false);
    has_ngrams_ = counts_ngrams_of_this_text();
    if (has_ngrams_) ngrams_.begin(text_);
    source_.words_in_parts(text_, [&](std::span<const quality_word> words) {
        count(words);
        if (!stop_words_.empty()) find_stop_words(words);
        if (has_ngrams_) ngrams_.add(words);
    });
    if (has_ngrams_) ngrams_.end_words();
}

const judge::word_counts& judge::counted() {
    if (counts_) return *counts_;
    if (is_long()) {
        count_long();
    } else {
        find_words();
        counts_ = word_counts();
        count(*words_);
    }
    return *counts_;
}

std::uint64_t judge::different_stop_words() {
    if (stop_words_found_) return *stop_words_found_;
    if (is_long()) {
        read_long();
    } else {
        find_words();
        stop_words_found_ = 0;
        seen_.assign(stop_words_.size(), false);
        find_stop_words(*words_);
    }
    return *stop_words_found_;
}

void judge::find_ngrams() {
    if (has_ngrams_) return;
    if (is_long()) return read_long();
    find_words();
    ngrams_.begin(text_);
    ngrams_.add(*words_);
    ngrams_.end_words();
    has_ngrams_ = true;
}

}  // namespace quern::text_quality
