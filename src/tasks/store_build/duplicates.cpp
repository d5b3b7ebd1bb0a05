// SPDX-License-Identifier: Apache-2.0
// Groups are made of pairs, which may differ between devices. The stored distance is therefore computed anew, to the
// kept document; it may exceed the threshold if a third document connects the two.
#include "tasks/store_build/duplicates.hpp"

#include <algorithm>
#include <span>

#include "device/cpu/cpu_place.hpp"
#include "io/store/section.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"

namespace quern {
namespace {

/// A near-duplicate and its kept document, by position.
struct copy_pair {
    std::uint32_t kept, copy;
};

/// In the order of the kept documents, then of the near-duplicates.
std::vector<copy_pair> find_near_duplicates(const document_table& documents, std::uint32_t first_new,
                                            const context& ctx,
                                            std::map<std::string, std::uint64_t>& counts) {
    duplicate_scope links;
    links.first_new = first_new;
    links.links_only = true;
    constexpr std::uint64_t grouping_bytes = 24;  // per document: its length, its set and its group
    with_remaining_memory(ctx, grouping_bytes * documents.size(), "groups of near-duplicates");
    duplicate_result found = near_duplicates(documents.texts(), {}, links, ctx);
    counts = {{"compared", found.counts.compared},
              {"candidates", found.counts.candidates},
              {"verified", found.counts.verified}};
    std::erase_if(found.pairs, [&](const duplicate_pair& p) { return documents.text_bytes(p.b) == 0; });
    std::vector<std::uint64_t> lengths(documents.size());
    for (std::uint32_t d = 0; d < documents.size(); ++d) lengths[d] = documents.text_bytes(d);
    std::vector<copy_pair> duplicates;
    for (const duplicate_group& group : duplicate_groups(found.pairs, lengths, keep_policy::first)) {
        for (const std::uint32_t d : group.members) {
            if (d != group.kept && d >= first_new) duplicates.push_back({group.kept, d});
        }
    }
    return duplicates;
}

std::vector<std::uint32_t> distances_of(std::span<const copy_pair> duplicates,
                                        const document_table& documents, const context& ctx) {
    const text_list texts = documents.texts();
    std::vector<primitives::bounded_pair> pairs;
    for (const auto& [kept, copy] : duplicates) {
        const std::uint64_t bound = std::max(texts.length(kept), texts.length(copy));
        pairs.push_back({kept, copy, static_cast<std::uint32_t>(bound)});
    }
    std::vector<std::uint32_t> distances(duplicates.size());
    cpu_place place(ctx);
    constexpr std::size_t at_once = std::size_t{1} << 14;
    for (std::size_t begin = 0; begin < pairs.size(); begin += at_once) {
        ctx.report({"distances of copies", begin, pairs.size(), "copies"});
        const std::size_t count = std::min(at_once, pairs.size() - begin);
        primitives::edit_distances<std::uint8_t>(
            place, {reinterpret_cast<const std::uint8_t*>(texts.bytes.data()), texts.bytes.size()},
            texts.offsets, std::span(pairs).subspan(begin, count),
            std::span(distances).subspan(begin, count));
    }
    return distances;
}

}  // namespace

duplicates_outcome leave_out_duplicates(const document_spool& spool, const store_to_update* old,
                                        const std::filesystem::path& store, const scratch_folder& scratch,
                                        const context& ctx) {
    const document_table& documents = spool.documents();
    const auto first_new = old == nullptr ? 0 : static_cast<std::uint32_t>(old->store().info().documents);
    const document_duplicates known = old == nullptr ? document_duplicates() : old->store().duplicates();
    const context remaining =
        with_remaining_memory(ctx, old == nullptr ? 0 : old->memory_bytes(), "the store to add to");
    const context left = with_remaining_memory(remaining, spool.memory_bytes(), "the table of documents");
    duplicates_outcome outcome;
    const std::vector<copy_pair> duplicates =
        find_near_duplicates(documents, first_new, left, outcome.counts);
    outcome.counts["copies"] = known.size() + duplicates.size();
    if (known.size() + duplicates.size() == 0) return outcome;

    for (const auto& [kept, copy] : duplicates) outcome.excluded.push_back({copy, kept});
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
    const std::vector<std::uint32_t> edits = distances_of(duplicates, documents, left);
    std::uint64_t next_known = 0;
    const auto append_known = [&](std::uint64_t end) {  // of documents before `end`
        for (; next_known < known.size() && known.kept(next_known) < end; ++next_known) {
            const document_duplicates::copy copy = known[next_known];
            kept.append_value(known.kept(next_known));
            ids.append(copy.id);
            titles.append(copy.title);
            distances.append_value(copy.distance);
        }
    };
    for (std::size_t i = 0; i < duplicates.size(); ++i) {
        ctx.check_stop();
        const std::uint32_t number = number_of(duplicates[i].kept);
        append_known(number + std::uint64_t{1});
        kept.append_value(number);
        ids.append(documents.id(duplicates[i].copy));
        titles.append(spool.title(duplicates[i].copy));
        distances.append_value(edits[i]);
    }
    append_known(documents.size());
    const auto close = [&outcome](std::string_view name, auto& section) {
        const auto summary = section.finish();
        outcome.sections.push_back({std::string(name), summary.file_bytes, summary.checksum});
    };
    close(store_layout::duplicates_of, kept);
    close(store_layout::copy_ids, ids);
    close(store_layout::copy_titles, titles);
    close(store_layout::copy_distances, distances);
    return outcome;
}

}  // namespace quern
