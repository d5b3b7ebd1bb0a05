// SPDX-License-Identifier: Apache-2.0
// Evaluates each topic separately, then averages over the topics in the order of their names, as trec_eval does.
#include "quern/ops/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ascii.hpp"
#include "quern/base/retrieval.hpp"

namespace quern {
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

using ids = std::set<std::string_view>;

/// "the judgements have 'a', the run 'a.txt'", and how to make them equal.
template <typename Differences>
std::string stated(std::string_view what, const ids& judged, const ids& retrieved,
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

/// Explains, from the ids alone, why judgements and a run share no judged document. Cost: a table of both id sets.
std::string differing_ids(const relevance_judgements& judgements, const retrieval_run& run) {
    if (judgements.empty()) return "the judgements are empty";
    if (run.empty()) return "the run is empty";
    ids judged_topics, run_topics, judged, retrieved;
    bool share_topics = false;
    for (const auto& [topic, documents] : judgements) {
        judged_topics.insert(topic);
        share_topics |= run.contains(topic);
        for (const auto& [id, _] : documents) judged.insert(id);
    }
    for (const auto& [topic, documents] : run) {
        run_topics.insert(topic);
        for (const auto& document : documents) retrieved.insert(document.id);
    }
    if (!share_topics) return stated("the topics", judged_topics, run_topics, topic_differences);
    if (std::ranges::any_of(retrieved, [&](std::string_view id) { return judged.contains(id); }))
        return "documents of the run are judged, but for other topics: do both number the topics in the same "
               "way?";
    return stated("the documents", judged, retrieved, document_differences);
}

using judged_documents = std::map<std::string, int>;

// The grades of the retrieved documents in trec_eval's order: by score, then by id, both descending; unjudged documents
// have grade 0. Counts the judged ones.
std::vector<int> grades_in_order(const judged_documents& judged,
                                 const std::vector<retrieved_document>& retrieved, std::uint64_t& shared) {
    std::vector<const retrieved_document*> order;
    order.reserve(retrieved.size());
    for (const auto& document : retrieved) order.push_back(&document);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return a->score != b->score ? a->score > b->score : a->id > b->id;
    });
    std::vector<int> grades;
    grades.reserve(order.size());
    for (const auto* document : order) {
        const auto found = judged.find(document->id);
        grades.push_back(found == judged.end() ? 0 : found->second);
        shared += found == judged.end() ? 0 : 1;
    }
    return grades;
}

// Discounted cumulative gain of the first ten results. The discounts log2(rank + 1) are literals: math libraries differ.
double discounted_gain(const std::vector<int>& grades) {
    constexpr std::array<double, 10> discounts{1,
                                               1.584962500721156,
                                               2,
                                               2.321928094887362,
                                               2.584962500721156,
                                               2.807354922057604,
                                               3,
                                               3.169925001442312,
                                               3.321928094887362,
                                               3.4594316186372973};
    double sum = 0;
    for (std::size_t i = 0; i < std::min(discounts.size(), grades.size()); ++i)
        if (grades[i] > 0) sum += grades[i] / discounts[i];
    return sum;
}

effectiveness evaluate_topic(const judged_documents& judged, const std::vector<retrieved_document>& retrieved,
                             std::uint64_t& shared) {
    const std::vector<int> grades = grades_in_order(judged, retrieved, shared);
    std::vector<int> ideal;
    for (const auto& [_, grade] : judged)
        if (grade > 0) ideal.push_back(grade);
    std::sort(ideal.rbegin(), ideal.rend());

    effectiveness result;
    std::size_t found = 0, found_in_10 = 0, found_in_1000 = 0;
    for (std::size_t i = 0; i < grades.size(); ++i) {
        if (grades[i] <= 0) continue;
        ++found;
        result.map += static_cast<double>(found) / static_cast<double>(i + 1);
        if (found == 1) result.recip_rank = 1.0 / static_cast<double>(i + 1);
        found_in_10 += i < 10;
        found_in_1000 += i < 1000;
    }
    result.P_10 = static_cast<double>(found_in_10) / 10;
    if (!ideal.empty()) {
        const double relevant = static_cast<double>(ideal.size());
        result.map /= relevant;
        result.recall_1000 = static_cast<double>(found_in_1000) / relevant;
        result.ndcg_cut_10 = discounted_gain(grades) / discounted_gain(ideal);
    }
    return result;
}

constexpr double effectiveness::*measures[] = {&effectiveness::map, &effectiveness::ndcg_cut_10,
                                               &effectiveness::P_10, &effectiveness::recall_1000,
                                               &effectiveness::recip_rank};

}  // namespace

evaluation evaluate(const relevance_judgements& judgements, const retrieval_run& run) {
    evaluation result;
    run_overlap& overlap = result.overlap;
    overlap.judged_topics = judgements.size();
    overlap.run_topics = run.size();
    for (const auto& [topic, judged] : judgements) {
        const auto retrieved = run.find(topic);
        if (retrieved == run.end()) {
            result.missing_topics.push_back(topic);
            continue;
        }
        const effectiveness& values = result.topics[topic] =
            evaluate_topic(judged, retrieved->second, overlap.shared);
        ++overlap.shared_topics;
        overlap.judged += judged.size();
        overlap.retrieved += retrieved->second.size();
        for (const auto measure : measures) result.mean.*measure += values.*measure;
    }
    if (!result.topics.empty())
        for (const auto measure : measures) result.mean.*measure /= static_cast<double>(result.topics.size());
    if (overlap.none()) result.mismatch = differing_ids(judgements, run);
    return result;
}

bool run_overlap::little() const {
    return 2 * shared_topics < std::min(judged_topics, run_topics) ||
           20 * shared < std::min(judged, retrieved);
}

}  // namespace quern
