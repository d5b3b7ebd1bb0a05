// SPDX-License-Identifier: Apache-2.0
#include "on_each_place.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <string_view>

namespace quern {

test_options& tested_with() {
    static test_options options;
    return options;
}

std::size_t large_size() {
    return tested_with().small_sizes ? 20'011 : 3'000'017;
}

std::vector<std::size_t> test_sizes() {
    return {0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4097, large_size()};
}

}  // namespace quern

// Sanitizers ask these: a request that no machine can serve is refused, as without them, and ends no test.
extern "C" const char* __asan_default_options() {
    return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {
    return "allocator_may_return_null=1";
}

int main(int count, char** arguments) {
    testing::InitGoogleMock(&count, arguments);  // takes its own options out
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--device=cuda") {
            if (!quern::has_cuda) {
                std::fputs("--device=cuda: this program was built without CUDA\n", stderr);
                return 1;
            }
            quern::tested_with().cuda_required = true;
        } else if (argument == "--sizes=small") {
            quern::tested_with().small_sizes = true;
        } else {
            std::fprintf(stderr, "%s: unknown option; there are --device=cuda and --sizes=small\n",
                         arguments[i]);
            return 2;
        }
    }
    return RUN_ALL_TESTS();
}
