// SPDX-License-Identifier: Apache-2.0
// Compressed data is read back by zstd's own reader, as one frame, for any sizes and cuts.
#include "io/compression/zstd_writer.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <atomic>
#include <csignal>

#include "quern/base/error.hpp"

namespace quern::io::zstd_writer_test {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;  // of zstd_writer.cpp

std::string packed(std::string_view plain, unsigned threads, std::size_t step) {
    context ctx;
    ctx.threads = threads;
    std::string out;
    zstd_writer writer([&](std::string_view bytes) { out += bytes; }, ctx);
    for (std::size_t at = 0; at < plain.size(); at += step) writer.append(plain.substr(at, step));
    writer.finish();
    return out;
}

std::string sample(std::size_t size) {
    std::string text;
    std::uint64_t state = size + 1;
    while (text.size() < size) {
        state = state * 6364136223846793005 + 1442695040888963407;
        text += "word" + std::to_string((state >> 40) % 1000) + ' ';
    }
    text.resize(size);
    return text;
}

TEST(zstd_writer_test, comes_back_as_one_frame) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{40'000}, piece - 1, piece, piece + 1, 3 * piece + 77}) {
        const std::string plain = sample(size), whole = packed(plain, 1, size + 1);
        EXPECT_EQ(ZSTD_findFrameCompressedSize(whole.data(), whole.size()), whole.size());
        std::string back(size + 1, '\0');
        back.resize(ZSTD_decompress(back.data(), back.size(), whole.data(), whole.size()));
        ASSERT_EQ(back, plain) << size;
        if (size > 1000) {
            EXPECT_LT(whole.size(), size / 2);
        }
        EXPECT_EQ(packed(plain, 5, 10'007), whole) << size;
        EXPECT_EQ(packed(plain, 2, piece), whole) << size;
    }
}

TEST(zstd_writer_test, stops_when_requested) {
    const std::atomic<int> stop = SIGTERM;
    context ctx;
    ctx.stop_signal = &stop;
    zstd_writer writer([](std::string_view) {}, ctx);
    writer.append("a");
    EXPECT_THROW(writer.finish(), interrupted);
}

}  // namespace
}  // namespace quern::io::zstd_writer_test
