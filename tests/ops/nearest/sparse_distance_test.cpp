// SPDX-License-Identifier: Apache-2.0
// Distances of sparse rows have the bits of their dense equivalents, which the reference sums.
#include <algorithm>
#include <map>
#include <set>

#include "on_each_place.hpp"
#include "ops/nearest/index/tile.hpp"
#include "reference/retrieval_reference.hpp"

namespace quern::sparse_distance_test {
namespace {

namespace detail = nearest_detail;

constexpr vector_metric metrics[] = {vector_metric::l2,     vector_metric::sql2, vector_metric::ip,
                                     vector_metric::cosine, vector_metric::l1,   vector_metric::linf};

/// CSR rows on the host; `base` entries, which belong to earlier rows, are counted by the offsets but not stored.
struct sparse_set {
    std::uint32_t dimensions = 1;
    std::uint64_t base = 0;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> columns;
    std::vector<float> values;

    std::uint32_t rows() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
    void add_row(const std::map<std::uint32_t, float>& row) {
        for (const auto& [column, value] : row) {
            columns.push_back(column);
            values.push_back(value);
        }
        offsets.push_back(columns.size());
    }
    void begin_at(std::uint64_t entry) {
        for (std::uint64_t& offset : offsets) offset += entry - base;
        base = entry;
    }
    std::vector<reference::numbers> twins() const {
        return reference::components_of(sparse_vectors_view{rows(), dimensions, offsets, columns, values});
    }
};

enum class flavour { few_values, any_values };

/// Lower columns are more likely, as with words. One row in eight is empty, one in eight repeats the previous row;
/// few_values: small integers, so that many distances tie.
sparse_set random_set(std::uint32_t rows, std::uint32_t dimensions, std::uint32_t longest, flavour kind,
                      std::uint64_t seed) {
    std::mt19937_64 random(seed);
    sparse_set set;
    set.dimensions = dimensions;
    std::map<std::uint32_t, float> row;
    for (std::uint32_t i = 0; i < rows; ++i) {
        const std::uint64_t turn = random() % 8;
        if (turn != 1) row.clear();
        const std::uint64_t entries = turn < 2 ? 0 : random() % (std::uint64_t{longest} + 1);
        for (std::uint64_t e = 0; e < entries; ++e) {
            const double u = std::ldexp(static_cast<double>(random() >> 11), -53);
            const auto column = static_cast<std::uint32_t>(u * u * u * dimensions);
            const float magnitude =
                kind == flavour::few_values
                    ? static_cast<float>(random() % 3)
                    : std::ldexp(static_cast<float>(random() >> 40), -20 - static_cast<int>(random() % 24));
            row[column] = random() % 2 == 0 ? magnitude : -magnitude;  // zeros of both signs among them
        }
        set.add_row(row);
    }
    return set;
}

/// The same set and queries with the fewest dimensions that keep the order of columns and each column's partial sum.
std::pair<sparse_set, sparse_set> narrowed(sparse_set set, sparse_set queries) {
    std::set<std::uint32_t> used(set.columns.begin(), set.columns.end());
    used.insert(queries.columns.begin(), queries.columns.end());
    std::map<std::uint32_t, std::uint32_t> narrow;
    std::uint32_t next = 0;
    for (const std::uint32_t column : used) {
        next += (column % 16 + 16 - next % 16) % 16;
        narrow[column] = next++;
    }
    for (sparse_set* const each : {&set, &queries}) {
        each->dimensions = std::max(next, 1u);
        for (std::uint32_t& column : each->columns) column = narrow[column];
    }
    return {set, queries};
}

std::vector<std::uint32_t> expected_keys(const sparse_set& set, const sparse_set& queries,
                                         vector_metric metric, const std::vector<std::uint32_t>& rows) {
    const auto a = set.twins(), b = queries.twins();
    std::vector<std::uint32_t> keys;
    for (const auto& query : b)
        for (std::size_t i = 0; i < (rows.empty() ? a.size() : rows.size()); ++i)
            keys.push_back(reference::canonical_key<std::uint32_t>(vector_type::f32, metric,
                                                                   a[rows.empty() ? i : rows[i]], query));
    return keys;
}

template <class Tested>
class sparse_distance_test : public on_place<Tested> {
  protected:
    using place_type = typename Tested::place_type;

    /// A set in the place's memory, with guards.
    struct placed {
        guarded_array<place_type, std::uint64_t> offsets;
        guarded_array<place_type, std::uint32_t> columns;
        guarded_array<place_type, float> values;
        guarded_array<place_type, double> squares;
        std::uint32_t rows, dimensions;
        detail::sparse_tile<place_type> tile() const {
            return {rows, dimensions, offsets.view(), columns.view(), values.view(), squares.view()};
        }
    };
    placed put(const sparse_set& set) {
        placed made{this->array(set.offsets),
                    this->array(set.columns, beginning::one_off),
                    this->array(set.values),
                    this->template output<double>(set.rows()),
                    set.rows(),
                    set.dimensions};
        stats_ = detail::stats_of(this->place(), made.tile(), made.squares.span());
        return made;
    }

    /// Distances of both are those of `twin` and `twin_queries`, for every metric.
    void expect_twins(const sparse_set& set, const sparse_set& queries, const sparse_set& twin,
                      const sparse_set& twin_queries, const std::vector<std::uint32_t>& rows = {}) {
        const placed at = put(set), of = put(queries);
        const auto list = this->array(rows);
        const std::size_t n = rows.empty() ? set.rows() : rows.size();
        for (const vector_metric metric : metrics) {
            SCOPED_TRACE(vector_metric_names[static_cast<int>(metric)]);
            const auto keys = this->template output<std::uint32_t>(n * queries.rows());
            detail::distance_keys<std::uint32_t>(this->place(), at.tile(), of.tile(), metric, list.view(),
                                                 keys.span());
            this->place().synchronise();
            const auto found = keys.host(), expected = expected_keys(twin, twin_queries, metric, rows);
            ASSERT_EQ(found.size(), expected.size());
            const auto [f, e] = std::mismatch(found.begin(), found.end(), expected.begin());
            ASSERT_EQ(f, found.end())
                << "pair " << f - found.begin() << " of " << n << " rows: key " << *f << ", not " << *e;
        }
    }
    void expect_twins(const sparse_set& set, const sparse_set& queries,
                      const std::vector<std::uint32_t>& rows = {}) {
        expect_twins(set, queries, set, queries, rows);
    }

    detail::row_stats stats_;  // of what was put last
};
TYPED_TEST_SUITE(sparse_distance_test, tested_places, tested_place_names);

TYPED_TEST(sparse_distance_test, keys_are_those_of_dense_twins) {
    std::uint64_t seed = 1;
    for (const std::uint32_t rows : {1u, 2u, 31u, 33u, 257u}) {
        for (const std::uint32_t queries : {1u, 2u, 15u, 16u, 17u, 33u, 67u}) {
            for (const std::uint32_t dimensions : {1u, 15u, 17u, 100u, 784u}) {
                if (rows * queries * dimensions > 500'000 && !tested_with().small_sizes) continue;
                if (tested_with().small_sizes && (rows == 257 || dimensions == 784 || queries > 33)) continue;
                SCOPED_TRACE(::testing::Message()
                             << rows << " rows, " << queries << " queries, " << dimensions);
                const flavour kind = seed % 2 == 0 ? flavour::few_values : flavour::any_values;
                const std::uint32_t longest = seed % 3 == 0 ? 2 * dimensions : 40;
                const sparse_set set = random_set(rows, dimensions, longest, kind, seed++);
                this->expect_twins(set, random_set(queries, dimensions, 40, kind, seed++));
                if (this->HasFatalFailure()) return;
            }
        }
    }
}

TYPED_TEST(sparse_distance_test, many_rows_meet_many_queries) {
    const std::uint32_t rows = tested_with().small_sizes ? 300 : 800;
    const sparse_set set = random_set(rows, 300, 60, flavour::any_values, 1);
    this->expect_twins(set, random_set(150, 300, 30, flavour::any_values, 2));
}

TYPED_TEST(sparse_distance_test, a_giant_row_and_a_giant_query) {
    sparse_set set = random_set(20, 50'000, 10, flavour::any_values, 3);
    sparse_set queries = random_set(3, 50'000, 10, flavour::any_values, 4);
    std::map<std::uint32_t, float> giant, other;
    for (std::uint32_t column = 0; column < 50'000; ++column) {
        giant[column] = std::sin(static_cast<float>(column));
        if (column % 3 != 0) other[column] = std::cos(static_cast<float>(column));
    }
    set.add_row(giant);
    set.add_row({});
    queries.add_row(other);
    queries.add_row(giant);
    this->expect_twins(set, queries);
}

TYPED_TEST(sparse_distance_test, rows_of_a_list_and_offsets_that_begin_later) {
    sparse_set set = random_set(500, 60, 20, flavour::few_values, 5);
    sparse_set queries = random_set(21, 60, 20, flavour::few_values, 6);
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = 0; i < 300; ++i) list.push_back(i * 7919 % 500);
    list.push_back(list.front());
    const sparse_set twin = set, twin_queries = queries;
    set.begin_at((std::uint64_t{1} << 40) + 5);
    queries.begin_at(77);
    this->expect_twins(set, queries, twin, twin_queries, list);
    this->expect_twins(set, queries, twin, twin_queries, {499});
    this->expect_twins(set, queries, twin, twin_queries);
}

// Sums of integers are exact up to 2^24 and rounded beyond: both sides of the limit.
TYPED_TEST(sparse_distance_test, integers_around_the_greatest_exact_sum) {
    for (const float large : {1'000.0f, 2'047.0f, 2'048.0f, 2'049.0f, 4'097.0f, 4'096.5f, 0.5f}) {
        SCOPED_TRACE(large);
        sparse_set set = random_set(300, 200, 40, flavour::few_values, 12);
        sparse_set queries = random_set(20, 200, 40, flavour::few_values, 13);
        set.add_row({{3, large}, {19, 1.0f}, {35, -large}});
        set.add_row({{3, large}, {19, 1.0f}, {199, 1.0f}});
        queries.add_row({{3, -large}, {19, -1.0f}, {35, 1.0f}, {51, 3.0f}});
        queries.add_row({{19, 1.0f}});
        this->expect_twins(set, queries);
        sparse_set few = random_set(1, 200, 40, flavour::few_values, 14);
        few.add_row({{3, -large}, {19, -1.0f}, {35, 1.0f}, {51, 3.0f}});
        this->expect_twins(set, few);
    }
}

TYPED_TEST(sparse_distance_test, hashed_columns_of_32_bits) {
    for (const std::uint32_t dimensions : {1'000'000u, 100'000'000u, 0xffffffffu}) {
        SCOPED_TRACE(dimensions);
        const sparse_set set = random_set(60, dimensions, 30, flavour::any_values, 7);
        sparse_set queries = random_set(20, dimensions, 30, flavour::any_values, 8);
        queries.add_row({{0, 1.0f}, {dimensions / 2, 2.0f}, {dimensions - 1, 3.0f}});
        for (std::uint32_t i = 0; i < 20; ++i) {  // meet the rows
            const auto begin = static_cast<std::ptrdiff_t>(set.offsets[i]),
                       end = static_cast<std::ptrdiff_t>(set.offsets[i + 1]);
            std::map<std::uint32_t, float> shared;
            for (auto e = begin; e < end; e += 2) shared[set.columns[static_cast<std::size_t>(e)]] = 0.75f;
            queries.add_row(shared);
        }
        const auto [twin, twin_queries] = narrowed(set, queries);
        this->expect_twins(set, queries, twin, twin_queries);
    }
}

TYPED_TEST(sparse_distance_test, nothing_to_compare) {
    const sparse_set none, one = random_set(1, 1, 1, flavour::any_values, 9);
    this->expect_twins(none, one);
    this->expect_twins(one, none);
    sparse_set empty;
    for (int i = 0; i < 40; ++i) empty.add_row({});
    this->expect_twins(empty, empty);
}

TYPED_TEST(sparse_distance_test, stats) {
    sparse_set set = random_set(5'000, 1'000, 30, flavour::few_values, 10);
    set.add_row({{3, -5.0f}, {999, 4.0f}});
    set.add_row({{4, 5.0f}});
    const auto at = this->put(set);
    EXPECT_EQ(this->stats_.bad_row, detail::no_row);
    EXPECT_EQ(this->stats_.greatest, 5.0f);
    EXPECT_EQ(this->stats_.greatest_row, 5'000u);
    const auto twins = set.twins();
    const auto squares = at.squares.host();
    for (std::size_t i = 0; i < twins.size(); ++i)
        ASSERT_EQ(squares[i], reference::canonical_squares(vector_type::f32, twins[i])) << "row " << i;

    sparse_set zeros;
    this->put(zeros);
    EXPECT_EQ(this->stats_.greatest_row, detail::no_row);
    EXPECT_EQ(this->stats_.bad_row, detail::no_row);
}

TYPED_TEST(sparse_distance_test, the_first_bad_row_is_named) {
    const float infinity = std::numeric_limits<float>::infinity();
    sparse_set good = random_set(3'000, 1'000, 30, flavour::any_values, 11);
    for (const auto& [columns, values] :
         std::vector<std::pair<std::vector<std::uint32_t>, std::vector<float>>>{
             {{7, 7}, {1, 1}},
             {{7, 6}, {1, 1}},
             {{1'000}, {1}},
             {{0xffffffff, 3}, {1, 1}},
             {{0, 1, 999}, {0, std::nanf(""), 0}},
             {{0, 1, 999}, {0, 0, -infinity}},
             {{5}, {infinity}},
         }) {
        sparse_set set = good;
        for (int twice = 0; twice < 2; ++twice) {  // the later one is not named
            set.columns.insert(set.columns.end(), columns.begin(), columns.end());
            set.values.insert(set.values.end(), values.begin(), values.end());
            set.offsets.push_back(set.columns.size());
            set.add_row({{0, 1.0f}});
        }
        this->put(set);
        EXPECT_EQ(this->stats_.bad_row, 3'000u);
    }
    // Rows are checked one by one: the last column of a row may be above the first of the next, or equal.
    good.add_row({{999, 1.0f}});
    good.add_row({{0, 1.0f}, {5, 1.0f}});
    good.add_row({{5, 1.0f}});
    this->put(good);
    EXPECT_EQ(this->stats_.bad_row, detail::no_row);
}

}  // namespace
}  // namespace quern::sparse_distance_test
