// SPDX-License-Identifier: Apache-2.0
// A line feed has a boundary on both sides in every rule set, so that lines are divided one by one.
#include "text/word_boundaries.hpp"

#include <algorithm>
#include <vector>

#include "text/unicode_words.hpp"

namespace quern::text {

struct word_boundaries::state {
    icu_boundaries icu{break_rules::kind::words, icu::Locale::getRoot()};
    std::string_view text;
    std::size_t line_begin = 0, line_end = 0;  ///< of the line whose boundaries are known; none if equal
    std::vector<std::size_t> boundaries;       ///< rising; with the line's begin and end
};

word_boundaries::word_boundaries() : state_(std::make_unique<state>()) {}
word_boundaries::~word_boundaries() = default;

void word_boundaries::begin_text(std::string_view text) {
    state_->text = text;
    state_->line_begin = state_->line_end = 0;
    state_->boundaries.assign(1, 0);
}

void word_boundaries::load(std::size_t at) {
    state& s = *state_;
    if (s.line_begin <= at && at < s.line_end) return;
    const std::size_t before = at == 0 ? std::string_view::npos : s.text.rfind('\n', at - 1);
    s.line_begin = before == std::string_view::npos ? 0 : before + 1;
    s.line_end = std::min(s.text.find('\n', at), s.text.size() - 1) + 1;
    s.boundaries.assign(1, s.line_begin);
    s.icu.divide(s.text, s.line_begin, s.line_end,
                 [&](std::size_t, std::size_t end, bool) { s.boundaries.push_back(end); });
}

std::size_t word_boundaries::from(std::size_t at) {
    if (at >= state_->text.size()) return state_->text.size();
    load(at);
    return *std::ranges::lower_bound(state_->boundaries, at);
}

std::size_t word_boundaries::up_to(std::size_t at) {
    if (at >= state_->text.size()) return state_->text.size();
    load(at);
    return *(std::ranges::upper_bound(state_->boundaries, at) - 1);
}

}  // namespace quern::text
