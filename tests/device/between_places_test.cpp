// SPDX-License-Identifier: Apache-2.0
// Copies between arrays of two places, in the order that marks give.
#include "device/between_places.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/own_threads.hpp"
#include "device/shared_writing.hpp"
#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "several_places.hpp"

namespace quern::between_places_test {
namespace {

template <class Tested>
class between_places_test : public on_place<Tested> {
  protected:
    using place_type = typename Tested::place_type;
    /// A second place: of another GPU, if there is one.
    static place_type another() {
        if constexpr (std::is_same_v<place_type, cpu_place>)
            return place_type(Tested::ctx());
        else
            return place_type(Tested::ctx(), further_places(choose_device(Tested::ctx(), "this test"), 1)[0]);
    }
};
TYPED_TEST_SUITE(between_places_test, tested_places, tested_place_names);

TYPED_TEST(between_places_test, a_copy_arrives_before_the_mark) {
    using place_type = typename TestFixture::place_type;
    place_type& here = this->place();
    place_type there = this->another();
    place_mark<place_type> sent(here), read(there);
    sent.await(there);  // none was set
    for (const std::size_t size : test_sizes()) {
        const std::vector<std::uint64_t> values = random_values<std::uint64_t>(size, size), zeros(size + 2);
        const auto from = array_from(here, std::span<const std::uint64_t>(values));
        const auto to = array_from(there, std::span<const std::uint64_t>(zeros));
        open_for(here, there, to.span());  // copies arrive even where they are not direct
        read.set();
        read.await(here);
        copy_across<std::uint64_t>(here, from.span(), there, to.span().subspan(1, size));
        sent.set();
        sent.await(there);
        std::vector<std::uint64_t> expected = zeros;
        std::copy(values.begin(), values.end(), expected.begin() + 1);
        EXPECT_EQ(to_host(there, to.span()), expected);
        here.synchronise();
    }
}

TYPED_TEST(between_places_test, refuses_different_sizes) {
    typename TestFixture::place_type there = this->another();
    const auto from = make_array<std::uint32_t>(this->place(), 3);
    const auto to = make_array<std::uint32_t>(there, 4);
    EXPECT_THROW(copy_across<std::uint32_t>(this->place(), from.span(), there, to.span()), usage_error);
}

TYPED_TEST(between_places_test, no_array_ends_while_another_place_writes) {
    using place_type = typename TestFixture::place_type;
    place_type& here = this->place();
    place_type there = this->another();
    const std::vector<std::uint64_t> values = random_values<std::uint64_t>(large_size(), 1);
    const auto from = array_from(there, std::span<const std::uint64_t>(values));
    for (const bool fails : {false, true}) {
        shared_writing writing;
        std::promise<void> begun;
        std::atomic<bool> ended = false;
        alongside other;
        {
            const auto to = make_array<std::uint64_t>(here, values.size());
            here.synchronise();
            open_for(there, here, to.span());
            const shared_writing::closing closed(writing);
            other.start([&, target = to.span()] {
                const bool wrote = writing.write(there, [&] {
                    begun.set_value();
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    copy_across<std::uint64_t>(there, from.span(), here, target);
                    ended = true;
                    if (fails) throw std::runtime_error("fails");
                });
                EXPECT_TRUE(wrote);
            });
            begun.get_future().wait();
        }  // as if this place had failed
        EXPECT_TRUE(ended);
        if (fails)
            EXPECT_THROW(other.wait(), std::runtime_error);
        else
            other.wait();
        EXPECT_FALSE(writing.write(there, [] { FAIL() << "written after the array ended"; }));
    }
}

}  // namespace
}  // namespace quern::between_places_test
