// SPDX-License-Identifier: Apache-2.0
// Sets of vectors through the public interface, on every place, in one piece and in many, against the reference: rankings
// of any length with ties, bitmaps and radii, memory that holds a part of the set, rows split over several shards, rejected
// inputs and their messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../on_each_place.hpp"
#include "../../reference/retrieval_reference.hpp"
#include "../../refused.hpp"
#include "../../several_places.hpp"
#include "ops/nearest/index/replicated_index.hpp"
#include "ops/nearest/index/sharded_index.hpp"
#include "vector_samples.hpp"

namespace quern::vector_set_test {
namespace {

using namespace nearest_detail;
using ::testing::HasSubstr;
using testing::refused;

/// A set cut into that many shards, all on one device.
template <class Place, class View>
class opened_set {
  public:
    opened_set(const View& vectors, vector_set_options options, const context& ctx, std::size_t shards = 1)
        : opened_(ctx, choose_device(ctx, "this test")),
          set_(opened_.place(), opened_.host(), vectors, options,
               {.name = "test",
                .more = further_places(choose_device(ctx, "this test"), shards - 1),
                .in_place = {}}) {}
    sharded_index<Place, View>* operator->() const { return &set_; }

  private:
    opened_place<Place> opened_;
    mutable sharded_index<Place, View> set_;
};
template <class Place, class View>
opened_set<Place, View> make_set(const View& vectors, vector_set_options options, const context& ctx,
                                 std::size_t shards = 1) {
    return {vectors, options, ctx, shards};
}

std::string named(vector_type type, vector_metric metric) {
    return std::string(vector_type_names[static_cast<std::size_t>(type)]) + " " +
           std::string(vector_metric_names[static_cast<std::size_t>(metric)]);
}

std::vector<std::uint64_t> random_bitmap(std::uint64_t rows, std::uint64_t seed, unsigned one_in) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> words((rows + 63) / 64);
    for (std::uint64_t i = 0; i < 64 * words.size(); ++i)  // beyond the last row, too
        words[i / 64] |= std::uint64_t{random() % one_in == 0} << (i % 64);
    return words;
}

/// Rows of a matrix with many zeros, as CSR.
struct sparse_sample {
    std::uint32_t dimensions = 0;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> columns;
    std::vector<float> values;

    sparse_vectors_view view() const { return {offsets.size() - 1, dimensions, offsets, columns, values}; }
};
sparse_sample make_sparse(std::uint32_t rows, std::uint32_t dimensions, std::uint64_t seed, unsigned one_in) {
    sparse_sample made{.dimensions = dimensions, .offsets = {0}, .columns = {}, .values = {}};
    std::mt19937_64 random(seed);
    for (std::uint32_t i = 0; i < rows; ++i) {
        for (std::uint32_t j = 0; j < dimensions && i % 17 != 3; ++j) {
            if (random() % one_in != 0) continue;
            made.columns.push_back(j);
            made.values.push_back(
                sample_float(i % 2 == 0 ? vector_sample::ties : vector_sample::plain, random));
        }
        made.offsets.push_back(made.columns.size());
    }
    return made;
}

template <class Tested>
class vector_set_test : public on_place<Tested> {
  protected:
    using place_type = typename on_place<Tested>::place_type;

    template <class View>
    opened_set<place_type, View> make(const View& vectors, vector_set_options options,
                                      context ctx = Tested::ctx(), std::size_t shards = 1) {
        return make_set<place_type>(vectors, options, ctx, shards);
    }
};
TYPED_TEST_SUITE(vector_set_test, tested_places, tested_place_names);

TYPED_TEST(vector_set_test, ranks_every_type_by_every_metric) {
    for (const std::uint32_t dimensions : {1u, 3u, 100u, 784u, 1536u}) {
        const std::uint32_t rows = dimensions < 500 ? 500 : 80;
        for (const vector_type type : every_type) {
            const auto set = make_vectors(type, rows, dimensions, vector_sample::wide, 7 * dimensions, 8);
            const auto queries = make_vectors(type, 3, dimensions, vector_sample::wide, 7 * dimensions + 1);
            for (const vector_metric metric : metrics_for(type)) {
                const auto expected =
                    reference::rank_all(metric, set.view(), queries.view(), {.k = all_vectors});
                for (const retrieval_method method :
                     {retrieval_method::automatic, retrieval_method::reduction}) {
                    const auto what = named(type, metric) + ", " + std::to_string(dimensions) + " dimensions";
                    const auto made = this->make(set.view(), {metric, method});
                    expect_equal(made->search(queries.view(), {.k = all_vectors}), expected, what);
                    expect_equal(made->search(queries.view(), {.k = 9}), first_of(expected, 9),
                                 what + ", the first 9");
                    if (this->HasFailure()) return;
                }
            }
        }
    }
}

// Many rows at each of a few distances: every k cuts through ties.
TYPED_TEST(vector_set_test, ranks_ties_by_row) {
    for (const vector_type type : {vector_type::f32, vector_type::f64, vector_type::u8, vector_type::bits}) {
        const std::uint32_t rows = 2500, dimensions = 3;
        const auto set = make_vectors(type, rows, dimensions, vector_sample::ties, 11);
        const auto queries = make_vectors(type, 4, dimensions, vector_sample::ties, 12);
        const auto bitmap = random_bitmap(rows, 13, 3);
        for (const vector_metric metric : metrics_for(type)) {
            const auto made = this->make(set.view(), {.metric = metric});
            for (const bool some : {false, true}) {
                for (const std::optional<double>& radius :
                     {std::optional<double>(), std::optional<double>(1),
                      std::optional<double>(std::sqrt(2.0)), std::optional<double>(-1)}) {
                    retrieval_options options{.k = all_vectors, .radius = radius, .allowed = {}};
                    if (some) options.allowed = bitmap;
                    const auto complete = reference::rank_all(metric, set.view(), queries.view(), options);
                    for (const std::uint64_t k :
                         {std::uint64_t{1}, std::uint64_t{31}, std::uint64_t{1250}, all_vectors}) {
                        options.k = k;
                        expect_equal(made->search(queries.view(), options), first_of(complete, k),
                                     named(type, metric) + ", k = " + std::to_string(k));
                        if (this->HasFailure()) return;
                    }
                }
            }
        }
    }
}

// Enough rows and queries for a filter, and data that it filters well, badly and not at all.
TYPED_TEST(vector_set_test, ranks_many_queries) {
    struct sample {
        vector_type type;
        vector_sample kind;
        bool filtered;
    };
    for (const auto& [type, kind, filtered] : {sample{vector_type::f32, vector_sample::plain, true},
                                               sample{vector_type::f32, vector_sample::ties, false},
                                               sample{vector_type::f16, vector_sample::wide, false},
                                               sample{vector_type::i8, vector_sample::plain, true}}) {
        const auto set = make_vectors(type, 17'000, 16, kind, 21, 4);
        const auto queries = make_vectors(type, 24, 16, kind, 22);
        const auto bitmap = random_bitmap(set.rows, 23, 2);
        const auto set_numbers = reference::components_of(set.view());
        const auto query_numbers = reference::components_of(rows_of(queries.view(), 0, 3));  // a part of them
        for (const vector_metric metric : {vector_metric::l2, vector_metric::ip, vector_metric::cosine}) {
            const auto made = this->make(set.view(), {.metric = metric});
            retrieval_options options{.k = 30, .radius = {}, .allowed = {}};
            const auto check = [&](const char* what) {
                const auto expected = reference::rank_all(type, metric, set_numbers, query_numbers, options);
                rankings found = made->search(queries.view(), options);
                EXPECT_EQ(found.offsets.size(), 25u);
                found.offsets.resize(query_numbers.size() + 1);
                expect_equal(found, expected, named(type, metric) + what);
            };
            check(", all");
            if (filtered) {
                EXPECT_GT(made->record().filtered, 0u) << named(type, metric);
                EXPECT_LT(made->record().distances, 24u * 17'000) << named(type, metric);
            }
            options.allowed = bitmap;
            options.radius = metric == vector_metric::ip ? 2.5 : metric == vector_metric::cosine ? 0.5 : 1.5;
            if (type == vector_type::i8) options.radius = 1.0e3;
            check(", every second within a radius");
            if (this->HasFailure()) return;
        }
    }
}

// A budget of memory that holds a part of the set, and rows over several shards.
TYPED_TEST(vector_set_test, ranks_sets_larger_than_memory) {
    context small = TypeParam::ctx();
    small.memory_bytes = small.gpu_memory_bytes = std::uint64_t{12} << 20;
    const auto set = make_vectors(vector_type::f32, 6500, 700, vector_sample::plain, 31, 4);  // 18 MB
    const auto queries = make_vectors(vector_type::f32, 2, 700, vector_sample::plain, 32);
    const auto bitmap = random_bitmap(set.rows, 33, 2);
    const auto set_numbers = reference::components_of(set.view());
    const auto query_numbers = reference::components_of(queries.view());
    for (const vector_metric metric : {vector_metric::l2, vector_metric::cosine, vector_metric::ip}) {
        for (const bool some : {false, true}) {
            retrieval_options options{.k = all_vectors, .radius = {}, .allowed = {}};
            if (some) options.allowed = bitmap;
            const auto complete = reference::rank_all(set.type, metric, set_numbers, query_numbers, options);
            for (const std::size_t shards : {1, 3}) {
                const auto made = this->make(set.view(), {.metric = metric}, small, shards);
                for (const std::uint64_t k : {std::uint64_t{5}, std::uint64_t{1500}, all_vectors}) {
                    options.k = k;
                    expect_equal(made->search(queries.view(), options), first_of(complete, k),
                                 named(set.type, metric) + ", " + std::to_string(shards) +
                                     " shards, k = " + std::to_string(k));
                    if (this->HasFailure()) return;
                }
                EXPECT_GE(made->record().tiles, shards == 1 ? 4u : 3u);
            }
        }
    }
}

// All tiles are read once; afterwards those without a requested row are skipped.
TYPED_TEST(vector_set_test, leaves_tiles_alone_where_nothing_is_allowed) {
    context small = TypeParam::ctx();
    small.memory_bytes = small.gpu_memory_bytes = std::uint64_t{12} << 20;
    const auto set = make_vectors(vector_type::f32, 6500, 700, vector_sample::plain, 35);  // 18 MB
    const auto queries = make_vectors(vector_type::f32, 2, 700, vector_sample::plain, 36);
    std::vector<std::uint64_t> last((6500 + 63) / 64);
    last.back() = 6;
    const auto made = this->make(set.view(), {}, small, 1);
    const auto tiles = [&](const retrieval_options& options) {
        expect_equal(made->search(queries.view(), options),
                     reference::rank_all(vector_metric::l2, set.view(), queries.view(), options), "");
        return made->record().tiles;
    };
    const std::uint64_t all = tiles({.k = 3, .allowed = last});
    EXPECT_GE(all, 4u);
    EXPECT_LE(tiles({.k = 3, .allowed = last}), 2u);  // the last, and the rows resident on a GPU
    EXPECT_EQ(tiles({.k = 3}), all);
}

TYPED_TEST(vector_set_test, splits_rows_over_shards) {
    for (const std::uint32_t rows : {0u, 1u, 255u, 257u, 2000u}) {
        const auto set = make_vectors(vector_type::i8, rows, 5, vector_sample::ties, 41);
        const auto queries = make_vectors(vector_type::i8, 6, 5, vector_sample::ties, 42);
        const auto made = this->make(set.view(), {.metric = vector_metric::l1}, TypeParam::ctx(), 4);
        for (const std::uint64_t k : {std::uint64_t{1}, std::uint64_t{300}, all_vectors})
            expect_equal(made->search(queries.view(), {.k = k}),
                         reference::rank_all(vector_metric::l1, set.view(), queries.view(), {.k = k}),
                         std::to_string(rows) + " rows");
    }
}

/// The whole set on each of several places of one device.
template <class View>
std::unique_ptr<replicated_index<View>> make_replicas(const View& vectors, vector_set_options options,
                                                      const context& ctx, std::size_t places) {
    chosen_device chosen = choose_device(ctx, "this test");
    chosen.more = further_places(chosen, places - 1);
    return replicated_index<View>::make(vectors, options, ctx, chosen);
}

TYPED_TEST(vector_set_test, shares_queries_among_places) {
    const auto set = make_vectors(vector_type::f32, 500, 7, vector_sample::ties, 43);
    const auto allowed = random_bitmap(500, 46, 3);
    for (const std::size_t places : {1, 3}) {
        const auto made = make_replicas(set.view(), {.metric = vector_metric::l2}, TypeParam::ctx(), places);
        ASSERT_NE(made, nullptr);
        for (const std::uint32_t queries : {0u, 1u, 2u, 5u, 150u}) {
            const auto requested = make_vectors(vector_type::f32, queries, 7, vector_sample::ties, 44);
            for (const retrieval_options& options :
                 {retrieval_options{.k = 10}, retrieval_options{.k = 20, .allowed = allowed},
                  retrieval_options{.k = all_vectors, .radius = 1.5}}) {
                const std::string what = std::to_string(queries) + " queries, " + std::to_string(places);
                expect_equal(made->search(requested.view(), options),
                             reference::rank_all(vector_metric::l2, set.view(), requested.view(), options),
                             what);
            }
        }
    }
}

TYPED_TEST(vector_set_test, shares_queries_in_little_memory_and_in_turn) {
    const auto set = make_vectors(vector_type::f32, 1000, 4, vector_sample::plain, 71);
    const auto queries = make_vectors(vector_type::f32, 300, 4, vector_sample::plain, 72);
    for (const std::uint64_t bytes :
         {std::uint64_t{1} << 30, std::uint64_t{6} << 20, std::uint64_t{300} << 10}) {
        context ctx = TypeParam::ctx();
        ctx.memory_bytes = bytes;  // some rankings at a time, or none: the first place has all queries
        std::uint64_t reported = 0;
        ctx.on_progress = [&](const progress& now) {
            EXPECT_GE(now.done, reported);
            reported = now.done;
        };
        const auto made = make_replicas(set.view(), {}, ctx, 2);
        std::uint64_t expected = 0;
        const auto caller = std::this_thread::get_id();
        made->search(queries.view(), {.k = all_vectors}, [&](std::uint64_t query, auto ids, auto) {
            EXPECT_EQ(query, expected++);
            EXPECT_EQ(ids.size(), 1000u);
            EXPECT_EQ(std::this_thread::get_id(), caller);
        });
        EXPECT_EQ(expected, 300u);
        EXPECT_EQ(made->record().distances, 300'000u);
        reported = 0;
        EXPECT_THROW(made->search(queries.view(), {}, [](auto...) { throw io_error("x", "writing", 28); }),
                     io_error);
        reported = 0;
        EXPECT_EQ(made->search(queries.view(), {.k = 1}).ids.size(), 300u);
    }
}

TYPED_TEST(vector_set_test, names_the_first_bad_query_before_any_result) {
    const auto set = make_vectors(vector_type::f32, 100, 4, vector_sample::plain, 71);
    auto queries = make_vectors(vector_type::f32, 300, 4, vector_sample::plain, 72);
    const float bad = std::numeric_limits<float>::quiet_NaN();
    for (const std::size_t at : {250u, 290u}) std::memcpy(queries.memory.data() + at * 16, &bad, sizeof bad);
    const auto made = make_replicas(set.view(), {}, TypeParam::ctx(), 3);
    EXPECT_EQ(refused<invalid_value>([&] {
                  made->search(queries.view(), {.k = 3}, [](auto...) { FAIL() << "a result was given"; });
              }),
              "query 250 has a value that is not finite");
}

TYPED_TEST(vector_set_test, ranks_sparse_vectors) {
    context small = TypeParam::ctx();
    small.memory_bytes = small.gpu_memory_bytes = std::uint64_t{3} << 20;
    const auto set = make_sparse(3000, 800, 51, 5);  // 4 MB
    const auto queries = make_sparse(4, 800, 52, 5);
    const auto bitmap = random_bitmap(3000, 53, 3);
    for (const vector_metric metric : {vector_metric::l2, vector_metric::ip, vector_metric::cosine,
                                       vector_metric::l1, vector_metric::linf}) {
        for (const bool some : {false, true}) {
            retrieval_options options{.k = all_vectors, .radius = {}, .allowed = {}};
            if (some) options.allowed = bitmap;
            const auto complete = reference::rank_all(metric, set.view(), queries.view(), options);
            for (const std::size_t shards : {1, 3}) {
                const auto made = this->make(set.view(), {.metric = metric},
                                             shards == 1 ? small : TypeParam::ctx(), shards);
                for (const std::uint64_t k : {std::uint64_t{4}, all_vectors}) {
                    options.k = k;
                    expect_equal(made->search(queries.view(), options), first_of(complete, k),
                                 named(vector_type::f32, metric) + " of sparse vectors");
                    if (this->HasFailure()) return;
                }
            }
        }
    }
}

// Keys of 32 bits for one search, of 64 for the next: the set alone does not decide.
TYPED_TEST(vector_set_test, chooses_the_keys_of_each_search) {
    const auto set = make_vectors(vector_type::i16, 900, 60, vector_sample::ties, 61);
    const auto near = make_vectors(vector_type::i16, 3, 60, vector_sample::ties, 62);
    const auto far = make_vectors(vector_type::i16, 3, 60, vector_sample::wide, 63);
    for (const vector_metric metric : {vector_metric::sql2, vector_metric::ip, vector_metric::l1}) {
        const auto made = this->make(set.view(), {.metric = metric});
        for (const auto* queries : {&near, &far, &near})
            expect_equal(made->search(queries->view(), {.k = all_vectors}),
                         reference::rank_all(metric, set.view(), queries->view(), {.k = all_vectors}),
                         named(vector_type::i16, metric));
    }
}

TYPED_TEST(vector_set_test, gives_rankings_in_turn_on_the_calling_thread) {
    const auto set = make_vectors(vector_type::f32, 1000, 4, vector_sample::plain, 71);
    const auto queries = make_vectors(vector_type::f32, 300, 4, vector_sample::plain, 72);
    const auto made = this->make(set.view(), {}, TypeParam::ctx(), 2);
    std::uint64_t expected = 0;
    const auto caller = std::this_thread::get_id();
    made->search(queries.view(), {.k = all_vectors}, [&](std::uint64_t query, auto ids, auto distances) {
        EXPECT_EQ(query, expected++);
        EXPECT_EQ(ids.size(), 1000u);
        EXPECT_EQ(distances.size(), 1000u);
        EXPECT_EQ(std::this_thread::get_id(), caller);
    });
    EXPECT_EQ(expected, 300u);
    EXPECT_EQ(made->record().distances, 300'000u);
    EXPECT_EQ(made->record().tiles, 2u);
    EXPECT_THROW(made->search(queries.view(), {}, [](auto...) { throw io_error("x", "writing", 28); }),
                 io_error);
    EXPECT_EQ(made->search(queries.view(), {.k = 1}).ids.size(), 300u);
}

TYPED_TEST(vector_set_test, names_the_first_bad_row) {
    context small = TypeParam::ctx();
    small.memory_bytes = small.gpu_memory_bytes = std::uint64_t{8} << 20;
    auto set = make_vectors(vector_type::f32, 6000, 500, vector_sample::plain, 81);  // 12 MB
    const auto queries = make_vectors(vector_type::f32, 2, 500, vector_sample::plain, 82);
    const auto put = [&](std::uint64_t row, std::uint64_t column, float value) {
        std::memcpy(set.data() + row * set.stride + 4 * column, &value, 4);
    };
    put(5700, 3, std::numeric_limits<float>::infinity());
    put(3217, 499, std::nanf(""));
    put(5900, 1, 3e37f);
    for (const std::size_t shards : {1, 4}) {
        for (const context& ctx : {TypeParam::ctx(), small}) {
            const auto search = [&](vector_metric metric) {
                return refused<invalid_value>([&] {
                    this->make(set.view(), {.metric = metric}, ctx, shards)->search(queries.view(), {});
                });
            };
            EXPECT_EQ(search(vector_metric::l1), "row 3217 has a value that is not finite");
            put(2900, 0, -2e37f);
            EXPECT_EQ(search(vector_metric::ip),
                      "row 2900 has a value so large that a sum of products could overflow");
            EXPECT_EQ(search(vector_metric::cosine),
                      "row 2900 has a value so large that a sum of products could overflow");
            EXPECT_EQ(search(vector_metric::l2), "row 3217 has a value that is not finite");
            put(2900, 0, 1);
        }
    }
    auto bits = make_vectors(vector_type::bits, 400, 13, vector_sample::plain, 83);
    bits.data()[2 * 257 + 1] |= std::byte{0x20};
    EXPECT_EQ(refused<invalid_value>([&] { this->make(bits.view(), {.metric = vector_metric::hamming}); }),
              "row 257 has bits past its last dimension");
    auto sparse = make_sparse(300, 50, 84, 3);
    const std::uint64_t entry = sparse.offsets[200];
    std::swap(sparse.columns[entry], sparse.columns[entry + 1]);
    EXPECT_EQ(refused<invalid_value>([&] { this->make(sparse.view(), {}); }),
              "row 200 has columns that do not ascend");
    sparse = make_sparse(300, 50, 84, 3);
    sparse.columns[sparse.offsets[202] - 1] = 50;
    EXPECT_EQ(refused<invalid_value>([&] { this->make(sparse.view(), {}); }),
              "row 201 has a column past its last dimension");
}

TYPED_TEST(vector_set_test, refuses_queries_and_options) {
    const auto set = make_vectors(vector_type::f32, 100, 8, vector_sample::plain, 91);
    const auto made = this->make(set.view(), {.metric = vector_metric::ip});
    auto queries = make_vectors(vector_type::f32, 5, 8, vector_sample::plain, 92);
    const auto other = make_vectors(vector_type::f16, 5, 8, vector_sample::plain, 92);
    const auto wider = make_vectors(vector_type::f32, 5, 9, vector_sample::plain, 92);
    const auto search = [&](const vectors_view& view, const retrieval_options& options) {
        return refused<usage_error>([&] { made->search(view, options); });
    };
    EXPECT_EQ(search(other.view(), {}), "the vectors are of float32, but the queries are of float16");
    EXPECT_EQ(search(wider.view(), {}), "the vectors have 8 dimensions, but the queries have 9");
    const auto doubles = make_vectors(vector_type::f64, 5, 8, vector_sample::plain, 92);
    EXPECT_EQ(search(doubles.view(), {}), "the vectors are of float32, but the queries are of float64");
    EXPECT_EQ(search(queries.view(), {.k = 0}),
              "top: invalid value '0' (expected all or a whole number of at least 1)");
    EXPECT_EQ(search(queries.view(), {.radius = std::nan("")}),
              "radius: invalid value 'nan' (expected a number)");
    const std::vector<std::uint64_t> words(3, ~std::uint64_t{0});
    EXPECT_EQ(search(queries.view(), {.allowed = words}),
              "the bitmap of allowed vectors has 3 words, but 100 vectors need 2");
    auto lie = queries.view();
    lie.rows = 6;
    EXPECT_EQ(search(lie, {}), "the queries are 6, which do not fit into 160 bytes");
    lie.rows = std::uint64_t{1} << 62;
    EXPECT_THAT(search(lie, {}), HasSubstr("at most 4294967294 can be"));
    lie = queries.view();
    lie.stride = 31;
    EXPECT_EQ(search(lie, {}), "the queries lie 31 bytes apart, but each takes 32");
    const float nan = std::nanf(""), large = 1e19f;
    std::memcpy(queries.data() + 3 * queries.stride, &nan, 4);
    EXPECT_EQ(refused<invalid_value>([&] { made->search(queries.view(), {}); }),
              "query 3 has a value that is not finite");
    std::memcpy(queries.data() + 2 * queries.stride, &large, 4);
    EXPECT_EQ(refused<invalid_value>([&] { made->search(queries.view(), {}); }),
              "query 2 has a value so large that a sum of products could overflow");
    // The set remains usable.
    const std::vector<std::uint64_t> none(2);
    EXPECT_TRUE(made->search(set.view(), {.allowed = none}).ids.empty());
    EXPECT_EQ(made->search(rows_of(set.view(), 0, 0), {}).offsets.size(), 1u);
    EXPECT_EQ(made->search(set.view(), {.k = 3}).ids.size(), 300u);
}

// Sums and lengths of float64 far outside the range of float32, and products of lengths outside that of float64.
TYPED_TEST(vector_set_test, ranks_the_least_and_the_greatest_doubles) {
    auto set = make_vectors(vector_type::f64, 60, 33, vector_sample::plain, 93);
    const auto queries = make_vectors(vector_type::f64, 4, 33, vector_sample::plain, 94);
    for (std::uint32_t i = 0; i < 60; ++i) {
        for (std::uint32_t j = 0; j < 33; ++j) {
            auto* const at = reinterpret_cast<double*>(set.data() + i * set.stride) + j;
            *at = std::ldexp(*at, i % 5 == 0 ? 500 : i % 5 == 1 ? -500 : i % 5 == 2 ? -535 : 0);
        }
    }
    for (const vector_metric metric : metrics_for(vector_type::f64)) {
        const auto made = this->make(set.view(), {metric});
        for (const auto& requested : {queries.view(), set.view()})
            expect_equal(made->search(requested, {.k = all_vectors}),
                         reference::rank_all(metric, set.view(), requested, {.k = all_vectors}),
                         named(vector_type::f64, metric));
    }
    // The bound is that of doubles: 1e19 squared exceeds floats, 1e154 squared, 33 times, exceeds doubles.
    const auto put = [&](double value) { std::memcpy(set.data() + 7 * set.stride, &value, 8); };
    put(1e153);
    EXPECT_EQ(this->make(set.view(), {vector_metric::cosine})->search(queries.view(), {.k = 1}).ids.size(),
              4u);
    put(1e154);
    EXPECT_EQ(refused<invalid_value>([&] { this->make(set.view(), {vector_metric::cosine}); }),
              "row 7 has a value so large that a sum of products could overflow");
    put(std::nan(""));
    EXPECT_EQ(refused<invalid_value>([&] { this->make(set.view(), {}); }),
              "row 7 has a value that is not finite");
}

TYPED_TEST(vector_set_test, keeps_to_the_budget_and_stops) {
    const auto set = make_vectors(vector_type::u8, 40'000, 2, vector_sample::plain, 101);
    const auto queries = make_vectors(vector_type::u8, 200, 2, vector_sample::plain, 102);
    context ctx = TypeParam::ctx();
    ctx.memory_bytes = std::uint64_t{32} << 20;
    std::atomic<int> stop{0};
    ctx.stop_signal = &stop;
    const auto made = this->make(set.view(), {.metric = vector_metric::l1}, ctx);
    EXPECT_THAT(refused<out_of_memory>([&] { made->search(queries.view(), {.k = all_vectors}); }),
                HasSubstr("the rankings of all queries needs 91.6 MiB"));
    std::uint64_t places = 0;  // one after another they fit
    made->search(queries.view(), {.k = all_vectors}, [&](auto, auto ids, auto) { places += ids.size(); });
    EXPECT_EQ(places, 8'000'000u);
    EXPECT_THROW(made->search(queries.view(), {.k = all_vectors}, [&](auto...) { stop = 2; }), interrupted);
}

// ---- Parts that need no place ----

TEST(rank_keys_test, a_radius_is_the_last_key_within_it) {
    std::mt19937_64 random(5);
    const auto check = [&]<class Key>(vector_type type, vector_metric metric, Key key) {
        const auto beyond = [&](Key k, double radius) {
            const double reported = reported_of_key(type, metric, k);
            return metric == vector_metric::ip ? reported < radius : reported > radius;
        };
        const double at = reported_of_key(type, metric, key);
        for (const double radius : {at, std::nextafter(at, 1e300), std::nextafter(at, -1e300)}) {
            const auto limit = limit_of_radius<Key>(type, metric, radius);
            if (!limit) {
                EXPECT_TRUE(beyond(key, radius));
                continue;
            }
            EXPECT_FALSE(beyond(*limit, radius));
            EXPECT_EQ(key <= *limit, !beyond(key, radius));
        }
    };
    for (int i = 0; i < 3000; ++i) {
        const auto product =
            std::ldexp(static_cast<float>(random() >> 40) - 0x1p23f, static_cast<int>(random() % 200) - 120);
        const float distance = std::fabs(product);
        using enum vector_metric;
        for (const auto metric : {l2, sql2, l1, linf})
            check(vector_type::f32, metric, key_of_distance(distance));
        check(vector_type::f32, ip, key_of_product(product));
        const double fine = std::ldexp(double{product}, static_cast<int>(random() % 1000) - 500) + 0x1p-70;
        for (const auto metric : {l2, sql2, l1, linf})
            check(vector_type::f64, metric, key_of_distance(std::fabs(fine)));
        check(vector_type::f64, ip, key_of_product(fine));
        check(vector_type::i8, cosine, key_of_distance(static_cast<float>(random() % 2001) / 1000));
        for (const auto metric : {l2, sql2, ip, l1}) {
            check(vector_type::i16, metric, static_cast<std::uint32_t>(random() >> (33 + random() % 20)));
            // Beyond 2^53 several keys are one reported number.
            check(vector_type::i16, metric,
                  (random() >> (2 + random() % 40)) + (metric == ip ? std::uint64_t{1} << 62 : 0));
        }
    }
    EXPECT_FALSE(limit_of_radius<std::uint32_t>(vector_type::f32, vector_metric::l2, -1e-300));
    EXPECT_EQ(limit_of_radius<std::uint32_t>(vector_type::f32, vector_metric::l2, -0.0), 0u);
}

TEST(rank_keys_test, bits_of_keys_hold_the_greatest) {
    EXPECT_EQ(bits_of_keys(vector_type::u8, vector_metric::l2, {0, 255}, 256), 24u);
    EXPECT_EQ(bits_of_keys(vector_type::u8, vector_metric::l2, {0, 255}, 259), 25u);
    EXPECT_EQ(bits_of_keys(vector_type::i16, vector_metric::sql2, {-32768, 32767}, 128), 39u);
    EXPECT_EQ(bits_of_keys(vector_type::i8, vector_metric::l1, {-128, 127}, 1), 8u);
    EXPECT_EQ(bits_of_keys(vector_type::bits, vector_metric::hamming, {0, 1}, 256), 9u);
    EXPECT_EQ(bits_of_keys(vector_type::u8, vector_metric::hamming, {0, 255}, 32), 9u);
    EXPECT_EQ(bits_of_keys(vector_type::i16, vector_metric::ip, {-32768, 32767}, 128), 64u);
    EXPECT_EQ(bits_of_keys(vector_type::f64, vector_metric::ip, {}, 2), 64u);
    EXPECT_EQ(bits_of_keys(vector_type::f64, vector_metric::l2, {}, 2), 63u);
    EXPECT_EQ(bits_of_keys(vector_type::f64, vector_metric::cosine, {}, 2), 31u);
}

TEST(vector_set_checks_test, refuses_what_does_not_fit_together) {
    const context ctx = context::cpu(2);
    const auto floats = make_vectors(vector_type::f32, 10, 4, vector_sample::plain, 1);
    const auto bits = make_vectors(vector_type::bits, 10, 4, vector_sample::plain, 1);
    const auto sparse = make_sparse(10, 4, 1, 2);
    const auto made = [&](const auto& view, vector_metric metric) {
        return refused<usage_error>([&] { vector_set(view, {.metric = metric}, ctx); });
    };
    EXPECT_EQ(made(floats.view(), vector_metric::hamming),
              "the metric hamming is not for vectors of float32");
    EXPECT_EQ(made(bits.view(), vector_metric::l1), "the metric l1 is not for vectors of bits");
    EXPECT_EQ(made(sparse.view(), vector_metric::hamming), "the metric hamming is not for sparse vectors");
    auto lie = sparse.view();
    lie.columns = lie.columns.first(1);
    EXPECT_THAT(made(lie, vector_metric::l2), HasSubstr("have 1 columns and"));
    vector_set set(floats.view(), {}, ctx);
    EXPECT_EQ(refused<usage_error>([&] { set.search(sparse.view(), {}); }),
              "the queries are sparse, but the vectors are not");
    EXPECT_THAT(set.record().place, HasSubstr("cpu"));
    vector_set moved = std::move(set);
    EXPECT_EQ(moved.search(floats.view(), {.k = 1}).ids.size(), 10u);
    EXPECT_EQ(moved.record().tiles, 1u);
}

}  // namespace
}  // namespace quern::vector_set_test
