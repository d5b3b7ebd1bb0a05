// SPDX-License-Identifier: Apache-2.0
// Integers below 2^32, as in almost all lists, are numbered without sorting: a bit for each integer that occurs, with a
// count of the preceding ones, gives the number of an id with one read. If the ids are too sparse for that, they are
// sorted; so are the names and long integers in the readers' tables. The result does not depend on which thread read
// what.
#include "io/graph/numbering.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>

#include "base/prefix_key.hpp"
#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "io/lines/line_kernels.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t min_piece = std::size_t{1} << 15;
constexpr std::string_view for_what = "numbering the nodes of a graph";

void check_count(std::uint64_t nodes, std::string_view input) {
    if (nodes <= max_nodes) return;
    throw invalid_input(input, 0,
                        std::to_string(nodes) + " nodes; at most " + std::to_string(max_nodes) + " are read");
}

/// work(range, its links) for pieces of all ranges.
template <class Work>
void for_each_range(cpu_place& place, std::span<link> links, const std::vector<id_range>& ranges,
                    const Work& work) {
    std::vector<id_range> parts;
    for (const id_range& whole : ranges) {
        id_range part = whole;
        for (; part.begin < whole.end; part.begin = part.end) {
            part.end = std::min<std::uint64_t>(whole.end, part.begin + 4 * min_piece);
            parts.push_back(part);
        }
    }
    for_each_piece(place, parts.size(), [&](std::size_t p) {
        place.ctx().check_stop();
        work(parts[p], links.subspan(parts[p].begin, parts[p].end - parts[p].begin));
    });
}

template <class Number>
void renumber(std::span<link> links, const Number& number) {
    for (link& each : links) each = {number(each.from), number(each.to)};
}

/// The distinct integers of ranges with narrow ids, by bits.
class bit_index {
  public:
    static std::uint64_t bytes_for(std::uint64_t range) { return (range / 32 + 1) * sizeof(id_cell); }

    bit_index(cpu_place& place, std::span<link> links, const ids_read& ids)
        : least_(ids.least), cells_(place, (std::uint64_t{ids.largest} - ids.least) / 32 + 1, for_what) {
        const std::size_t pieces = pieces_for(place, cells_.size(), min_piece);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(cells_.size(), pieces, p);
            std::fill(cells_.data() + begin, cells_.data() + end, id_cell{0, 0});
        });
        for_each_range(place, links, ids.ranges, [&](const id_range& part, std::span<const link> mine) {
            if (part.kind != id_kind::narrow) return;
            for (const link each : mine) {
                set(each.from);
                set(each.to);
            }
        });
        count(place);
    }

    std::uint64_t size() const { return size_; }
    std::uint32_t number_of(std::uint32_t id) const {
        const std::uint32_t at = id - least_;
        const id_cell cell = cells_.data()[at / 32];
        const std::uint32_t below = cell.occurs & ((std::uint32_t{1} << at % 32) - 1);
        return cell.before + static_cast<std::uint32_t>(std::popcount(below));
    }
    void number_all(std::span<link> links) const { number_by_cells(links, least_, cells_.data()); }
    /// All of them, rising.
    void list(cpu_place& place, std::uint32_t* into) const {
        const std::size_t pieces = pieces_for(place, cells_.size(), min_piece);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(cells_.size(), pieces, p);
            for (std::size_t c = begin; c < end; ++c) {
                std::uint32_t* out = into + cells_.data()[c].before;
                for (std::uint32_t bits = cells_.data()[c].occurs; bits != 0; bits &= bits - 1)
                    *out++ = least_ + static_cast<std::uint32_t>(
                                          c * 32 + static_cast<unsigned>(std::countr_zero(bits)));
            }
        });
    }

  private:
    void set(std::uint32_t id) {
        const std::uint32_t at = id - least_, bit = std::uint32_t{1} << at % 32;
        const std::atomic_ref occurs(cells_.data()[at / 32].occurs);
        // Most bits are set already: a read costs less than an atomic write.
        if ((occurs.load(std::memory_order_relaxed) & bit) == 0)
            occurs.fetch_or(bit, std::memory_order_relaxed);
    }
    void count(cpu_place& place) {
        const std::size_t pieces = pieces_for(place, cells_.size(), min_piece);
        std::vector<std::uint64_t> sums(pieces);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(cells_.size(), pieces, p);
            for (std::size_t c = begin; c < end; ++c)
                sums[p] += static_cast<unsigned>(std::popcount(cells_.data()[c].occurs));
        });
        for (std::uint64_t& sum : sums) size_ += std::exchange(sum, size_);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(cells_.size(), pieces, p);
            std::uint64_t before = sums[p];
            for (std::size_t c = begin; c < end; ++c) {
                cells_.data()[c].before = static_cast<std::uint32_t>(before);
                before += static_cast<unsigned>(std::popcount(cells_.data()[c].occurs));
            }
        });
    }

    std::uint32_t least_;
    std::uint64_t size_ = 0;
    cpu_array<id_cell> cells_;
};

/// The distinct integers of ranges with narrow ids as a sorted list, for sparse ids. A table by the leading bits of the
/// distance from the smallest id says where to search.
class list_index {
  public:
    list_index(cpu_place& place, std::span<link> links, const ids_read& ids) : least_(ids.least) {
        collect(place, links, ids);
        const auto range_bits = static_cast<unsigned>(std::bit_width(ids.largest - ids.least));
        const auto cell_bits = static_cast<unsigned>(std::bit_width(values_.size()));
        shift_ = range_bits > cell_bits ? range_bits - cell_bits : 0;
        cells_ =
            cpu_array<std::uint32_t>(place, ((std::size_t{ids.largest} - least_) >> shift_) + 2, for_what);
        std::size_t cell = 0;
        for (std::size_t i = 0; i < values_.size(); ++i)
            while (cell <= (values_.data()[i] - least_) >> shift_)
                cells_.data()[cell++] = static_cast<std::uint32_t>(i);
        while (cell < cells_.size()) cells_.data()[cell++] = static_cast<std::uint32_t>(values_.size());
    }

    std::uint64_t size() const { return values_.size(); }
    std::uint32_t number_of(std::uint32_t id) const {
        const std::uint32_t* const cell = cells_.data() + ((id - least_) >> shift_);
        const std::uint32_t* const values = values_.data();
        return static_cast<std::uint32_t>(std::lower_bound(values + cell[0], values + cell[1], id) - values);
    }
    void number_all(std::span<link> links) const {
        renumber(links, [&](std::uint32_t id) { return number_of(id); });
    }
    void list(cpu_place& place, std::uint32_t* into) const {
        const std::size_t pieces = pieces_for(place, values_.size(), min_piece);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(values_.size(), pieces, p);
            std::copy(values_.data() + begin, values_.data() + end, into + begin);
        });
    }

  private:
    /// Ids are partitioned into buckets by their leading bits; each bucket finds its distinct ids with a bit map that
    /// fits the cache.
    void collect(cpu_place& place, std::span<const link> links, const ids_read& ids) {
        constexpr unsigned bucket_bits = 11;
        constexpr std::size_t buckets = std::size_t{1} << bucket_bits;
        const auto range_bits = static_cast<unsigned>(std::bit_width(ids.largest - ids.least));
        const unsigned shift = range_bits > bucket_bits ? range_bits - bucket_bits : 0;
        std::vector<id_range> narrow;
        for (const id_range& each : ids.ranges)
            if (each.kind == id_kind::narrow) narrow.push_back(each);

        // Pieces of all links, excluding the ranges of other kinds.
        const std::size_t pieces = pieces_for(place, links.size(), min_piece);
        const auto for_each_id = [&](std::size_t p, const auto& work) {
            const auto [begin, end] = piece_of(links.size(), pieces, p);
            for (const id_range& each : narrow) {
                const std::uint64_t first = std::max<std::uint64_t>(begin, each.begin),
                                    last = std::min<std::uint64_t>(end, each.end);
                for (std::uint64_t i = first; i < last; ++i) {
                    work(links[i].from - least_);
                    work(links[i].to - least_);
                }
            }
        };
        std::vector<std::uint64_t> next(pieces * buckets), bounds(buckets + 1);
        for_each_piece(place, pieces, [&](std::size_t p) {
            std::vector<std::uint64_t> counts(buckets);
            for_each_id(p, [&](std::uint32_t distance) { ++counts[distance >> shift]; });
            std::copy(counts.begin(), counts.end(), next.data() + p * buckets);
        });
        std::uint64_t sum = 0;
        for (std::size_t b = 0; b < buckets; ++b) {
            bounds[b] = sum;
            for (std::size_t p = 0; p < pieces; ++p) sum += std::exchange(next[p * buckets + b], sum);
        }
        bounds[buckets] = sum;
        const cpu_array<std::uint32_t> all(place, sum, for_what);
        for_each_piece(place, pieces, [&](std::size_t p) {
            std::uint64_t* const at = next.data() + p * buckets;
            for_each_id(p, [&](std::uint32_t distance) { all.data()[at[distance >> shift]++] = distance; });
        });

        std::vector<std::uint64_t> kept(buckets + 1);
        for_each_piece(place, buckets, [&](std::size_t b) {
            const std::span<std::uint32_t> bucket = all.span().subspan(bounds[b], bounds[b + 1] - bounds[b]);
            kept[b + 1] = keep_distinct(bucket, static_cast<std::uint32_t>(b) << shift, shift);
        });
        for (std::size_t b = 1; b < kept.size(); ++b) kept[b] += kept[b - 1];
        values_ = cpu_array<std::uint32_t>(place, kept.back(), for_what);
        for_each_piece(place, buckets, [&](std::size_t b) {
            for (std::uint64_t i = kept[b]; i < kept[b + 1]; ++i)
                values_.data()[i] = least_ + all.data()[bounds[b] + (i - kept[b])];
        });
    }

    /// Moves the distinct ids of `bucket`, each in [first, first + 2^bits), in rising order to its front. Returns their
    /// number.
    static std::size_t keep_distinct(std::span<std::uint32_t> bucket, std::uint32_t first, unsigned bits) {
        if (bucket.empty()) return 0;
        std::vector<std::uint64_t> occurs((std::size_t{1} << bits) / 64 + 1);
        for (const std::uint32_t value : bucket)
            occurs[(value - first) / 64] |= std::uint64_t{1} << (value - first) % 64;
        std::size_t size = 0;
        for (std::size_t w = 0; w < occurs.size(); ++w)
            for (std::uint64_t word = occurs[w]; word != 0; word &= word - 1)
                bucket[size++] = first + static_cast<std::uint32_t>(
                                             w * 64 + static_cast<unsigned>(std::countr_zero(word)));
        return size;
    }

    std::uint32_t least_;
    unsigned shift_ = 0;
    cpu_array<std::uint32_t> values_, cells_;
};

/// Calls work(index), if there are narrow ids.
template <class Work>
auto with_narrow_index(cpu_place& place, std::span<link> links, const ids_read& ids, const Work& work) {
    constexpr std::uint64_t small = std::uint64_t{1} << 22;
    const std::uint64_t range = std::uint64_t{ids.largest} - ids.least + 1;
    if (bit_index::bytes_for(range) <= std::max<std::uint64_t>(small, links.size_bytes()))
        return work(bit_index(place, links, ids));
    return work(list_index(place, links, ids));
}

node_names number_narrow(cpu_place& place, std::span<link> links, const ids_read& ids,
                         std::string_view input) {
    return with_narrow_index(place, links, ids, [&](const auto& index) {
        check_count(index.size(), input);
        const auto nodes = static_cast<std::uint32_t>(index.size());
        const bool all_occur = nodes == std::uint64_t{ids.largest} - ids.least + 1;
        for_each_range(place, links, ids.ranges, [&](const id_range&, std::span<link> mine) {
            if (!all_occur)
                index.number_all(mine);
            else if (ids.least != 0)
                renumber(mine, [&](std::uint32_t id) { return id - ids.least; });
        });
        if (all_occur) return node_names::consecutive(ids.least, nodes);
        large_array<std::uint32_t> values(place.memory(), for_what, nodes);
        index.list(place, values.data());
        values.settle();
        return node_names::integers(std::move(values));
    });
}

// ---- Ids of tables ----

/// An id of a source: narrow ids are one source, each table is one.
struct integer_item {
    std::uint64_t key;
    std::uint32_t source, local;

    bool same(const integer_item& other) const { return key == other.key; }
    friend bool operator<(const integer_item& a, const integer_item& b) { return a.key < b.key; }
};

struct word_item {
    std::uint64_t prefix;  ///< the first eight bytes as a number: distinguishes most names
    const char* bytes;
    std::uint32_t length, source, local;

    std::string_view text() const { return {bytes, length}; }
    bool same(const word_item& other) const { return prefix == other.prefix && text() == other.text(); }
    friend bool operator<(const word_item& a, const word_item& b) {
        return a.prefix != b.prefix ? a.prefix < b.prefix : a.text() < b.text();
    }
};

word_item make_item(std::string_view text, std::uint32_t source, std::uint32_t local) {
    return {prefix_key(text), text.data(), static_cast<std::uint32_t>(text.size()), source, local};
}

/// Every id of every source, and the node of each.
class id_sources {
  public:
    id_sources(cpu_place& place, const ids_read& ids, std::span<const std::uint32_t> narrow)
        : place_(place), ids_(ids), narrow_(narrow) {
        sizes_.push_back(narrow.size());
        for (const auto* table : ids.integers) sizes_.push_back(table->size());
        for (const auto* table : ids.words) sizes_.push_back(table->size());
        for (const std::uint64_t size : sizes_) nodes_.emplace_back(place, size, for_what);
    }

    node_names number(std::string_view input) {
        if (ids_.words.empty()) {
            const auto sorted = sort_items<integer_item>(place_, integer_items().span(), std::less());
            const auto begins = give_numbers(sorted, input);
            large_array<std::uint64_t> values(place_.memory(), for_what, begins.back());
            for_each_distinct(sorted, begins, [&](std::size_t, std::uint64_t node, const integer_item& item) {
                values[node] = item.key;
            });
            values.settle();
            return node_names::integers(std::move(values));
        }
        const auto sorted = sort_items<word_item>(place_, word_items().span(), std::less());
        const auto begins = give_numbers(sorted, input);
        std::vector<std::uint64_t> lengths(sorted.buckets() + 1);
        for_each_distinct(sorted, begins, [&](std::size_t b, std::uint64_t, const word_item& item) {
            lengths[b + 1] += item.length;
        });
        for (std::size_t b = 1; b < lengths.size(); ++b) lengths[b] += lengths[b - 1];
        large_array<char> bytes(place_.memory(), for_what, lengths.back());
        large_array<std::uint64_t> ends(place_.memory(), for_what, begins.back());
        for_each_distinct(sorted, begins, [&](std::size_t b, std::uint64_t node, const word_item& item) {
            std::memcpy(bytes.data() + lengths[b], item.bytes, item.length);
            ends[node] = lengths[b] += item.length;  // each bucket has its own
        });
        bytes.settle();
        ends.settle();
        return node_names::words(std::move(bytes), std::move(ends));
    }

    /// Nodes of the narrow ids, or of a table.
    const std::uint32_t* nodes_of(const id_range& part) const {
        std::size_t source = 0;
        if (part.kind == id_kind::wide)
            source = 1 + index_in(ids_.integers, part.integers);
        else if (part.kind == id_kind::word)
            source = 1 + ids_.integers.size() + index_in(ids_.words, part.words);
        return nodes_[source].data();
    }

  private:
    template <class Table>
    static std::size_t index_in(const std::vector<const Table*>& tables, const Table* table) {
        return static_cast<std::size_t>(std::find(tables.begin(), tables.end(), table) - tables.begin());
    }
    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t size : sizes_) sum += size;
        return sum;
    }

    cpu_array<integer_item> integer_items() {
        cpu_array<integer_item> items(place_, total(), for_what);
        integer_item* out = items.data();
        for_each_integer([&](std::uint64_t key, std::uint32_t source, std::uint32_t local) {
            *out++ = {key, source, local};  // NOLINT(clang-analyzer-core.CallAndMessage): total() of them
        });
        return items;
    }

    cpu_array<word_item> word_items() {
        cpu_array<word_item> items(place_, total(), for_what);
        word_item* out = items.data();
        constexpr std::size_t max_digits = 20;
        const std::uint64_t integers = total_integers();
        digits_ = cpu_array<char>(place_, integers * max_digits, for_what);
        char* at = digits_.data();
        for_each_integer([&](std::uint64_t key, std::uint32_t source, std::uint32_t local) {
            const char* const begin = at;
            at = std::to_chars(at, at + max_digits, key).ptr;
            *out++ = make_item({begin, at}, source, local);
        });
        auto source = static_cast<std::uint32_t>(1 + ids_.integers.size());
        for (const auto* table : ids_.words) {
            for (std::uint64_t i = 0; i < table->size(); ++i) {
                // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): total() of them
                *out++ = make_item(table->at(i), source, static_cast<std::uint32_t>(i));
            }
            ++source;
        }
        return items;
    }

    std::uint64_t total_integers() const {
        std::uint64_t sum = narrow_.size();
        for (const auto* table : ids_.integers) sum += table->size();
        return sum;
    }
    template <class Sink>
    void for_each_integer(const Sink& sink) const {
        for (std::size_t i = 0; i < narrow_.size(); ++i) sink(narrow_[i], 0, static_cast<std::uint32_t>(i));
        std::uint32_t source = 1;
        for (const auto* table : ids_.integers) {
            for (std::uint64_t i = 0; i < table->size(); ++i)
                sink(table->at(i), source, static_cast<std::uint32_t>(i));
            ++source;
        }
    }

    /// Where the distinct ids of each bucket begin; the total at the end.
    template <class Item>
    std::vector<std::uint64_t> give_numbers(const sorted_items<Item>& sorted, std::string_view input) {
        std::vector<std::uint64_t> begins(sorted.buckets() + 1);
        for_each_piece(place_, sorted.buckets(), [&](std::size_t b) {
            const auto bucket = sorted.bucket(b);
            for (std::size_t i = 0; i < bucket.size(); ++i)
                begins[b + 1] += i == 0 || !bucket[i].same(bucket[i - 1]);
        });
        for (std::size_t b = 1; b < begins.size(); ++b) begins[b] += begins[b - 1];
        check_count(begins.back(), input);
        for_each_piece(place_, sorted.buckets(), [&](std::size_t b) {
            const auto bucket = sorted.bucket(b);
            std::uint64_t node = begins[b];
            for (std::size_t i = 0; i < bucket.size(); ++i) {
                node += i != 0 && !bucket[i].same(bucket[i - 1]);
                nodes_[bucket[i].source].data()[bucket[i].local] = static_cast<std::uint32_t>(node);
            }
        });
        return begins;
    }

    /// work(bucket, node, item) for one item of each node, rising within a bucket.
    template <class Item, class Work>
    void for_each_distinct(const sorted_items<Item>& sorted, const std::vector<std::uint64_t>& begins,
                           const Work& work) {
        for_each_piece(place_, sorted.buckets(), [&](std::size_t b) {
            const auto bucket = sorted.bucket(b);
            std::uint64_t node = begins[b];
            for (std::size_t i = 0; i < bucket.size(); ++i)
                if (i == 0 || !bucket[i].same(bucket[i - 1])) work(b, node++, bucket[i]);
        });
    }

    cpu_place& place_;
    const ids_read& ids_;
    std::span<const std::uint32_t> narrow_;
    std::vector<std::uint64_t> sizes_;
    std::vector<cpu_array<std::uint32_t>> nodes_;  ///< of each source: the node of its i-th id
    cpu_array<char> digits_;                       ///< integers among names, as text
};

}  // namespace

node_names number_nodes(cpu_place& place, std::span<link> links, const ids_read& ids,
                        std::string_view input) {
    if (links.empty()) return {};
    if (ids.integers.empty() && ids.words.empty()) return number_narrow(place, links, ids, input);
    const auto number_all = [&](std::span<const std::uint32_t> narrow, const auto& number_of_narrow) {
        id_sources sources(place, ids, narrow);
        node_names names = sources.number(input);
        for_each_range(place, links, ids.ranges, [&](const id_range& part, std::span<link> mine) {
            const std::uint32_t* const nodes = sources.nodes_of(part);
            if (part.kind == id_kind::narrow)
                renumber(mine, [&](std::uint32_t id) { return nodes[number_of_narrow(id)]; });
            else
                renumber(mine, [&](std::uint32_t id) { return nodes[id]; });
        });
        return names;
    };
    if (ids.least > ids.largest) return number_all({}, [](std::uint32_t id) { return id; });
    return with_narrow_index(place, links, ids, [&](const auto& index) {
        const cpu_array<std::uint32_t> narrow(place, index.size(), for_what);
        index.list(place, narrow.data());
        return number_all(narrow.span(), [&](std::uint32_t id) { return index.number_of(id); });
    });
}

}  // namespace quern::io
