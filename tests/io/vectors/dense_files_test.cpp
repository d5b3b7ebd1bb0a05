// SPDX-License-Identifier: Apache-2.0
// Dense vectors from binary files: written data is read back, as a view if possible, and inconsistent headers are
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "vector_bytes.hpp"

namespace quern::io::dense_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <class T>
using matrix = std::vector<std::vector<T>>;

template <class T>
matrix<T> any_matrix(std::size_t rows, std::size_t columns) {
    matrix<T> made(rows, std::vector<T>(columns));
    for (auto& row : made)
        for (T& value : row) value = static_cast<T>(*rc::gen::arbitrary<std::int32_t>()) / T{3};
    return made;
}

/// Whether the view points into the file: after a header, while memory begins at a page.
bool is_mapped(const vector_file& file) {
    return reinterpret_cast<std::uintptr_t>(file.dense().values.data()) % 4096 != 0;
}

template <class T>
void comes_back(const vector_file& file, const matrix<T>& rows, std::size_t columns, vector_type type) {
    RC_ASSERT(!file.sparse());
    RC_ASSERT(file.rows() == rows.size());
    RC_ASSERT(file.dimensions() == columns);
    RC_ASSERT(file.dense().type == type);
    RC_ASSERT(rows_of<T>(file) == rows);
}

template <class T>
std::string shape_of(const matrix<T>& rows, std::size_t columns) {
    return "(" + std::to_string(rows.size()) + ", " + std::to_string(columns) + ")";
}
template <class T>
std::string flat(const matrix<T>& rows) {
    std::string bytes;
    for (const auto& row : rows) bytes += little_all(row);
    return bytes;
}
template <class T>
std::string flat_big(const matrix<T>& rows) {
    std::string bytes;
    for (const auto& row : rows)
        for (const T value : row) bytes += big(value);
    return bytes;
}

TEST_F(vector_files, every_type_that_is_a_vectors_own_comes_back) {
    EXPECT_TRUE(rc::check([&] {
        const auto rows = *rc::gen::inRange<std::size_t>(0, 40),
                   columns = *rc::gen::inRange<std::size_t>(1, 40);
        const auto f = any_matrix<float>(rows, columns);
        const auto i16 = any_matrix<std::int16_t>(rows, columns);
        const auto i8 = any_matrix<std::int8_t>(rows, columns);
        const auto u8 = any_matrix<std::uint8_t>(rows, columns);
        const auto u16 = any_matrix<std::uint16_t>(rows, columns);
        const int version = *rc::gen::inRange(1, 4);
        comes_back(opened("a.npy", npy_of("<f4", shape_of(f, columns), flat(f), version)), f, columns,
                   vector_type::f32);
        comes_back(opened("a.npy", npy_of("<f2", shape_of(f, columns), flat(u16), version)), u16, columns,
                   vector_type::f16);
        comes_back(opened("a.npy", npy_of("<i2", shape_of(f, columns), flat(i16), version)), i16, columns,
                   vector_type::i16);
        comes_back(opened("a.npy", npy_of("|i1", shape_of(f, columns), flat(i8), version)), i8, columns,
                   vector_type::i8);
        comes_back(opened("a.npy", npy_of("|u1", shape_of(f, columns), flat(u8), version)), u8, columns,
                   vector_type::u8);
        comes_back(opened("a.fbin", bin_of(f, columns)), f, columns, vector_type::f32);
        comes_back(opened("a.f16bin", bin_of(u16, columns)), u16, columns, vector_type::f16);
        comes_back(opened("a.u8bin", bin_of(u8, columns)), u8, columns, vector_type::u8);
        comes_back(opened("a.i8bin", bin_of(i8, columns)), i8, columns, vector_type::i8);
        if (rows != 0) {
            comes_back(opened("a.fvecs", vecs_of(f)), f, columns, vector_type::f32);
            comes_back(opened("a.bvecs", vecs_of(u8)), u8, columns, vector_type::u8);
        }
        const std::string sizes =
            big(static_cast<std::uint32_t>(rows)) + big(static_cast<std::uint32_t>(columns));
        const std::string magic("\0\0", 2);
        comes_back(opened("a.idx", magic + "\x08\x02" + sizes + flat(u8)), u8, columns, vector_type::u8);
        comes_back(opened("a-idx2-byte", magic + "\x09\x02" + sizes + flat(i8)), i8, columns,
                   vector_type::i8);
        comes_back(opened("a.idx", magic + "\x0b\x02" + sizes + flat_big(i16)), i16, columns,
                   vector_type::i16);
        comes_back(opened("a.idx", magic + "\x0d\x02" + sizes + flat_big(f)), f, columns, vector_type::f32);
    }));
}

TEST_F(vector_files, what_can_be_used_as_it_lies_is_not_copied) {
    const matrix<float> rows = {{1, 2}, {3, 4}, {5, 6}};
    const vector_file npy = opened("a.npy", npy_of("<f4", "(3, 2)", flat(rows)));
    EXPECT_TRUE(is_mapped(npy));
    EXPECT_EQ(npy.format(), "npy");
    EXPECT_EQ(npy.dense().stride, 8u);
    EXPECT_EQ(npy.file_bytes(), 128u + 24u);
    EXPECT_THAT(npy.notes(), IsEmpty());
    EXPECT_THAT(npy.names(), IsEmpty());
    const vector_file vecs = opened("a.fvecs", vecs_of(rows));
    EXPECT_TRUE(is_mapped(vecs));
    EXPECT_EQ(vecs.dense().stride, 12u);
    // A header that puts the numbers at an odd offset: they are copied to aligned memory.
    const vector_file odd = opened(
        "odd.npy", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)} ", flat(rows)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(odd.dense().values.data()) % 4, 0u);
    EXPECT_EQ(rows_of<float>(odd), rows);
    vector_file moved;
    moved = opened("a.npy", npy_of("<f4", "(3, 2)", flat(rows)));
    EXPECT_EQ(rows_of<float>(vector_file(std::move(moved))), rows);
}

TEST_F(vector_files, headers_of_npy_as_programs_write_them) {
    const std::string one = little(1.5f) + little(-2.0f);
    for (const std::string header :
         {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }",
          "{'descr':'<f4','fortran_order':False,'shape':(1,2)}",
          "{\"shape\": (1L, 2L,), \"fortran_order\": False, \"descr\": \"<f4\"}  \n",
          "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",    // one vector
          "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }"}) {  // a single row has no other order
        EXPECT_THAT(rows_of<float>(opened("a.npy", npy_bytes(header, one))),
                    ElementsAre(ElementsAre(1.5f, -2.0f)))
            << header;
    }
    // Content takes precedence over the name.
    EXPECT_EQ(opened("a.fvecs", npy_of("<f4", "(1, 2)", one)).format(), "npy");
    EXPECT_EQ(opened("noname", npy_of("<f4", "(1, 2)", one)).format(), "npy");

    const auto said = [&](const std::string& header) { return said_of("a.npy", npy_bytes(header, one)); };
    const auto with = [](const std::string& descr, const std::string& order, const std::string& shape) {
        return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}";
    };
    EXPECT_THAT(said(with("'<f4'", "True", "(1, 2)")),
                StartsWith("an array in Fortran order, column by column"));
    EXPECT_THAT(said(with("'>f4'", "False", "(1, 2)")), HasSubstr("big-endian numbers ('>f4'); save them"));
    EXPECT_THAT(said(with("'<f4'", "False", "(1, 2, 1)")), StartsWith("an array of 3 dimensions"));
    EXPECT_THAT(said(with("'<f4'", "False", "()")), StartsWith("an array of 0 dimensions"));
    EXPECT_THAT(said(with("'<c8'", "False", "(1, 2)")), StartsWith("numbers of type '<c8' are not read"));
    EXPECT_THAT(said(with("'=f4'", "False", "(1, 2)")), StartsWith("numbers of type '=f4' are not read"));
    EXPECT_THAT(said(with("''", "False", "(1, 2)")), StartsWith("numbers of type '' are not read"));
    EXPECT_THAT(said(with("[('a', '<f4')]", "False", "(1,)")), StartsWith("an array of records"));
    EXPECT_THAT(said(with("'<f4'", "Maybe", "(1, 2)")), HasSubstr("neither True nor False at offset"));
    EXPECT_THAT(said(with("'<f4'", "False", "(1, -2)")), HasSubstr("no size of 0 to 2^64 - 1 at offset"));
    EXPECT_THAT(said(with("'<f4'", "False", "(99999999999999999999, 2)")), HasSubstr("no size of"));
    EXPECT_THAT(said(with("'<f4'", "False", "(1 2)")), HasSubstr("no ',' or ')' after a size"));
    EXPECT_THAT(said("{'descr': '<f4', 'shape': (1, 2)}"), HasSubstr("no descr, fortran_order or shape"));
    EXPECT_THAT(said("{'descr': '<f4', 'descr': '<f4'}"), HasSubstr("the key 'descr' again"));
    EXPECT_THAT(said("{'x': 1}"), HasSubstr("the key 'x' at offset"));
    EXPECT_THAT(said(with("'<f4'", "False", "(1, 2)") + "x"), HasSubstr("something after the dictionary"));
    EXPECT_THAT(said("{'descr': '<f4"), HasSubstr("a quoted text without end"));
    EXPECT_THAT(said(""), HasSubstr("no '{' at offset 10"));
    const std::string good = npy_of("<f4", "(1, 2)", one);
    EXPECT_THAT(said_of("a.npy", good.substr(0, 9)), Eq("the file ends within the header at offset 9"));
    EXPECT_THAT(said_of("a.npy", good.substr(0, 50)),
                HasSubstr("the header ends at offset 128, but the file ends at 50"));
    EXPECT_THAT(said_of("a.npy", "\x93NUMPX"), StartsWith("not a .npy file"));
    std::string newer = good;
    newer[6] = 4;
    EXPECT_THAT(said_of("a.npy", newer), Eq("version 4 at offset 6; 1, 2 and 3 are read"));
}

TEST_F(vector_files, sizes_that_lie_are_refused_with_the_offset) {
    const matrix<float> rows = {{1, 2}, {3, 4}, {5, 6}};
    const std::string npy = npy_of("<f4", "(3, 2)", flat(rows)), bin = bin_of(rows, 2), vecs = vecs_of(rows);
    EXPECT_EQ(said_of("a.npy", npy.substr(0, npy.size() - 1)),
              "says 3 rows of 2 float32 from offset 128, but the file ends at offset 151, after row 1");
    EXPECT_EQ(said_of("a.npy", npy + "x"),
              "says 3 rows of 2 float32 from offset 128, but 1 bytes follow them at offset 152");
    EXPECT_EQ(said_of("a.npy", npy_of("<f4", "(4611686018427387905, 4)", flat(rows))),
              "says 4611686018427387905 rows of 4 float32 from offset 128, but the file ends at offset 152, "
              "after row 0");
    EXPECT_EQ(said_of("a.npy", npy_of("<f4", "(1, 18446744073709551615)", flat(rows))),
              "says 1 rows of 18446744073709551615 float32 from offset 128, but the file ends at offset 152, "
              "within row 0");
    EXPECT_THAT(said_of("a.npy", npy_of("<f4", "(3, 0)", "")),
                HasSubstr("rows of 0 numbers; a vector has 1 to 4294967295"));
    EXPECT_THAT(said_of("a.npy", npy_of("<f4", "(0, 4294967296)", "")),
                HasSubstr("a vector has 1 to 4294967295"));
    EXPECT_EQ(said_of("a.fbin", bin.substr(0, 12)),
              "says 3 rows of 2 float32 from offset 8, but the file ends at offset 12, within row 0");
    EXPECT_EQ(said_of("a.fbin", bin.substr(0, 7)), "the file ends within the header at offset 7");
    EXPECT_EQ(said_of("a.fbin", ""), "the file ends within the header at offset 0");
    EXPECT_THAT(said_of("a.u8bin", bin), HasSubstr("but 18 bytes follow them at offset 14"));
    EXPECT_EQ(said_of("a.fvecs", vecs.substr(0, vecs.size() - 4)),
              "row 2 of 2 numbers begins at offset 24, but the file ends at 32");
    EXPECT_EQ(said_of("a.fvecs", vecs.substr(0, 26)),
              "row 2 of 2 numbers begins at offset 24, but the file ends at 26");
    EXPECT_EQ(said_of("a.fvecs", vecs_of<float>({{1, 2}, {3, 4, 5}})),
              "row 1 says at offset 12 that it has 3 numbers; row 0 has 2");
    EXPECT_EQ(said_of("a.fvecs", vecs_of<float>({{1, 2}, {3, 4}, {}})),
              "row 2 says at offset 24 that it has 0 numbers; row 0 has 2");
    EXPECT_THAT(said_of("a.fvecs", vecs_of<float>({{}, {}})),
                StartsWith("row 0 says at offset 0 that it has 0 numbers"));
    EXPECT_THAT(said_of("a.fvecs", little(-7)), StartsWith("row 0 says at offset 0 that it has -7 numbers"));
    const std::string magic("\0\0\x08", 3);
    EXPECT_EQ(said_of("a.idx", magic + "\x02" + big(2) + big(3) + "12345"),
              "says 2 rows of 3 uint8 from offset 12, but the file ends at offset 17, after row 0");
    EXPECT_THAT(said_of("a.idx", magic + "\x03" + big(2) + big(0) + big(5)), HasSubstr("rows of 0 numbers"));
    EXPECT_THAT(said_of("a.idx", magic + "\x05" + big(2) + big(-1) + big(-1) + big(-1) + big(-1)),
                HasSubstr("2^63"));
    EXPECT_THAT(said_of("a.idx", magic + "\x02" + big(2)),
                HasSubstr("the file ends within the header at offset 8"));
    EXPECT_THAT(said_of("a.idx", std::string("\0\0\x0a\x01", 4)), StartsWith("not an idx file"));
    EXPECT_THAT(said_of("a.idx", magic + std::string(1, '\0')), HasSubstr("no dimensions"));
    EXPECT_THAT(said_of("a.vectors", bin), HasSubstr("neither its name nor its first bytes say"));
    EXPECT_THROW(open_vectors(at("absent.npy"), {}, context::cpu(1)), usage_error);
    EXPECT_THROW(open_vectors(place_->path(), {}, context::cpu(1)), usage_error);
}

TEST_F(vector_files, the_first_row_that_is_wrong_is_named_whatever_the_threads) {
    std::string vecs = vecs_of(matrix<std::uint8_t>(100'000, std::vector<std::uint8_t>(3)));
    for (const std::uint64_t row : {99'999, 70'000, 20'001}) vecs[row * 7] = 4;
    for (const unsigned threads : {1u, 2u, 7u}) {
        put(at("a.bvecs"), vecs);
        EXPECT_EQ(said_by("a.bvecs", [&] { open_vectors(at("a.bvecs"), {}, context::cpu(threads)); }),
                  "row 20001 says at offset 140007 that it has 4 numbers; row 0 has 3");
    }
    std::vector<std::int64_t> wide(3'000'000, 5);
    wide[2'999'999] = wide[1'500'001] = -40'000;
    EXPECT_EQ(said_of("a.npy", npy_of("<i8", "(1000000, 3)", little_all(wide))),
              "row 500000 holds -40000 at offset 12000136; integers become int8, uint8 or int16, and it fits "
              "none of "
              "them");
}

TEST_F(vector_files, doubles_stay_what_they_are) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> values = {0.1, -0.0, 1e-60, infinity, 1e300, 5e-324};
    const vector_file file = opened("a.npy", npy_of("<f8", "(3, 2)", little_all(values)));
    EXPECT_EQ(file.dense().type, vector_type::f64);
    EXPECT_THAT(rows_of<double>(file), ElementsAre(ElementsAre(0.1, -0.0), ElementsAre(1e-60, infinity),
                                                   ElementsAre(1e300, 5e-324)));
    EXPECT_THAT(file.notes(), IsEmpty());
    const vector_file none = opened("a.npy", npy_of("<f8", "(1, 2)", little(0.25) + little(std::nan(""))));
    EXPECT_TRUE(std::isnan(rows_of<double>(none)[0][1]));
    const std::string idx("\0\0\x0e\x02", 4);
    EXPECT_THAT(rows_of<double>(opened("a.idx", idx + big(1) + big(2) + big(0.1) + big(-7.0))),
                ElementsAre(ElementsAre(0.1, -7.0)));
}

template <class T>
class wider_integers : public vector_files {};
using integer_types =
    ::testing::Types<std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(wider_integers, integer_types);

TYPED_TEST(wider_integers, become_the_narrowest_type_that_holds_all) {
    using T = TypeParam;
    const std::string code = std::string(std::is_signed_v<T> ? "<i" : "<u") + std::to_string(sizeof(T));
    const auto file = [&](const std::vector<T>& values) {
        return npy_of(code, "(" + std::to_string(values.size()) + ", 1)", little_all(values));
    };
    EXPECT_EQ(this->opened("a.npy", file({0, 127})).dense().type, vector_type::i8);
    EXPECT_EQ(this->opened("a.npy", file({0, 128})).dense().type, vector_type::u8);
    EXPECT_EQ(this->opened("a.npy", file({0, 255})).dense().type, vector_type::u8);
    const vector_file wide = this->opened("a.npy", file({0, 256, 32767}));
    EXPECT_EQ(wide.dense().type, vector_type::i16);
    EXPECT_THAT(rows_of<std::int16_t>(wide),
                ElementsAre(ElementsAre(0), ElementsAre(256), ElementsAre(32767)));
    ASSERT_EQ(wide.notes().size(), 1u);
    EXPECT_THAT(wide.notes()[0], HasSubstr("values became int16, which holds all of them"));
    EXPECT_EQ(this->said_of("a.npy", file({0, 32767, 32768, 32769})),
              "row 2 holds 32768 at offset " + std::to_string(128 + 2 * sizeof(T)) +
                  "; integers become int8, uint8 or int16, and it fits none of them");
    if constexpr (std::is_signed_v<T>) {
        EXPECT_EQ(this->opened("a.npy", file({-128, 127})).dense().type, vector_type::i8);
        EXPECT_EQ(this->opened("a.npy", file({-1, 128})).dense().type, vector_type::i16);
        EXPECT_THAT(this->said_of("a.npy", file({0, -32769})), HasSubstr("row 1 holds -32769"));
    }
}

TEST_F(vector_files, integers_of_ivecs_and_ibin_are_narrowed_too) {
    const matrix<std::int32_t> rows = {{1, 2, 3}, {200, 0, 255}};
    const matrix<std::uint8_t> narrow = {{1, 2, 3}, {200, 0, 255}};
    EXPECT_EQ(rows_of<std::uint8_t>(opened("a.ivecs", vecs_of(rows))), narrow);
    EXPECT_EQ(rows_of<std::uint8_t>(opened("a.ibin", bin_of(rows, 3))), narrow);
    const std::string idx("\0\0\x0c\x02", 4);
    EXPECT_THAT(rows_of<std::int16_t>(opened("a.idx", idx + big(1) + big(2) + big(-300) + big(7))),
                ElementsAre(ElementsAre(-300, 7)));
}

TEST_F(vector_files, bits) {
    const vector_file bytes =
        opened("a.u8bin", bin_of<std::uint8_t>({{1, 128}, {255, 0}}, 2), {.as_bits = true});
    EXPECT_EQ(bytes.dense().type, vector_type::bits);
    EXPECT_EQ(bytes.dimensions(), 16u);
    EXPECT_TRUE(is_mapped(bytes));
    EXPECT_THAT(rows_of<std::uint8_t>(bytes), ElementsAre(ElementsAre(1, 128), ElementsAre(255, 0)));
    std::string truths;
    for (const int each : {1, 0, 0, 0, 0, 0, 0, 1, 1, /**/ 0, 1, 1, 1, 1, 1, 1, 1, 0})
        truths += static_cast<char>(each);
    for (const bool as_bits : {false, true}) {
        const vector_file packed = opened("a.npy", npy_of("|b1", "(2, 9)", truths), {.as_bits = as_bits});
        EXPECT_EQ(packed.dense().type, vector_type::bits);
        EXPECT_EQ(packed.dimensions(), 9u);
        EXPECT_THAT(rows_of<std::uint8_t>(packed), ElementsAre(ElementsAre(0x81, 1), ElementsAre(0xfe, 0)));
    }
    truths[10] = 2;
    EXPECT_EQ(said_of("a.npy", npy_of("|b1", "(2, 9)", truths)),
              "row 1 holds the byte 2 at offset 138; a boolean is 0 or 1");
    EXPECT_THAT(said_of("a.fbin", bin_of<float>({{1}}, 1), {.as_bits = true}),
                Eq("numbers of type float32 are not bits; bytes are (uint8)"));
}

TEST_F(vector_files, idx_of_images_and_of_labels) {
    const std::string images("\0\0\x08\x03", 4), labels("\0\0\x08\x01", 4);
    const vector_file flat_images =
        opened("t10k-images-idx3-ubyte", images + big(2) + big(2) + big(3) + "abcdefghijkl");
    EXPECT_EQ(flat_images.dimensions(), 6u);
    EXPECT_EQ(flat_images.rows(), 2u);
    EXPECT_EQ(flat_images.format(), "idx");
    const vector_file column = opened("x.idx1-ubyte", labels + big(3) + "abc");
    EXPECT_EQ(column.dimensions(), 1u);
    EXPECT_EQ(column.rows(), 3u);
}

TEST_F(vector_files, crops_of_big_ann_benchmarks_keep_their_format) {
    EXPECT_EQ(opened("base.1B.u8bin.crop_nb_2", bin_of<std::uint8_t>({{1}, {2}}, 1)).format(), "u8bin");
}

}  // namespace
}  // namespace quern::io::dense_files_test
