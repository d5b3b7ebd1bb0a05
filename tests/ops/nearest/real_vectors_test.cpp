// SPDX-License-Identifier: Apache-2.0
// Real vectors, from the folder "vectors" of QUERN_DATA: complete rankings against published ones, against the reference,
// and of the same numbers in every type that can hold them. Files are read in a simple way here; the program's readers
// belong to io.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "on_each_place.hpp"
#include "ops/nearest/vector_samples.hpp"
#include "quern/ops/nearest.hpp"
#include "reference/retrieval_reference.hpp"

namespace quern::real_vectors_test {
namespace {

using rows_of_numbers = std::vector<std::vector<double>>;

// ---- Files ----

std::string text_of(const std::filesystem::path& path) {
    const std::string command = (path.extension() == ".gz" ? "gzip -dc '" : "cat '") + path.string() + "'";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text(std::size_t{1} << 16, '\0');
    std::size_t size = 0;
    for (std::size_t got = 1; pipe != nullptr && got != 0; size += got) {
        if (text.size() - size < 65'536) text.resize(2 * text.size());
        got = std::fread(text.data() + size, 1, text.size() - size, pipe.get());
    }
    text.resize(size);
    return text;
}

/// The numbers after `marker` in each line that has it; of every line, if it is empty.
rows_of_numbers numbers_of_lines(const std::string& text, const std::string& marker = "") {
    rows_of_numbers rows;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        std::size_t at = line.find(marker);
        if (at == std::string::npos) continue;
        std::vector<double> row;
        const char* position = line.c_str() + at + marker.size();
        while (*position != 0) {
            char* after = nullptr;
            const double number = std::strtod(position, &after);
            if (after != position) row.push_back(number);
            position = after == position ? position + 1 : after;
        }
        if (!row.empty()) rows.push_back(row);
    }
    return rows;
}

rows_of_numbers some_of(const rows_of_numbers& rows, std::size_t count, std::size_t step) {
    rows_of_numbers some;
    for (std::size_t i = 0; i < count && i * step < rows.size(); ++i) some.push_back(rows[i * step]);
    return some;
}

// ---- Vectors ----

/// The numbers in a type, rounded to float for f32; others must hold them.
sample_vectors vectors_of(vector_type type, const rows_of_numbers& rows) {
    sample_vectors made;
    made.type = type;
    made.rows = static_cast<std::uint32_t>(rows.size());
    made.dimensions =
        static_cast<std::uint32_t>(type == vector_type::bits ? 8 * rows[0].size() : rows[0].size());
    made.stride = bytes_of_row(type, made.dimensions);
    made.memory.resize(made.rows * made.stride);
    std::byte* to = made.memory.data();
    const auto put = [&](auto value) {
        std::memcpy(to, &value, sizeof value);
        to += sizeof value;
    };
    for (const auto& row : rows) {
        EXPECT_EQ(row.size(), rows[0].size());
        for (const double number : row) {
            if (type == vector_type::f64)
                put(number);
            else if (type == vector_type::f32)
                put(static_cast<float>(number));
            else if (type == vector_type::f16)
                put(half_of(static_cast<float>(number)));
            else if (type == vector_type::i16)
                put(static_cast<std::int16_t>(number));
            else
                put(static_cast<std::uint8_t>(number));
        }
    }
    return made;
}

struct sparse_vectors {
    std::uint32_t dimensions = 0;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> columns;
    std::vector<float> values;
    sparse_vectors_view view() const { return {offsets.size() - 1, dimensions, offsets, columns, values}; }
};

sparse_vectors sets_of(const rows_of_numbers& rows, std::uint32_t dimensions) {
    sparse_vectors made;
    made.dimensions = dimensions;
    for (const auto& row : rows) {
        for (const double id : row) made.columns.push_back(static_cast<std::uint32_t>(id));
        made.values.resize(made.columns.size(), 1.0f);
        made.offsets.push_back(made.columns.size());
    }
    return made;
}

template <class Tested>
class real_vectors_test : public on_place<Tested> {
  protected:
    void SetUp() override {
        on_place<Tested>::SetUp();
        const char* const data = std::getenv("QUERN_DATA");
        folder_ = std::filesystem::path(data == nullptr ? "" : data) / "vectors";
        if (data == nullptr || !std::filesystem::exists(folder_))
            GTEST_SKIP() << "set QUERN_DATA to a folder of real data";
    }
    std::string text(const char* name) const { return text_of(folder_ / name); }

    template <class Vectors>
    rankings ranked(vector_metric metric, const Vectors& vectors, const Vectors& queries,
                    std::uint64_t k = all_vectors) {
        vector_set set(vectors.view(), {.metric = metric}, Tested::ctx());
        return set.search(queries.view(), {.k = k});
    }
    /// The complete rankings equal the reference's.
    template <class Vectors>
    rankings expect_reference(vector_metric metric, const Vectors& vectors, const Vectors& queries) {
        const rankings found = ranked(metric, vectors, queries);
        const rankings expected =
            reference::rank_all(metric, vectors.view(), queries.view(), {.k = all_vectors});
        EXPECT_EQ(found.ids, expected.ids) << vector_metric_names[static_cast<int>(metric)];
        EXPECT_EQ(found.distances, expected.distances) << vector_metric_names[static_cast<int>(metric)];
        return found;
    }

    std::filesystem::path folder_;
};
TYPED_TEST_SUITE(real_vectors_test, tested_places, tested_place_names);

// ---- Tests ----

TYPED_TEST(real_vectors_test, published_complete_rankings) {
    rows_of_numbers rows =
        numbers_of_lines(this->text("opensearch_simulated/test_vectors_1000x128.json"), "{\"id\":");
    const rows_of_numbers queries =
        numbers_of_lines(this->text("opensearch_simulated/test_queries_100x128.csv"));
    const rows_of_numbers truth =
        numbers_of_lines(this->text("opensearch_simulated/test_ground_truth_l2_100.csv"));
    ASSERT_EQ(rows.size(), 1'000u);
    ASSERT_EQ(queries.size(), 100u);
    ASSERT_EQ(truth.size(), 100u);
    std::map<double, std::uint32_t> row_of;
    for (auto& row : rows) {
        row_of.emplace(row[0], static_cast<std::uint32_t>(row_of.size()));
        row.erase(row.begin());
    }
    const auto true_distance = [&](std::size_t q, std::uint32_t row) {
        return reference::true_distance(vector_metric::sql2, rows[row], queries[q]);
    };
    // The numbers are float64. Ranked as float64, every place is right.
    const rankings exact = this->expect_reference(vector_metric::l2, vectors_of(vector_type::f64, rows),
                                                  vectors_of(vector_type::f64, queries));
    ASSERT_EQ(exact.ids.size(), truth.size() * rows.size());
    for (std::size_t q = 0; q < truth.size(); ++q) {
        ASSERT_EQ(truth[q].size(), rows.size());
        long double before = 0;
        for (std::size_t place = 0; place < rows.size(); ++place) {
            const long double distance = true_distance(q, exact.ids[q * rows.size() + place]);
            EXPECT_LE(before, distance) << "query " << q << ", place " << place;
            before = distance;
        }
    }
    // The published order was computed in less precision than the published numbers have: it differs at fourteen places,
    // where two distances are closer than float32 can distinguish. Rounded to float32, ours may differ there, too.
    const rankings rounded = this->expect_reference(vector_metric::l2, vectors_of(vector_type::f32, rows),
                                                    vectors_of(vector_type::f32, queries));
    for (const rankings* found : {&exact, &rounded}) {
        std::size_t swapped = 0;
        for (std::size_t q = 0; q < truth.size(); ++q) {
            for (std::size_t place = 0; place < rows.size(); ++place) {
                const std::uint32_t mine = found->ids[q * rows.size() + place],
                                    its = row_of.at(truth[q][place]);
                if (mine == its) continue;
                ++swapped;
                const long double here = true_distance(q, mine), present = true_distance(q, its);
                EXPECT_LT(std::fabs(here - present), 1e-6L * present) << "query " << q << ", place " << place;
            }
        }
        EXPECT_EQ(swapped, 14u) << "of 100,000 places";
    }
}

TYPED_TEST(real_vectors_test, sift_is_the_same_in_every_type) {
    const auto cut = [](rows_of_numbers rows) {
        for (auto& row : rows) row.resize(128);  // an id is after
        return rows;
    };
    const rows_of_numbers rows = cut(numbers_of_lines(this->text("sift_ngt/sift-dataset-5k.tsv")));
    rows_of_numbers queries = cut(numbers_of_lines(this->text("sift_ngt/sift-query-3.tsv")));
    ASSERT_EQ(rows.size(), 5'000u);
    ASSERT_EQ(queries.size(), 3u);
    for (const auto& row : some_of(rows, 20, 250)) queries.push_back(row);
    for (const vector_metric metric : {vector_metric::l2, vector_metric::ip, vector_metric::cosine,
                                       vector_metric::l1, vector_metric::linf}) {
        SCOPED_TRACE(vector_metric_names[static_cast<int>(metric)]);
        const rankings bytes = this->expect_reference(metric, vectors_of(vector_type::u8, rows),
                                                      vectors_of(vector_type::u8, queries));
        if (metric == vector_metric::l2) {
            for (std::size_t i = 0; i < 20; ++i) {
                EXPECT_EQ(bytes.ids[(3 + i) * rows.size()], 250 * i);
                EXPECT_EQ(bytes.distances[(3 + i) * rows.size()], 0);
            }
        }
        for (const vector_type type : {vector_type::f32, vector_type::f16, vector_type::i16}) {
            // Every sum is an integer below 2^24: floats hold it.
            const rankings other = this->ranked(metric, vectors_of(type, rows), vectors_of(type, queries));
            EXPECT_EQ(other.ids, bytes.ids) << vector_type_names[static_cast<int>(type)];
            EXPECT_EQ(other.distances, bytes.distances) << vector_type_names[static_cast<int>(type)];
        }
    }
}

TYPED_TEST(real_vectors_test, digits_are_nearest_to_their_like) {
    const std::string images = this->text("mnist/t10k-images-idx3-ubyte.gz");
    const std::string labels = this->text("mnist/t10k-labels-idx1-ubyte.gz");
    ASSERT_EQ(images.size(), 16u + 10'000 * 784);
    ASSERT_EQ(labels.size(), 8u + 10'000);
    sample_vectors all;
    all.type = vector_type::u8;
    all.rows = 10'000;
    all.stride = all.dimensions = 784;
    all.memory.resize(images.size() - 16);
    std::memcpy(all.memory.data(), images.data() + 16, all.memory.size());
    sample_vectors first = all;
    first.rows = 300;
    first.memory.resize(300 * 784);
    const rankings found = this->ranked(vector_metric::l2, all, first, 100);
    std::size_t alike = 0;
    for (std::size_t q = 0; q < first.rows; ++q) {
        EXPECT_EQ(found.ids[q * 100], q);  // no image is there twice
        alike += labels[8 + q] == labels[8 + found.ids[q * 100 + 1]];
    }
    EXPECT_GE(alike, 280u) << "of 300";
    first.rows = 3;
    first.memory.resize(3 * 784);
    this->expect_reference(vector_metric::l2, all, first);
}

TYPED_TEST(real_vectors_test, orb_descriptors_as_bytes_and_as_bits) {
    rows_of_numbers rows =
        numbers_of_lines(this->text("orb/dbow3_orb_vocabulary.yml.gz"), "descriptor:\"0 32 ");
    ASSERT_GT(rows.size(), 6'000u);
    ASSERT_EQ(rows[0].size(), 32u);
    const rows_of_numbers queries = some_of(rows, 40, 150);
    const rankings bits = this->expect_reference(vector_metric::hamming, vectors_of(vector_type::bits, rows),
                                                 vectors_of(vector_type::bits, queries));
    const rankings bytes = this->ranked(vector_metric::hamming, vectors_of(vector_type::u8, rows),
                                        vectors_of(vector_type::u8, queries));
    EXPECT_EQ(bits.ids, bytes.ids);
    EXPECT_EQ(bits.distances, bytes.distances);
    // 257 distances for thousands of descriptors: most of the order is that of ids.
    std::size_t ties = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) ties += bits.distances[i] == bits.distances[i - 1];
    EXPECT_GT(ties, rows.size() * 9 / 10);
}

TYPED_TEST(real_vectors_test, lists_of_ids_as_sparse_vectors) {
    const rows_of_numbers rows = numbers_of_lines(this->text("nmslib/sparse_ids_5K.txt"));
    ASSERT_EQ(rows.size(), 4'999u);
    constexpr std::uint32_t dimensions = 394'549;
    for (const std::size_t count : {1u, 70u}) {
        const rows_of_numbers queries = some_of(rows, count, 71);
        const sparse_vectors set = sets_of(rows, dimensions), requested = sets_of(queries, dimensions);
        const rankings shared = this->ranked(vector_metric::ip, set, requested);
        const rankings apart = this->ranked(vector_metric::sql2, set, requested);
        const rankings steps = this->ranked(vector_metric::l1, set, requested);
        const rankings cosines = this->ranked(vector_metric::cosine, set, requested);
        EXPECT_EQ(apart.ids, steps.ids);  // of zeros and ones the same number
        EXPECT_EQ(apart.distances, steps.distances);
        std::map<std::pair<double, double>, double> cosine_distances;  // by product and product of squares
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const std::set<double> own(queries[q].begin(), queries[q].end());
            std::vector<double> common(rows.size());
            for (std::size_t i = 0; i < rows.size(); ++i)
                for (const double id : rows[i]) common[i] += own.contains(id) ? 1 : 0;
            const auto check = [&](const rankings& found, auto&& distance, double sign) {
                for (std::size_t place = 0; place < rows.size(); ++place) {
                    const std::size_t at = q * rows.size() + place;
                    const std::uint32_t id = found.ids[at];
                    ASSERT_EQ(found.distances[at], distance(id)) << "query " << q << ", row " << id;
                    if (place == 0) continue;
                    const double before = sign * found.distances[at - 1], here = sign * found.distances[at];
                    ASSERT_TRUE(before < here || (before == here && found.ids[at - 1] < id)) << "query " << q;
                }
            };
            const auto own_size = static_cast<double>(own.size());
            check(
                shared, [&](std::uint32_t id) { return common[id]; }, -1);
            check(
                apart,
                [&](std::uint32_t id) {
                    return own_size + static_cast<double>(rows[id].size()) - 2 * common[id];
                },
                1);
            check(
                cosines,
                [&](std::uint32_t id) {
                    const auto size = static_cast<double>(rows[id].size());
                    const auto [known, is_new] = cosine_distances.try_emplace({common[id], own_size * size});
                    if (is_new) {
                        const reference::long_number root = sqrt(reference::long_number(own_size * size));
                        known->second = reference::rounded_to_bits(1 - common[id] / root, 32);
                    }
                    return known->second;
                },
                1);
        }
    }
}

TYPED_TEST(real_vectors_test, topics_and_words_and_texts) {
    constexpr vector_metric metrics[] = {vector_metric::l2, vector_metric::ip, vector_metric::cosine,
                                         vector_metric::l1, vector_metric::linf};
    const rows_of_numbers topics = numbers_of_lines(this->text("nmslib/final128_query1K.txt"));
    const rows_of_numbers documents =
        numbers_of_lines(this->text("embeddings/msmarco_openai_ada2_100docs.jsonl"), "\"vector\":");
    const rows_of_numbers tested_queries =
        numbers_of_lines(this->text("embeddings/msmarco_dev_openai_ada2_queries.jsonl"), "\"vector\":");
    ASSERT_EQ(topics.size(), 1'000u);
    ASSERT_EQ(documents.size(), 100u);
    ASSERT_EQ(documents[0].size(), 1'536u);
    ASSERT_EQ(tested_queries.size(), 2u);
    for (const vector_metric metric : metrics) {
        this->expect_reference(metric, vectors_of(vector_type::f32, topics),
                               vectors_of(vector_type::f32, some_of(topics, 20, 50)));
        this->expect_reference(metric, vectors_of(vector_type::f32, documents),
                               vectors_of(vector_type::f32, tested_queries));
    }
}

}  // namespace
}  // namespace quern::real_vectors_test
