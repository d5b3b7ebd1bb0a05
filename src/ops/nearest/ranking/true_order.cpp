// SPDX-License-Identifier: Apache-2.0
#include "ops/nearest/ranking/true_order.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/nearest/distance/keys_cpu.hpp"
#include "ops/nearest/index/tile_memory.hpp"
#include "ops/nearest/ranking/exact_distance.hpp"

namespace quern::nearest_detail {
namespace {

// ---- Rows as doubles ----

template <class Sink>
void for_each_component(const vectors_view& view, std::uint64_t row, const Sink& sink) {
    with_type(view.type, [&](auto type) {
        const auto* const from = row_at<type()>(view.values.data(), view.stride, row);
        for (std::uint32_t j = 0; j < view.dimensions; ++j)
            sink(static_cast<double>(component<type()>(from, j)));
    });
}
sparse_row row_of(const sparse_vectors_view& view, std::uint64_t row) {
    const std::uint64_t begin = view.offsets[row] - view.offsets[0];
    return {view.columns.data() + begin, view.values.data() + begin,
            view.offsets[row + 1] - view.offsets[row]};
}
template <class Sink>
void for_each_component(const sparse_vectors_view& view, std::uint64_t row, const Sink& sink) {
    const sparse_row entries = row_of(view, row);
    for (std::uint64_t e = 0; e < entries.size; ++e) sink(double{entries.values[e]});
}

/// The components of a pair; of sparse rows, those of the columns that either has.
struct paired_components {
    std::vector<double> row, query;

    paired_components(const vectors_view& set, std::uint64_t r, const vectors_view& queries,
                      std::uint64_t q) {
        row.reserve(set.dimensions);
        query.reserve(set.dimensions);
        for_each_component(set, r, [&](double value) { row.push_back(value); });
        for_each_component(queries, q, [&](double value) { query.push_back(value); });
    }
    paired_components(const sparse_vectors_view& set, std::uint64_t r, const sparse_vectors_view& queries,
                      std::uint64_t q) {
        for_each_pair(row_of(set, r), row_of(queries, q), false, [&](std::uint32_t, float a, float b) {
            row.push_back(double{a});
            query.push_back(double{b});
        });
    }
};

// ---- Granularity of components ----

void look_at(double value, component_grain& grain) {
    if (value == 0) return;
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const auto number = static_cast<std::int64_t>(std::ldexp(fraction, 53));
    grain.least = std::min(grain.least, exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(number)));
    grain.max = std::max(grain.max, exponent);
}

constexpr component_grain nothing_seen{true, std::numeric_limits<int>::max() / 4,
                                       std::numeric_limits<int>::min() / 4};

/// Whether all values are whole multiples of 2^grain.least below 2^grain.max: fast if most rows pass. In integers and without
/// branches, so that compilers use vectors.
bool keeps_to(std::span<const float> values, const component_grain& grain) {
    if (grain.least > grain.max || grain.least < -120 || grain.max > 120) return false;
    constexpr std::int32_t without_sign = 0x7fffffff;
    const float scale = std::ldexp(1.0F, -grain.least);
    const auto limit = std::bit_cast<std::int32_t>(std::ldexp(1.0F, grain.max - grain.least));
    std::int32_t wrong = 0;
    for (const float value : values) {
        const auto scaled = std::bit_cast<std::int32_t>(value * scale);
        const std::int32_t is_small = ((scaled & without_sign) - limit) >> 31;  // all bits, or none
        const std::int32_t kept = scaled & is_small;  // the limit is at most 2^27: it fits an int
        const auto whole = static_cast<float>(static_cast<std::int32_t>(std::bit_cast<float>(kept)));
        wrong |= ~is_small | ((std::bit_cast<std::int32_t>(whole) ^ kept) & without_sign);
    }
    return wrong == 0;
}

/// A row's components, if they are floats of any length; otherwise nothing. `space`: for those that are not stored as f32.
std::span<const float> floats_of(const vectors_view& view, std::uint64_t row, std::vector<float>& space) {
    if (view.type == vector_type::f32)
        return {row_at<vector_type::f32>(view.values.data(), view.stride, row), view.dimensions};
    if (view.type != vector_type::f16 && view.type != vector_type::bf16) return {};
    space.resize(view.dimensions);
    with_type(view.type, [&](auto type) {
        const auto* const from = row_at<type()>(view.values.data(), view.stride, row);
        for (std::uint32_t j = 0; j < view.dimensions; ++j)
            space[j] = static_cast<float>(component<type()>(from, j));
    });
    return space;
}
std::span<const float> floats_of(const sparse_vectors_view& view, std::uint64_t row,
                                 std::vector<float>& /*space*/) {
    const sparse_row entries = row_of(view, row);
    return {entries.values, entries.size};
}

template <class View>
component_grain grain_of_rows(cpu_place& place, const View& rows, int max_bits) {
    const std::size_t pieces = pieces_for(place, rows.rows, 64, 64);
    std::vector<component_grain> found(pieces, nothing_seen);
    std::atomic<bool> too_fine = false;
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(rows.rows, pieces, p);
        component_grain seen = nothing_seen;
        std::vector<float> space;
        for (std::uint64_t i = begin; i < end && !too_fine.load(std::memory_order_relaxed); ++i) {
            if (i % 1024 == 0) place.ctx().check_stop();
            const std::span<const float> floats = floats_of(rows, i, space);
            if (!floats.empty() && keeps_to(floats, seen)) continue;
            for_each_component(rows, i, [&](double value) { look_at(value, seen); });
            if (seen.max - seen.least > max_bits) too_fine = true;
        }
        found[p] = seen;
    });
    component_grain whole = nothing_seen;
    for (const component_grain& of_piece : found) {
        whole.least = std::min(whole.least, of_piece.least);
        whole.max = std::max(whole.max, of_piece.max);
    }
    whole.known = !too_fine && whole.max - whole.least <= max_bits;
    return whole;
}

// ---- Parts of queries ----

/// Whether no column has a component of both: a product of 0, for any rounding.
bool stand_apart(const vectors_view& set, std::uint64_t r, const vectors_view& queries, std::uint64_t q) {
    return with_type(set.type, [&](auto type) {
        const auto* const a = row_at<type()>(set.values.data(), set.stride, r);
        const auto* const b = row_at<type()>(queries.values.data(), queries.stride, q);
        bool apart = true;
        for (std::uint32_t j = 0; j < set.dimensions; ++j)
            apart &= component<type()>(a, j) == 0 || component<type()>(b, j) == 0;
        return apart;
    });
}
bool stand_apart(const sparse_vectors_view& set, std::uint64_t r, const sparse_vectors_view& queries,
                 std::uint64_t q) {
    bool apart = true;
    for_each_pair(row_of(set, r), row_of(queries, q), true,
                  [&](std::uint32_t, float a, float b) { apart &= a == 0 || b == 0; });
    return apart;
}

bool same_row(const vectors_view& view, std::uint64_t a, std::uint64_t b) {
    const std::byte* const values = view.values.data();
    return std::memcmp(values + a * view.stride, values + b * view.stride, view.row_bytes()) == 0;
}
bool same_row(const sparse_vectors_view& view, std::uint64_t a, std::uint64_t b) {
    const sparse_row left = row_of(view, a), right = row_of(view, b);
    return left.size == right.size &&
           std::memcmp(left.columns, right.columns, left.size * sizeof(std::uint32_t)) == 0 &&
           std::memcmp(left.values, right.values, left.size * sizeof(float)) == 0;
}

double length_of(const auto& view, std::uint64_t row) {
    double greatest = 0, square = 0;
    for_each_component(view, row, [&](double value) { greatest = std::max(greatest, std::fabs(value)); });
    if (greatest == 0) return 0;
    for_each_component(view, row, [&](double value) { square += value / greatest * (value / greatest); });
    return greatest * std::sqrt(square) * (1 + 0x1p-20);
}

}  // namespace

int useful_grain_bits(vector_metric metric, std::uint32_t dimensions) {
    const int left = 53 - std::bit_width(dimensions);
    switch (part_of(metric)) {
        case part_kind::products:
            return left / 2;
        case part_kind::squares:
            return left / 2 - 1;
        default:
            return std::min(left - 1, 27);
    }
}
component_grain joined(const component_grain& a, const component_grain& b) {
    return {a.known && b.known, std::min(a.least, b.least), std::max(a.max, b.max)};
}
component_grain grain_of(cpu_place& place, const vectors_view& rows, int max_bits) {
    return grain_of_rows(place, rows, max_bits);
}
component_grain grain_of(cpu_place& place, const sparse_vectors_view& rows, int max_bits) {
    return grain_of_rows(place, rows, max_bits);
}

template <class View>
true_order<View>::true_order(cpu_place& place, const View& set, const View& queries, vector_metric metric,
                             const index_stats& stats, row_source* source)
    : ctx_(place.ctx()),
      set_(set),
      queries_(queries),
      metric_(metric),
      type_(type_of(set)),
      stats_(stats),
      source_(source) {
    if constexpr (std::is_same_v<View, vectors_view>) meter_.emplace(place, tile_over(queries), metric);
    if (metric == vector_metric::ip)
        for (std::uint64_t q = 0; q < queries.rows; ++q) lengths_.push_back(length_of(queries, q));
}

/// Dimensions for the bounds: of sparse rows the longest sum may have all its parts in one partial sum.
template <class View>
std::uint64_t true_order<View>::summed(std::uint64_t query) const {
    if constexpr (std::is_same_v<View, vectors_view>) {
        return set_.dimensions;
    } else {
        const std::uint64_t entries = stats_.max_entries + row_of(queries_, query).size;
        return std::min<std::uint64_t>(set_.dimensions, partial_sums * entries);
    }
}

template <class View>
double true_order<View>::reach_of(std::uint64_t query) const {
    if (metric_ != vector_metric::ip) return 0;
    // Each component that is multiplied with one of the query's is at most the maximum.
    double parts = static_cast<double>(set_.dimensions);
    if constexpr (!std::is_same_v<View, vectors_view>)
        parts =
            static_cast<double>(std::min<std::uint64_t>(row_of(queries_, query).size, stats_.max_entries));
    return lengths_[query] * stats_.greatest * std::sqrt(parts) * (1 + 0x1p-20);
}

/// Whether sums of so many bits hold every sum of the metric exactly.
template <class View>
bool true_order<View>::sums_are_exact(int bits) const {
    if (!stats_.grain.known || metric_ == vector_metric::cosine) return false;
    const int size = stats_.grain.max - stats_.grain.least;
    const int more = std::bit_width(set_.dimensions);
    const part_kind kind = part_of(metric_);
    const int needed = kind == part_kind::products  ? 2 * size + more
                       : kind == part_kind::squares ? 2 * (size + 1) + more
                                                    : size + 1 + more;
    // Nor may a sum leave the range of its numbers.
    const int least = bits == 24 ? -126 : -1000, max = bits == 24 ? 126 : 1000;
    const int factor = kind == part_kind::products || kind == part_kind::squares ? 2 : 1;
    return needed <= bits && factor * stats_.grain.least >= least &&
           factor * (stats_.grain.max + 1) + more <= max;
}

template <class View>
value_bound true_order<View>::values_bound(std::uint64_t query) const {
    if (sums_are_exact(53)) {
        value_bound bound = bound_of_values(type_, metric_, 1, 0);
        bound.relative = bound.absolute = 0;
        return bound;
    }
    return bound_of_values(type_, metric_, static_cast<std::uint32_t>(summed(query)), reach_of(query));
}
template <class View>
value_bound true_order<View>::keys_bound(std::uint64_t query) const {
    value_bound bound =
        bound_of_keys(type_, metric_, static_cast<std::uint32_t>(summed(query)), reach_of(query));
    if (sums_are_exact(24)) bound.relative = bound.absolute = 0;
    return bound;
}

/// Between two checks: in a mapped file each faults in up to 2 MiB.
constexpr std::uint64_t scattered_rows = 8;

template <class View>
void true_order<View>::measure(std::uint64_t query, std::span<const std::uint32_t> rows,
                               std::span<double> values) const {
    if constexpr (std::is_same_v<View, vectors_view>) {
        constexpr std::size_t ahead = 4, line = 64;
        const std::uint64_t bytes = set_.row_bytes();
        const auto at = [&](std::size_t i) { return set_.values.data() + rows[i] * set_.stride; };
        pair_distances::scratch mine;
        paced_checks checks(ctx_, scattered_rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            checks.after(1);
            if (i + ahead < rows.size())  // scattered rows come from memory
                for (std::uint64_t b = 0; b < std::min<std::uint64_t>(bytes, 1024); b += line)
                    __builtin_prefetch(at(i + ahead) + b);
            meter_->measure(at(i), query, 1, values.data() + i, mine);
        }
    } else {
        paced_checks checks(ctx_, scattered_rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            checks.after(1);
            values[i] = sparse_value(metric_, row_of(set_, rows[i]), row_of(queries_, query));
        }
    }
}

template <class View>
void true_order<View>::measure(std::uint64_t query, const vectors_view& copies, std::uint64_t first,
                               std::span<double> values) const
    requires std::is_same_v<View, vectors_view>
{
    pair_distances::scratch mine;
    for (std::size_t i = 0; i < values.size(); ++i)
        meter_->measure(copies.values.data() + (first + i) * copies.stride, query, 1, values.data() + i,
                        mine);
}

template <class View>
double true_order<View>::reported_of(double sum) const {
    return metric_ == vector_metric::l2 ? std::sqrt(sum) : sum;
}

/// Rows by their exact distances to one query.
template <class View>
class true_order<View>::tie_groups {
  public:
    tie_groups(const true_order& order, std::uint64_t query)
        : order_(order), query_(query), products_(part_of(order.metric_) == part_kind::products) {}

    /// Rows of the set; row i is at number_of(i) in `view`.
    template <class NumberOf>
    void add(const View& view, std::span<const std::uint32_t> rows, const NumberOf& number_of) {
        // Rows that are equal, and rows without a column of the query, occur in large numbers if at all.
        tied* last = nullptr;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::uint64_t at = number_of(i);
            const bool stands_apart = products_ && stand_apart(view, at, order_.queries_, query_);
            if (stands_apart && apart_ != nullptr) {
                apart_->rows.push_back(rows[i]);
                continue;
            }
            if (last == nullptr || !same_row(view, last->at, at)) last = &group_of(view, at);
            last->rows.push_back(rows[i]);
            last->at = at;
            if (stands_apart) apart_ = last;
        }
    }
    /// Nearest first, ties by row.
    void write_to(const ranking& group) {
        std::size_t to = 0;
        for (auto& [distance, ties] : found_) {
            std::sort(ties.rows.begin(), ties.rows.end());
            for (const std::uint32_t row : ties.rows) {
                group.rows[to] = row;
                group.reported[to++] = ties.reported;
            }
        }
    }

  private:
    struct tied {
        double reported = 0;
        std::vector<std::uint32_t> rows;
        std::uint64_t at = 0;  ///< in the view, of one of them
    };
    tied& group_of(const View& view, std::uint64_t at) {
        const paired_components pair(view, at, order_.queries_, query_);
        const auto [group, is_new] = found_.try_emplace(
            exact_distance(order_.metric_, order_.type_ == vector_type::f64, pair.row, pair.query));
        tied& ties = group->second;
        if (is_new) ties.reported = order_.reported_of(group->first.rounded(reported_bits(order_.type_)));
        return ties;
    }

    const true_order& order_;
    std::uint64_t query_;
    bool products_;
    std::map<exact_distance, tied> found_;
    tied* apart_ = nullptr;
};

/// Rows in unknown order.
template <class View>
void true_order<View>::settle_group(std::uint64_t query, const ranking& group) const {
    close_.store(true, std::memory_order_relaxed);
    tie_groups groups(*this, query);
    if constexpr (std::is_same_v<View, vectors_view>) {
        if (source_ != nullptr) {
            constexpr std::uint64_t copied_bytes = 4 << 20;
            const std::uint64_t at_once = std::max<std::uint64_t>(copied_bytes / source_->row_bytes(), 1);
            row_memory memory;
            for (std::uint64_t first = 0; first < group.rows.size(); first += at_once) {
                const auto rows =
                    group.rows.subspan(first, std::min<std::uint64_t>(at_once, group.rows.size() - first));
                groups.add(source_->rows(rows, memory), rows, [](std::size_t i) { return i; });
            }
            return groups.write_to(group);
        }
    }
    groups.add(set_, group.rows, [&](std::size_t i) { return group.rows[i]; });
    groups.write_to(group);
}

template <class View>
void true_order<View>::settle(std::uint64_t query, const ranking& all, std::uint64_t begin,
                              std::uint64_t end) const {
    const value_bound bound = values_bound(query);
    const unsigned bits = reported_bits(type_);
    const auto size = static_cast<std::uint64_t>(all.values.size());
    const bool product = metric_ == vector_metric::ip;
    // Equal values are ties if they are exact: then rows are ordered correctly.
    const auto close = [&](std::uint64_t i) {  // to the next one
        return !bound.exact() && bound.upper(all.values[i]) >= bound.lower(all.values[i + 1]);
    };
    std::uint64_t i = begin;
    while (begin != 0 && i < size && close(i - 1)) ++i;
    while (i < end && i < size) {
        std::uint64_t last = i + 1;
        while (last < size && close(last - 1)) ++last;
        double number = rounded_to(bits, all.values[i]);
        const bool certain = bound.exact() || (number == rounded_to(bits, bound.lower(all.values[i])) &&
                                               number == rounded_to(bits, bound.upper(all.values[i])));
        if (last - i == 1 && certain) {
            all.reported[i] = reported_of(product ? 0.0 - number : number);
        } else {
            settle_group(query, {all.values.subspan(i, last - i), all.rows.subspan(i, last - i),
                                 all.reported.subspan(i, last - i)});
        }
        i = last;
    }
}

template class true_order<vectors_view>;
template class true_order<sparse_vectors_view>;

}  // namespace quern::nearest_detail
