// SPDX-License-Identifier: Apache-2.0
// stxxl_sort f32|u64 PAIRS MEMORY_MIB FOLDER: the pairs of external_sort_bench, sorted by STXXL's sorter
// within as much memory, and checked the same way; prints JSON. Ties are ordered by comparing the values as well,
// since STXXL's sort is not stable.
#include <stxxl/sorter>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>

namespace {

std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

#pragma pack(push, 4)
template <class Key>
struct pair {
    Key key;
    std::uint32_t value;
};
#pragma pack(pop)

template <class Key>
struct before {
    bool operator()(const pair<Key>& a, const pair<Key>& b) const {
        return a.key < b.key || (a.key == b.key && a.value < b.value);
    }
    pair<Key> min_value() const { return {std::numeric_limits<Key>::lowest(), 0}; }
    pair<Key> max_value() const { return {std::numeric_limits<Key>::max(), UINT32_MAX}; }
};

template <class Key>
pair<Key> pair_of(std::uint64_t number) {
    const std::uint64_t bits = mixed(number * 0x9e3779b97f4a7c15u + 1);
    pair<Key> made;
    made.value = static_cast<std::uint32_t>(number);
    if (sizeof(Key) == 8) {
        std::memcpy(&made.key, &bits, sizeof(Key));
    } else {
        auto low = static_cast<std::uint32_t>(bits);
        if ((low & 0x7f800000u) == 0x7f800000u) low ^= 0x40000000u;
        std::memcpy(&made.key, &low, sizeof(Key));
    }
    return made;
}

template <class Key>
std::uint64_t hash_of(const pair<Key>& p) {
    std::uint64_t bits = 0;
    Key key = p.key;
    std::memcpy(&bits, &key, sizeof key);
    return mixed(bits ^ std::uint64_t{p.value} << 32 ^ p.value);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Key>
int measure(std::uint64_t pairs, std::uint64_t memory) {
    using sorter =
        stxxl::sorter<pair<Key>, before<Key>, 3 << 20>;  // blocks that hold whole pairs of 8 and 12 bytes
    sorter sorting(before<Key>(), memory);
    std::uint64_t hash = 0, count = 0;
    auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < pairs; ++i) {
        const auto made = pair_of<Key>(i);
        hash += hash_of(made);
        sorting.push(made);
    }
    const double pushing = seconds_since(begin);
    begin = std::chrono::steady_clock::now();
    sorting.sort();
    bool in_order = true;
    pair<Key> last{};
    for (; !sorting.empty(); ++sorting, ++count) {
        const pair<Key> next = *sorting;
        in_order &= count == 0 || before<Key>()(last, next);
        hash -= hash_of(next);
        last = next;
    }
    const double finishing = seconds_since(begin);
    if (!in_order || count != pairs || hash != 0) {
        std::fputs("stxxl_sort: the sorted stream is wrong\n", stderr);
        return 1;
    }
    std::uint64_t resident = 0;
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.compare(0, 6, "VmHWM:") == 0) resident = std::stoull(line.substr(6)) * 1024;
    std::printf("{\"pairs\":%llu,\"push\":%.3f,\"finish\":%.3f,\"resident\":%llu}\n",
                static_cast<unsigned long long>(pairs), pushing, finishing,
                static_cast<unsigned long long>(resident));
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) return 2;
    const std::uint64_t pairs = std::stoull(arguments[2]), memory = std::stoull(arguments[3]) << 20;
    const bool wide = std::string(arguments[1]) == "u64";
    stxxl::config* config = stxxl::config::get_instance();
    stxxl::disk_config disk(std::string(arguments[4]) + "/stxxl.disk",
                            pairs * (wide ? 12 : 8) * 5 / 4 + (1u << 30), "linuxaio unlink");
    disk.direct = stxxl::disk_config::DIRECT_TRY;
    config->add_disk(disk);
    return wide ? measure<std::uint64_t>(pairs, memory) : measure<float>(pairs, memory);
}
