// SPDX-License-Identifier: Apache-2.0
// The promises of the external sort about memory, full disks, interruption and failures.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "external_sorting.hpp"
#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "sort_data.hpp"
#include "temporary_folder.hpp"

namespace quern::external_sort_limits_test {
namespace {

using primitives::external_sorter;

bool nothing_in(const std::filesystem::path& folder) {
    return !std::filesystem::exists(folder) || std::filesystem::is_empty(folder);
}

// With a CPU place: the host's part is the same for every place.
class external_sort_run : public ::testing::Test {
  protected:
    external_sort_run() {
        ctx_.scratch = folder_.path() / "scratch";
        ctx_.stop_signal = &stop_;
    }
    testing::temporary_folder folder_;
    std::atomic<int> stop_{0};
    context ctx_ = context::cpu(3);
};

template <class Call>
void expect_usage_error(const std::string& message, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "not refused: " << message;
    } catch (const usage_error& refused) {
        EXPECT_EQ(refused.what(), message);
    }
}

TEST_F(external_sort_run, memory_stays_within_what_was_given) {
    const auto keys = random_values<std::uint64_t>(1'000'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    for (const std::uint64_t memory : {512 * kib, mib, 4 * mib, 16 * mib, 64 * mib}) {
        cpu_place place(ctx_);
        const auto got = sorted_by(place, keys, values, memory);
        EXPECT_TRUE(std::is_sorted(got.keys.begin(), got.keys.end()));
        EXPECT_LE(got.record.host_bytes, memory) << got.record.runs << " runs";
        EXPECT_GE(got.record.host_bytes, std::min<std::uint64_t>(memory, 2 * 12 * keys.size()) / 3)
            << "much of it lies idle";
        EXPECT_EQ(place.memory().used(), 0u);
    }
    EXPECT_TRUE(nothing_in(ctx_.scratch));
}

TEST_F(external_sort_run, a_place_gives_the_memory_whole_and_has_it_back_when_all_is_taken) {
    ctx_.memory_bytes = mib;
    cpu_place place(ctx_);
    using sorter_type = external_sorter<cpu_place, float, std::uint32_t>;
    EXPECT_THROW(sorter_type(place, mib + 1, {}, any_memory), out_of_memory);
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    sorter_type sorter(place, mib, {}, any_memory);
    EXPECT_EQ(place.memory().left(), 0u);
    sorter.push(keys, values);
    std::size_t taken = 0;
    sorter.finish([&](std::span<const float> k, std::span<const std::uint32_t>) { taken += k.size(); });
    EXPECT_EQ(taken, keys.size());
    EXPECT_GE(sorter.record().runs, 2u);
    EXPECT_EQ(place.memory().used(), 0u);
    EXPECT_EQ(place.memory().peak(), mib);
    EXPECT_EQ(place.kept(), 0u) << "blocks of the sorter lie with the caller";
    EXPECT_TRUE(nothing_in(ctx_.scratch));
}

std::uint64_t own_status(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * kib;
    return 0;
}

/// Sorts within that memory; prints the system's count, and ends the process: 0 if that is within bounds.
[[noreturn]] void sort_and_exit(const context& ctx, std::uint64_t memory, std::uint64_t pairs,
                                std::uint64_t min_runs) {
    const std::uint64_t before = own_status("VmRSS:");
    std::uint64_t count = 0, runs = 0;
    bool right = true;
    {
        cpu_place place(ctx);
        external_sorter<cpu_place, std::uint32_t, std::uint32_t> sorter(place, memory, {}, any_memory);
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
        right &= sorter.record().host_bytes <= memory;
    }
    std::filesystem::remove_all(ctx.scratch.parent_path());
    const std::uint64_t max = own_status("VmHWM:") - before;
    std::fprintf(stderr, "%llu bytes, %llu runs, %llu pairs\n", static_cast<unsigned long long>(max),
                 static_cast<unsigned long long>(runs), static_cast<unsigned long long>(count));
    // Threads' stacks and the allocator's overhead are added.
    const bool within = max <= memory + 16 * mib && max >= memory / 2;
    std::_Exit(right && count == pairs && runs >= min_runs && within ? 0 : 1);
}

TEST_F(external_sort_run, the_process_stays_within_it_too) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own memory cannot be told apart";
#endif
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // in its own process
    // Few large runs, and hundreds: 240 MB, through 2 MiB.
    EXPECT_EXIT(sort_and_exit(ctx_, 64 * mib, 40'000'000, 10), ::testing::ExitedWithCode(0), "bytes");
    EXPECT_EXIT(sort_and_exit(ctx_, 2 * mib, 15'000'000, 200), ::testing::ExitedWithCode(0), "bytes");
}

TEST_F(external_sort_run, a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    for (const rlim_t capacity : {rlim_t{10'000}, rlim_t{4096 * 100}, rlim_t{1'000'000}}) {
        rlimit small = old;
        small.rlim_cur = capacity;
        ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        int code = 0;
        std::string said;
        try {
            cpu_place place(ctx_);
            sorted_by(place, keys, values, 256 * kib);
        } catch (const io_error& failure) {
            code = failure.code();
            said = failure.what();
        }
        ::setrlimit(RLIMIT_FSIZE, &old);
        EXPECT_EQ(code, EFBIG) << capacity;
        EXPECT_THAT(said, ::testing::HasSubstr(ctx_.scratch.string()));
        EXPECT_TRUE(nothing_in(ctx_.scratch));
    }
    std::signal(SIGXFSZ, handler);
}

TEST_F(external_sort_run, stopping_is_seen_while_pushing_and_while_taking) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    const auto nothing = [](std::span<const float>, std::span<const std::uint32_t>) {};
    {
        cpu_place place(ctx_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        sorter.push(keys, values);
        stop_ = SIGINT;
        EXPECT_THROW(sorter.push(keys, values), interrupted);
    }
    EXPECT_TRUE(nothing_in(ctx_.scratch));
    stop_ = 0;
    {
        cpu_place place(ctx_);
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
    EXPECT_TRUE(nothing_in(ctx_.scratch));
    {
        cpu_place place(ctx_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        EXPECT_NO_THROW(sorter.push(std::span(keys).first(10), std::span(values).first(10)));
        EXPECT_THROW(sorter.finish(nothing), interrupted);
    }
}

TEST_F(external_sort_run, is_stopped_in_the_middle_of_work) {
    const auto keys = random_values<std::uint64_t>(1'000'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    std::atomic<int> pushed{0};
    std::thread stopper([&] {
        while (pushed < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stop_ = SIGINT;
    });
    const auto push_for_long = [&] {
        cpu_place place(ctx_);
        external_sorter<cpu_place, std::uint64_t, std::uint32_t> sorter(place, 256 * mib);
        for (; pushed < 1000; ++pushed) sorter.push(keys, values);
    };
    EXPECT_THROW(push_for_long(), interrupted);
    stopper.join();
    EXPECT_TRUE(nothing_in(ctx_.scratch));
}

TEST_F(external_sort_run, a_sorter_that_is_given_up_leaves_nothing) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    {
        cpu_place place(ctx_);
        external_sorter<cpu_place, float, std::uint32_t> sorter(place, 256 * kib, {}, any_memory);
        sorter.push(keys, values);
        EXPECT_FALSE(nothing_in(ctx_.scratch));
    }
    EXPECT_TRUE(nothing_in(ctx_.scratch));
}

TEST_F(external_sort_run, more_than_the_scratch_budget_is_refused_and_leaves_nothing) {
    const auto keys = random_values<std::uint32_t>(300'000, 1, 2);
    const auto values = distinct_values<std::uint64_t>(keys.size());
    cpu_place unlimited(ctx_);
    const auto all = sorted_by(unlimited, keys, values, 128 * kib).record;
    ASSERT_GE(all.merge_passes, 3u);
    // Merged data frees its space: all the pairs twice are enough for any number of passes.
    ctx_.scratch_bytes = all.bytes_written / all.merge_passes * 9 / 4;
    cpu_place enough(ctx_);
    EXPECT_EQ(sorted_by(enough, keys, values, 128 * kib).record.bytes_written, all.bytes_written);

    for (const std::uint64_t allowed : {std::uint64_t{10'000}, std::uint64_t{2'000'000}}) {
        ctx_.scratch_bytes = allowed;
        cpu_place place(ctx_);
        external_sorter<cpu_place, std::uint32_t, std::uint64_t> sorter(place, 128 * kib, {}, any_memory);
        std::uint64_t taken = 0;
        try {
            sorter.push(keys, values);
            sorter.finish([&](std::span<const std::uint32_t> k, auto) { taken += k.size(); });
            ADD_FAILURE() << "all spilled within " << allowed;
        } catch (const io_error& refused) {
            EXPECT_EQ(refused.code(), EDQUOT);
            EXPECT_THAT(refused.what(), ::testing::HasSubstr(ctx_.scratch.string() + ": cannot spill "));
            EXPECT_THAT(refused.what(),
                        ::testing::HasSubstr(std::to_string(allowed) + " are allowed in all"));
        }
        EXPECT_EQ(taken, 0u);
        EXPECT_LE(sorter.record().bytes_written, allowed);
        EXPECT_TRUE(nothing_in(ctx_.scratch));
    }
}

TEST_F(external_sort_run, what_has_failed_is_refused_and_has_given_back_what_it_had) {
    const auto keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    const auto nothing = [](std::span<const float>, std::span<const std::uint32_t>) {};
    using sorter_type = external_sorter<cpu_place, float, std::uint32_t>;
    cpu_place place(ctx_);
    const auto expect_failed = [&](sorter_type& sorter) {
        EXPECT_EQ(place.memory().used(), 0u);
        EXPECT_TRUE(nothing_in(ctx_.scratch));
        const std::string why = ": an earlier call failed; use a new sorter";
        expect_usage_error("external_sorter::push" + why, [&] { sorter.push(keys, values); });
        expect_usage_error("external_sorter::push" + why, [&] { sorter.push({}, {}); });
        expect_usage_error("external_sorter::finish" + why, [&] { sorter.finish(nothing); });
    };
    {
        sorter_type sorter(place, 256 * kib, {}, any_memory);
        stop_ = SIGINT;
        EXPECT_THROW(sorter.push(keys, values), interrupted);
        stop_ = 0;
        expect_failed(sorter);
    }
    {
        auto with_nan = keys;
        with_nan.back() = std::numeric_limits<float>::quiet_NaN();
        sorter_type sorter(place, 256 * kib, {}, any_memory);
        sorter.push(with_nan, values);
        EXPECT_THROW(sorter.finish(nothing), invalid_value);
        expect_failed(sorter);
    }
    {
        sorter_type sorter(place, 256 * kib, {}, any_memory);
        sorter.push(keys, values);
        struct refused {};
        EXPECT_THROW(
            sorter.finish([](std::span<const float>, std::span<const std::uint32_t>) { throw refused(); }),
            refused);
        expect_failed(sorter);
    }
    sorter_type sorter(place, 256 * kib, {}, any_memory);
    EXPECT_THROW(sorter.push(keys, {}), usage_error);  // rejected, and so forgotten
    sorter.push(keys, values);
    sorter.finish(nothing);
    EXPECT_EQ(sorter.record().pairs, keys.size());
    expect_usage_error("external_sorter::push: finish has been called", [&] { sorter.push(keys, values); });
    expect_usage_error("external_sorter::finish: finish has been called", [&] { sorter.finish(nothing); });
}

}  // namespace
}  // namespace quern::external_sort_limits_test
