// SPDX-License-Identifier: Apache-2.0
#include "io/ranked_run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Fields of one line, taken from its front.
class line_fields {
  public:
    line_fields(const char* begin, const char* end) : at_(begin), end_(end) {}
    std::string_view next() {
        while (at_ != end_ && is_space(*at_)) ++at_;
        const char* const begin = at_;
        while (at_ != end_ && !is_space(*at_)) ++at_;
        return {begin, at_};
    }

  private:
    const char *at_, *end_;
};

double score_of(std::string_view text, const std::string& name, std::uint64_t line) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
    double score = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), score);
    if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(score))
        throw invalid_input(name, line, "the score is not a finite number");
    return score;
}

std::uint32_t rank_of(std::string_view text) {
    std::uint32_t rank = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), rank);
    return problem == std::errc{} && end == text.data() + text.size() ? rank : no_rank;
}

}  // namespace

ranked_run::ranked_run(const std::filesystem::path& path, const context& run)
    : name_(path.string()), text_(path, run) {
    std::unordered_map<std::string_view, std::size_t> numbers;
    const char* at = text_.text().data();
    const char* const end = at + text_.text().size();
    ranked_topic* topic = nullptr;
    for (std::uint64_t line = 1; at != end; ++line) {
        const auto* stop =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) stop = end;
        if ((line & 0xffff) == 0) run.check_stop();
        line_fields fields(at, stop);
        const std::string_view id = fields.next();
        at = stop == end ? end : stop + 1;
        if (id.empty()) continue;
        fields.next();
        const std::string_view document = fields.next();
        const std::string_view rank = fields.next();
        const std::string_view score = fields.next();
        if (score.empty())
            throw invalid_input(name_, line, "fewer than five fields: topic, Q0, document, rank, score");
        if (topic == nullptr || topic->id != id) {
            const auto [found, added] = numbers.try_emplace(id, topics_.size());
            if (added) topics_.push_back({id, {}});
            topic = &topics_[found->second];
        }
        topic->entries.push_back({document, score_of(score, name_, line), rank_of(rank), line});
        ++lines_;
    }
}

}  // namespace quern::io
