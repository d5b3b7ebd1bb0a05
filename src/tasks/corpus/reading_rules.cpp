// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/reading_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "base/file_status.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/source_reader.hpp"
#include "quern/base/error.hpp"
#include "quern/base/excluded.hpp"
#include "quern/base/parse.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t issues_kept = 100;
/// A constant, because the contents of a store must not depend on the available memory.
constexpr std::uint64_t max_document_bytes = 256 << 20;
/// The same for files of bytes: what a sketch of near-duplicates can count.
constexpr std::uint64_t max_binary_bytes = (std::uint64_t{1} << 31) - 1;
/// With a small budget fewer units are in progress than there are threads.
constexpr std::uint64_t unit_share = 64, smallest_unit = 256 << 10;
/// Beyond some MiB larger units gain nothing, and the last one delays the end.
constexpr std::uint64_t largest_unit = 8 << 20;

/// Below this, even two of the smallest units do not fit.
constexpr std::uint64_t min_memory = 1 << 20;

std::uint64_t unit_bytes(const context& ctx) {
    const std::uint64_t share = ctx.memory_limit() / (unit_share * units_at_once(ctx));
    return std::clamp<std::uint64_t>(share, smallest_unit, largest_unit);
}

/// The location of `path` with links resolved; empty if it has none: a pipe, a removed file.
fs::path place_of(const fs::path& path) {
    std::error_code nowhere;
    return fs::weakly_canonical(path, nowhere);
}

/// The relative path from `outer` to `inner`; empty if `inner` is not within it.
fs::path way_down(const fs::path& inner, const fs::path& outer) {
    const fs::path from = place_of(outer), to = place_of(inner);
    if (from.empty() || to.empty()) return {};
    const fs::path relative = to.lexically_relative(from);
    return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

std::string in_words(const input_issue& issue) {
    const std::string line = issue.line == 0 ? "" : fmt::format(":{}", issue.line);
    return fmt::format("{}{}: {}", issue.path, line, issue.reason);
}

/// Whether a walk over a folder skips the file at `relative`.
bool is_hidden(const fs::path& relative) {
    return std::ranges::any_of(relative, [](const fs::path& name) {
        return name.native().starts_with('.') && name != "." && name != "..";
    });
}

}  // namespace

bool error_limit::exceeded(std::uint64_t lost, std::uint64_t documents) const {
    if (!is_share) return lost > count;
    return static_cast<double>(lost) > share * static_cast<double>(documents);
}

error_limit parse_error_limit(std::string_view text) {
    error_limit limit;
    limit.forgives_incomplete = true;  // giving a limit is a deliberate choice
    limit.is_share = text.ends_with('%');
    try {
        if (limit.is_share) {
            const double percent = parse_number(text.substr(0, text.size() - 1));
            if (!(percent >= 0 && percent <= 100)) throw usage_error("out of range");
            limit.share = percent / 100;
        } else {
            limit.count = parse_integer(text, 0, UINT64_MAX);
        }
    } catch (const usage_error&) {
        throw usage_error(fmt::format(
            "invalid value '{}' (expected a number of documents or a share such as 1%)", shown(text)));
    }
    return limit;
}

std::size_t units_at_once(const context& ctx) {
    return std::clamp<std::size_t>(ctx.memory_limit() / (unit_share * smallest_unit), 2,
                                   ctx.thread_count() + 2);
}

context with_threads_that_read(const context& ctx) {
    context reading = ctx;
    reading.threads = static_cast<unsigned>(std::min<std::size_t>(ctx.thread_count(), units_at_once(ctx)));
    return reading;
}

io::corpus_options corpus_options_for(const corpus_input& input, const context& ctx, corpus_content content) {
    io::corpus_options corpus;
    corpus.follow_links = input.follow_links;
    check_fields(input.fields);
    corpus.fields = input.fields;
    if (!input.input_format.empty()) {
        corpus.form = io::corpus_form_named(input.input_format);
        if (!corpus.form) throw usage_error("unknown input format: " + input.input_format);
    }
    corpus.unit_bytes = unit_bytes(ctx);
    const bool is_binary = corpus.form == io::corpus_form::binary;
    if (is_binary && content == corpus_content::texts)
        throw usage_error("input format binary has bytes, not text; only dedup and signature read it");
    corpus.max_document_bytes = is_binary ? max_binary_bytes : max_document_bytes;
    corpus.document_memory = reading_memory_of(ctx).document;
    corpus.budget_for_a_byte =
        static_cast<double>(ctx.memory_limit()) / static_cast<double>(corpus.document_memory);
    return corpus;
}

reading_memory reading_memory_of(const context& ctx) {
    const std::uint64_t limit = ctx.memory_limit();
    if (limit < min_memory) throw out_of_memory("reading a corpus", min_memory, limit);
    const std::uint64_t unit = unit_bytes(ctx);
    return {3 * unit, 8 * unit, limit / 8 * 3};
}

std::unique_ptr<io::corpus_reader> open_documents(const corpus_input& input,
                                                  const io::corpus_options& options, const context& ctx) {
    if (input.source != nullptr && input.source->listed() != word_listing::none && !options.take_lists)
        throw usage_error(std::string(input.source->name()) +
                          " have weights of words instead of texts; only build reads them");
    if (input.source != nullptr) return io::read_documents(*input.source, options);
    return io::open_corpus(input.inputs, options, ctx);
}

std::vector<fs::path> names_of(const corpus_input& input) {
    return input.source != nullptr ? std::vector<fs::path>{input.source->name()} : input.inputs;
}

void require_documents(const corpus_input& corpus) {
    if (corpus.source != nullptr) {
        if (!corpus.inputs.empty()) throw usage_error("inputs and a source of documents cannot be combined");
        if (!corpus.input_format.empty())
            throw usage_error("an input format applies to files, not to a source");
        return;
    }
    if (corpus.inputs.empty()) throw usage_error("no corpus given");
    for (const fs::path& input : corpus.inputs) {
        if (input == "-") continue;
        if (!fs::exists(file_status_of(input)))
            throw usage_error(input.string() + ": no such file or folder");
    }
}

void refuse_overlap(const fs::path& store, const fs::path& input) {
    std::error_code failed;
    const fs::file_status status = fs::status(input, failed);
    if (fs::is_directory(status)) {
        const fs::path inside = way_down(store, input);
        if (!inside.empty() && !is_hidden(inside)) {
            throw usage_error(store.string() + " is inside the input " + input.string() +
                              "; choose another output");
        }
    }
    if ((fs::is_directory(status) || fs::is_regular_file(status)) && !way_down(input, store).empty()) {
        throw usage_error("the input " + input.string() + " is inside the store " + store.string() +
                          "; choose another output");
    }
}

void reading_record::note(input_issue issue) {
    constexpr std::size_t lost_kept = 10;
    if ((issue.rejected || issue.truncated) && lost.size() < lost_kept) lost.push_back(issue);
    if (issue.incomplete && !incomplete) incomplete = issue;
    if (issues.size() < issues_kept) issues.push_back(std::move(issue));
}

void reading_record::take(io::parsed_unit& unit) {
    counts += unit.counts;
    named.add(unit.named);
    for (input_issue& issue : unit.issues) note(std::move(issue));
    unit.issues.clear();
}

void reading_record::reject(const document& d, std::string reason) {
    --counts.documents;
    ++counts.rejected;
    note({d.path, d.line, std::move(reason), true});
}

void reading_record::reject_repeated(const document& d, std::string reason) {
    ++repeated_ids;
    reject(d, std::move(reason));
}

void reading_record::refuse_empty(const corpus_input& input) const {
    std::string reason = "holds no documents";
    const std::string excluded = excluded_in_words(counts.skipped);
    if (counts.rejected != 0) {
        reason += fmt::format("; {} {} rejected", counts.rejected, counts.rejected == 1 ? "was" : "were");
        if (!lost.empty()) reason += ", the first because of " + in_words(lost.front());
    }
    if (!excluded.empty()) reason += "; skipped " + excluded;
    const bool others = std::ranges::any_of(
        counts.skipped, [](const auto& each) { return each.first.starts_with("file: "); });
    if (others) reason += "; --input-format folder reads every file that is not binary";
    throw invalid_input(names_of(input).front().string(), 0, std::move(reason));
}

void reading_record::refuse_early(const corpus_input& input) const {
    const error_limit& limit = input.max_errors;
    if (incomplete && !limit.forgives_incomplete)
        throw too_much_lost(*incomplete, "--max-errors 100% continues with what could be read", lost);
    const std::uint64_t faulty = counts.rejected + counts.truncated, all = counts.documents + counts.rejected;
    if (limit.is_share || !limit.exceeded(faulty, all)) return;
    refuse(input, fmt::format(
                      "the first of {} rejected or cut among {} document{} so far; --max-errors {} allows no "
                      "more",
                      faulty, all, all == 1 ? "" : "s", limit.count));
}

void reading_record::refuse_too_many(const corpus_input& input) const {
    const error_limit& limit = input.max_errors;
    const std::uint64_t faulty = counts.rejected + counts.truncated, all = counts.documents + counts.rejected;
    if (std::string missing = io::missing_fields(input.fields, named);
        !missing.empty() && all != 0 && input.source == nullptr)
        throw invalid_input(names_of(input).front().string(), 0, std::move(missing));
    refuse_early(input);
    if (!limit.exceeded(faulty, all)) return;
    refuse(input,
           fmt::format(
               "the first of {} rejected or cut among {} document{}, more than the {:g}% of --max-errors",
               faulty, all, all == 1 ? "" : "s", 100 * limit.share));
}

void reading_record::refuse(const corpus_input& input, std::string why) const {
    input_issue first;
    first.path = names_of(input).front().string();
    if (!lost.empty()) first = lost.front();
    if (repeated_ids != 0)
        why += fmt::format("; {} of them repeat an id: --ids generate gives every record the id FILE:LINE",
                           repeated_ids);
    throw too_much_lost(first, why, lost);
}

}  // namespace quern
