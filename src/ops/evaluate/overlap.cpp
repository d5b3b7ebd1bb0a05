// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "base/ascii.hpp"

namespace quern::evaluate_detail {
namespace {

// Judgements and runs from different tools often name the same things differently: files with and without extensions,
// topics 1 and 001. Every measure is then 0 or nearly so, and looks like a valid result.

using spelling = std::string (*)(std::string_view id);

std::string without_ending(std::string_view id) {
    const std::size_t dot = id.rfind('.'), slash = id.rfind('/');
    const bool has_ending =
        dot != std::string_view::npos && dot != 0 && (slash == std::string_view::npos || dot > slash + 1);
    return std::string(id.substr(0, has_ending ? dot : id.size()));
}

std::string without_folder(std::string_view id) {
    return std::string(file_name(id));
}

std::string name_alone(std::string_view id) {
    return without_ending(without_folder(id));
}

std::string small_letters(std::string_view id) {
    return lower(id);
}

/// "7" for "q007"; empty without digits.
std::string number_alone(std::string_view id) {
    const std::size_t begin = id.find_first_of("0123456789");
    if (begin == std::string_view::npos) return {};
    const std::size_t end = std::min(id.find_first_not_of("0123456789", begin), id.size());
    const std::string_view digits = id.substr(begin, end - begin);
    return std::string(digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1)));
}

struct difference {
    spelling without;
    const char* words;
};

constexpr std::array document_differences{
    difference{without_ending, "without the endings of files"},
    difference{without_folder, "without folders"},
    difference{name_alone, "without folders and the endings of files"},
    difference{small_letters, "in small letters"},
};

constexpr std::array topic_differences{
    difference{number_alone, "as numbers alone"},
    difference{small_letters, "in small letters"},
};

using judged_ids = std::set<std::string_view>;

/// "the judgements have 'a', the run 'a.txt'", and how to make them equal.
template <typename Differences>
std::string stated(std::string_view what, const judged_ids& judged, const sampled_ids::ids& retrieved,
                   const Differences& differences) {
    constexpr std::size_t longest = 60;
    const auto quoted = [](std::string_view id) {
        return "'" + std::string(id.substr(0, longest)) + (id.size() > longest ? "…'" : "'");
    };
    std::string_view judged_sample = *judged.begin(), run_sample = *retrieved.begin();
    std::string hint;
    std::size_t max = 0;
    for (const difference& of : differences) {
        std::unordered_map<std::string, std::string_view> spellings;
        for (const std::string_view id : judged) spellings.emplace(of.without(id), id);
        spellings.erase("");
        std::size_t equal = 0;
        std::string_view judged_first, run_first;
        for (const std::string_view id : retrieved) {
            const auto found = spellings.find(of.without(id));
            if (found == spellings.end()) continue;
            if (equal++ == 0) judged_first = found->second, run_first = id;
        }
        if (equal <= max) continue;
        max = equal;
        judged_sample = judged_first;
        run_sample = run_first;
        hint = "; " + std::string(of.words) + " " + std::to_string(equal) + " of them would be equal";
    }
    return std::string(what) + " of the judgements are like " + quoted(judged_sample) +
           ", those of the run like " + quoted(run_sample) + hint;
}

}  // namespace

std::string differing_ids(const relevance_judgements& judgements, const sampled_ids& run, bool share_topics) {
    if (judgements.empty()) return "the judgements are empty";
    if (run.documents().empty()) return "the run is empty";
    judged_ids topics, documents;
    for (const auto& [topic, judged] : judgements) {
        if (topics.size() < sampled_ids::max) topics.insert(topic);
        for (const auto& [id, _] : judged) {
            if (documents.size() == sampled_ids::max) break;
            documents.insert(id);
        }
    }
    if (!share_topics) return stated("the topics", topics, run.topics(), topic_differences);
    if (std::ranges::any_of(run.documents(), [&](std::string_view id) { return documents.contains(id); }))
        return "documents of the run are judged, but for other topics: do both number the topics in the same "
               "way?";
    return stated("the documents", documents, run.documents(), document_differences);
}

}  // namespace quern::evaluate_detail
