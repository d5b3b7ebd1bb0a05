// SPDX-License-Identifier: Apache-2.0
// The scratch file of an external sort: transfers that the disk rejects without the page cache are repeated through it,
// once.
#include "primitives/external_sort/run_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/base/error.hpp"
#include "temporary_folder.hpp"

namespace quern::primitives::run_file_test {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
    std::vector<std::byte> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i * 7 % 251);
    return made;
}

TEST(run_file_test, what_is_not_aligned_goes_through_the_page_cache) {
    const testing::temporary_folder folder;
    const auto bytes = some_bytes(10'001);
    const std::span all(bytes);
    {
        run_file file(folder / "written");
        file.write_at(3, all.first(999),
                      all.subspan(999));  // no offset, length or memory as O_DIRECT requires
        std::vector<std::byte> back(bytes.size());
        file.read_at(3, back);
        EXPECT_EQ(back, bytes);
        EXPECT_EQ(file.bytes_written(), bytes.size());
        EXPECT_EQ(file.bytes_read(), bytes.size());
    }
    run_file file(folder / "written");  // reading is the first to be rejected
    std::vector<std::byte> back(777);
    file.read_at(3, back);
    EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin()));
}

TEST(run_file_test, many_threads_that_are_refused_at_once_all_try_again) {
    const testing::temporary_folder folder;
    const auto bytes = some_bytes(500);
    for (int round = 0; round < 50; ++round) {
        run_file file(folder / ("runs" + std::to_string(round)));
        transfer_all({}, 16, [&](std::size_t i) { file.write_at(i * bytes.size() + 1, bytes, {}); });
        EXPECT_EQ(file.bytes_written(), 16 * bytes.size());
    }
}

TEST(run_file_test, what_is_refused_either_way_is_an_error) {
    const testing::temporary_folder folder;
    run_file file(folder / "runs");
    auto bytes = some_bytes(4096);
    const std::uint64_t below_zero = std::uint64_t{} - 4096;  // as the system counts offsets
    for (int again = 0; again < 2; ++again) {
        try {
            file.write_at(below_zero, bytes, {});
            ADD_FAILURE() << "written before the file's beginning";
        } catch (const io_error& refused) {
            EXPECT_EQ(refused.code(), EINVAL);
        }
        try {
            file.read_at(below_zero, bytes);
            ADD_FAILURE() << "read before the file's beginning";
        } catch (const io_error& refused) {
            EXPECT_EQ(refused.code(), EINVAL);
        }
    }
    EXPECT_EQ(file.bytes_written() + file.bytes_read(), 0u);
}

TEST(run_file_test, what_lies_past_the_end_is_an_error) {
    const testing::temporary_folder folder;
    run_file file(folder / "runs");
    std::vector<std::byte> back(4096);
    EXPECT_THROW(file.read_at(0, back), io_error);
}

TEST(run_file_test, the_first_exception_ends_all_transfers) {
    std::atomic<std::size_t> begun{0};
    const auto refuse_the_third = [&](std::size_t i) {
        ++begun;
        if (i == 2) throw usage_error("the third");
    };
    EXPECT_THROW(transfer_all({}, 1'000'000, refuse_the_third), usage_error);
    EXPECT_LT(begun, 1'000'000u);
}

}  // namespace
}  // namespace quern::primitives::run_file_test
