// SPDX-License-Identifier: Apache-2.0
// Compressed data is read back by zlib's own reader, as one member, for any sizes and cuts.
#include "io/compression/gzip_writer.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "quern/base/error.hpp"

namespace quern::io::gzip_writer_test {
namespace {

constexpr std::size_t piece = std::size_t{256} << 10;  // of gzip_writer.cpp

std::string packed(std::string_view plain, unsigned threads, std::size_t step, std::uint64_t memory = 0) {
    context ctx;
    ctx.threads = threads;
    ctx.memory_bytes = memory;
    std::string out;
    gzip_writer writer([&](std::string_view bytes) { out += bytes; }, ctx);
    for (std::size_t at = 0; at < plain.size(); at += step) writer.append(plain.substr(at, step));
    writer.finish();
    return out;
}

/// The first member of `bytes`; sets its end.
std::string first_member(const std::string& bytes, std::size_t size, std::size_t& end) {
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);  // gzip alone
    std::string plain(size + 1, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END) << (stream.msg == nullptr ? "" : stream.msg);
    plain.resize(stream.total_out);
    end = stream.total_in;
    inflateEnd(&stream);
    return plain;
}

std::string sample(std::size_t size, bool random) {
    std::string text;
    std::uint64_t state = size + 1;
    while (text.size() < size) {
        state = state * 6364136223846793005 + 1442695040888963407;
        if (random) {
            text += static_cast<char>(state >> 56);
        } else {
            text += "word" + std::to_string((state >> 40) % 1000) + ' ';
        }
    }
    text.resize(size);
    return text;
}

TEST(gzip_writer_test, comes_back_as_one_member) {
    for (const bool random : {false, true}) {
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{40'000}, piece - 1, piece,
                                       piece + 1, 4 * piece, 9 * piece + 77}) {
            const std::string plain = sample(size, random);
            const std::string whole = packed(plain, 1, size + 1);
            std::size_t end = 0;
            ASSERT_EQ(first_member(whole, size, end), plain) << size;
            EXPECT_EQ(end, whole.size());
            if (!random && size > 1000) {
                EXPECT_LT(whole.size(), size / 2);
            }
            EXPECT_EQ(packed(plain, 5, 10'007), whole) << size;
            EXPECT_EQ(packed(plain, 2, piece), whole) << size;
            EXPECT_EQ(packed(plain, 4, 3 * piece - 1, 1 << 20), whole) << size;
        }
    }
}

TEST(gzip_writer_test, pieces_know_what_came_before_them) {
    // Noise that repeats after 16 KiB: only a reader of the preceding bytes can compress the beginning of a piece.
    const std::string noise = sample(16 << 10, true);
    std::string plain;
    while (plain.size() < 8 * piece) plain += noise;
    EXPECT_LT(packed(plain, 3, plain.size()).size(), noise.size() + plain.size() / 100);
}

TEST(gzip_writer_test, stops_when_requested) {
    const std::atomic<int> stop = SIGTERM;
    context ctx;
    ctx.stop_signal = &stop;
    gzip_writer writer([](std::string_view) {}, ctx);
    writer.append("a");
    EXPECT_THROW(writer.finish(), interrupted);
}

}  // namespace
}  // namespace quern::io::gzip_writer_test
