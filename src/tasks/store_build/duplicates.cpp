// SPDX-License-Identifier: Apache-2.0
// By rule near-kept: each excluded document is near an indexed one, and the stored distance is that of this pair.
#include "tasks/store_build/duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/grouped.hpp"
#include "io/store/section.hpp"
#include "quern/base/decimal.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/near_kept.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"

namespace quern {
namespace {

/// In the order of the kept documents, then of the near-duplicates.
std::vector<removed_duplicate> find_near_duplicates(const document_table& documents, std::uint32_t first_new,
                                                    duplicates_log* log, const context& ctx,
                                                    std::map<std::string, std::uint64_t>& counts) {
    duplicate_scope links;
    links.first_new = first_new;
    links.links_only = true;
    constexpr std::uint64_t grouping_bytes =
        24;  // per document: its place in the order, its set and its group
    with_remaining_memory(ctx, grouping_bytes * documents.size(), "groups of near-duplicates");
    const duplicate_result found = log != nullptr ? log->links(documents.texts(), ctx)
                                                  : near_duplicates(documents.texts(), {}, links, ctx);
    counts = {{"compared", found.counts.compared},
              {"candidates", found.counts.candidates},
              {"verified", found.counts.verified}};
    if (log != nullptr) counts["unchanged_texts"] = log->unchanged();
    std::vector<std::uint32_t> order;
    for (std::uint32_t d = 0; d < documents.size(); ++d)
        if (d < first_new || documents.text_bytes(d) != 0) order.push_back(d);
    auto removed = near_kept(documents.texts(), {}, found.pairs, {order, first_new}, {}, ctx);
    std::ranges::sort(removed, {}, [](const removed_duplicate& r) { return std::pair(r.kept, r.document); });
    return removed;
}

}  // namespace

bool is_quick_on_cpu(const document_table& documents, unsigned threads) {
    // Of one thread, measured with articles and with prose of 2 KB: sketches of the texts, and a look at every pair.
    constexpr double of_a_byte = 27e-9, of_a_pair = 1e-9, start_of_a_gpu = 0.25;
    double bytes = 0;
    for (std::uint32_t d = 0; d < documents.size(); ++d)
        bytes += static_cast<double>(documents.text_bytes(d));
    const double pairs = static_cast<double>(documents.size()) * documents.size();
    return of_a_byte * bytes + of_a_pair * pairs < start_of_a_gpu * threads;
}

duplicates_outcome leave_out_duplicates(const document_spool& spool, const store_to_update* old,
                                        duplicates_log* log, const std::filesystem::path& store,
                                        const scratch_folder& scratch, const context& ctx) {
    const document_table& documents = spool.documents();
    const auto first_new = old == nullptr ? 0 : old->documents();
    const std::uint64_t known = old == nullptr ? 0 : old->copies();
    const context remaining =
        with_remaining_memory(ctx, old == nullptr ? 0 : old->memory_bytes(), "the store to add to");
    const context left = with_remaining_memory(remaining, spool.memory_bytes(), "the table of documents");
    duplicates_outcome outcome;
    const std::vector<removed_duplicate> duplicates =
        find_near_duplicates(documents, first_new, log, left, outcome.counts);
    outcome.counts["copies"] = known + duplicates.size();
    if (known + duplicates.size() == 0) return outcome;

    for (const removed_duplicate& d : duplicates) outcome.excluded.push_back({d.document, d.kept});
    std::ranges::sort(outcome.excluded, {}, &excluded_document::position);
    const auto number_of = [&](std::uint32_t position) {  // of a kept document
        const auto before =
            std::ranges::lower_bound(outcome.excluded, position, {}, &excluded_document::position);
        return position - static_cast<std::uint32_t>(before - outcome.excluded.begin());
    };
    for (excluded_document& d : outcome.excluded) d.kept = number_of(d.kept);

    const auto file = [&store](std::string_view name) { return store_layout::file_of(store, name); };
    io::section_writer kept(file(store_layout::duplicates_of)), distances(file(store_layout::copy_distances));
    io::string_column_writer ids(file(store_layout::copy_ids), scratch.file("copy_id_ends"));
    io::string_column_writer titles(file(store_layout::copy_titles), scratch.file("copy_title_ends"));
    std::uint64_t next_known = 0;
    const auto append_known = [&](std::uint64_t end) {  // of documents before `end`
        for (; next_known < known && old->kept(next_known) < end; ++next_known) {
            const document_duplicates::copy copy = old->copy(next_known);
            kept.append_value(old->kept(next_known));
            ids.append(copy.id);
            titles.append(copy.title);
            distances.append_value(copy.distance);
        }
    };
    for (const removed_duplicate& duplicate : duplicates) {
        ctx.check_stop();
        const std::uint32_t number = number_of(duplicate.kept);
        append_known(number + std::uint64_t{1});
        kept.append_value(number);
        ids.append(documents.id(duplicate.document));
        titles.append(spool.without_text(duplicate.document).title);
        distances.append_value(static_cast<std::uint32_t>(duplicate.distance));
    }
    append_known(documents.size());
    const auto close = [&outcome](std::string_view name, auto& section) {
        outcome.sections.push_back(listed_section(name, section.finish()));
    };
    close(store_layout::duplicates_of, kept);
    close(store_layout::copy_ids, ids);
    close(store_layout::copy_titles, titles);
    close(store_layout::copy_distances, distances);
    return outcome;
}

void warn_of_many_excluded(std::uint64_t excluded, std::uint64_t documents, std::string_view work,
                           const context& ctx) {
    constexpr std::uint64_t many = 10;  // more than one of so many
    if (excluded > documents / many)
        ctx.log(
            log_level::warning,
            fmt::format("{} of {} documents are excluded as near-duplicates of others (edit rate below {}); "
                        "{} with --skip duplicates keeps them",
                        grouped(excluded), grouped(documents), to_text(duplicate_options().threshold), work));
}

}  // namespace quern
