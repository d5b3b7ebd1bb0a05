// SPDX-License-Identifier: Apache-2.0
// One stable radix sort of keys that hold the first words of a position: three words of natural text fit into 64 bits. Where
// n-grams are longer, positions whose keys are equal are few, and are sorted by the next words, and so on.
#include <algorithm>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ngram_likelihood/orders.hpp"
#include "ops/ngram_likelihood/packed_words.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::ngram_detail {
namespace {

constexpr std::size_t piece_positions = std::size_t{1} << 16;

std::size_t pieces_of(std::size_t items) {
    return (items + piece_positions - 1) / piece_positions;
}

template <class Position>
class packed_sorter {
  public:
    packed_sorter(cpu_place& place, const ngram_collection& collection, const document_table& documents,
                  unsigned order)
        : place_(place),
          words_(collection.words),
          documents_(documents),
          order_(order),
          packing_(collection.vocabulary, order) {}

    ngram_order<Position> sort() {
        ngram_order<Position> made{cpu_array<Position>(place_, words_.size(), "sorted n-grams"), {}};
        cpu_array<std::uint64_t> keys(place_, words_.size(), "keys of n-grams");
        for_each_stretch([&](std::size_t begin, std::size_t end) { pack(begin, end, keys, made.positions); });
        primitives::sort_pairs(place_, keys.span(), made.positions.span(), {.key_bits = packing_.key_bits()});
        made.shared = cpu_array<std::uint8_t>(place_, words_.size(), "sorted n-grams");
        for_each_stretch([&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                made.shared.data()[i] =
                    i == 0 ? 0
                           : static_cast<std::uint8_t>(packing_.shared(keys.data()[i - 1], keys.data()[i]));
        });
        keys = {};
        if (order_ > packing_.words) sort_ties(made);
        return made;
    }

  private:
    template <class Work>
    void for_each_stretch(const Work& work) {
        const std::size_t pieces = pieces_of(words_.size());
        for_each_piece(place_, pieces, [&](std::size_t p) {
            place_.run().check_stop();
            const auto [begin, end] = piece_of(words_.size(), pieces, p);
            work(begin, end);
        });
    }

    void pack(std::size_t begin, std::size_t end, const cpu_array<std::uint64_t>& keys,
              const cpu_array<Position>& positions) const {
        while (begin < end) {
            const std::uint64_t document_end = documents_.of(begin).end;
            const std::size_t stop = std::min<std::size_t>(end, document_end);
            std::uint64_t key = stop == document_end ? packing_.end() : key_of(stop, document_end);
            for (std::size_t i = stop; i-- > begin;) {
                key = packing_.before(words_[i], key);
                keys.data()[i] = key;
                positions.data()[i] = static_cast<Position>(i);
            }
            begin = stop;
        }
    }

    /// The key of a position whose document ends at `document_end`.
    std::uint64_t key_of(std::uint64_t position, std::uint64_t document_end) const {
        std::uint64_t key = packing_.end();
        for (std::uint64_t i = std::min(document_end, position + packing_.words); i-- > position;)
            key = packing_.before(words_[i], key);
        return key;
    }

    struct tie {
        std::uint64_t key, position;
        auto operator<=>(const tie&) const = default;
    };

    /// Stretches of equal keys, all of whose words are known: by the words behind them.
    void sort_ties(const ngram_order<Position>& made) {
        const std::span<const std::uint8_t> shared = made.shared.span();
        const unsigned words = packing_.words;
        // A piece has the stretches that begin in it; what the next one sees of a stretch is unchanged at `words` and above.
        std::vector<std::size_t> begins{0};
        for (std::size_t i = piece_positions; i < shared.size(); i = begins.back() + piece_positions) {
            while (i < shared.size() && shared[i] >= words) ++i;
            if (i < shared.size())
                begins.push_back(i);
            else
                break;
        }
        begins.push_back(shared.size());
        for_each_piece(place_, begins.size() - 1, [&](std::size_t p) {
            place_.run().check_stop();
            std::vector<tie> ties;
            for (std::size_t i = begins[p]; i < begins[p + 1];) {
                std::size_t end = i + 1;
                while (end < begins[p + 1] && shared[end] >= words) ++end;
                if (end - i > 1) sort_stretch(made, i, end, words, ties);
                i = end;
            }
        });
    }

    /// Positions that begin alike with `known` words.
    void sort_stretch(const ngram_order<Position>& made, std::size_t begin, std::size_t end, unsigned known,
                      std::vector<tie>& ties) {
        const unsigned more = std::min(packing_.words, order_ - known);
        ties.clear();
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint64_t position = made.positions.data()[i];
            const std::uint64_t document_end = documents_.of(position).end;
            const std::uint64_t behind = position + known;
            ties.push_back(
                {behind >= document_end ? packing_.end() : packing_.first(key_of(behind, document_end), more),
                 position});
        }
        std::sort(ties.begin(), ties.end());
        for (std::size_t i = begin; i < end; ++i) {
            made.positions.data()[i] = static_cast<Position>(ties[i - begin].position);
            if (i != begin)
                made.shared.data()[i] = static_cast<std::uint8_t>(
                    known + packing_.shared(ties[i - begin - 1].key, ties[i - begin].key));
        }
        known += more;
        if (known == order_) return;
        for (std::size_t i = begin; i < end;) {
            std::size_t next = i + 1;
            while (next < end && made.shared.data()[next] >= known) ++next;
            if (next - i > 1) sort_stretch(made, i, next, known, ties);
            i = next;
        }
    }

    cpu_place& place_;
    std::span<const std::uint32_t> words_;
    const document_table& documents_;
    unsigned order_;
    word_packing packing_;
};

}  // namespace

template <class Position>
ngram_order<Position> packed_order(cpu_place& place, const ngram_collection& collection,
                                   const document_table& documents, unsigned order) {
    return packed_sorter<Position>(place, collection, documents, order).sort();
}
template ngram_order<std::uint32_t> packed_order(cpu_place&, const ngram_collection&, const document_table&,
                                                 unsigned);
template ngram_order<std::uint64_t> packed_order(cpu_place&, const ngram_collection&, const document_table&,
                                                 unsigned);

}  // namespace quern::ngram_detail
