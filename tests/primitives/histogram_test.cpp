// SPDX-License-Identifier: Apache-2.0
#include "primitives/histogram/histogram.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <numeric>

#include "on_each_place.hpp"
#include "on_every_target.hpp"
#include "quern/base/error.hpp"
#include "reference/histogram_reference.hpp"

namespace quern::histogram_test {
namespace {

/// Samples below `bins`: all different where they can be, all equal, mostly equal, skewed as words are, in runs.
template <class Sample>
std::vector<std::vector<Sample>> sample_shapes(std::size_t n, std::size_t bins) {
    std::mt19937_64 random(n + bins);
    const auto filled = [&](auto sample) {
        std::vector<Sample> samples(n);
        for (std::size_t i = 0; i < n; ++i) samples[i] = static_cast<Sample>(sample(i));
        return samples;
    };
    const std::size_t last = bins - 1;
    return {filled([&](auto) { return random() % bins; }), filled([&](auto) { return last; }),
            filled([&](auto) { return random() % 10 == 0 ? random() % bins : 0; }),
            filled([&](auto) { return bins / (1 + random() % bins) - 1; }),
            filled([&](auto i) { return i / 9 % bins; })};
}

template <class Tested>
class histogram_test : public on_place<Tested> {
  protected:
    template <class Sample>
    void expect_reference(const std::vector<Sample>& samples, std::size_t bins) {
        const auto in = this->array(samples);
        const auto counts = this->template output<std::uint64_t>(bins);
        primitives::histogram(this->place(), in.view(), counts.span());
        EXPECT_EQ(counts.host(), reference::histogram(samples, bins))
            << samples.size() << " samples of " << sizeof(Sample) << " bytes, " << bins << " bins";
    }

    template <class Sample>
    void expect_references(std::size_t n, std::size_t bins) {
        for (const auto& samples : sample_shapes<Sample>(n, bins)) expect_reference(samples, bins);
    }

    template <class Sample>
    void expect_refusal(const std::vector<Sample>& samples, std::size_t bins, std::uint64_t position) {
        const auto in = this->array(samples);
        const auto counts = this->template output<std::uint64_t>(bins);
        try {
            primitives::histogram(this->place(), in.view(), counts.span());
            this->place().synchronise();
            ADD_FAILURE() << "not refused: sample " << position << " of " << bins << " bins";
        } catch (const invalid_value& refusal) {
            EXPECT_EQ(refusal.position(), position);
            EXPECT_EQ(refusal.what(), "sample " + std::to_string(position) + " has no bin");
        }
        counts.host();  // the guards are unchanged
    }
};
TYPED_TEST_SUITE(histogram_test, tested_places, tested_place_names);

TYPED_TEST(histogram_test, matches_reference) {
    for (const std::size_t n : test_sizes()) {
        for (const std::size_t bins : {1u, 2u, 31u, 255u, 256u})
            this->template expect_references<std::uint8_t>(n, bins);
        this->expect_reference(random_values<std::uint8_t>(n, n), 300);  // bins that no byte reaches
        for (const std::size_t bins : {1u, 2u, 256u, 257u, 1000u, 5000u, 100'000u}) {
            this->template expect_references<std::uint32_t>(n, bins);
            this->template expect_references<std::uint64_t>(n, bins);
        }
    }
}

TYPED_TEST(histogram_test, matches_reference_for_a_vocabulary) {
    const std::size_t bins = tested_with().small_sizes ? 1'000'000 : 10'000'000;
    this->template expect_references<std::uint32_t>(large_size(), bins);
    this->expect_reference(std::vector<std::uint64_t>(100'003, bins - 1), bins);
    this->expect_reference(std::vector<std::uint32_t>(), bins);
}

TYPED_TEST(histogram_test, refuses_the_first_sample_that_has_no_bin) {
    this->template expect_refusal<std::uint32_t>({0}, 0, 0);
    this->template expect_refusal<std::uint8_t>({1, 2, 3, 4, 3, 200}, 4, 3);
    this->template expect_refusal<std::uint64_t>({0, 1, std::uint64_t{1} << 32, 2}, 2, 2);
    this->template expect_refusal<std::uint64_t>({0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63}, 2, 2);
    for (const std::size_t bins : {1u, 100u, 3000u, 200'000u, 1'000'000u}) {
        auto samples = sample_shapes<std::uint32_t>(large_size(), bins)[0];
        for (const std::size_t first : {samples.size() - 1, samples.size() / 2, std::size_t{70}}) {
            samples[first] = static_cast<std::uint32_t>(first % 2 == 0 ? bins : ~std::uint32_t{0});
            this->expect_refusal(samples, bins, first);
        }
    }
    std::vector<std::uint8_t> bytes(large_size(), 9);
    bytes[large_size() - 1] = bytes[large_size() - 2] = 10;
    this->expect_refusal(bytes, 10, large_size() - 2);
}

TYPED_TEST(histogram_test, counts_the_bins_that_most_samples_have) {
    const std::size_t bins = 300'000, n = 100'000;
    for (const std::uint64_t frequent : {1u, 3u, 400u}) {
        std::mt19937_64 random(frequent);
        std::vector<std::uint64_t> samples(n);
        for (std::uint64_t& sample : samples)
            sample = random() % 4 == 0 ? random() % bins : bins - 1 - random() % frequent;
        this->expect_reference(samples, bins);
        this->expect_reference(std::vector<std::uint32_t>(samples.begin(), samples.end()), bins);
        samples[n - 1] = samples[n / 2] = bins - 1 + (std::uint64_t{1} << 32);
        this->expect_refusal(samples, bins, n / 2);
    }
    for (const std::uint32_t bin : {0u, 1u}) this->expect_reference(std::vector<std::uint32_t>(n, bin), bins);
}

TYPED_TEST(histogram_test, every_instruction_set_gives_the_same) {
    if (!std::is_same_v<typename TestFixture::place_type, cpu_place>) GTEST_SKIP() << "of the CPU";
    on_every_target([&] {
        for (const std::size_t n : {0u, 1u, 65u, 1025u, 40'009u}) {
            this->template expect_references<std::uint8_t>(n, 256);
            for (const std::size_t bins : {1u, 256u, 5000u, 100'000u}) {
                this->template expect_references<std::uint32_t>(n, bins);
                this->template expect_references<std::uint64_t>(n, bins);
            }
        }
    });
}

TYPED_TEST(histogram_test, properties) {
    EXPECT_TRUE(rc::check("counts sum to the samples and do not know their order", [&] {
        const auto bins = *rc::gen::inRange<std::uint32_t>(1, 2000);
        auto samples = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(0u, bins));
        const auto counts = this->template output<std::uint64_t>(bins);
        const auto again = this->template output<std::uint64_t>(bins);
        primitives::histogram(this->place(), this->array(samples).view(), counts.span());
        std::sort(samples.begin(), samples.end());
        primitives::histogram(this->place(), this->array(samples).view(), again.span());
        const auto all = counts.host();
        RC_ASSERT(std::accumulate(all.begin(), all.end(), std::uint64_t{0}) == samples.size());
        RC_ASSERT(all == again.host());
    }));
}

}  // namespace
}  // namespace quern::histogram_test
