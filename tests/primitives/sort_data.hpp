// SPDX-License-Identifier: Apache-2.0
// Keys that are hard to sort by digits, and the shared code of both sorts' tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "on_each_place.hpp"
#include "primitives/types.hpp"
#include "quern/base/error.hpp"

namespace quern {

template <class Check>
void for_each_key_type(const Check& check) {
    check(std::uint32_t{});
    check(std::int32_t{});
    check(float{});
    check(std::uint64_t{});
    check(std::int64_t{});
    check(double{});
}

template <class Key>
std::string type_name() {
    const char* kind = std::is_floating_point_v<Key> ? "float" : std::is_signed_v<Key> ? "int" : "uint";
    return kind + std::to_string(8 * sizeof(Key));
}

inline std::string direction_name(primitives::order direction) {
    return direction == primitives::order::ascending ? "ascending" : "descending";
}

/// A different one for each position, in all of its bytes, and not ascending.
template <class Value>
std::vector<Value> distinct_values(std::size_t count) {
    std::vector<Value> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        if constexpr (sizeof(Value) == 4)
            values[i] = static_cast<Value>(i * 2654435761u);  // odd: no two alike
        else
            values[i] = static_cast<Value>(i * 0x9e3779b97f4a7c15u);
    }
    return values;
}

template <class Key>
struct hard_data {
    std::string name;
    std::vector<Key> keys;
};

/// `count` keys of each kind.
template <class Key>
std::vector<hard_data<Key>> hard_keys(std::size_t count) {
    std::mt19937_64 random(count);
    const auto made = [&](const char* name, const auto& key_at) {
        hard_data<Key> data{name, std::vector<Key>(count)};
        for (std::size_t i = 0; i < count; ++i) data.keys[i] = key_at(i);
        return data;
    };
    const auto key = [](auto number) { return static_cast<Key>(number); };
    using limits = std::numeric_limits<Key>;
    constexpr double range = sizeof(Key) == 4 ? 30 : 62;
    std::vector<hard_data<Key>> all;
    all.push_back(made("equal", [&](std::size_t) { return key(42); }));
    all.push_back(made("sorted", [&](std::size_t i) { return key(i); }));
    all.push_back(made("reversed", [&](std::size_t i) { return key(count - i); }));
    all.push_back(made("two values", [&](std::size_t) { return key(random() % 2 * 1000); }));
    all.push_back(
        made("ends", [&](std::size_t) { return random() % 2 == 0 ? limits::lowest() : limits::max(); }));
    // One value holds nine tenths, its neighbours a digit away hold the rest.
    all.push_back(made("one giant value", [&](std::size_t) {
        return random() % 10 != 0 ? key(1'000'000) : key(random() % 2'000'000);
    }));
    // All but a few within one narrow range: one digit's bucket overflows every cache.
    all.push_back(made("one giant bucket", [&](std::size_t) {
        return random() % 1000 != 0 ? key(77'000'000 + random() % 50'000) : key(random() % 2'000'000'000);
    }));
    all.push_back(made("skewed", [&](std::size_t) {
        return key(std::exp2(range * static_cast<double>(random() >> 11) * 0x1p-53));
    }));
    all.push_back(made("few in the middle bits", [&](std::size_t) { return key((random() % 16) << 12); }));
    all.push_back(made("organ pipe", [&](std::size_t i) { return key(std::min(i, count - i)); }));
    all.push_back(made("only the last differs", [&](std::size_t i) { return key(i + 1 == count ? 3 : 4); }));
    if constexpr (std::is_signed_v<Key>) {
        all.push_back(
            made("around zero", [&](std::size_t) { return key(static_cast<int>(random() % 9) - 4); }));
        all.push_back(
            made("negative", [&](std::size_t) { return key(-static_cast<double>(random() % 100'000)); }));
    }
    if constexpr (std::is_floating_point_v<Key>) {
        all.push_back(made("unit interval", [&](std::size_t) {
            return static_cast<Key>(static_cast<double>(random() >> 40) * 0x1p-24);
        }));
        all.push_back(
            made("zeros of both signs", [&](std::size_t) { return random() % 2 == 0 ? Key(0) : -Key(0); }));
        all.push_back(made("zeros among tiny", [&](std::size_t) {
            const Key tiny = limits::denorm_min() * static_cast<Key>(random() % 3);
            return random() % 2 == 0 ? tiny : -tiny;
        }));
        all.push_back(made("specials", [&](std::size_t) {
            constexpr Key of[] = {limits::infinity(),
                                  -limits::infinity(),
                                  limits::max(),
                                  limits::lowest(),
                                  limits::min(),
                                  -limits::min(),
                                  limits::denorm_min(),
                                  -limits::denorm_min(),
                                  Key(0),
                                  -Key(0)};
            return of[random() % std::size(of)];
        }));
    }
    return all;
}

/// `sort` must refuse the key at `position`.
template <class Sort>
void expect_refused_key(std::uint64_t position, const Sort& sort) {
    try {
        sort();
        ADD_FAILURE() << "key " << position << " is not a number and was accepted";
    } catch (const invalid_value& e) {
        EXPECT_EQ(e.position(), position);
        EXPECT_EQ(e.what(), "key " + std::to_string(position) + " is not a number");
    }
}

}  // namespace quern
