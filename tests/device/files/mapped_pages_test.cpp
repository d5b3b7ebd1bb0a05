// SPDX-License-Identifier: Apache-2.0
#include "device/files/mapped_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <string>

#include "device/files/files_fixture.hpp"
#include "device/files/scratch_array.hpp"
#include "device/files/spilled_array.hpp"

namespace quern::mapped_pages_test {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::uint64_t resident() {
    std::uint64_t all = 0, held = 0;
    std::ifstream("/proc/self/statm") >> all >> held;
    return held * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// The most that is resident while each page of the numbers is written and, in another order, read.
std::uint64_t max_resident(std::span<std::uint64_t> numbers, const context& ctx) {
    constexpr std::size_t page = 512, step = 7919;  // a prime: every page comes up once
    const std::size_t pages = numbers.size() / page;
    std::uint64_t max = 0;
    for (std::size_t p = 0; p < pages; ++p) {
        ctx.check_stop();
        numbers[p * page] = p;
        if (p % 64 == 0) max = std::max(max, resident());
    }
    std::uint64_t sum = 0;
    for (std::size_t p = 0; p < pages; ++p) {
        ctx.check_stop();
        sum += numbers[p * step % pages * page];
        if (p % 64 == 0) max = std::max(max, resident());
    }
    EXPECT_EQ(sum, pages * (pages - 1) / 2);  // nothing was lost
    return max;
}

struct mapped_pages_test : files {
    ~mapped_pages_test() override { keep_resident_memory_below(0); }
    context ctx;
};

TEST_F(mapped_pages_test, are_known_by_address) {
    const std::uint64_t in_memory = 0;
    const std::uint64_t* gone = nullptr;
    {
        const scratch_array<std::uint64_t> array(*place_, "numbers", 1000);
        gone = array.span().data();
        EXPECT_TRUE(is_mapped(gone));
        EXPECT_TRUE(is_mapped(gone + 999));
        EXPECT_FALSE(is_mapped(gone + 1000));
        EXPECT_FALSE(is_mapped(gone - 1));
        EXPECT_FALSE(is_mapped(&in_memory));
    }
    EXPECT_FALSE(is_mapped(gone));
}

TEST_F(mapped_pages_test, are_given_back_before_a_process_holds_more_than_it_is_to) {
    constexpr std::uint64_t mapped = 160 * mib, capacity = 24 * mib;
    const scratch_array<std::uint64_t> array(*place_, "numbers", mapped / sizeof(std::uint64_t));
    const std::uint64_t before = resident();
    keep_resident_memory_below(before + capacity);
    EXPECT_LT(max_resident(array.span(), ctx), before + capacity + 40 * mib);
    keep_resident_memory_below(0);
    EXPECT_GT(max_resident(array.span(), ctx), before + mapped / 2);  // as it is without
}

/// As the libraries of a GPU's driver, which are larger than what is mapped here.
TEST_F(mapped_pages_test, are_given_back_next_to_many_pages_of_libraries) {
    constexpr std::uint64_t of_libraries = 192 * mib, mapped = 160 * mib, capacity = 24 * mib;
    std::ofstream(place_->path() / "library", std::ios::binary) << std::string(of_libraries, 'l');
    const int file = ::open((place_->path() / "library").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    void* const library = ::mmap(nullptr, of_libraries, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    ::close(file);
    ASSERT_NE(library, MAP_FAILED);

    const scratch_array<std::uint64_t> array(*place_, "numbers", mapped / sizeof(std::uint64_t));
    const std::uint64_t before = resident();
    keep_resident_memory_below(before + capacity);
    EXPECT_LT(max_resident(array.span(), ctx), before + capacity + 40 * mib);
    ::munmap(library, of_libraries);
}

TEST_F(mapped_pages_test, make_room_for_arrays) {
    constexpr std::uint64_t mapped = 96 * mib, of_array = 64 * mib, capacity = 112 * mib;
    const scratch_array<std::uint64_t> file(*place_, "numbers", mapped / sizeof(std::uint64_t));
    const std::uint64_t before = resident();
    keep_resident_memory_below(before + capacity);
    std::ranges::fill(file.span(), 1);
    ASSERT_GT(resident(), before + mapped / 2);
    cpu_place place(ctx);
    const cpu_array<char> array(place, of_array);
    std::ranges::fill(array.span(), 'a');  // and no check for as long as it takes
    EXPECT_LT(resident(), before + capacity);
    EXPECT_EQ(file.span().back(), 1U);
}

TEST_F(mapped_pages_test, are_nobodys_once_they_are_forgotten) {
    using mapped_pages_detail::bytes_mapped;
    const std::uint64_t before = bytes_mapped;
    const int one = 1, other = 2;
    note_mapped_pages(&one, 100);
    note_mapped_pages(&other, 10);
    EXPECT_EQ(bytes_mapped, before + 110);
    forget_mapped_pages(&one);
    forget_mapped_pages(&one);
    forget_mapped_pages(nullptr);
    EXPECT_EQ(bytes_mapped, before + 10);
    forget_mapped_pages(&other);
    EXPECT_EQ(bytes_mapped, before);
}

TEST_F(mapped_pages_test, hold_arrays_that_a_budget_has_no_room_for) {
    context small = context::cpu(2);
    small.memory_bytes = 4 * mib;
    small.scratch = place_->path();
    cpu_place place(small);
    spilled_array<std::uint32_t> first(place, mib / 2), second(place, mib), third(place, 1000);
    EXPECT_EQ(first.spilled_bytes(), 0U);
    EXPECT_EQ(second.spilled_bytes(), 4 * mib);  // a quarter of the budget stays free
    EXPECT_EQ(third.spilled_bytes(), 0U);
    EXPECT_EQ(place.memory().used(), 2 * mib + 4000);
    std::iota(second.span().begin(), second.span().end(), 0U);
    spilled_array<std::uint32_t> moved(std::move(second));
    EXPECT_EQ(moved.span().back(), mib - 1);
    EXPECT_EQ(moved.size(), mib);
    moved = {};
    EXPECT_TRUE(names().empty());  // the file has no name, and is gone
}

}  // namespace
}  // namespace quern::mapped_pages_test
