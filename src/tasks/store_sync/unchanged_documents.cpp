// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_sync/unchanged_documents.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>

#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/described_corpus.hpp"

namespace quern {
namespace {

constexpr std::uint32_t none = unchanged_documents::none;

/// The positions of the documents that are not excluded.
std::vector<std::uint32_t> kept_positions(const document_spool& read,
                                          std::span<const excluded_document> excluded,
                                          const build_options& options) {
    const std::uint32_t count = read.documents().size();
    if (!excluded.empty() && excluded.back().position >= count)
        throw invalid_input(names_of(options).back().string(), 0,
                            "changed while it was being read: documents found in the first pass are missing");
    std::vector<std::uint32_t> kept;
    kept.reserve(count - excluded.size());
    for (std::uint32_t position = 0; position < count; ++position) {
        if (!excluded.empty() && excluded.front().position == position) {
            excluded = excluded.subspan(1);
        } else {
            kept.push_back(position);
        }
    }
    return kept;
}

/// The titles of near-duplicates are title words of the kept document.
bool have_same_titles(const document_duplicates& one, std::uint32_t its, const document_duplicates& other,
                      std::uint32_t that) {
    const auto titles = one.of(its), others = other.of(that);
    return std::ranges::equal(titles, others, {}, &document_duplicates::copy::title,
                              &document_duplicates::copy::title);
}

/// Leaves the longest rising part of the numbers, and none elsewhere. Fredman, "On computing the length of longest increasing
/// subsequences", 1975.
void keep_rising(std::vector<std::uint32_t>& numbers) {
    std::vector<std::uint32_t> ends;  // of the rising parts of each length, where the lowest last number is
    std::vector<std::uint32_t> previous(numbers.size(), none);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] == none) continue;
        const auto at =
            std::ranges::partition_point(ends, [&](std::uint32_t end) { return numbers[end] < numbers[i]; });
        if (at != ends.begin()) previous[i] = *(at - 1);
        if (at == ends.end()) {
            ends.push_back(i);
        } else {
            *at = i;
        }
    }
    std::uint32_t stays = ends.empty() ? none : ends.back();
    for (auto i = static_cast<std::uint32_t>(numbers.size()); i-- != 0;) {
        if (i == stays) {
            stays = previous[i];
        } else {
            numbers[i] = none;
        }
    }
}

void list_changed(unchanged_documents& found, std::span<const std::uint32_t> positions) {
    for (std::uint32_t i = 0; i < positions.size(); ++i) {
        if (found.before[i] != none) {
            ++found.count;
            continue;
        }
        found.changed_positions.push_back(positions[i]);
        found.changed_numbers.push_back(i);
    }
}

}  // namespace

unchanged_documents find_unchanged(const document_spool& read, std::span<const excluded_document> excluded,
                                   const document_duplicates& duplicates, const store_comparison& old,
                                   const build_options& options, const context& ctx) {
    constexpr std::uint64_t documents_at_once = 256;
    unchanged_documents found;
    const std::vector<std::uint32_t> positions = kept_positions(read, excluded, options);
    found.before.assign(positions.size(), none);
    std::mutex adding;
    std::atomic<bool> are_texts = true;
    const std::uint64_t pieces = (positions.size() + documents_at_once - 1) / documents_at_once;
    const auto compare = [&](std::uint64_t piece) {
        compared_documents compared;
        const std::uint64_t end = std::min<std::uint64_t>((piece + 1) * documents_at_once, positions.size());
        for (std::uint64_t i = piece * documents_at_once; i < end; ++i) {
            ctx.check_stop();
            const auto number = static_cast<std::uint32_t>(i);
            const document d = read.without_text(positions[i]);
            if (d.verbatim || d.listed != word_listing::none) are_texts = false;
            const auto before = old.compare(d, read.documents().text(positions[i]), compared);
            if (before && have_same_titles(duplicates, number, old.store().duplicates(), *before))
                found.before[i] = *before;
        }
        const std::scoped_lock lock(adding);
        found.compared += compared;
    };
    for_each_index(ctx, pieces, compare);
    found.are_texts = are_texts;
    keep_rising(found.before);
    list_changed(found, positions);
    return found;
}

unchanged_documents find_unchanged(const document_spool& read, std::span<const excluded_document> excluded,
                                   const document_duplicates& duplicates, const store_to_update& old,
                                   const build_options& options, const context& ctx) {
    unchanged_documents found;
    const std::vector<std::uint32_t> positions = kept_positions(read, excluded, options);
    found.before.assign(positions.size(), none);
    std::uint32_t number = 0;
    for (std::uint32_t before = 0; before < old.store().info().documents; ++before) {
        if (before % 1024 == 0) ctx.check_stop();
        if (old.is_dropped(before)) continue;
        if (have_same_titles(duplicates, number, old.store().duplicates(), before))
            found.before[number] = before;
        ++number;
    }
    list_changed(found, positions);
    for (const std::uint32_t position : found.changed_positions) {
        const document d = read.without_text(position);
        if (d.verbatim || d.listed != word_listing::none) found.are_texts = false;
    }
    return found;
}

}  // namespace quern
