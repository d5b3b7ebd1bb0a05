// SPDX-License-Identifier: Apache-2.0
// Groups are made of links, which may be others on another device; the distance that is stored is therefore none of theirs
// but that to the kept document, which may be beyond the threshold where a third document stands between the two.
#include "tasks/build/duplicates.hpp"

#include <algorithm>
#include <span>

#include "device/cpu/place.hpp"
#include "io/store/section.hpp"
#include "io/store/string_column.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "tasks/memory_left.hpp"
#include "tasks/store/layout.hpp"

namespace quern {
namespace {

/// A copy and the kept document by their positions.
struct copy_pair {
    std::uint32_t kept, copy;
};

/// In the order of the kept documents, then of the copies.
std::vector<copy_pair> find_copies(const document_table& documents, std::uint32_t first_new,
                                   const context& run, std::map<std::string, std::uint64_t>& counts) {
    duplicate_scope links;
    links.first_new = first_new;
    links.links_only = true;
    constexpr std::uint64_t grouping_bytes = 24;  // a document: its length, its set and its group
    with_memory_left(run, grouping_bytes * documents.size(), "groups of near-duplicates");
    duplicate_result found = near_duplicates(documents.texts(), {}, links, run);
    counts = {{"compared", found.counts.compared},
              {"candidates", found.counts.candidates},
              {"verified", found.counts.verified}};
    std::erase_if(found.pairs, [&](const duplicate_pair& p) { return documents.text_bytes(p.b) == 0; });
    std::vector<std::uint64_t> lengths(documents.size());
    for (std::uint32_t d = 0; d < documents.size(); ++d) lengths[d] = documents.text_bytes(d);
    std::vector<copy_pair> copies;
    for (const duplicate_group& group : duplicate_groups(found.pairs, lengths, keep_policy::first)) {
        for (const std::uint32_t d : group.members) {
            if (d != group.kept && d >= first_new) copies.push_back({group.kept, d});
        }
    }
    return copies;
}

std::vector<std::uint32_t> distances_of(std::span<const copy_pair> copies, const document_table& documents,
                                        const context& run) {
    const text_list texts = documents.texts();
    std::vector<primitives::bounded_pair> pairs;
    for (const auto& [kept, copy] : copies) {
        const std::uint64_t bound = std::max(texts.length(kept), texts.length(copy));
        pairs.push_back({kept, copy, static_cast<std::uint32_t>(bound)});
    }
    std::vector<std::uint32_t> distances(copies.size());
    cpu_place place(run);
    primitives::edit_distances<std::uint8_t>(
        place, {reinterpret_cast<const std::uint8_t*>(texts.bytes.data()), texts.bytes.size()}, texts.offsets,
        pairs, distances);
    return distances;
}

}  // namespace

duplicates_outcome leave_out_duplicates(const document_spool& spool, const store_to_update* old,
                                        const std::filesystem::path& store, const scratch_folder& scratch,
                                        const context& run) {
    const document_table& documents = spool.documents();
    const auto first_new = old == nullptr ? 0 : static_cast<std::uint32_t>(old->store().info().documents);
    const document_copies known = old == nullptr ? document_copies() : old->store().copies();
    const context beside =
        with_memory_left(run, old == nullptr ? 0 : old->memory_bytes(), "the store to add to");
    const context left = with_memory_left(beside, spool.memory_bytes(), "the table of documents");
    duplicates_outcome outcome;
    const std::vector<copy_pair> copies = find_copies(documents, first_new, left, outcome.counts);
    outcome.counts["copies"] = known.size() + copies.size();
    if (known.size() + copies.size() == 0) return outcome;

    for (const auto& [kept, copy] : copies) outcome.left_out.push_back({copy, kept});
    std::ranges::sort(outcome.left_out, {}, &left_out_document::position);
    const auto number_of = [&](std::uint32_t position) {  // of a kept document
        const auto before =
            std::ranges::lower_bound(outcome.left_out, position, {}, &left_out_document::position);
        return position - static_cast<std::uint32_t>(before - outcome.left_out.begin());
    };
    for (left_out_document& d : outcome.left_out) d.kept = number_of(d.kept);

    const auto file = [&store](std::string_view name) { return store_layout::file_of(store, name); };
    io::section_writer kept(file(store_layout::copies_of)), distances(file(store_layout::copy_distances));
    io::string_column_writer ids(file(store_layout::copy_ids), scratch.file("copy_id_ends"));
    io::string_column_writer titles(file(store_layout::copy_titles), scratch.file("copy_title_ends"));
    const std::vector<std::uint32_t> edits = distances_of(copies, documents, left);
    std::uint64_t next_known = 0;
    const auto append_known = [&](std::uint64_t end) {  // those of documents before `end`
        for (; next_known < known.size() && known.kept(next_known) < end; ++next_known) {
            const document_copies::copy copy = known[next_known];
            kept.append_value(known.kept(next_known));
            ids.append(copy.id);
            titles.append(copy.title);
            distances.append_value(copy.distance);
        }
    };
    for (std::size_t i = 0; i < copies.size(); ++i) {
        run.check_stop();
        const std::uint32_t number = number_of(copies[i].kept);
        append_known(number + std::uint64_t{1});
        kept.append_value(number);
        ids.append(documents.id(copies[i].copy));
        titles.append(spool.title(copies[i].copy));
        distances.append_value(edits[i]);
    }
    append_known(documents.size());
    const auto close = [&outcome](std::string_view name, auto& section) {
        const auto summary = section.finish();
        outcome.sections.push_back({std::string(name), summary.file_bytes, summary.checksum});
    };
    close(store_layout::copies_of, kept);
    close(store_layout::copy_ids, ids);
    close(store_layout::copy_titles, titles);
    close(store_layout::copy_distances, distances);
    return outcome;
}

}  // namespace quern
