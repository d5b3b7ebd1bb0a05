// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/reading_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t issues_kept = 100;
/// A constant, because what a store holds must not depend on the memory at hand.
constexpr std::uint64_t max_document_bytes = 256 << 20;
/// Where the budget is small, fewer units are under way than there are threads.
constexpr std::uint64_t unit_share = 64, smallest_unit = 256 << 10;
/// Beyond some MiB larger units gain nothing, and the last one keeps a thread waiting.
constexpr std::uint64_t largest_unit = 8 << 20;

}  // namespace

std::size_t units_at_once(const context& run) {
    return std::clamp<std::size_t>(run.memory_limit() / (unit_share * smallest_unit), 2,
                                   run.thread_count() + 2);
}

io::corpus_options corpus_options_for(std::string_view input_format, const context& run) {
    io::corpus_options corpus;
    if (!input_format.empty()) {
        corpus.form = io::corpus_form_named(input_format);
        if (!corpus.form) throw usage_error("unknown input format: " + std::string(input_format));
    }
    const std::uint64_t share = run.memory_limit() / (unit_share * units_at_once(run));
    corpus.unit_bytes = std::clamp<std::uint64_t>(share, smallest_unit, largest_unit);
    corpus.max_document_bytes = max_document_bytes;
    return corpus;
}

void refuse_oversized(const io::corpus_unit& unit, const context& run) {
    const std::uint64_t bytes = unit.raw_bytes();
    if (bytes <= run.memory_limit() / 4) return;
    throw out_of_memory("a document of " + std::to_string(bytes) + " bytes", 4 * bytes, run.memory_limit());
}

void require_inputs(const std::vector<fs::path>& inputs) {
    if (inputs.empty()) throw usage_error("no corpus is given");
    std::error_code failed;
    for (const fs::path& input : inputs) {
        if (input == "-") continue;
        const fs::file_status status = fs::status(input, failed);
        if (status.type() == fs::file_type::none)
            throw io_error(input.string(), "cannot open", failed.value());
        if (!fs::exists(status)) throw usage_error(input.string() + ": no such file or folder");
    }
}

void reading_record::take(io::parsed_unit& unit) {
    counts += unit.counts;
    for (input_issue& issue : unit.issues) {
        if (issues.size() < issues_kept) issues.push_back(std::move(issue));
    }
    unit.issues.clear();
}

void reading_record::reject(const document& d, std::string reason) {
    --counts.documents;
    ++counts.rejected;
    if (issues.size() < issues_kept) issues.push_back({d.path, d.line, std::move(reason), true});
}

void reading_record::reject_repeated(const document& d) {
    reject(d, fmt::format("the id \"{}\" is repeated", d.id));
}

void reading_record::refuse_too_many(const error_limit& limit, const std::vector<fs::path>& inputs) const {
    const std::uint64_t lost = counts.rejected + counts.cut;
    if (!limit.exceeded(lost, counts.documents + counts.rejected)) return;
    const auto first =
        std::ranges::find_if(issues, [](const input_issue& issue) { return issue.rejected || issue.cut; });
    input_issue shown;
    shown.path = inputs.front().string();
    if (first != issues.end()) shown = *first;
    throw invalid_input(
        shown.path, shown.line,
        fmt::format("{} (the first of {} rejected or cut among {} documents; --max-errors allows fewer)",
                    shown.reason, lost, counts.documents + counts.rejected));
}

}  // namespace quern
