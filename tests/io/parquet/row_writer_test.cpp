// SPDX-License-Identifier: Apache-2.0
// Parquet files with some rows of others: the levels and values of every column are those of the chosen rows, for files that
// pyarrow wrote (make_files.py). bindings/python/tests/test_parquet_rows.py has pyarrow read the result.
#include "io/parquet/row_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "io/parquet/level_writer.hpp"
#include "quern/base/error.hpp"
#include "test_folder.hpp"

namespace quern::io::parquet::row_writer_test {
namespace {

/// An entry of a column: its levels, and its value if it has one.
using entry = std::tuple<std::uint16_t, std::uint16_t, std::string>;
/// The entries of each row.
using column = std::vector<std::vector<entry>>;

column read_column(const std::shared_ptr<const parquet_file>& file, std::size_t leaf) {
    const leaf_column& of = file->metadata().columns.leaves[leaf];
    column rows;
    for (std::size_t g = 0; g < file->metadata().groups.size(); ++g) {
        column_reader reader(file, g, leaf);
        column_batch batch;
        while (reader.read(batch, 7) != 0) {
            std::size_t value = 0;
            for (std::size_t i = 0; i < batch.entries; ++i) {
                const std::uint16_t repetition =
                    batch.repetition.empty() ? std::uint16_t{0} : batch.repetition[i];
                const std::uint16_t definition =
                    batch.definition.empty() ? of.max_definition : batch.definition[i];
                std::string bytes;
                if (definition == of.max_definition) {
                    bytes = of.width == 0 ? std::string(batch.texts[value])
                                          : std::string(batch.fixed.data() + value * of.width, of.width);
                    ++value;
                }
                if (repetition == 0) rows.emplace_back();
                rows.back().emplace_back(repetition, definition, bytes);
            }
        }
    }
    return rows;
}

std::string copied(const std::vector<std::shared_ptr<const parquet_file>>& files,
                   const std::vector<bool>& wanted) {
    std::string out;
    const context ctx;
    row_writer writer([&out](std::string_view bytes) { out += bytes; }, ctx);
    for (const auto& file : files) writer.append(file, wanted);
    writer.finish();
    return out;
}

std::shared_ptr<const parquet_file> opened(const std::string& name) {
    return parquet_file::open(test_folder() / "io/parquet/files" / (name + ".parquet"), 1 << 20);
}

class row_writer_test : public ::testing::TestWithParam<std::string> {};

TEST_P(row_writer_test, has_the_chosen_rows_with_all_columns) {
    const auto file = opened(GetParam());
    const std::uint64_t rows = file->metadata().rows;
    ASSERT_GT(rows, 3U);
    for (const unsigned every : {0U, 1U, 2U, 3U, 1000U}) {
        SCOPED_TRACE(every);
        std::vector<bool> wanted(every == 1000 ? 1 : rows);
        for (std::uint64_t row = 0; row < wanted.size(); ++row) wanted[row] = every != 0 && row % every == 0;
        const auto count = static_cast<std::uint64_t>(std::ranges::count(wanted, true));
        const std::string bytes = copied({file, file}, wanted);
        const auto made = parquet_file::over(bytes, "made", 1 << 20);
        EXPECT_EQ(made->metadata().rows, 2 * count);
        EXPECT_EQ(made->metadata().schema_bytes, file->metadata().schema_bytes);
        EXPECT_EQ(made->metadata().key_values, file->metadata().key_values);
        EXPECT_LE(made->metadata().groups.size(), 2 * file->metadata().groups.size());
        for (std::size_t leaf = 0; leaf < file->metadata().columns.leaves.size(); ++leaf) {
            SCOPED_TRACE(file->metadata().columns.path_of(file->metadata().columns.leaves[leaf].node));
            const column from = read_column(file, leaf);
            ASSERT_EQ(from.size(), rows);
            column expected;
            for (std::uint64_t row = 0; row < wanted.size(); ++row)
                if (wanted[row]) expected.push_back(from[row]);
            const column once = expected;
            expected.insert(expected.end(), once.begin(), once.end());
            EXPECT_EQ(read_column(made, leaf), expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(files, row_writer_test,
                         ::testing::Values("plain", "snappy_pages", "gzip_v2", "lz4_lengths",
                                           "zstd_v2_fronts"));

TEST(rows_of_parquet, refuses_another_schema_and_no_file) {
    EXPECT_THROW(copied({}, {}), usage_error);
    EXPECT_THROW(copied({opened("plain"), opened("special_repeated_text")}, {}), usage_error);
}

TEST(rows_of_parquet, brotli_becomes_zstd) {
    const std::string bytes = copied({opened("special_brotli")}, {true, false, true});
    const auto made = parquet_file::over(bytes, "made", 1 << 20);
    EXPECT_EQ(made->metadata().groups.at(0).chunks.at(0).compression, codec::zstd);
    EXPECT_EQ(read_column(made, 0).size(), 2U);
}

TEST(rows_of_parquet, rows_that_a_file_only_claims_are_not_counted) {
    const auto file = opened("plain");
    std::vector<bool> beyond(file->metadata().rows + 100, true);
    const std::string bytes = copied({file}, beyond);
    EXPECT_EQ(parquet_file::over(bytes, "made", 1 << 20)->metadata().rows, file->metadata().rows);
}

TEST(level_writer_test, hybrid_decoder_reads_what_it_writes) {
    std::uint64_t state = 1;
    const auto next = [&state](std::uint64_t below) {
        state = state * 6364136223846793005 + 1442695040888963407;
        return (state >> 33) % below;
    };
    for (const std::uint16_t max : std::vector<std::uint16_t>{1, 2, 3, 5, 8, 255, 256, 1000}) {
        for (unsigned trial = 0; trial < 200; ++trial) {
            std::vector<std::uint16_t> levels;
            for (std::uint64_t parts = next(8); parts > 0; --parts) {
                const auto level = static_cast<std::uint16_t>(next(max + std::uint64_t{1}));
                levels.insert(levels.end(), next(3) == 0 ? next(300) : next(12), level);
            }
            std::string bytes;
            append_levels(bytes, levels, max);
            std::uint32_t length = 0;
            std::copy_n(bytes.data(), sizeof length, reinterpret_cast<char*>(&length));
            ASSERT_EQ(length, bytes.size() - sizeof length);
            hybrid_decoder decoder(std::string_view(bytes).substr(sizeof length),
                                   static_cast<unsigned>(std::bit_width(max)));
            std::vector<std::uint16_t> read(levels.size());
            decoder.read(std::span(read));
            ASSERT_EQ(read, levels);
        }
    }
    std::string none;
    append_levels(none, std::vector<std::uint16_t>(5), 0);
    EXPECT_EQ(none, "");
}

}  // namespace
}  // namespace quern::io::parquet::row_writer_test
