// SPDX-License-Identifier: Apache-2.0
// The sort beyond memory against std::stable_sort, bit by bit, with so little memory that a few megabytes of pairs
// make as many runs as terabytes would; and what it promises of memory, of disks that fill up, and of being stopped.
#include "primitives/external_sort/external_sort.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "reference/sort_reference.hpp"
#include "sort_data.hpp"
#include "temporary_folder.hpp"

namespace quern {
namespace {

using primitives::external_sort_record;
using primitives::external_sorter;
using primitives::order;
using primitives::sort_options;
using reference::stored_bits;

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;
constexpr std::uint64_t any_memory = 0;

template <class Key, class Value>
struct sorted_stream {
    std::vector<Key> keys;
    std::vector<Value> values;
    external_sort_record record;
};

/// Pushes in stretches of 0 to `most_at_a_time` pairs.
template <class Place, class Key, class Value>
void push_ragged(external_sorter<Place, Key, Value>& sorter, const std::vector<Key>& keys,
                 const std::vector<Value>& values, std::size_t most_at_a_time) {
    std::mt19937_64 random(keys.size());
    for (std::size_t at = 0; at < keys.size();) {
        const std::size_t count = std::min<std::size_t>(random() % (most_at_a_time + 1), keys.size() - at);
        sorter.push(std::span(keys).subspan(at, count), std::span(values).subspan(at, count));
        at += count;
    }
}

template <class Place, class Key, class Value>
sorted_stream<Key, Value> sorted_by(Place& place, const std::vector<Key>& keys,
                                    const std::vector<Value>& values, std::uint64_t memory,
                                    sort_options options = {}) {
    external_sorter<Place, Key, Value> sorter(place, memory, options, any_memory);
    push_ragged(sorter, keys, values, 20'000);
    sorted_stream<Key, Value> got;
    sorter.finish([&](std::span<const Key> k, std::span<const Value> v) {
        got.keys.insert(got.keys.end(), k.begin(), k.end());
        got.values.insert(got.values.end(), v.begin(), v.end());
    });
    got.record = sorter.record();
    return got;
}

bool nothing_in(const std::filesystem::path& folder) {
    return !std::filesystem::exists(folder) || std::filesystem::is_empty(folder);
}

template <class Tested>
class external_sort_test : public on_place<Tested> {
  protected:
    template <class Value, class Key>
    external_sort_record expect_sorted(const std::vector<Key>& keys, std::uint64_t memory, order direction) {
        const auto values = distinct_values<Value>(keys.size());
        const auto expected = reference::sorted_pairs(keys, values, direction);
        const auto got = sorted_by(this->place(), keys, values, memory, {.direction = direction});
        const std::string what = std::to_string(keys.size()) + " of " + type_name<Key>() + " within " +
                                 std::to_string(memory) + " bytes, " + direction_name(direction) + ", " +
                                 std::to_string(got.record.runs) + " runs";
        EXPECT_TRUE(stored_bits(got.keys) == stored_bits(expected.first)) << "keys of " << what;
        EXPECT_TRUE(got.values == expected.second) << "values of " << what;
        EXPECT_EQ(got.record.pairs, keys.size());
        EXPECT_LE(this->place().memory().used(), 4 * 4096U) << "memory that was not given back";
        return got.record;
    }
};
TYPED_TEST_SUITE(external_sort_test, tested_places, tested_place_names);

TYPED_TEST(external_sort_test, stays_in_memory_where_it_can) {
    for (const std::size_t n : {0u, 1u, 2u, 1000u, 100'000u}) {
        const auto record = this->template expect_sorted<std::uint32_t>(random_values<float>(n, n), 32 * mib,
                                                                        order::ascending);
        EXPECT_EQ(record.runs, 0u);
        EXPECT_EQ(record.merge_passes, 0u);
        EXPECT_EQ(record.bytes_written, 0u);
    }
}

TYPED_TEST(external_sort_test, any_number_of_runs_gives_the_same) {
    const std::size_t n = 400'009;
    const auto keys = random_values<float>(n, 7);
    std::vector<std::uint64_t> runs, passes;
    for (const std::uint64_t memory : {64 * mib, 6 * mib, 512 * kib, 128 * kib}) {
        const auto record = this->template expect_sorted<std::uint32_t>(keys, memory, order::ascending);
        runs.push_back(record.runs);
        passes.push_back(record.merge_passes);
        // Every pair is written once and read once a pass; blocks are rounded up.
        EXPECT_LE(record.bytes_written,
                  n * 8 * std::max<std::uint64_t>(record.merge_passes, 1) * 11 / 10 + 65536);
        EXPECT_GE(record.bytes_written, record.runs == 0 ? 0 : n * 8);
        EXPECT_EQ(record.bytes_read, record.bytes_written);
    }
    EXPECT_EQ(runs.front(), 0u);
    EXPECT_GE(runs[1], 2u);
    EXPECT_GE(runs[2], 10u);
    EXPECT_GE(runs[3], 40u);
    EXPECT_EQ(passes[1], 1u);
    EXPECT_GE(passes[3], 2u) << "several merge passes";
}

TYPED_TEST(external_sort_test, hundreds_of_runs_and_three_passes) {
    const std::size_t n = tested_with().small_sizes ? 100'003 : 1'000'003;
    const auto record = this->template expect_sorted<std::uint64_t>(random_values<std::uint32_t>(n, 1, 2),
                                                                    128 * kib, order::descending);
    if (tested_with().small_sizes) return;
    EXPECT_GE(record.runs, 200u);
    EXPECT_GE(record.merge_passes, 3u);
}

TYPED_TEST(external_sort_test, every_type_in_both_directions) {
    for_each_key_type([&]<class Key>(Key) {
        for (const order direction : {order::ascending, order::descending}) {
            const auto keys = random_values<Key>(60'013, 3);
            this->template expect_sorted<std::uint32_t>(keys, 256 * kib, direction);
            this->template expect_sorted<std::uint64_t>(keys, 400 * kib, direction);
        }
    });
}

TYPED_TEST(external_sort_test, equal_keys_keep_the_order_of_push) {
    for (const unsigned ties : {1u, 2u}) {
        this->template expect_sorted<std::uint32_t>(random_values<double>(100'003, ties, ties), 512 * kib,
                                                    order::ascending);
    }
    this->template expect_sorted<std::uint32_t>(std::vector<std::int32_t>(150'001, -5), 256 * kib,
                                                order::descending);
    this->template expect_sorted<std::uint32_t>(std::vector<std::uint32_t>(150'001, 0), 256 * kib,
                                                order::ascending);
}

TYPED_TEST(external_sort_test, hard_data) {
    for (const hard_data<float>& data : hard_keys<float>(70'001)) {
        SCOPED_TRACE(data.name);
        this->template expect_sorted<std::uint32_t>(
            data.keys, 200 * kib, data.name.size() % 2 == 0 ? order::ascending : order::descending);
    }
}

TYPED_TEST(external_sort_test, refuses_what_it_cannot_do) {
    using sorter_type = external_sorter<typename TestFixture::place_type, float, std::uint32_t>;
    try {
        sorter_type(this->place(), 64 * mib - 1);
        ADD_FAILURE() << "less memory than the least was accepted";
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(), "external_sorter: 67108863 bytes of memory, but 67108864 are needed");
    }
    sorter_type sorter(this->place(), 64 * mib);
    const std::vector<float> keys{1, 2};
    const std::vector<std::uint32_t> values{1};
    EXPECT_THROW(sorter.push(keys, values), usage_error);
    const auto nothing = [](std::span<const float>, std::span<const std::uint32_t>) {};
    sorter.finish(nothing);
    EXPECT_THROW(sorter.finish(nothing), usage_error);
    EXPECT_THROW(sorter.push(keys, {}), usage_error);
}

TYPED_TEST(external_sort_test, a_key_that_is_not_a_number_is_refused_by_its_place_in_the_order_of_push) {
    std::vector<float> keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{31}, std::size_t{77'777}, std::size_t{199'999}}) {
        auto with_nan = keys;
        with_nan[at] = std::numeric_limits<float>::quiet_NaN();
        with_nan.back() = std::numeric_limits<float>::quiet_NaN();
        expect_refused_key(at, [&] { sorted_by(this->place(), with_nan, values, 512 * kib); });
    }
}

// The CPU places' own scratch, memory and stop flags: the host's part is the same for every place.
class external_sort_run : public ::testing::Test {
  protected:
    external_sort_run() {
        run_.scratch = folder_.path() / "scratch";
        run_.stop_signal = &stop_;
    }
    testing::temporary_folder folder_;
    std::atomic<int> stop_{0};
    context run_ = context::cpu(3);
};

TEST_F(external_sort_run, memory_stays_within_what_was_given) {
    const auto keys = random_values<std::uint64_t>(1'000'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    for (const std::uint64_t memory : {512 * kib, mib, 4 * mib, 16 * mib, 64 * mib}) {
        cpu_place place(run_);
        const auto got = sorted_by(place, keys, values, memory);
        EXPECT_TRUE(std::is_sorted(got.keys.begin(), got.keys.end()));
        EXPECT_LE(place.memory().peak(), memory) << got.record.runs << " runs";
        EXPECT_GE(place.memory().peak(), std::min<std::uint64_t>(memory, 2 * 12 * keys.size()) / 3)
            << "much of it lies idle";
        EXPECT_EQ(place.memory().used(), 0u);
    }
    EXPECT_TRUE(nothing_in(run_.scratch));
}

std::uint64_t own_status(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * kib;
    return 0;
}

/// Sorts 320 MB within 64 MiB; says what the system counted, and ends the process: 0 where that is within bounds.
[[noreturn]] void sort_and_exit(const context& run) {
    const std::uint64_t memory = 64 * mib, pairs = 40'000'000;
    const std::uint64_t before = own_status("VmRSS:");
    std::uint64_t count = 0, runs = 0;
    bool right = true;
    {
        cpu_place place(run);
        external_sorter<cpu_place, std::uint32_t, std::uint32_t> sorter(place, memory);
        std::vector<std::uint32_t> some(10'000);
        std::mt19937 random(1);
        for (std::uint64_t at = 0; at < pairs; at += some.size()) {
            for (auto& key : some) key = static_cast<std::uint32_t>(random());
            sorter.push(some, some);
        }
        std::uint32_t last = 0;
        sorter.finish([&](std::span<const std::uint32_t> k, std::span<const std::uint32_t> v) {
            for (std::size_t i = 0; i < k.size(); ++i) {
                right &= k[i] >= last && v[i] == k[i];
                last = k[i];
            }
            count += k.size();
        });
        runs = sorter.record().runs;
    }
    std::filesystem::remove_all(run.scratch.parent_path());
    const std::uint64_t most = own_status("VmHWM:") - before;
    std::fprintf(stderr, "%llu bytes, %llu runs, %llu pairs\n", static_cast<unsigned long long>(most),
                 static_cast<unsigned long long>(runs), static_cast<unsigned long long>(count));
    // Threads' stacks and the allocator's own come on top.
    const bool within = most <= memory + 16 * mib && most >= memory / 2;
    std::_Exit(right && count == pairs && runs >= 10 && within ? 0 : 1);
}

TEST_F(external_sort_run, the_process_stays_within_it_too) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory cannot be told apart";
#endif
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own
    EXPECT_EXIT(sort_and_exit(run_), ::testing::ExitedWithCode(0), "bytes");
}

TEST_F(external_sort_run, a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t room : {rlim_t{10'000}, rlim_t{4096 * 100}, rlim_t{1'000'000}}) {
        rlimit small = old;
        small.rlim_cur = room;
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        int code = 0;
        std::string said;
        try {
            cpu_place place(run_);
            sorted_by(place, keys, values, 256 * kib);
        } catch (const io_error& failure) {
            code = failure.code();
            said = failure.what();
        }
        ::setrlimit(RLIMIT_FSIZE, &old);
        EXPECT_EQ(code, EFBIG) << room;
        EXPECT_THAT(said, ::testing::HasSubstr(run_.scratch.string()));
        EXPECT_TRUE(nothing_in(run_.scratch));
    }
    std::signal(SIGXFSZ, handler);
}

TEST_F(external_sort_run, stopping_is_seen_while_pushing_and_while_taking) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    const auto nothing = [](std::span<const float>, std::span<const std::uint32_t>) {};
    {
        cpu_place place(run_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        sorter.push(keys, values);
        stop_ = SIGINT;
        EXPECT_THROW(sorter.push(keys, values), interrupted);
    }
    EXPECT_TRUE(nothing_in(run_.scratch));
    stop_ = 0;
    {
        cpu_place place(run_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        sorter.push(keys, values);
        std::size_t taken = 0;
        EXPECT_THROW(sorter.finish([&](std::span<const float> k, std::span<const std::uint32_t>) {
            taken += k.size();
            stop_ = SIGTERM;
        }),
                     interrupted);
        EXPECT_GT(taken, 0u);
        EXPECT_LT(taken, keys.size());
    }
    EXPECT_TRUE(nothing_in(run_.scratch));
    {
        cpu_place place(run_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        EXPECT_NO_THROW(sorter.push(std::span(keys).first(10), std::span(values).first(10)));
        EXPECT_THROW(sorter.finish(nothing), interrupted);
    }
}

TEST_F(external_sort_run, is_stopped_within_two_seconds_in_the_middle_of_work) {
    const auto keys = random_values<std::uint64_t>(1'000'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    std::chrono::steady_clock::time_point raised;
    std::thread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        raised = std::chrono::steady_clock::now();
        stop_ = SIGINT;
    });
    const auto push_for_long = [&] {
        cpu_place place(run_);
        external_sorter<cpu_place, std::uint64_t, std::uint32_t> sorter(place, 256 * mib);
        for (int i = 0; i < 1000; ++i) sorter.push(keys, values);
    };
    EXPECT_THROW(push_for_long(), interrupted);
    stopper.join();
    EXPECT_LT(std::chrono::steady_clock::now() - raised, std::chrono::seconds(2));
    EXPECT_TRUE(nothing_in(run_.scratch));
}

TEST_F(external_sort_run, a_sorter_that_is_given_up_leaves_nothing) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    {
        cpu_place place(run_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        sorter.push(keys, values);
        EXPECT_FALSE(nothing_in(run_.scratch));
    }
    EXPECT_TRUE(nothing_in(run_.scratch));
    const std::vector<float> some(keys.begin(), keys.begin() + 100);
    cpu_place place(run_);
    external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
    sorter.push(keys, values);
    struct refused {};
    EXPECT_THROW(
        sorter.finish([](std::span<const float>, std::span<const std::uint32_t>) { throw refused(); }),
        refused);
}

}  // namespace
}  // namespace quern
