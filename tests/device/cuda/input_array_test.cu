// SPDX-License-Identifier: Apache-2.0
// Inputs that a GPU reads in the host's memory. The machine need not have an integrated GPU: QUERN_CUDA_INTEGRATED forces it.
#include "device/input_array.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/cuda/check.cuh"
#include "device/place_set.hpp"
#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "several_places.hpp"

namespace quern {
namespace {

__global__ void add_up_kernel(const std::uint32_t* values, std::size_t size, std::uint64_t* sum) {
    for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size;
         i += std::size_t{gridDim.x} * blockDim.x)
        atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(values[i]));
}

std::uint64_t sum_of(cuda_place& place, device_span<const std::uint32_t> values) {
    const cuda_array<std::uint64_t> sum(place, 1);
    place.fill_bytes(sum.data(), 0, sizeof(std::uint64_t));
    QUERN_LAUNCH(place, (cuda::launch_shape{16, 256}), add_up_kernel, values.data(), values.size(),
                 sum.data());
    return to_host(place, sum.span())[0];
}

std::vector<std::uint32_t> numbers(std::size_t size) {
    std::vector<std::uint32_t> values(size);
    std::iota(values.begin(), values.end(), 7u);
    return values;
}

std::uint64_t sum_of(std::span<const std::uint32_t> values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// With the variable set to a value, and as it was again at the end.
class integrated {
  public:
    explicit integrated(const char* value) {
        if (const char* before = std::getenv(name)) before_ = before;
        setenv(name, value, 1);
    }
    ~integrated() { before_.empty() ? unsetenv(name) : setenv(name, before_.c_str(), 1); }

  private:
    static constexpr const char* name = "QUERN_CUDA_INTEGRATED";
    std::string before_;
};

class cuda_input_array_test : public on_place<on_cuda> {};

TEST_F(cuda_input_array_test, a_device_that_shares_memory_reads_it_in_place) {
    const integrated forced("1");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 20);
    const std::uint64_t before = place.memory().used();
    const input_array<cuda_place, std::uint32_t> shared(place, values);
    EXPECT_EQ(place.memory().used(), before);
    EXPECT_EQ(shared.size(), values.size());
    EXPECT_EQ(sum_of(place, shared.span()), sum_of(values));
    // A part of the same pages is pinned already.
    const std::span part = std::span(values).subspan(1000, 500'000);
    const input_array<cuda_place, std::uint32_t> again(place, part);
    EXPECT_EQ(place.memory().used(), before);
    EXPECT_EQ(sum_of(place, again.span()), sum_of(part));
}

TEST_F(cuda_input_array_test, arrays_that_share_pages_are_copied) {
    const integrated forced("1");
    cuda_place& place = this->place();
    auto values = numbers(1 << 20);
    // The second begins in the last page of the first, and ranges of both are copied in and out.
    const std::span first = std::span(values).subspan(4, 100'004),
                    second = std::span(values).subspan(100'008, 400'000);
    std::optional<input_array<cuda_place, std::uint32_t>> pinned(std::in_place, place,
                                                                 std::span<const std::uint32_t>(first));
    ASSERT_TRUE(pinned->is_in_place());
    const input_array<cuda_place, std::uint32_t> other(place, second);
    EXPECT_FALSE(other.is_in_place());
    EXPECT_EQ(sum_of(place, pinned->span()), sum_of(first));
    EXPECT_EQ(sum_of(place, other.span()), sum_of(second));
    for (const std::size_t size : {std::size_t{10}, std::size_t{30'000}, std::size_t{700'000}}) {
        const std::span across = std::span(values).subspan(100'000, size);
        const auto copy = array_from(place, std::span<const std::uint32_t>(across));
        EXPECT_EQ(sum_of(place, copy.span()), sum_of(across)) << size;
        const std::uint64_t expected = sum_of(across);
        const std::vector<std::uint32_t> kept(across.begin(), across.end());
        std::ranges::fill(across.last(size - 8), 0u);  // outside the first, which must not change
        copy_out<std::uint32_t>(place, copy.span(), across);
        EXPECT_EQ(sum_of(across), expected) << size;
        EXPECT_TRUE(std::ranges::equal(across, kept)) << size;
    }
    pinned.reset();
    const input_array<cuda_place, std::uint32_t> alone(place, second);
    EXPECT_TRUE(alone.is_in_place());
    EXPECT_EQ(sum_of(place, alone.span()), sum_of(second));
}

TEST_F(cuda_input_array_test, several_places_read_the_same_in_place) {
    const integrated forced("1");
    const auto values = numbers(1 << 20);
    chosen_device chosen = choose_device(on_cuda::ctx(), "this test");
    chosen.more = further_places(chosen, 2);
    place_set places(on_cuda::ctx(), chosen);
    std::atomic<unsigned> right = 0;
    places.for_each_unit(60, [&](auto& place, cpu_place&, std::size_t unit) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(place)>, cuda_place>) {
            // The same, a part of it, or across its end.
            const std::span part = std::span(values).subspan(unit % 3 * 40'000, 800'000 + unit % 2 * 100'000);
            const input_array<cuda_place, std::uint32_t> input(place, part);
            right += sum_of(place, input.span()) == sum_of(part) ? 1 : 0;
        }
    });
    EXPECT_EQ(right, 60u);
}

TEST_F(cuda_input_array_test, values_that_begin_between_16_bytes_are_copied) {
    const integrated forced("1");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 18);
    const std::span part = std::span(values).subspan(1);
    const input_array<cuda_place, std::uint32_t> input(place, part);
    EXPECT_FALSE(input.is_in_place());
    EXPECT_EQ(sum_of(place, input.span()), sum_of(part));
}

TEST_F(cuda_input_array_test, sharing_ends_with_the_array) {
    const integrated forced("1");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 18);
    for (int turn = 0; turn < 3; ++turn) {
        const std::uint64_t before = place.memory().used();
        input_array<cuda_place, std::uint32_t> first(place, values);
        const input_array<cuda_place, std::uint32_t> moved(std::move(first));
        EXPECT_EQ(place.memory().used(), before) << turn;
        EXPECT_EQ(sum_of(place, moved.span()), sum_of(values));
    }
}

TEST_F(cuda_input_array_test, few_values_and_values_that_end_are_copied) {
    const integrated forced("1");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 18);
    const std::uint64_t before = place.memory().used();
    const input_array<cuda_place, std::uint32_t> few(place, std::span(values).first(100));
    EXPECT_EQ(sum_of(place, few.span()), sum_of(std::span(values).first(100)));
    EXPECT_GT(place.memory().used(), before);
    const std::uint64_t with_few = place.memory().used();
    const input_array<cuda_place, std::uint32_t> kept(place, values, "values", false);
    EXPECT_GE(place.memory().used(), with_few + values.size() * sizeof(std::uint32_t));
    EXPECT_EQ(sum_of(place, kept.span()), sum_of(values));
    const input_array<cuda_place, std::uint32_t> none(place, std::span<const std::uint32_t>{});
    EXPECT_EQ(none.size(), 0u);
}

TEST_F(cuda_input_array_test, reads_a_file_that_is_mapped_for_reading) {
    const integrated forced("1");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 18);
    const auto path = std::filesystem::temp_directory_path() / "quern_input_array_test";
    const std::size_t bytes = values.size() * sizeof(std::uint32_t);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes));
    std::FILE* file = std::fopen(path.c_str(), "rb");
    ASSERT_NE(file, nullptr);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    {
        const std::span at(static_cast<const std::uint32_t*>(mapped), values.size());
        const input_array<cuda_place, std::uint32_t> input(place, at);
        EXPECT_EQ(sum_of(place, input.span()), sum_of(values));
    }
    munmap(mapped, bytes);
    std::fclose(file);
    std::filesystem::remove(path);
}

TEST_F(cuda_input_array_test, a_device_with_its_own_memory_gets_a_copy) {
    const integrated forced("0");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 18);
    const std::uint64_t before = place.memory().used();
    const input_array<cuda_place, std::uint32_t> copied(place, values);
    EXPECT_GE(place.memory().used(), before + values.size() * sizeof(std::uint32_t));
    EXPECT_EQ(sum_of(place, copied.span()), sum_of(values));
}

TEST_F(cuda_input_array_test, refuses_a_wrong_value_of_the_variable) {
    const integrated forced("yes");
    cuda_place& place = this->place();
    const auto values = numbers(1 << 18);
    EXPECT_THROW((input_array<cuda_place, std::uint32_t>(place, values)), device_error);
}

}  // namespace
}  // namespace quern
