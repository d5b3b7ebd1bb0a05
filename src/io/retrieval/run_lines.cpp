// SPDX-License-Identifier: Apache-2.0
#include "io/retrieval/run_lines.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/ascii.hpp"
#include "base/hash.hpp"
#include "io/lines/numbers.hpp"
#include "io/retrieval/ranked_run.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// The end of the field at `at`.
const char* end_of_field(const char* at, const char* end) {
    constexpr std::uint64_t ones = 0x0101010101010101, high = 0x80 * ones;
    while (end - at >= 8) {
        const std::uint64_t word = load_eight(at);
        // The first byte up to ' ' is marked; later bytes may be marked falsely.
        const std::uint64_t marked = (word - (' ' + 1) * ones) & ~word & high;
        if (marked == 0) {
            at += 8;
            continue;
        }
        at += std::countr_zero(marked) / 8;
        if (is_space(*at)) return at;
        ++at;  // some control character
    }
    while (at != end && !is_space(*at)) ++at;
    return at;
}

/// The next field of the line, or the line's end.
const char* next_in_line(const char* at, const char* end) {
    while (at != end && is_space(*at) && *at != '\n') ++at;
    return at;
}

}  // namespace

bool run_lines::next(run_line& found) {
    while (at_ != end_) {
        ++number_;
        line_begin_ = at_;
        found.same_topic = skip_first_fields();
        if (!found.same_topic) {
            at_ = next_in_line(at_, end_);
            if (at_ == end_ || *at_ == '\n') {
                at_ += at_ == end_ ? 0 : 1;
                continue;
            }
            const std::string_view topic = take_field();
            found.same_topic = topic == topic_;
            topic_ = topic;
            take_field();
            first_fields_ = {line_begin_, at_};
        }
        found.topic = topic_;
        found.document = take_field();
        take_field();  // the rank
        const std::string_view score = take_field();
        if (at_ == end_ || *at_ == '\n') refuse("a line of a run is `topic Q0 document rank score tag`");
        found.score = score_of(score);
        const auto* stop =
            static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
        at_ = stop == nullptr ? end_ : stop;
        if (static_cast<std::size_t>(at_ - line_begin_) > longest_trec_line)
            refuse("a line is longer than 1 MiB");
        at_ += at_ == end_ ? 0 : 1;
        return true;
    }
    return false;
}

/// Skips the line's first two fields if they are the same bytes as in the preceding line.
bool run_lines::skip_first_fields() {
    const std::size_t size = first_fields_.size();
    if (size == 0 || static_cast<std::size_t>(end_ - at_) <= size ||
        std::memcmp(at_, first_fields_.data(), size) != 0 || is_space(at_[size])) {
        return false;
    }
    at_ += size;
    return true;
}

/// Returns the current field and advances to the next one of the line.
std::string_view run_lines::take_field() {
    const char* const begin = at_;
    at_ = end_of_field(at_, end_);
    const std::string_view field(begin, at_);
    at_ = next_in_line(at_, end_);
    return field;
}

double run_lines::score_of(std::string_view text) const {
    const parsed_number score = parse_double(text, end_);
    if (score.problem == number_problem::too_large)
        refuse("the score " + quoted_field(text) + " is out of range");
    if (score.problem != number_problem::none || std::isnan(score.value))
        refuse("the score " + quoted_field(text) + " is not a number");
    return score.value;
}

void run_lines::refuse(std::string_view reason) const {
    throw invalid_input(name_, number_, reason);
}

std::optional<std::uint32_t> run_lines::rank_after(std::string_view document, std::string_view text) {
    const char* const end = text.data() + text.size();
    const char* const begin = next_in_line(document.data() + document.size(), end);
    const char* const stop = end_of_field(begin, end);
    std::uint32_t rank = 0;
    const auto [last, problem] = std::from_chars(begin, stop, rank);
    if (problem != std::errc{} || last != stop) return std::nullopt;
    return rank;
}

}  // namespace quern::io
