// SPDX-License-Identifier: Apache-2.0
// External vector files, in the folder `vectors` of QUERN_DATA: sizes, ends and sums as read by NumPy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "vector_bytes.hpp"

namespace quern::io::real_files_test {
namespace {

struct known_file {
    const char* path;
    std::string_view format;
    vector_type type;
    std::uint64_t rows;
    std::uint32_t dimensions;
    double sum;                ///< of all components
    const char *first, *last;  ///< words
};
const known_file known_files[] = {
    {"siftsmall_jvector/siftsmall_query.fvecs", "fvecs", vector_type::f32, 100, 128, 335'028, "", ""},
    {"siftsmall_jvector/siftsmall_groundtruth.ivecs", "ivecs", vector_type::i16, 100, 100, 50'326'621, "",
     ""},
    {"mnist/t10k-images-idx3-ubyte.gz", "idx", vector_type::u8, 10'000, 784, 264'923'200, "", ""},
    {"pynndescent/cosine_hang.npy", "npy", vector_type::f64, 4400, 50, -254'392.2202170042, "", ""},
    {"nmslib/final128_query1K.txt", "text", vector_type::f32, 1000, 128, 1000.0000011682941, "", ""},
    {"nmslib/glove.6B.100d_100.txt", "text", vector_type::f32, 100, 100, -177.8666175035596, "the", "u.s."},
    {"wordvec/pang_lee_polarity_fasttext.vec", "text", vector_type::f32, 1694, 100, 0.9027162223636012, ".",
     "worse"},
};

std::filesystem::path data_file(const char* path) {
    const char* const folder = std::getenv("QUERN_DATA");
    if (folder == nullptr) return {};
    const std::filesystem::path file = std::filesystem::path(folder) / "vectors" / path;
    return std::filesystem::exists(file) ? file : std::filesystem::path();
}

double sum_of(const vector_file& file) {
    const auto sum = [&]<class T>(T /*type*/) {
        double all = 0;
        for (const auto& row : rows_of<T>(file)) all = std::accumulate(row.begin(), row.end(), all);
        return all;
    };
    switch (file.dense().type) {
        case vector_type::f64:
            return sum(double());
        case vector_type::f32:
            return sum(float());
        case vector_type::i16:
            return sum(std::int16_t());
        default:
            return sum(std::uint8_t());
    }
}

TEST(real_vector_files, hold_what_their_publishers_and_numpy_say) {
    std::size_t read = 0;
    for (const known_file& known : known_files) {
        const auto path = data_file(known.path);
        if (path.empty()) continue;
        SCOPED_TRACE(known.path);
        const vector_file file = open_vectors(path, {}, context::cpu(2));
        EXPECT_EQ(file.format(), known.format);
        EXPECT_EQ(file.rows(), known.rows);
        ASSERT_EQ(file.dimensions(), known.dimensions);
        ASSERT_EQ(file.dense().type, known.type);
        EXPECT_NEAR(sum_of(file), known.sum, std::fabs(known.sum) * 1e-10);
        ASSERT_EQ(file.names().empty(), known.first[0] == '\0');
        if (!file.names().empty()) {
            EXPECT_EQ(file.names().front(), known.first);
            EXPECT_EQ(file.names().back(), known.last);
        }
        ++read;
    }
    if (read == 0) GTEST_SKIP() << "QUERN_DATA has no vectors";
}

TEST(real_vector_files, neighbours_of_siftsmall) {
    const auto path = data_file("siftsmall_jvector/siftsmall_groundtruth.ivecs");
    if (path.empty()) GTEST_SKIP() << "QUERN_DATA has no siftsmall";
    const neighbour_truth truth = read_truth(path, 10'000, context::cpu(1));
    EXPECT_EQ(truth.queries, 100u);
    EXPECT_EQ(truth.k, 100u);
    EXPECT_EQ(truth.ids[0], 0x880u);
    EXPECT_EQ(std::accumulate(truth.ids.begin(), truth.ids.end(), std::uint64_t{0}), 50'326'621u);
    EXPECT_THROW(read_truth(path, 9999, context::cpu(1)), invalid_input);
}

}  // namespace
}  // namespace quern::io::real_files_test
