// SPDX-License-Identifier: Apache-2.0
#include "io/store/section.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "base/hash.hpp"
#include "no_more_files.hpp"
#include "temporary_folder.hpp"

namespace quern::io::section_test {
namespace {

using ::testing::HasSubstr;
using testing::read_file;
using testing::temporary_folder;
using testing::write_file;

std::string random_bytes(std::size_t count) {
    std::mt19937 numbers(7);
    std::string bytes(count, '\0');
    for (char& c : bytes) c = static_cast<char>(numbers());
    return bytes;
}

class section_test : public ::testing::TestWithParam<std::size_t> {
  protected:
    temporary_folder folder_;
    std::filesystem::path file_ = folder_ / "s.section";
};

TEST_P(section_test, gives_back_what_was_written) {
    const std::string payload = random_bytes(GetParam());
    section_writer writer(file_);
    for (std::size_t i = 0, step = 1; i < payload.size(); i += step, step = step * 3 % 70'001) {
        writer.append(std::string_view(payload).substr(i, step));
    }
    const auto summary = writer.finish();
    EXPECT_EQ(summary.file_bytes, std::filesystem::file_size(file_));
    const section_view section(file_, "s", summary.checksum);
    EXPECT_EQ(section.size(), payload.size());
    EXPECT_EQ(section.all(), payload);
    EXPECT_EQ(section.bytes(payload.size() / 2, payload.size() / 3),
              payload.substr(payload.size() / 2, payload.size() / 3));
    EXPECT_THROW(section.bytes(payload.size(), 1), damaged_store);
    EXPECT_THROW(section.bytes(1, ~std::uint64_t{0}), damaged_store);
}

TEST_P(section_test, a_passing_failure_is_no_damage) {
    section_writer writer(file_);
    writer.append(random_bytes(GetParam()));
    writer.finish();
    {
        const testing::no_more_files limit;
        EXPECT_THROW(section_view(file_, "s"), io_error);
    }
    EXPECT_NO_THROW(section_view(file_, "s"));
    std::filesystem::remove(file_);
    EXPECT_THROW(section_view(file_, "s"), damaged_store);
}

TEST_P(section_test, refuses_every_flipped_byte) {
    const std::string payload = random_bytes(GetParam());
    section_writer writer(file_);
    writer.append(payload);
    const auto summary = writer.finish();
    const std::string whole = read_file(file_);
    const std::size_t step = whole.size() > 2'000 ? 997 : 1;
    const std::size_t padding_begin = payload.size(), padding_end = (payload.size() + 7) / 8 * 8;
    for (std::size_t i = 0; i<whole.size(); i += i + 200> whole.size() ? 1 : step) {
        if (i >= padding_begin && i < padding_end) continue;  // not covered
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        write_file(file_, damaged);
        EXPECT_THROW(section_view(file_, "s", summary.checksum).all(), damaged_store) << "byte " << i;
    }
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
        write_file(file_, whole.substr(0, cut));
        EXPECT_THROW(section_view(file_, "s", summary.checksum).all(), damaged_store) << "cut at " << cut;
    }
}

TEST_P(section_test, refuses_another_section) {
    section_writer writer(file_);
    writer.append(random_bytes(GetParam()));
    const auto summary = writer.finish();
    EXPECT_THROW(section_view(file_, "s", summary.checksum + 1), damaged_store);
    try {
        section_view(folder_ / "absent", "s", 0);
        FAIL();
    } catch (const damaged_store& e) {
        EXPECT_EQ(e.section(), "s");
    }
}

TEST_P(section_test, of_another_version_says_what_to_do) {
    section_writer writer(file_);
    writer.append(random_bytes(GetParam()));
    writer.finish();
    std::string whole = read_file(file_);
    const auto refusal_of_version = [&](std::uint32_t version) {
        char* const footer = whole.data() + whole.size() - 48;
        std::memcpy(footer + 8, &version, sizeof version);
        const std::uint64_t sum = hash64({footer, 40});
        std::memcpy(footer + 40, &sum, sizeof sum);
        write_file(file_, whole);
        try {
            section_view(file_, "s");
        } catch (const damaged_store& e) {
            return std::string(e.what());
        }
        return std::string("none");
    };
    EXPECT_EQ(refusal_of_version(1), "none");
    EXPECT_THAT(refusal_of_version(2),
                HasSubstr("has format version 2, but this program reads version 1; install a newer Quern"));
    EXPECT_THAT(refusal_of_version(0), HasSubstr("a Quern before 1.0 made it"));
}

INSTANTIATE_TEST_SUITE_P(sizes, section_test, ::testing::Values(0, 1, 7, 8, 65'535, 65'536, 65'537, 300'000));

// Damage is reported on access, and only there.
TEST(section_blocks_test, are_checked_one_by_one) {
    const temporary_folder folder;
    const auto file = folder / "s.section";
    section_writer writer(file);
    writer.append(random_bytes(300'000));
    const auto summary = writer.finish();
    std::string whole = read_file(file);
    whole[200'000] = static_cast<char>(whole[200'000] ^ 1);
    write_file(file, whole);
    const section_view section(file, "s", summary.checksum);
    EXPECT_NO_THROW(section.bytes(0, 65'536));
    EXPECT_NO_THROW(section.bytes(270'000, 100));
    EXPECT_THROW(section.bytes(200'100, 1), damaged_store);
}

TEST(string_column_test, gives_back_its_strings) {
    const temporary_folder folder;
    const std::vector<std::string> values = {"", "a", "", std::string(70'000, 'x'), "\xff\0b", "end"};
    string_column_writer writer(folder / "c.section", folder / "ends");
    for (const std::string& value : values) writer.append(value);
    const auto summary = writer.finish();
    const section_view column(folder / "c.section", "c", summary.checksum);
    for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(column_string(column, i, values.size()), values[i]);
    EXPECT_THROW(column_string(column, values.size(), values.size()), damaged_store);
    EXPECT_THROW(column_string(column, 0, 1'000'000), damaged_store);
}

}  // namespace
}  // namespace quern::io::section_test
