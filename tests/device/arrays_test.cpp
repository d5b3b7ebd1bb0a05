// SPDX-License-Identifier: Apache-2.0
// Arrays and transfers on every place, at sizes around the limits of the CUDA place's copy methods.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"

namespace quern::arrays_test {
namespace {

constexpr std::size_t kib = 1 << 10, mib = 1 << 20;
// 64 KiB: results that wait once; 8 MiB: transfers through staging, once 64 MiB have been moved.
constexpr std::size_t transfer_sizes[] = {
    0,       1,           63,           64 * kib - 1, 64 * kib,     64 * kib + 1, 256 * kib + 1, 8 * mib - 1,
    8 * mib, 8 * mib + 1, 16 * mib - 1, 16 * mib,     16 * mib + 1, 40 * mib + 3, 130 * mib + 1};

/// Bytes that differ wherever a copy could be wrong by a power of two.
std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed) {
    std::vector<std::uint8_t> bytes(size);
    std::uint32_t state = seed * 2654435761u + 1;
    for (auto& byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return bytes;
}

template <class Tested>
class transfers_test : public on_place<Tested> {};
TYPED_TEST_SUITE(transfers_test, tested_places, tested_place_names);

TYPED_TEST(transfers_test, bring_back_every_byte_and_touch_no_other) {
    auto& place = this->place();
    for (const std::size_t size : transfer_sizes) {
        if (size > 17 * mib && std::is_same_v<typename TypeParam::place_type, cpu_place>)
            continue;  // one way only
        const auto bytes = pattern(size, 1);
        auto array = this->array(pattern(size, 2));
        copy_in<std::uint8_t>(place, bytes, array.span());
        EXPECT_EQ(array.host(), bytes) << size;  // also checks the guard zones
    }
}

TYPED_TEST(transfers_test, start_and_end_anywhere) {
    auto& place = this->place();
    if (std::is_same_v<typename TypeParam::place_type, cuda_place>) {
        array_from(place, std::span<const std::uint8_t>(pattern(130 * mib, 9)));  // from here on in chunks
    }
    for (const std::size_t size : {std::size_t{5}, 64 * kib + 7, 300 * kib + 1, 11 * mib + 13}) {
        for (const std::size_t shift : {1, 3, 13}) {
            const auto bytes = pattern(size + shift, 3);
            auto array = this->template output<std::uint8_t>(size + 2 * shift);
            copy_in<std::uint8_t>(place, std::span(bytes).subspan(shift), array.span().subspan(shift, size));
            std::vector<std::uint8_t> back(size + 32, 0x77);
            copy_out<std::uint8_t>(place, array.view().subspan(shift, size),
                                   std::span(back).subspan(16, size));
            EXPECT_TRUE(std::equal(back.begin() + 16, back.end() - 16, bytes.begin() + shift)) << size;
            EXPECT_TRUE(std::all_of(back.begin(), back.begin() + 16, [](auto b) { return b == 0x77; }));
            EXPECT_TRUE(std::all_of(back.end() - 16, back.end(), [](auto b) { return b == 0x77; }));
        }
    }
}

TYPED_TEST(transfers_test, follow_each_other_without_waiting) {
    // The second begins while the first may still be in progress; each source is changed as soon as allowed.
    auto& place = this->place();
    for (const std::size_t size : {std::size_t{100}, 200 * kib, 7 * mib, 33 * mib}) {
        std::vector<std::vector<std::uint8_t>> expected;
        std::vector<array_on<typename TypeParam::place_type, std::uint8_t>> arrays;
        std::vector<std::uint8_t> source;
        for (std::uint32_t i = 0; i < 6; ++i) {
            expected.push_back(pattern(size, 10 + i));
            source = expected.back();
            arrays.push_back(array_from(place, std::span<const std::uint8_t>(source)));
            std::fill(source.begin(), source.end(), std::uint8_t{0});
        }
        for (std::size_t i = 0; i < arrays.size(); ++i)
            EXPECT_EQ(to_host(place, arrays[i].span()), expected[i]) << size;
    }
}

TYPED_TEST(transfers_test, refuse_sizes_that_differ) {
    auto& place = this->place();
    const auto array = make_array<std::uint8_t>(place, 3);
    std::vector<std::uint8_t> host(4);
    EXPECT_THROW(copy_in<std::uint8_t>(place, host, array.span()), usage_error);
    EXPECT_THROW(copy_out<std::uint8_t>(place, array.span(), host), usage_error);
}

template <class Tested>
class arrays_test : public on_place<Tested> {};
TYPED_TEST_SUITE(arrays_test, tested_places, tested_place_names);

TYPED_TEST(arrays_test, own_their_memory_through_moves) {
    auto& place = this->place();
    const std::uint64_t before = place.memory().used();
    {
        const std::vector<std::uint32_t> values{1, 2, 3};
        auto first = array_from(place, std::span<const std::uint32_t>(values));
        EXPECT_EQ(place.memory().used(), before + 12);
        auto second = std::move(first);
        EXPECT_EQ(first.size(), 0u);  // NOLINT(bugprone-use-after-move): what is left is an empty array
        EXPECT_EQ(first.data(), nullptr);
        EXPECT_EQ(to_host(place, second.span()), values);
        second = make_array<std::uint32_t>(place, 5);  // its old memory is released
        EXPECT_EQ(place.memory().used(), before + 20);
        auto& itself = second;
        second = std::move(itself);
        EXPECT_EQ(second.size(), 5u);
        first.swap(second);
        EXPECT_EQ(first.size(), 5u);
    }
    EXPECT_EQ(place.memory().used(), before);
}

TYPED_TEST(arrays_test, are_aligned_and_empty_ones_take_nothing) {
    auto& place = this->place();
    const std::size_t alignment = std::is_same_v<typename TypeParam::place_type, cuda_place> ? 256 : 64;
    std::vector<array_on<typename TypeParam::place_type, char>> kept;
    for (const std::size_t size : {1, 3, 63, 65, 1000, 4097}) {
        kept.push_back(make_array<char>(place, size));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept.back().data()) % alignment, 0u) << size;
    }
    const std::uint64_t before = place.memory().used();
    const auto none = make_array<double>(place, 0);
    EXPECT_EQ(none.data(), nullptr);
    EXPECT_EQ(place.memory().used(), before);
    EXPECT_TRUE(to_host(place, none.span()).empty());
}

TYPED_TEST(arrays_test, exceed_no_budget) {
    context ctx = TypeParam::ctx();
    ctx.memory_bytes = ctx.gpu_memory_bytes = 1000;
    typename TypeParam::place_type place(ctx);
    const auto max = make_array<char>(place, 900, "the first");
    try {
        make_array<std::uint32_t>(place, 26, "the second");
        FAIL() << "104 bytes of 100";
    } catch (const out_of_memory& e) {
        EXPECT_STREQ(e.what(), "the second needs 104 bytes of memory; 100 are free");
    }
    EXPECT_EQ(place.memory().used(), 900u);
    EXPECT_EQ(make_array<std::uint32_t>(place, 25).size(), 25u);
}

TYPED_TEST(arrays_test, of_a_size_that_overflows_are_refused) {
    auto& place = this->place();
    const std::uint64_t before = place.memory().used();
    // Twice this many bytes would be 2 bytes by wrapping around.
    EXPECT_THROW(make_array<std::uint16_t>(place, (std::size_t{1} << 63) + 1), out_of_memory);
    EXPECT_THROW(make_array<std::uint64_t>(place, std::numeric_limits<std::size_t>::max()), out_of_memory);
    EXPECT_EQ(place.memory().used(), before);
}

TYPED_TEST(arrays_test, that_no_machine_has_are_refused_in_spite_of_the_budget) {
    context ctx = TypeParam::ctx();
    ctx.memory_bytes = ctx.gpu_memory_bytes = std::numeric_limits<std::int64_t>::max();
    typename TypeParam::place_type place(ctx);
    EXPECT_THROW(make_array<char>(place, std::size_t{1} << 62), out_of_memory);
    EXPECT_EQ(place.memory().used(), 0u);
    const std::vector<char> values{1, 2, 3};  // the place stays usable
    EXPECT_EQ(to_host(place, array_from(place, std::span<const char>(values)).span()), values);
}

}  // namespace
}  // namespace quern::arrays_test
