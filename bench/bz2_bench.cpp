// SPDX-License-Identifier: Apache-2.0
// Decompresses a file to standard output with a given number of threads, for run-bz2: bz2_bench THREADS FILE
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"

int main(int count, char** arguments) try {
    quern::context ctx;
    const std::string_view threads = count == 3 ? arguments[1] : "";
    if (std::from_chars(threads.data(), threads.data() + threads.size(), ctx.threads).ec != std::errc()) {
        std::fputs("usage: bz2_bench THREADS FILE\n", stderr);
        return 2;
    }
    const auto source = quern::io::open_bytes(arguments[2], ctx);
    std::string piece(std::size_t{1} << 20, '\0');
    while (const std::size_t bytes = source->read(piece)) {
        if (std::fwrite(piece.data(), 1, bytes, stdout) != bytes) return 4;
    }
    return std::fflush(stdout) == 0 ? 0 : 4;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 3;
}
