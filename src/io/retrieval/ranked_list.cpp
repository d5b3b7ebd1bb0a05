// SPDX-License-Identifier: Apache-2.0
#include "io/retrieval/ranked_list.hpp"

#include <algorithm>
#include <cstring>

#include "base/ascii.hpp"
#include "io/lines/numbers.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

ranked_list::ranked_list(const std::filesystem::path& path, const context& ctx, memory_budget& memory)
    : text_(path, ctx, memory) {
    const char* at = text_.text().data();
    const char* const end = at + text_.text().size();
    for (std::uint64_t line = 1; at != end; ++line) {
        const auto refuse = [&](const char* reason) { throw invalid_input(name(), line, reason); };
        const auto* stop =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) stop = end;
        if ((line & 0xffff) == 0) ctx.check_stop();
        const std::string_view text(at, stop);
        at = stop == end ? end : stop + 1;
        const std::size_t tab = text.find('\t');
        if (tab == std::string_view::npos) refuse("no tab between an id and its score");
        if (tab == 0) refuse("the id is empty");
        std::string_view field = text.substr(tab + 1);
        field = trimmed(field.substr(0, field.find('\t')));
        const parsed_number score = parse_double(field, end);
        if (score.problem != number_problem::none) refuse("the score is not a finite number");
        if (ids_.size() == ids_.capacity()) reserve(std::max<std::size_t>(1024, 2 * ids_.size()), memory);
        ids_.push_back(text.substr(0, tab));
        scores_.push_back(score.value);
    }
}

/// Reserves space for that many entries, counted against the budget.
void ranked_list::reserve(std::size_t entries, memory_budget& memory) {
    constexpr std::size_t bytes = sizeof(decltype(ids_)::value_type) + sizeof(decltype(scores_)::value_type);
    const std::size_t before = ids_.capacity();
    memory.take(entries * bytes, "the lines of " + name());
    ids_.reserve(entries);
    scores_.reserve(entries);
    memory.give_back(before * bytes);
}

}  // namespace quern::io
