// SPDX-License-Identifier: Apache-2.0
// The client of shards' servers, where no server can show it: names that are not found for a long time.
#include "server/http_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace quern::server::http_client_test {
namespace {

using std::chrono::steady_clock;

/// A look-up of "localhost" ends when `released`.
struct slow_names {
    std::shared_ptr<std::atomic<bool>> released = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<std::atomic<int>> begun = std::make_shared<std::atomic<int>>(0);

    ask_shards asker(std::chrono::milliseconds patience) const {
        return http_shards(patience, [released = released, begun = begun](const std::string& host) {
            if (host != "localhost") return;
            ++*begun;
            while (!*released) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        });
    }
};

std::string failure_of(const ask_shards& asker, const std::string& url) {
    const shard_request request{url, "[]"};
    const context ctx;
    const shard_answers wait = asker(std::span(&request, 1), ctx);
    try {
        wait();
    } catch (const shard_failed& e) {
        return e.what();
    }
    return "none";
}

TEST(http_client_test, a_name_that_is_not_found_has_a_limit_and_does_not_delay_others) {
    const slow_names names;
    const auto begin = steady_clock::now();
    {
        const ask_shards asker = names.asker(std::chrono::milliseconds(400));
        const shard_request slow{"http://localhost:1", "[]"};
        const context ctx;
        const shard_answers wait = asker(std::span(&slow, 1), ctx);
        // Nothing listens at port 1, which is known at once.
        EXPECT_EQ(failure_of(asker, "http://127.0.0.1:1"),
                  "http://127.0.0.1:1: the server of this shard cannot be asked: Connection refused");
        EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
        EXPECT_EQ(failure_of(asker, "http://localhost:1"),
                  "http://localhost:1: the server of this shard has not answered within 0.4 seconds");
        EXPECT_THROW(wait(), shard_failed);
        EXPECT_EQ(*names.begun, 1);  // both waited for it
    }
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(10));  // its end waited for nothing
    *names.released = true;
}

TEST(http_client_test, a_name_that_is_found_late_is_used_by_later_steps) {
    const slow_names names;
    const ask_shards asker = names.asker(std::chrono::milliseconds(100));
    EXPECT_NE(failure_of(asker, "http://localhost:1").find("within 0.1 seconds"), std::string::npos);
    *names.released = true;
    const ask_shards patient = names.asker(std::chrono::seconds(30));
    EXPECT_NE(failure_of(patient, "http://localhost:1").find("Connection refused"), std::string::npos);
}

}  // namespace
}  // namespace quern::server::http_client_test
