// SPDX-License-Identifier: Apache-2.0
// The method `signature` on several devices. The host makes the signatures. Each device holds all of them, a small part of the
// texts, and joins tiles; then each decides candidates, with their texts.
#include <algorithm>
#include <atomic>
#include <memory>
#include <span>

#include "device/place_set.hpp"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/papers/signatures/signature_join.hpp"

namespace quern::near_duplicates_detail {

namespace {

/// By segments if all places agree on it: the tiles are then those that these leave.
void join_segments(place_set& places, std::span<const std::unique_ptr<signature_tiles>> tiles,
                   segments_choice choice, std::vector<candidate>& all) {
    if (choice.parts == 0) {
        constexpr unsigned parts_of_place = 4;  // of several: these may differ in speed
        choice.parts = places.size() == 1 ? 1 : parts_of_place * static_cast<unsigned>(places.size());
        for (const auto& of_place : tiles) choice.parts = std::max(choice.parts, of_place->fewest_parts());
        choice.parts = std::min(choice.parts, max_gram_parts);
    }
    std::vector<std::vector<candidate>> found(choice.parts);
    std::atomic<bool> everywhere{true};
    places.for_each_unit(choice.parts, [&](auto&, cpu_place&, std::size_t part, std::size_t index) {
        if (everywhere && !tiles[index]->join_by_segments(static_cast<unsigned>(part), choice, found[part]))
            everywhere = false;
    });
    if (!everywhere) return;
    for (const std::vector<candidate>& some : found) all.insert(all.end(), some.begin(), some.end());
    places.on_each([&](auto&, cpu_place&, std::size_t index) { tiles[index]->keep_short_rows(); });
}

}  // namespace

std::vector<candidate> join_signatures(place_set& places, const signature_view& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts, const segments_choice& choice) {
    constexpr std::size_t units_of_place = 16;
    check_texts(signatures.levels.size());
    if (signatures.levels.empty()) return {};
    std::vector<std::unique_ptr<signature_tiles>> tiles(places.size());
    places.on_each([&](auto& place, cpu_place&, std::size_t index) {
        tiles[index] = tiles_of_join(place, signatures, bounds, scope);
    });
    std::vector<candidate> all;
    join_segments(places, tiles, choice, all);
    const std::uint64_t size = tiles[0]->size(), units = std::min(size, units_of_place * places.size());
    std::vector<std::vector<candidate>> found(units);
    places.for_each_unit(units, [&](auto&, cpu_place&, std::size_t unit, std::size_t index) {
        found[unit] = tiles[index]->join(size * unit / units, size * (unit + 1) / units);
    });
    counts.compared += tiles[0]->compared();
    for (const std::vector<candidate>& some : found) all.insert(all.end(), some.begin(), some.end());
    sort_candidates(all);
    counts.candidates += all.size();
    return all;
}

template <class Unit>
std::vector<duplicate_pair> find_by_signatures(const chosen_device& chosen, const text_list& texts,
                                               const unit_list<Unit>& units, const duplicate_options& options,
                                               const duplicate_scope& scope, const context& ctx,
                                               duplicate_counts& counts, std::string& where) {
    constexpr std::size_t at_once = std::size_t{1} << 16;
    context half = pinned_to(chosen, ctx);
    half.memory_bytes = std::max<std::uint64_t>(ctx.memory_limit() / 2, 1);
    cpu_place host(half);
    place_set places(half, chosen);
    where = places.where();
    std::vector<candidate> candidates;
    {
        const signature_list signatures(host, texts, options.signature_length);
        const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
        candidates = join_signatures(places, signatures.view(), bounds, scope, counts);
    }
    struct decided {
        std::vector<duplicate_pair> pairs;
        duplicate_counts counts;
    };
    std::vector<decided> all((candidates.size() + at_once - 1) / at_once);
    const context* listening = nullptr;  // its callbacks exclude those of the other places
    places[0].visit([&](auto& place, cpu_place&) { listening = &place.ctx(); });
    progress_meter meter(*listening, "measure", candidates.size(), "pairs");
    places.for_each_unit(all.size(), [&](auto& place, cpu_place&, std::size_t unit) {
        const std::span rest = std::span<const candidate>(candidates).subspan(unit * at_once);
        const std::span some = rest.first(std::min(rest.size(), at_once));
        all[unit].pairs = verify(place, units, options.threshold, some, all[unit].counts);
        meter.add(some.size());
    });
    std::vector<duplicate_pair> pairs;
    for (const decided& some : all) {
        pairs.insert(pairs.end(), some.pairs.begin(), some.pairs.end());
        counts.verified += some.counts.verified;
    }
    counts.pairs = pairs.size();
    return pairs;
}

template std::vector<duplicate_pair> find_by_signatures(const chosen_device&, const text_list&,
                                                        const unit_list<std::uint8_t>&,
                                                        const duplicate_options&, const duplicate_scope&,
                                                        const context&, duplicate_counts&, std::string&);
template std::vector<duplicate_pair> find_by_signatures(const chosen_device&, const text_list&,
                                                        const unit_list<std::uint32_t>&,
                                                        const duplicate_options&, const duplicate_scope&,
                                                        const context&, duplicate_counts&, std::string&);

}  // namespace quern::near_duplicates_detail
