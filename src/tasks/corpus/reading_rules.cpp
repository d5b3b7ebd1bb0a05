// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/reading_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/base/left_out.hpp"

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

/// Where `path` lies when links are followed; empty for what lies nowhere: a pipe, a removed file.
fs::path place_of(const fs::path& path) {
    std::error_code nowhere;
    return fs::weakly_canonical(path, nowhere);
}

/// The way from `outer` down to `inner`; empty where `inner` does not lie within it.
fs::path way_down(const fs::path& inner, const fs::path& outer) {
    const fs::path from = place_of(outer), to = place_of(inner);
    if (from.empty() || to.empty()) return {};
    const fs::path relative = to.lexically_relative(from);
    return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

/// Whether a walk over a folder passes by what lies at `relative` in it.
bool is_hidden(const fs::path& relative) {
    return std::ranges::any_of(relative, [](const fs::path& name) {
        return name.native().starts_with('.') && name != "." && name != "..";
    });
}

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

void refuse_overlap(const fs::path& store, const fs::path& input) {
    std::error_code failed;
    const fs::file_status status = fs::status(input, failed);
    if (fs::is_directory(status)) {
        const fs::path inside = way_down(store, input);
        if (!inside.empty() && !is_hidden(inside)) {
            throw usage_error(store.string() + " lies within the input " + input.string());
        }
    }
    if ((fs::is_directory(status) || fs::is_regular_file(status)) && !way_down(input, store).empty()) {
        throw usage_error("the input " + input.string() + " lies within the store " + store.string());
    }
}

void reading_record::note(input_issue issue) {
    constexpr std::size_t lost_kept = 10;
    if ((issue.rejected || issue.cut) && lost.size() < lost_kept) lost.push_back(issue);
    if (issue.incomplete && !incomplete) incomplete = issue;
    if (issues.size() < issues_kept) issues.push_back(std::move(issue));
}

void reading_record::take(io::parsed_unit& unit) {
    counts += unit.counts;
    for (input_issue& issue : unit.issues) note(std::move(issue));
    unit.issues.clear();
}

void reading_record::reject(const document& d, std::string reason) {
    --counts.documents;
    ++counts.rejected;
    note({d.path, d.line, std::move(reason), true});
}

void reading_record::reject_repeated(const document& d) {
    reject(d, fmt::format("the id \"{}\" is repeated", d.id));
}

void reading_record::refuse_empty(const std::vector<fs::path>& inputs) const {
    std::string reason = "holds no documents";
    const std::string left_out = left_out_in_words(counts.skipped);
    if (!left_out.empty()) reason += "; skipped by rule: " + left_out;
    const bool others = std::ranges::any_of(
        counts.skipped, [](const auto& each) { return each.first.starts_with("file of another kind"); });
    if (others) reason += "; --input-format folder reads every file that is not binary";
    throw invalid_input(inputs.front().string(), 0, std::move(reason));
}

void reading_record::refuse_early(const error_limit& limit, const std::vector<fs::path>& inputs) const {
    if (incomplete && !limit.forgives_incomplete)
        throw too_much_lost(*incomplete, "--max-errors 100% goes on with what could be read", lost);
    const std::uint64_t gone = counts.rejected + counts.cut, all = counts.documents + counts.rejected;
    if (limit.is_share || !limit.exceeded(gone, all)) return;
    refuse(inputs,
           fmt::format("the first of {} rejected or cut among {} documents so far; --max-errors {} allows no "
                       "more",
                       gone, all, limit.count));
}

void reading_record::refuse_too_many(const error_limit& limit, const std::vector<fs::path>& inputs) const {
    refuse_early(limit, inputs);
    const std::uint64_t gone = counts.rejected + counts.cut, all = counts.documents + counts.rejected;
    if (!limit.exceeded(gone, all)) return;
    refuse(inputs,
           fmt::format("the first of {} rejected or cut among {} documents, more than {:g}%; --max-errors {} "
                       "lets that pass",
                       gone, all, 100 * limit.share, gone));
}

void reading_record::refuse(const std::vector<fs::path>& inputs, const std::string& why) const {
    input_issue first;
    first.path = inputs.front().string();
    if (!lost.empty()) first = lost.front();
    throw too_much_lost(first, why, lost);
}

}  // namespace quern
