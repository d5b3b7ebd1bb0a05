// SPDX-License-Identifier: Apache-2.0
// external_sort_bench PLACE KEY PAIRS MEMORY_MIB THREADS SCRATCH: sorts (KEY, u32) pairs, KEY f32 or u64, by the sort
// beyond memory on PLACE (cpu, cuda), and prints JSON: seconds of pushing and of finishing, the maximum memory of the
// process, its reads and writes, and the disk's seconds to write and read as many bytes in one plain stream. Pairs are made
// from their number while they are pushed, and the returned stream is checked while it is read: order, ties by number,
// count, and the sum of a hash of every pair. Run by run-external-sort.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/place.hpp"
#include "primitives/external_sort/external_sort.hpp"
#include "primitives/external_sort/run_file.hpp"
#include "quern/base/error.hpp"

namespace {

using namespace quern;
using primitives::external_sorter;

struct request {
    bool on_cuda;
    std::string key;
    std::uint64_t pairs, memory_bytes;
    unsigned threads;
    std::string scratch;
};

std::uint64_t mixed(std::uint64_t number) {  // splitmix64
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

/// The key of pair `number`: any bits except not-a-number.
template <class Key>
Key key_of(std::uint64_t number) {
    const std::uint64_t bits = mixed(number * 0x9e3779b97f4a7c15u + 1);
    if constexpr (sizeof(Key) == 8) {
        return bits;
    } else {
        auto low = static_cast<std::uint32_t>(bits);
        if ((low & 0x7f800000u) == 0x7f800000u) low ^= 0x40000000u;
        Key key;
        std::memcpy(&key, &low, sizeof key);
        return key;
    }
}

template <class Key>
std::uint64_t pair_hash(Key key, std::uint32_t value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &key, sizeof key);
    return mixed(bits ^ std::uint64_t{value} << 32 ^ value);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::uint64_t peak_resident_bytes() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    return 0;
}

/// The state of a check of the sorted stream.
template <class Key>
struct stream_check {
    Key last_key{};
    std::uint32_t last_value = 0;
    std::uint64_t count = 0, hash = 0;
    bool in_order = true;

    void operator()(std::span<const Key> keys, std::span<const std::uint32_t> values) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            in_order &=
                count + i == 0 || last_key < keys[i] || (last_key == keys[i] && last_value < values[i]);
            last_key = keys[i];
            last_value = values[i];
            hash += pair_hash(keys[i], values[i]);
        }
        count += keys.size();
    }
};

template <class Key>
std::uint64_t fill(std::uint64_t first, std::vector<Key>& keys, std::vector<std::uint32_t>& values) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = key_of<Key>(first + i);
        values[i] = static_cast<std::uint32_t>(first + i);
        hash += pair_hash(keys[i], values[i]);
    }
    return hash;
}

/// The disk alone: as many bytes as the sort wrote, in one stream, written and read like the sort's.
std::pair<double, double> disk_seconds(const context& ctx, std::uint64_t bytes) {
    constexpr std::size_t block = std::size_t{4} << 20, others = 8;
    cpu_place place(ctx);
    const cpu_array<std::byte> memory(place, others * block + primitives::disk_alignment);
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::span<std::byte> aligned(memory.data() + (primitives::rounded_up(at) - at), others * block);
    for (std::size_t i = 0; i < aligned.size(); i += 8) {
        const std::uint64_t word = mixed(i);
        std::memcpy(aligned.data() + i, &word, sizeof word);
    }
    const scratch_folder scratch(ctx);
    primitives::run_file file(scratch.file("plain"));
    const std::size_t blocks = bytes / block;
    auto begin = std::chrono::steady_clock::now();
    primitives::transfer_all(ctx, blocks, [&](std::size_t b) {
        file.write_at(b * block, aligned.subspan(b % others * block, block), {});
    });
    const double writing = seconds_since(begin);
    begin = std::chrono::steady_clock::now();
    // Each of the two threads may be in any block: a separate slot for each, by parity of its block.
    primitives::transfer_all(ctx, blocks, [&](std::size_t b) {
        file.read_at(b * block, aligned.subspan(b % others * block, block));
    });
    return {writing, seconds_since(begin)};
}

template <class Key, class Place>
void measure(Place& place, const request& requested) {
    std::uint64_t hash = 0;
    std::vector<Key> keys(std::size_t{1} << 16);
    std::vector<std::uint32_t> values(keys.size());
    stream_check<Key> check;
    double pushing = 0, finishing = 0;
    primitives::external_sort_record record;
    {
        external_sorter<Place, Key, std::uint32_t> sorter(place, requested.memory_bytes);
        auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t at = 0; at < requested.pairs; at += keys.size()) {
            keys.resize(std::min<std::uint64_t>(keys.size(), requested.pairs - at));
            values.resize(keys.size());
            hash += fill(at, keys, values);
            sorter.push(keys, values);
        }
        pushing = seconds_since(begin);
        begin = std::chrono::steady_clock::now();
        sorter.finish([&](std::span<const Key> k, std::span<const std::uint32_t> v) { check(k, v); });
        finishing = seconds_since(begin);
        record = sorter.record();
    }
    if (!check.in_order || check.count != requested.pairs || check.hash != hash)
        throw std::runtime_error("the sorted stream is wrong");
    const std::uint64_t resident = peak_resident_bytes();
    // Only making and checking the data.
    const std::uint64_t sample = std::min<std::uint64_t>(requested.pairs, 50'000'000);
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t at = 0; at < sample; at += keys.size()) {
        fill(at, keys, values);
        stream_check<Key>()(keys, values);
    }
    const double data =
        seconds_since(begin) * static_cast<double>(requested.pairs) / static_cast<double>(sample);
    const auto [writing, reading] = disk_seconds(place.ctx(), record.bytes_written);
    fmt::print(
        "{{\"pairs\":{},\"pair_bytes\":{},\"push\":{:.3f},\"finish\":{:.3f},\"data\":{:.3f},\"resident\":{},"
        "\"written\":{},\"read\":{},\"runs\":{},\"passes\":{},\"disk_write\":{:.3f},\"disk_read\":{:.3f}}}\n",
        requested.pairs, sizeof(Key) + 4, pushing, finishing, data, resident, record.bytes_written,
        record.bytes_read, record.runs, record.merge_passes, writing, reading);
}

void measure(const request& requested) {
    context ctx = requested.on_cuda ? context::cuda() : context::cpu(requested.threads);
    ctx.threads = requested.threads;
    ctx.scratch = requested.scratch;
    at_place(ctx, "external_sort_bench", [&](auto& place) {
        if (requested.key == "f32")
            measure<float>(place, requested);
        else
            measure<std::uint64_t>(place, requested);
    });
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 7) {
        fmt::print(stderr, "usage: external_sort_bench cpu|cuda f32|u64 PAIRS MEMORY_MIB THREADS SCRATCH\n");
        return 2;
    }
    try {
        measure({std::string(arguments[1]) == "cuda", arguments[2], std::stoull(arguments[3]),
                 std::stoull(arguments[4]) << 20, static_cast<unsigned>(std::stoul(arguments[5])),
                 arguments[6]});
    } catch (const std::exception& problem) {
        fmt::print(stderr, "external_sort_bench: {}\n", problem.what());
        return 1;
    }
}
