// SPDX-License-Identifier: Apache-2.0
// The method of DEIM 2018 without a dictionary (PP): positions are sorted by comparing their words as strings.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/order/ngram_order.hpp"

namespace quern::ngram_detail {
namespace {

class string_comparer {
  public:
    string_comparer(const ngram_collection& collection, const document_table& documents, unsigned order)
        : collection_(collection), documents_(documents), order_(order) {}

    /// The number of equal leading words of two positions, and the comparison of the next word.
    struct comparison {
        unsigned shared;
        int order;
    };
    comparison compare(std::uint64_t a, std::uint64_t b) const {
        const std::uint64_t a_end = documents_.of(a).end, b_end = documents_.of(b).end;
        for (unsigned n = 0; n < order_; ++n, ++a, ++b) {
            if (a == a_end || b == b_end)
                return {n, static_cast<int>(a != a_end) - static_cast<int>(b != b_end)};
            const int differing = word(a).compare(word(b));
            if (differing != 0) return {n, differing};
        }
        return {order_, 0};
    }

  private:
    std::string_view word(std::uint64_t position) const {
        return collection_.text.substr(collection_.starts[position], collection_.lengths[position]);
    }

    const ngram_collection& collection_;
    const document_table& documents_;
    unsigned order_;
};

/// A stable merge sort: threads sort halves, then merge.
template <class Position, class Before>
void sort_positions(cpu_place& place, std::span<Position> positions, const Before& before) {
    std::size_t pieces = 1;
    while (pieces < place.threads() && positions.size() / pieces > 1024) pieces *= 2;
    const auto at = [&](std::size_t p) {
        return positions.begin() +
               static_cast<std::ptrdiff_t>(p == pieces ? positions.size()
                                                       : piece_of(positions.size(), pieces, p).begin);
    };
    for_each_piece(place, pieces, [&](std::size_t p) { std::stable_sort(at(p), at(p + 1), before); });
    for (std::size_t width = 1; width < pieces; width *= 2) {
        for_each_piece(place, pieces / (2 * width), [&](std::size_t p) {
            const std::size_t first = 2 * width * p;
            std::inplace_merge(at(first), at(first + width), at(first + 2 * width), before);
        });
    }
}

}  // namespace

template <class Position>
ngram_order<Position> order_of_strings(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, unsigned order) {
    const std::size_t words = collection.starts.size();
    ngram_order<Position> result(place, words);
    const std::span<Position> positions = result.positions();
    std::iota(positions.begin(), positions.end(), Position{0});
    const string_comparer comparer(collection, documents, order);
    sort_positions(place, positions, [&](Position a, Position b) {
        place.ctx().check_stop();
        return comparer.compare(a, b).order < 0;
    });
    const std::size_t pieces = pieces_for(place, words, 1 << 14);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(words, pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            result.shared()[i] =
                i == 0 ? 0
                       : static_cast<std::uint8_t>(comparer.compare(positions[i - 1], positions[i]).shared);
    });
    return result;
}
template ngram_order<std::uint32_t> order_of_strings(cpu_place&, const ngram_collection&,
                                                     const document_table&, unsigned);
template ngram_order<std::uint64_t> order_of_strings(cpu_place&, const ngram_collection&,
                                                     const document_table&, unsigned);

}  // namespace quern::ngram_detail
