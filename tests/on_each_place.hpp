// SPDX-License-Identifier: Apache-2.0
// One test text for every place. A test is written against `this->place()` and arrays of this->array(…), and runs on
// the CPU with one thread and with several, and on CUDA where the program has it:
//
//     template <class Tested> class sort_test : public on_place<Tested> {};
//     TYPED_TEST_SUITE(sort_test, tested_places);
//     TYPED_TEST(sort_test, matches_reference) {
//         for (const std::size_t n : test_sizes()) {
//             auto keys = this->array(random_values<float>(n, seed));
//             primitives::sort_keys(this->place(), keys.span());
//             EXPECT_EQ(keys.host(), expected);
//         }
//     }
//
// Test programs take --device=cuda (no GPU is then a failure, not a skip) and --sizes=small (for checkers that make
// every kernel a thousand times slower).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "device/place.hpp"

namespace quern {

struct test_options {
    bool cuda_required = false;
    bool small_sizes = false;
};
/// As the program was started.
test_options& tested_with();

/// 0, 1, around every power that a warp, block or vector could trip over, and one large.
std::vector<std::size_t> test_sizes();
/// A size that keeps every multiprocessor busy, or a small one under --sizes=small.
std::size_t large_size();

struct cpu_one_thread {
    using place_type = cpu_place;
    static constexpr const char* name = "cpu_one_thread";
    static context ctx() { return context::cpu(1); }
};
struct cpu_some_threads {
    using place_type = cpu_place;
    static constexpr const char* name = "cpu_some_threads";
    static context ctx() { return context::cpu(5); }
};
struct on_cuda {
    using place_type = cuda_place;
    static constexpr const char* name = "cuda";
    static context ctx() { return context::cuda(); }
};

template <class... Places>
struct tests_on;
template <>
struct tests_on<cpu_place> {
    using types = ::testing::Types<cpu_one_thread, cpu_some_threads>;
};
template <>
struct tests_on<cpu_place, cuda_place> {
    using types = ::testing::Types<cpu_one_thread, cpu_some_threads, on_cuda>;
};
/// What TYPED_TEST_SUITE takes. Give it `tested_place_names` as its third argument.
using tested_places = every_place<tests_on>::types;
struct tested_place_names {
    template <class Tested>
    static std::string GetName(int) {
        return Tested::name;
    }
};

/// Where a test's array begins: at 64 whole elements of the memory a place gives, or one element further.
enum class beginning { aligned, one_off };

/// An array of a place with guards on both sides, which are looked at whenever it is read.
template <class Place, class T>
class guarded_array {
  public:
    guarded_array(Place& place, const std::vector<T>& values, beginning where = beginning::aligned)
        : place_(&place), size_(values.size()), before_(where == beginning::aligned ? 64 : 65) {
        std::vector<T> all(before_ + size_ + after);
        std::memset(static_cast<void*>(all.data()), pattern, all.size() * sizeof(T));
        std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(before_));
        memory_ = array_from(place, std::span<const T>(all), "a test's array");
    }

    span_on<Place, T> span() const { return memory_.span().subspan(before_, size_); }
    span_on<Place, const T> view() const { return span(); }
    std::size_t size() const { return size_; }

    /// The values; fails the test where something was written next to them.
    std::vector<T> host() const {
        const std::vector<T> all = to_host(*place_, memory_.span());
        std::vector<T> expected(after);
        std::memset(static_cast<void*>(expected.data()), pattern, after * sizeof(T));
        EXPECT_EQ(0, std::memcmp(all.data(), expected.data(), before_ * sizeof(T)))
            << "written before the array";
        EXPECT_EQ(0, std::memcmp(all.data() + before_ + size_, expected.data(), after * sizeof(T)))
            << "written behind the array";
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(before_);
        return std::vector<T>(first, first + static_cast<std::ptrdiff_t>(size_));
    }

  private:
    static constexpr std::size_t after = 67;  // ≥ before_
    static constexpr int pattern = 0x5a;
    Place* place_;
    std::size_t size_, before_;
    array_on<Place, T> memory_;
};

/// The program's CUDA place, opened once; null with the reason where there is none.
template <class Place>
Place* shared_place(std::string& why_none);

template <class Tested>
class on_place : public ::testing::Test {
  public:
    using place_type = typename Tested::place_type;

  protected:
    void SetUp() override {
        if constexpr (std::is_same_v<place_type, cpu_place>) {
            own_ = std::make_unique<cpu_place>(Tested::ctx());
            place_ = own_.get();
        } else {
            std::string why_none;
            place_ = shared_place<place_type>(why_none);
            if (place_ == nullptr && tested_with().cuda_required) FAIL() << why_none;
            if (place_ == nullptr) GTEST_SKIP() << why_none;
        }
    }

    place_type& place() { return *place_; }
    template <class T>
    guarded_array<place_type, T> array(const std::vector<T>& values, beginning where = beginning::aligned) {
        return {place(), values, where};
    }
    /// An output: filled with a value that no test expects.
    template <class T>
    guarded_array<place_type, T> output(std::size_t size, beginning where = beginning::aligned) {
        std::vector<T> junk(size);
        if (size != 0) std::memset(static_cast<void*>(junk.data()), 0xc3, size * sizeof(T));
        return {place(), junk, where};
    }

  private:
    std::unique_ptr<cpu_place> own_;
    place_type* place_ = nullptr;
};

template <>
inline cuda_place* shared_place<cuda_place>(std::string& why_none) {
    static std::string reason;
    static const std::unique_ptr<cuda_place> place = [] {
        try {
            const context ctx = context::cuda();
            return std::make_unique<cuda_place>(ctx, choose_device(ctx, "this test").ordinal);
        } catch (const std::exception& e) {
            reason = e.what();
            return std::unique_ptr<cuda_place>();
        }
    }();
    why_none = reason;
    return place.get();
}

/// Seeded values. Floats: of every magnitude and both signs; about one in `ties` is drawn from eight values, with
/// both zeros and both infinities among them.
template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed, unsigned ties = 4) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (T& value : values) {
        const bool tie = ties != 0 && random() % ties == 0;
        const std::uint64_t bits = random();
        if constexpr (std::is_floating_point_v<T>) {
            constexpr T infinity = std::numeric_limits<T>::infinity();
            const T common[] = {
                T(0), -T(0), T(1), T(-1), infinity, -infinity, std::numeric_limits<T>::denorm_min(), T(0.5)};
            std::memcpy(&value, &bits, sizeof value);
            if (tie || value != value) value = common[bits % 8];
        } else {
            value = static_cast<T>(tie ? bits % 8 : bits);
        }
    }
    return values;
}

}  // namespace quern
