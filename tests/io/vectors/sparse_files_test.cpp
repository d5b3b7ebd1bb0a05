// SPDX-License-Identifier: Apache-2.0
// Sparse vectors, named tensors, and compressed files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <zlib.h>

#include <map>
#include <thread>

#include "vector_bytes.hpp"

namespace quern::io::sparse_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Rows as columns and values, in order.
using sparse = std::vector<std::vector<std::pair<std::uint32_t, float>>>;

sparse sparse_of(const vector_file& file) {
    const sparse_vectors_view& view = file.sparse_rows();
    sparse rows(view.rows);
    for (std::uint64_t i = 0; i < view.rows; ++i)
        for (std::uint64_t e = view.offsets[i]; e < view.offsets[i + 1]; ++e)
            rows[i].emplace_back(view.columns[e], view.values[e]);
    return rows;
}

std::string csr_of(const sparse& rows, std::int64_t columns) {
    std::string offsets = little(std::int64_t{0}), ids, values;
    std::int64_t entries = 0;
    for (const auto& row : rows) {
        for (const auto& [column, value] : row) {
            ids += little(column);
            values += little(value);
        }
        entries += static_cast<std::int64_t>(row.size());
        offsets += little(entries);
    }
    return little(static_cast<std::int64_t>(rows.size())) + little(columns) + little(entries) + offsets +
           ids + values;
}

/// Sorted, with duplicate entries added up.
sparse tidied(const sparse& rows) {
    sparse made;
    for (const auto& row : rows) {
        std::map<std::uint32_t, double> sums;
        for (const auto& [column, value] : row) sums[column] += static_cast<double>(value);
        auto& out = made.emplace_back();
        for (const auto& [column, value] : sums) out.emplace_back(column, static_cast<float>(value));
    }
    return made;
}

std::string gzipped(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, text.size()) + 100, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

TEST_F(vector_files, sparse_rows_come_back) {
    EXPECT_TRUE(rc::check([&] {
        const auto rows = *rc::gen::inRange<std::size_t>(0, 30);
        const auto columns = *rc::gen::inRange<std::uint32_t>(1, 30);
        sparse values(rows);
        std::string market;
        std::size_t entries = 0;
        for (std::size_t i = 0; i < rows; ++i) {
            for (auto left = *rc::gen::inRange(0, 12); left > 0; --left) {
                const auto column = *rc::gen::inRange<std::uint32_t>(0, columns);
                const auto value = static_cast<float>(*rc::gen::inRange(-9, 9));
                values[i].emplace_back(column, value);
                market += std::to_string(i + 1) + " " + std::to_string(column + 1) + " " +
                          std::to_string(value) + "\n";
                ++entries;
            }
        }
        market = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(rows) + " " +
                 std::to_string(columns) + " " + std::to_string(entries) + "\n" + market;
        const sparse wanted = tidied(values);
        for (const unsigned threads : {1u, 3u}) {
            for (const vector_file& file :
                 {opened("a.mtx", market, {}, threads), opened("a.csr", csr_of(values, columns), {}, threads),
                  opened("b.csr", csr_of(wanted, columns), {}, threads), opened("noname", market)}) {
                RC_ASSERT(file.sparse());
                RC_ASSERT(file.rows() == rows);
                RC_ASSERT(file.dimensions() == columns);
                RC_ASSERT(sparse_of(file) == wanted);
            }
        }
    }));
    const vector_file as_it_lies = opened("a.csr", csr_of({{{1, 2.0f}, {3, 4.0f}}, {}, {{0, 1.0f}}}, 4));
    EXPECT_THAT(as_it_lies.notes(), IsEmpty());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(as_it_lies.sparse_rows().offsets.data()) % 4096, 24u);
    const vector_file sorted = opened("a.csr", csr_of({{{3, 2.0f}, {1, 4.0f}, {3, 0.5f}}}, 4));
    EXPECT_THAT(sorted.notes(),
                ElementsAre("the columns of some rows were not in ascending order, and were sorted",
                            "1 entries repeated the position of another; their values were added up"));
}

TEST_F(vector_files, arrays_of_matrix_market_are_dense) {
    const vector_file file =
        opened("a.mtx", "%%MatrixMarket matrix array real general\n2 3\n1\n4\n2\n5\n3\n6\n");
    EXPECT_FALSE(file.sparse());
    EXPECT_EQ(file.format(), "Matrix Market");
    EXPECT_THAT(rows_of<float>(file), ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6)));
    EXPECT_THAT(said_of("a.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1e60\n"),
                Eq("row 1 holds a value beyond float32"));
    EXPECT_THAT(said_of("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 1 1\n2 1 1e60\n"),
                Eq("row 1 holds a value beyond float32"));
    EXPECT_THAT(said_of("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 1 2\n2 1 1\n"),
                HasSubstr("after 1 of 2 entries"));
    EXPECT_THAT(said_of("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 0 0\n"),
                HasSubstr("2 rows and 0 columns"));
}

TEST_F(vector_files, sparse_headers_that_lie) {
    const std::string good =
        csr_of({{{1, 2.0f}, {3, 4.0f}}, {{0, 1.0f}}}, 4);  // offsets at 24, columns at 48
    const auto with = [&](std::size_t at, const std::string& bytes) {
        std::string bad = good;
        bad.replace(at, bytes.size(), bytes);
        return said_of("a.csr", bad);
    };
    EXPECT_EQ(said_of("a.csr", good), "");
    EXPECT_THAT(with(0, little<std::int64_t>(-1)),
                StartsWith("says -1 rows, 4 columns and 3 entries at offset 0; there"));
    EXPECT_THAT(with(0, little<std::int64_t>(4294967295)), StartsWith("says 4294967295 rows"));
    EXPECT_THAT(with(8, little<std::int64_t>(0)), StartsWith("says 2 rows, 0 columns"));
    EXPECT_THAT(with(8, little<std::int64_t>(std::int64_t{1} << 32)),
                StartsWith("says 2 rows, 4294967296 columns"));
    EXPECT_THAT(with(16, little<std::int64_t>(-3)), StartsWith("says 2 rows, 4 columns and -3 entries"));
    EXPECT_THAT(with(16, little<std::int64_t>(std::int64_t{1} << 62)),
                HasSubstr("which take more than 2^63 bytes"));
    EXPECT_EQ(with(0, little<std::int64_t>(3)),
              "says 3 rows, 4 columns and 3 entries at offset 0, which take 80 bytes, but the file ends at "
              "offset 72");
    EXPECT_EQ(with(24, little<std::int64_t>(1)),
              "row 0 begins with entry 1 at offset 24; they rise from 0 to 3");
    EXPECT_EQ(with(32, little<std::int64_t>(4)),
              "row 1 begins with entry 4 at offset 32; they rise from 0 to 3");
    EXPECT_EQ(with(32, little<std::int64_t>(-4)),
              "row 1 begins with entry -4 at offset 32; they rise from 0 to 3");
    EXPECT_EQ(with(40, little<std::int64_t>(2)),
              "row 2 begins with entry 2 at offset 40; they rise from 0 to 3");
    EXPECT_EQ(with(56, little(4)), "row 1 has an entry in column 4 at offset 56; there are 4 columns");
    EXPECT_EQ(with(52, little(-1)), "row 0 has an entry in column -1 at offset 52; there are 4 columns");
    EXPECT_EQ(said_of("a.csr", "1234"), "the file ends within the header at offset 4");
}

std::string tensors(const std::string& header, const std::string& data) {
    return little(static_cast<std::uint64_t>(header.size())) + header + data;
}

TEST_F(vector_files, tensors_are_chosen_by_name) {
    const std::string floats = little(1.0f) + little(2.0f) + little(3.0f) + little(4.0f), bytes = "abcdef";
    const std::string two =
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]},)"
        R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[6,22]}})";
    const vector_file a = opened("m.safetensors", tensors(two, bytes + floats), {.tensor = "a"});
    EXPECT_EQ(a.format(), "safetensors");
    EXPECT_THAT(rows_of<float>(a), ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.dense().values.data()) % 4, 0u);
    EXPECT_EQ(opened("m.safetensors", tensors(two, bytes + floats), {.tensor = "b"}).dense().type,
              vector_type::u8);
    EXPECT_EQ(said_of("m.safetensors", tensors(two, bytes + floats)),
              "2 tensors could be meant; name one of 'a', 'b'");
    EXPECT_EQ(said_of("m.safetensors", tensors(two, bytes + floats), {.tensor = "c"}),
              "no tensor 'c'; there are 'a', 'b'");
    EXPECT_THAT(said_of("a.fbin", "", {.tensor = "c"}),
                Eq("a file of format fbin has no tensors with names"));

    const auto one = [&](const std::string& dtype, const std::string& shape,
                         const std::string& offsets = "[0,16]") {
        return tensors(
            "{\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}",
            floats);
    };
    EXPECT_EQ(opened("m.safetensors", one("F16", "[2,4]")).dense().type, vector_type::f16);
    EXPECT_EQ(opened("m.safetensors", one("BF16", "[2,4]")).dense().type, vector_type::bf16);
    EXPECT_EQ(opened("m.safetensors", one("F64", "[1,2]")).dense().type, vector_type::f64);
    EXPECT_EQ(opened("m.safetensors", one("F32", "[4]"), {.tensor = "x"}).dimensions(), 4u);
    const auto said = [&](const std::string& file) {
        return said_of("m.safetensors", file, {.tensor = "x"});
    };
    EXPECT_THAT(said_of("m.safetensors", one("F32", "[4]")), StartsWith("no tensor of two dimensions"));
    EXPECT_THAT(said(one("F32", "[1,2,2]")), StartsWith("the tensor 'x' has 3 dimensions"));
    EXPECT_THAT(said(one("F8_E4M3", "[4,4]")), StartsWith("the tensor 'x' has numbers of type 'F8_E4M3'"));
    EXPECT_THAT(said(one("F32", "[2,3]")),
                HasSubstr("says 2 rows of 3 float32 at offset 65, but takes 16 bytes"));
    EXPECT_THAT(said(one("F32", "[4611686018427387905,4]")), HasSubstr("but takes 16 bytes"));
    EXPECT_THAT(said(one("F32", "[2,2]", "[0,17]")),
                HasSubstr("has data_offsets for 'x' that are not within the 16 bytes"));
    EXPECT_THAT(said(one("F32", "[2,2]", "[16,0]")), HasSubstr("has data_offsets for 'x'"));
    EXPECT_THAT(said(one("F32", "[2,2]", "[0,12]")),
                HasSubstr("says that its tensors end at offset 77, but the file ends at 81"));
    EXPECT_THAT(said(one("F32", "[2,-2]")), HasSubstr("has no shape of whole numbers for 'x'"));
    EXPECT_THAT(said(one("F32", "4")), HasSubstr("has no shape"));
    EXPECT_THAT(said(tensors("{\"x\":{\"shape\":[1]}}", "")), HasSubstr("has no dtype for 'x'"));
    EXPECT_THAT(said(tensors("{\"x\":7}", "")), HasSubstr("has no object for 'x'"));
    EXPECT_THAT(said(tensors("[]", "")), HasSubstr("is not a JSON object"));
    EXPECT_THAT(said(tensors("{", "")), HasSubstr("is not a JSON object"));
    const std::string nul_after_it("{}\0]", 4);
    EXPECT_THAT(said(tensors(nul_after_it, "")), HasSubstr("is not a JSON object"));
    EXPECT_THAT(said(little(std::uint64_t{1} << 40) + "{}"),
                StartsWith("says at offset 0 that its header has 1099511627776 bytes"));
    EXPECT_THAT(said("1234567"), Eq("the file ends within the header at offset 7"));
}

TEST_F(vector_files, compressed_files_are_read_in_memory) {
    const std::vector<std::vector<float>> rows = {{1, 2}, {3, 4}};
    const std::string npy = npy_of("<f4", "(2, 2)", little_all(rows[0]) + little_all(rows[1]));
    const std::vector<std::pair<std::string, std::string>> all = {{"a.npy.gz", npy},
                                                                  {"a.fvecs.gz", vecs_of(rows)},
                                                                  {"a.fbin", bin_of(rows, 2)},
                                                                  {"any", npy},
                                                                  {"a.vec.gz", "the 1 2\na 3 4\n"}};
    for (const auto& [name, bytes] : all) {
        const std::string packed = gzipped(bytes);
        const vector_file file = opened(name, packed);
        EXPECT_EQ(rows_of<float>(file), rows) << name;
        EXPECT_EQ(file.file_bytes(), packed.size());
    }
    EXPECT_THAT(said_of("a.npy.gz", gzipped(npy).substr(0, 30)), HasSubstr("gzip"));
    // More than the memory limit of the run.
    put(at("zeros.npy.gz"), gzipped(npy_of("|u1", "(1, 50000000)", std::string(50'000'000, '\0'))));
    context small = context::cpu(1);
    small.memory_bytes = 10'000'000;
    EXPECT_THROW(open_vectors(at("zeros.npy.gz"), {}, small), out_of_memory);
    // 35,615 rows begin like gzip: the name identifies them, and they fit.
    const std::vector<std::vector<std::uint8_t>> many(35'615, {7});
    EXPECT_EQ(opened("many.u8bin", bin_of(many, 1)).rows(), 35'615u);
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
    std::thread writer([&] { put(at("pipe"), gzipped(npy)); });
    const vector_file piped = open_vectors(at("pipe"), {}, context::cpu(1));
    writer.join();
    EXPECT_EQ(rows_of<float>(piped), rows);
}

}  // namespace
}  // namespace quern::io::sparse_files_test
