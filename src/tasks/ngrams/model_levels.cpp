// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/model_levels.hpp"

#include <limits>
#include <vector>

#include "quern/base/error.hpp"
#include "tasks/ngrams/ngram_words.hpp"

namespace quern {

model_level model_levels::root() {
    model_level of;
    of.size = 1;
    of.children = table<std::uint64_t>(2);
    of.back_offs = table<double>(1);
    return of;
}

model_level model_levels::take(unsigned n, model_level& parents) {
    number_stream<counted_ngram>& from = counts_.of(n);
    model_level of;
    of.size = from.size();
    if (of.size >= std::numeric_limits<std::uint32_t>::max())
        throw out_of_memory("the numbers of n-grams", of.size, std::numeric_limits<std::uint32_t>::max());
    of.last_words = table<std::uint32_t>(of.size);
    of.probabilities = table<double>(of.size);
    if (n < order_) {
        of.positions = table<std::uint64_t>(of.size);
        of.children = table<std::uint64_t>(of.size + 1);
        of.back_offs = table<double>(of.size);
    }
    if (n > 1 && (n < order_ || last_suffixes_)) of.suffixes = table<std::uint32_t>(of.size);
    std::uint64_t taken = 0, adopted = 0;
    from.drain([&](std::span<const counted_ngram> part) {
        if (part.empty()) return;
        const std::size_t pieces = pieces_for(place_, part.size(), 1 << 12);
        std::vector<std::uint64_t> ends(pieces);
        for_each_piece(place_, pieces, [&](std::size_t p) {
            place_.ctx().check_stop();
            const auto [begin, end] = piece_of(part.size(), pieces, p);
            const std::uint64_t first =
                p == 0 ? adopted : parent_of(n, parents, part[begin - 1].position) + 1;
            ends[p] = take_piece(n, parents, first, part.subspan(begin, end - begin), of, taken + begin);
        });
        taken += part.size();
        adopted = ends.back();
    });
    std::fill(parents.children.span().begin() + static_cast<std::ptrdiff_t>(adopted),
              parents.children.span().end(), of.size);
    if (number_stream<std::uint64_t>* const histories = counts_.histories_of(n)) {
        of.histories = table<std::uint64_t>(of.size);
        std::uint64_t* to = of.histories.span().data();
        histories->drain([&](std::span<const std::uint64_t> part) {
            place_.ctx().check_stop();
            to = std::ranges::copy(part, to).out;
        });
    }
    return of;
}

/// Takes the nodes from `at` on, and assigns them to their parents: both are in order. Parents before `adopted` are
/// known to begin earlier; returns the number of those known now.
std::uint64_t model_levels::take_piece(unsigned n, const model_level& parents, std::uint64_t adopted,
                                       std::span<const counted_ngram> part, model_level& of,
                                       std::uint64_t at) const {
    const std::uint32_t* const words = corpus_.words.span().data();
    const auto fetch = [&](std::uint64_t position) {
        __builtin_prefetch(words + position);
        __builtin_prefetch(words + position + n - 1);
    };
    constexpr std::size_t block = ngram_words::block_of_thread;
    ngram_words of_part(corpus_, n, place_.ctx());
    node_words of_parents(corpus_, parents.positions.span(), n - 1, place_.ctx(),
                          std::clamp<std::size_t>(part.size() / 4, 1, block));
    const auto is_child = [&](std::uint64_t q, const std::uint32_t* ngram) {
        if (n == 1) return true;
        if (ngram[n - 2] != parents.last_words[q]) return false;
        return n == 2 || std::equal(ngram, ngram + (n - 2), of_parents.of(q));
    };
    for (std::size_t i = 0; i < std::min<std::size_t>(ahead, part.size()); ++i) fetch(part[i].position);
    for (std::size_t i = 0; i < part.size(); ++i, ++at) {
        if (i % block == 0)
            of_part.take(std::min(part.size() - i, block),
                         [&](std::size_t of_block) { return part[i + of_block].position; });
        if (i + ahead < part.size()) fetch(part[i + ahead].position);
        const std::uint32_t* const ngram = of_part[i % block];
        of.last_words[at] = ngram[n - 1];
        of.probabilities[at] = static_cast<double>(part[i].count);
        if (of.positions.size() != 0) of.positions[at] = part[i].position;
        if (adopted != 0 && is_child(adopted - 1, ngram)) continue;
        for (bool found = false; !found; ++adopted) {
            if (adopted == parents.size) throw std::logic_error("an n-gram without its history");
            if (n > 1 && adopted + ahead < parents.size) fetch(parents.positions[adopted + ahead]);
            found = is_child(adopted, ngram);
            parents.children[adopted] = at;
        }
    }
    return adopted;
}

/// The parent of the n-gram at `position`.
std::uint64_t model_levels::parent_of(unsigned n, const model_level& parents, std::uint64_t position) const {
    if (n == 1) return 0;
    const std::uint32_t* const words = corpus_.words.span().data();
    const std::span<const std::uint64_t> among = parents.positions.span();
    const auto found = std::lower_bound(
        among.begin(), among.end(), position, [&](std::uint64_t parent, std::uint64_t ngram) {
            place_.ctx().check_stop();  // anywhere in the text
            return std::lexicographical_compare(words + parent, words + parent + (n - 1), words + ngram,
                                                words + ngram + (n - 1));
        });
    return static_cast<std::uint64_t>(found - among.begin());
}

}  // namespace quern
