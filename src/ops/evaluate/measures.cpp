// SPDX-License-Identifier: Apache-2.0
// Evaluates each topic separately, then averages over the topics in the order of their names, as trec_eval does. Each sum is
// made in the order of ranks, as in the tool that defines the measure: that fixes the last digit.
#include "quern/ops/measures.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "ops/evaluate/run_measures.hpp"

namespace quern {
namespace {

using judged_documents = std::map<std::string, int>;

struct result {
    const retrieved_view* document;
    int grade;  // of unjudged documents: 0
    bool judged;
};

/// Orders of results, each of the tool that defines a measure.
enum class order : std::uint8_t { trec_eval, gdeval, python, cwl_eval };
constexpr std::size_t orders = 4;

bool precedes(order by, const result& left, const result& right) {
    const retrieved_view &a = *left.document, &b = *right.document;
    if (by == order::trec_eval) {
        const auto x = static_cast<float>(a.score), y = static_cast<float>(b.score);
        return x != y ? x > y : a.id > b.id;
    }
    if (a.score != b.score || by == order::cwl_eval) return a.score > b.score;
    return by == order::gdeval ? a.id > b.id : a.id < b.id;
}

order order_of(const measure& m) {
    switch (m.kind) {
        case measure_kind::err:
            return order::gdeval;
        case measure_kind::ndcg:
            return m.exponential ? order::gdeval : order::trec_eval;
        case measure_kind::judged:
            return order::python;
        case measure_kind::rr:
            return m.cutoff != 0 ? order::python : order::trec_eval;
        case measure_kind::rbp:
            return order::cwl_eval;
        default:
            return order::trec_eval;
    }
}

/// log2(rank + 1), rounded once: the same on every machine.
double discount(std::size_t rank) {
    constexpr std::size_t kept = 1024;
    static const auto table = [] {
        std::array<double, kept> made{};
        for (std::size_t i = 1; i < kept; ++i)
            made[i] = static_cast<double>(std::log2(static_cast<long double>(i + 1)));
        return made;
    }();
    return rank < kept ? table[rank] : static_cast<double>(std::log2(static_cast<long double>(rank + 1)));
}

/// gdeval rounds its values like this.
double five_digits(double value) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 5).ptr;
    std::from_chars(text.data(), end, value);
    return value;
}

/// A topic: its judgements, and its results in the orders that measures need.
class judged_topic {
  public:
    judged_topic(const judged_documents& judged, std::span<const retrieved_view> retrieved)
        : judged_(judged) {
        results_.reserve(retrieved.size());
        std::string id;
        for (const auto& document : retrieved) {
            id.assign(document.id);
            const auto found = judged.find(id);
            const bool has = found != judged.end();
            results_.push_back({&document, has ? found->second : 0, has});
            shared_ += has ? 1 : 0;
        }
    }

    std::uint64_t shared() const { return shared_; }
    double value(const measure& m);

  private:
    struct counts {
        std::size_t relevant = 0, nonrelevant = 0;              // judged
        std::size_t retrieved = 0, relevant_and_retrieved = 0;  // of the results
    };

    const std::vector<result>& ordered(order by) {
        auto& kept = ordered_[static_cast<std::size_t>(by)];
        if (!kept) {
            kept = results_;
            std::stable_sort(kept->begin(), kept->end(),
                             [by](const result& a, const result& b) { return precedes(by, a, b); });
        }
        return *kept;
    }

    double ndcg(const measure& m, const std::vector<result>& results) const;
    double interpolated_precision(const measure& m, const std::vector<result>& results,
                                  const counts& of) const;

    const judged_documents& judged_;
    std::vector<result> results_;  // in the order of the run
    std::array<std::optional<std::vector<result>>, orders> ordered_;
    std::uint64_t shared_ = 0;
};

std::size_t depth(const measure& m, const std::vector<result>& results) {
    return m.cutoff == 0 ? results.size() : std::min<std::size_t>(m.cutoff, results.size());
}

std::size_t relevant_in(const std::vector<result>& results, std::size_t end, int rel) {
    const auto stop = results.begin() + static_cast<std::ptrdiff_t>(std::min(end, results.size()));
    return static_cast<std::size_t>(
        std::count_if(results.begin(), stop, [rel](const result& r) { return r.grade >= rel; }));
}

double ratio(std::size_t part, std::size_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

double average_precision(const measure& m, const std::vector<result>& results, std::size_t relevant) {
    std::size_t found = 0;
    double sum = 0;
    for (std::size_t i = 0; i < depth(m, results); ++i)
        if (results[i].grade >= m.rel) sum += ratio(++found, i + 1);
    return found == 0 ? 0 : sum / static_cast<double>(relevant);
}

double reciprocal_rank(const measure& m, const std::vector<result>& results) {
    for (std::size_t i = 0; i < depth(m, results); ++i)
        if (results[i].grade >= m.rel) return 1.0 / static_cast<double>(i + 1);
    return 0;
}

/// Buckley and Voorhees 2004.
double binary_preference(const measure& m, const std::vector<result>& results, std::size_t relevant,
                         std::size_t nonrelevant) {
    std::size_t above = 0;
    double sum = 0;
    for (const result& r : results) {
        if (!r.judged || r.grade < 0) continue;
        if (r.grade < m.rel) {
            ++above;
        } else if (above == 0) {
            sum += 1.0;
        } else {
            sum += 1.0 - ratio(std::min(above, relevant), std::min(relevant, nonrelevant));
        }
    }
    return relevant == 0 ? 0 : sum / static_cast<double>(relevant);
}

/// Yilmaz and Aslam 2006. Documents with a negative grade are in the pool, but not judged.
double inferred_ap(const measure& m, const std::vector<result>& results, std::size_t relevant) {
    constexpr double epsilon = .00001;
    std::size_t found = 0, others = 0, unjudged = 0;
    double sum = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const result& r = results[i];
        if (!r.judged) continue;
        if (r.grade < 0) {
            ++unjudged;
        } else if (r.grade < m.rel) {
            ++others;
        } else if (++found; i == 0) {
            sum += 1.0;
        } else {
            const auto above = static_cast<double>(i), before = static_cast<double>(found - 1),
                       rest = static_cast<double>(others);
            sum += 1.0 / (above + 1.0) + (above / (above + 1.0)) *
                                             ((before + rest + static_cast<double>(unjudged)) / above) *
                                             ((before + epsilon) / (before + rest + 2 * epsilon));
        }
    }
    return relevant == 0 ? 0 : sum / static_cast<double>(relevant);
}

/// Moffat and Zobel 2008, as cwl_eval: at most 1,000 results.
double rank_biased_precision(const measure& m, const std::vector<result>& results) {
    constexpr std::size_t most = 1000;
    double sum = 0, weight = 1 - m.parameter;
    for (std::size_t i = 0; i < std::min(most, depth(m, results)); ++i, weight *= m.parameter)
        if (results[i].grade >= m.rel) sum += weight;
    return sum;
}

/// Chapelle et al. 2009; the highest grade is 4, as in gdeval.
double expected_reciprocal_rank(const measure& m, const std::vector<result>& results) {
    double sum = 0, goes_on = 1;
    for (std::size_t i = 0; i < depth(m, results); ++i) {
        const double stops = (std::exp2(std::max(0, results[i].grade)) - 1) / 16;
        sum += stops * goes_on / static_cast<double>(i + 1);
        goes_on *= 1 - stops;
    }
    return five_digits(sum);
}

double judged_share(const measure& m, const std::vector<result>& results) {
    const std::size_t end = depth(m, results);
    std::size_t judged = 0;
    for (std::size_t i = 0; i < end; ++i) judged += results[i].judged ? 1 : 0;
    return ratio(judged, end);
}

double f_measure(const measure& m, double precision, double recall) {
    const double x = m.parameter;
    const double sum = recall + x * precision;
    return sum == 0 ? 0 : (x + 1.0) * precision * recall / sum;
}

/// Järvelin and Kekäläinen 2002, with log2(rank + 1) for every rank.
double judged_topic::ndcg(const measure& m, const std::vector<result>& results) const {
    const auto gain_of = [&](int grade) {
        if (const auto found = m.gains.find(grade); found != m.gains.end()) grade = found->second;
        if (grade <= 0) return 0.0;
        return m.exponential ? std::exp2(grade) - 1 : static_cast<double>(grade);
    };
    std::vector<double> ideal;
    for (const auto& [_, grade] : judged_)
        if (const double gain = gain_of(grade); gain > 0) ideal.push_back(gain);
    std::sort(ideal.begin(), ideal.end(), std::greater<>());
    if (m.cutoff != 0) ideal.resize(std::min<std::size_t>(ideal.size(), m.cutoff));
    double best = 0, sum = 0;
    for (std::size_t i = 0; i < ideal.size(); ++i) best += ideal[i] / discount(i + 1);
    for (std::size_t i = 0; i < depth(m, results); ++i)
        if (const double gain = results[i].judged ? gain_of(results[i].grade) : 0; gain > 0)
            sum += gain / discount(i + 1);
    if (best == 0) return 0;
    return m.exponential ? five_digits(sum / best) : sum / best;
}

/// The highest precision at or after the rank that reaches the recall.
double judged_topic::interpolated_precision(const measure& m, const std::vector<result>& results,
                                            const counts& of) const {
    const auto needed = static_cast<std::size_t>(m.parameter * static_cast<double>(of.relevant) + .9);
    if (needed > of.relevant_and_retrieved) return 0;
    double highest = ratio(of.relevant_and_retrieved, results.size());
    std::size_t found = of.relevant_and_retrieved;
    for (std::size_t i = results.size(); i > 0 && found > 0; --i) {
        highest = std::max(highest, ratio(found, i));
        if (results[i - 1].grade < m.rel) continue;
        if (found == needed) break;
        --found;
    }
    return highest;
}

double judged_topic::value(const measure& m) {
    counts of;
    for (const auto& [_, grade] : judged_) {
        of.relevant += grade >= m.rel ? 1 : 0;
        of.nonrelevant += grade >= 0 && grade < m.rel ? 1 : 0;
    }
    std::vector<result> kept;
    if (m.judged_only)
        std::ranges::copy_if(ordered(order_of(m)), std::back_inserter(kept),
                             [](const result& r) { return r.judged && r.grade >= 0; });
    const std::vector<result>& results = m.judged_only ? kept : ordered(order_of(m));
    of.retrieved = results.size();
    of.relevant_and_retrieved = relevant_in(results, results.size(), m.rel);
    switch (m.kind) {
        case measure_kind::ap:
            return average_precision(m, results, of.relevant);
        case measure_kind::ndcg:
            return ndcg(m, results);
        case measure_kind::precision:
            return ratio(relevant_in(results, m.cutoff, m.rel), m.cutoff);
        case measure_kind::recall:
            return ratio(relevant_in(results, m.cutoff, m.rel), of.relevant);
        case measure_kind::rr:
            return reciprocal_rank(m, results);
        case measure_kind::rprec:
            return ratio(relevant_in(results, of.relevant, m.rel), of.relevant);
        case measure_kind::bpref:
            return binary_preference(m, results, of.relevant, of.nonrelevant);
        case measure_kind::infap:
            return inferred_ap(m, results, of.relevant);
        case measure_kind::iprec:
            return interpolated_precision(m, results, of);
        case measure_kind::set_p:
            return ratio(of.relevant_and_retrieved,
                         m.relative ? std::min(of.retrieved, of.relevant) : of.retrieved);
        case measure_kind::set_r:
            return ratio(of.relevant_and_retrieved, of.relevant);
        case measure_kind::set_f:
            return f_measure(m, ratio(of.relevant_and_retrieved, of.retrieved),
                             ratio(of.relevant_and_retrieved, of.relevant));
        case measure_kind::set_ap: {
            const auto found = static_cast<double>(of.relevant_and_retrieved);
            if (of.retrieved == 0 || of.relevant == 0) return 0;
            return found * found / (static_cast<double>(of.retrieved) * static_cast<double>(of.relevant));
        }
        case measure_kind::success:
            return relevant_in(results, m.cutoff, m.rel) != 0 ? 1 : 0;
        case measure_kind::rbp:
            return rank_biased_precision(m, results);
        case measure_kind::err:
            return expected_reciprocal_rank(m, results);
        case measure_kind::judged:
            return judged_share(m, results);
        case measure_kind::num_q:
            return 1;
        case measure_kind::num_ret:
            return static_cast<double>(m.counts_relevant ? of.relevant_and_retrieved : of.retrieved);
        case measure_kind::num_rel:
            return static_cast<double>(of.relevant);
    }
    return 0;
}

double over_topics(const measure& m, const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return m.is_count() || values.empty() ? sum : sum / static_cast<double>(values.size());
}

}  // namespace

namespace evaluate_detail {

void run_measures::add(const std::string& topic, std::span<const retrieved_view> documents) {
    ++overlap_.run_topics;
    const auto found = judgements_.find(topic);
    if (found == judgements_.end()) return;
    judged_topic of(found->second, documents);
    std::vector<double>& values = values_[found->first];
    values.reserve(measures_.size());
    for (const measure& m : measures_) values.push_back(of.value(m));
    ++overlap_.shared_topics;
    overlap_.judged += found->second.size();
    overlap_.retrieved += documents.size();
    overlap_.shared += of.shared();
}

measured_run run_measures::take() {
    measured_run made;
    made.values.resize(measures_.size());
    made.overlap = overlap_;
    made.overlap.judged_topics = judgements_.size();
    for (const auto& [topic, _] : judgements_) {
        const auto measured = values_.find(topic);
        const bool missing = measured == values_.end();
        if (missing) made.missing_topics.push_back(topic);
        if (missing && !complete_) continue;
        made.topics.push_back(topic);
        for (std::size_t m = 0; m < measures_.size(); ++m)
            made.values[m].push_back(missing ? 0 : measured->second[m]);
    }
    for (std::size_t m = 0; m < measures_.size(); ++m)
        made.all.push_back(over_topics(measures_[m], made.values[m]));
    return made;
}

std::uint64_t run_measures::bytes_of_a_document(std::span<const measure> measures) {
    std::array<bool, orders> needed{};
    bool judged_only = false;
    for (const measure& m : measures) {
        needed[static_cast<std::size_t>(order_of(m))] = true;
        judged_only |= m.judged_only;
    }
    // The view, the results in the order of the run and in each other one, half a copy to sort, the judged ones in a list that grows.
    const auto copies = static_cast<std::uint64_t>(std::ranges::count(needed, true)) + (judged_only ? 3 : 0);
    return sizeof(retrieved_view) + sizeof(result) * (1 + copies) + sizeof(result) / 2;
}

}  // namespace evaluate_detail

std::span<const measure> usual_measures() {
    static const std::vector<measure> usual = parse_measures("map ndcg_cut_10 P_10 recall_1000 recip_rank");
    return usual;
}

}  // namespace quern
