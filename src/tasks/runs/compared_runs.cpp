// SPDX-License-Identifier: Apache-2.0
#include "tasks/runs/compared_runs.hpp"

#include <algorithm>
#include <utility>

#include "quern/base/rows.hpp"
#include "quern/tasks/evaluate_option_table.hpp"
#include "report/evaluation_report.hpp"

namespace quern {

compared_runs::compared_runs(const relevance_judgements& judgements, const comparison_options& options,
                             const context& ctx)
    : judgements_(judgements), ctx_(ctx) {
    check_ranges(options.significance);
    made_.options = options;
}

void compared_runs::add(std::string name, const retrieval_run& run) {
    add(std::move(name), measure_run(judgements_, run, made_.options.measures, made_.options.complete));
}

void compared_runs::add(std::string name, measured_run run) {
    made_.runs.push_back(std::move(name));
    made_.measured.push_back(std::move(run));
    ctx_.check_stop();
}

std::vector<paired_result> compared_runs::tests_of(const measured_run& run) const {
    const measured_run& base = made_.measured.front();
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  // positions of common topics
    for (std::size_t i = 0, j = 0; i < run.topics.size() && j < base.topics.size();) {
        const int order = run.topics[i].compare(base.topics[j]);
        if (order == 0) pairs.emplace_back(i, j);
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
    }
    std::vector<paired_result> tests;
    for (std::size_t m = 0; m < made_.options.measures.size(); ++m) {
        std::vector<double> values, baseline;
        for (const auto& [i, j] : pairs) {
            values.push_back(run.values[m][i]);
            baseline.push_back(base.values[m][j]);
        }
        tests.push_back(compare_paired(values, baseline, made_.options.significance, ctx_));
    }
    return tests;
}

run_comparison compared_runs::take() {
    if (made_.options.significance.test == paired_test::none || made_.runs.size() < 2)
        return std::move(made_);
    for (std::size_t r = 1; r < made_.runs.size(); ++r) made_.tests.push_back(tests_of(made_.measured[r]));
    for (std::size_t m = 0; m < made_.options.measures.size(); ++m) {
        std::vector<double> p;
        for (const auto& of_run : made_.tests) p.push_back(of_run[m].p);
        const std::vector<double> corrected = correct_p(p, made_.options.significance.correction);
        for (std::size_t r = 0; r < corrected.size(); ++r) made_.tests[r][m].corrected = corrected[r];
    }
    return std::move(made_);
}

namespace {

std::string four_digits(double value) {
    std::string text = std::to_string(value);  // six digits after the point
    return text.size() > 2 ? text.substr(0, text.size() - 2) : text;
}

/// Topics of a run by value; or, given the first run too, by difference from it.
report::evaluated_measure::plot plot_of(const run_comparison& all, std::size_t run, std::size_t m) {
    const measured_run& of = all.measured[run];
    const measured_run* const base = all.measured.size() == 1 ? nullptr : &all.measured.front();
    report::evaluated_measure::plot result;
    result.title = base == nullptr ? all.runs[run] + ", by topic"
                                   : all.runs[run] + " − " + all.runs.front() + ", by topic";
    for (std::size_t t = 0; t < of.topics.size(); ++t) {
        double value = of.values[m][t];
        std::string hint = of.topics[t] + ": " + four_digits(value);
        if (base != nullptr) {
            const auto at = std::ranges::lower_bound(base->topics, of.topics[t]);
            if (at == base->topics.end() || *at != of.topics[t]) continue;
            const double from = base->values[m][static_cast<std::size_t>(at - base->topics.begin())];
            hint += ", " + all.runs.front() + " " + four_digits(from);
            value -= from;
        }
        result.topics.push_back({of.topics[t], value, std::move(hint)});
    }
    std::ranges::stable_sort(result.topics, std::ranges::greater{}, &report::evaluated_topic::value);
    return result;
}

std::string cell_of(const run_comparison& all, std::size_t run, std::size_t m) {
    std::string text = four_digits(all.measured[run].all[m]);
    if (run == 0 || all.tests.empty()) return text;
    const paired_result& test = all.tests[run - 1][m];
    return text + " (" + (test.difference < 0 ? "" : "+") + four_digits(test.difference) + ", p " +
           shortest(static_cast<float>(test.corrected)) + ")";
}

}  // namespace

void run_comparison::write_report(const std::function<void(std::string_view)>& sink) const {
    report::evaluation_page page;
    page.runs = runs;
    page.summary = {{"runs", std::to_string(runs.size())},
                    {"topics", std::to_string(measured.empty() ? 0 : measured.front().topics.size())}};
    const auto& how = options.significance;
    if (!tests.empty()) {
        page.summary.emplace_back("test", paired_test_names[static_cast<std::size_t>(how.test)]);
        page.summary.emplace_back("correction of p",
                                  p_correction_names[static_cast<std::size_t>(how.correction)]);
    }
    page.note = tests.empty()
                    ? "Means over the topics."
                    : "Means over the topics; in parentheses the mean difference from the first run and "
                      "the corrected p of the test.";
    for (std::size_t m = 0; m < options.measures.size(); ++m) {
        report::evaluated_measure& of = page.measures.emplace_back();
        of.name = options.measures[m].name;
        for (std::size_t r = 0; r < runs.size(); ++r) of.cells.push_back(cell_of(*this, r, m));
        for (std::size_t r = runs.size() == 1 ? 0 : 1; r < runs.size(); ++r)
            of.plots.push_back(plot_of(*this, r, m));
    }
    report::write_evaluation_report(page, sink);
}

}  // namespace quern
