// SPDX-License-Identifier: Apache-2.0
// Byte sources of every format against the reference compressors: round trips, damage at every position, pipes, early
// ends. Must never happen: a crash, a hang, or wrong bytes without an exception.
#include "io/byte_source.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "device/files/scratch_folder.hpp"
#include "io/compression/packers.hpp"
#include "quern/base/error.hpp"

namespace quern::io::byte_source_test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using test::formats;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct outcome {
    std::string bytes;
    std::string problem;  ///< empty: sound
};

outcome drain(byte_source& source, std::size_t piece_bytes = 1U << 16) {
    outcome result;
    std::string piece(piece_bytes, '\0');
    try {
        while (const std::size_t count = source.read(piece)) {
            result.bytes.append(piece, 0, count);
            if (count < piece.size()) {
                // A short count is the end or precedes an exception; it never occurs in between.
                EXPECT_EQ(source.read(piece), 0U);
            }
        }
    } catch (const invalid_input& problem) {
        result.problem = problem.reason();
        EXPECT_THROW(source.read(piece), invalid_input) << "the exception must stay";
    }
    return result;
}

outcome unpack(std::string_view packed, unsigned threads, std::size_t piece_bytes = 1U << 16) {
    context ctx;
    ctx.threads = threads;
    const auto source = open_bytes_memory(packed, "sample", ctx);
    return drain(*source, piece_bytes);
}

void expect_round_trip(const std::string& packed, const std::string& plain) {
    for (const unsigned threads : {1U, 2U, 5U}) {
        const auto got = unpack(packed, threads);
        ASSERT_EQ(got.problem, "") << threads << " threads";
        ASSERT_TRUE(got.bytes == plain)
            << threads << " threads, " << got.bytes.size() << " bytes of " << plain.size();
    }
}

std::vector<std::string> hard_data() {
    std::string periodic;
    for (int i = 0; i < 5000; ++i) periodic += "abcab";
    std::string runs;
    for (std::size_t length = 1; length < 600; ++length)
        runs += std::string(length, static_cast<char>(length % 7));
    return {"",
            "a",
            "ab",
            "aaaa",
            std::string(255 + 4, 'a'),
            std::string(256 + 4, 'a'),
            std::string(100'000, '\0'),
            periodic,
            runs,
            test::random_bytes(31, 256, 1),
            test::random_bytes(4097, 2, 2),
            test::random_bytes(70'000, 256, 3),
            test::words(300'000, 4)};
}

TEST(byte_source, every_format_gives_the_bytes_back) {
    for (const auto& plain : hard_data()) {
        for (const auto& format : formats()) {
            SCOPED_TRACE(format.name);
            expect_round_trip(format.pack(plain), plain);
        }
    }
}

TEST(byte_source, plain_bytes_pass) {
    for (const std::string& plain :
         {""s, "x"s, "BZh"s, "BZh0"s, "\x1f"s, "\x28\xb5\x2f"s, "\xfd\x37zXZ"s, test::words(100'000, 1)}) {
        expect_round_trip(plain, plain);
    }
}

TEST(byte_source, members_follow_each_other) {
    for (const auto& format : formats()) {
        SCOPED_TRACE(format.name);
        std::string packed;
        std::string plain;
        for (const auto& part : hard_data()) {
            packed += format.pack(part);
            plain += part;
        }
        expect_round_trip(packed, plain);
        // Members end at every position of a reader's buffer.
        std::string small;
        std::string small_plain;
        for (int i = 0; i < 3000; ++i) {
            const std::string part(static_cast<std::size_t>(i % 5), static_cast<char>('a' + i % 26));
            small += format.pack(part);
            small_plain += part;
        }
        expect_round_trip(small, small_plain);
    }
}

// libzstd returns no bytes from a call that hits damage, not even those of earlier blocks.
TEST(byte_source, zstd_gives_every_block_before_the_damage_whatever_the_buffer) {
    constexpr std::size_t block = std::size_t{128} << 10;
    const std::string plain = test::random_bytes(3 * block, 256, 5) + test::words(block, 6);
    std::string packed = test::pack_zstd(plain);
    // The first blocks are stored uncompressed, after three bytes each.
    const std::size_t last = packed.find(plain.substr(2 * block, 64)) + block;
    ASSERT_LT(last + 10, packed.size());
    packed[last] = static_cast<char>(packed[last] | 6);  // an invalid kind of block
    for (const unsigned threads : {1U, 2U}) {
        context ctx;
        ctx.threads = threads;
        for (const std::size_t buffer : {1UL, 999UL, 65'536UL, block - 1, block, block + 1, 8 * block}) {
            const outcome got = drain(*open_bytes_memory(packed, "sample", ctx), buffer);
            EXPECT_THAT(got.problem, HasSubstr("zstd data are damaged"));
            EXPECT_TRUE(got.bytes == plain.substr(0, 3 * block))
                << got.bytes.size() << ' ' << threads << ' ' << buffer;
        }
    }
}

TEST(byte_source, zstd_damage_anywhere_leaves_the_same_bytes_for_every_buffer) {
    const std::string sound = test::pack_zstd(test::words(400'000, 7)) +
                              test::pack_zstd(std::string(300'000, 'z')) +
                              test::pack_zstd(test::random_bytes(150'000, 256, 8));
    context several;
    several.threads = 2;
    for (std::size_t at = 4; at < sound.size(); at += sound.size() / 61) {
        std::string packed = sound;
        packed[at] = static_cast<char>(~packed[at]);
        const outcome first = drain(*open_bytes_memory(packed, "sample", context{}), 1U << 20);
        for (const std::size_t buffer : {7'000UL, 65'536UL, 131'073UL}) {
            const outcome other = drain(*open_bytes_memory(packed, "sample", several), buffer);
            EXPECT_TRUE(other.bytes == first.bytes) << at << ' ' << buffer << ' ' << other.bytes.size();
            EXPECT_EQ(other.problem, first.problem) << at << ' ' << buffer;
        }
    }
}

TEST(byte_source, zstd_skippable_frames_are_skipped) {
    const std::string skipped = "\x53\x2a\x4d\x18\x05\0\0\0hello"s;
    expect_round_trip(skipped + test::pack_zstd("text") + skipped, "text");
}

TEST(byte_source, xz_blocks_and_stream_padding) {
    const std::string plain = test::words(500'000, 9);
    const std::string packed = test::pack_xz(plain, 40'000);
    expect_round_trip(packed + std::string(8, '\0') + packed, plain + plain);
}

TEST(byte_source, what_the_budget_cannot_hold_is_no_damage) {
    const auto asks = [](const std::string& packed, std::uint64_t budget, const std::string& bytes) {
        for (const unsigned threads : {1U, 3U}) {
            context ctx;
            ctx.threads = threads;
            ctx.memory_bytes = budget;
            const auto source = open_bytes_memory(packed, "sample", ctx);
            try {
                drain(*source);
                ADD_FAILURE() << "decoded beyond the budget";
            } catch (const out_of_memory& failed) {
                EXPECT_THAT(failed.what(), HasSubstr("of sample needs " + bytes));
            }
        }
    };
    const std::string plain = test::words(1'500'000, 4);
    asks(test::pack_zstd_long(plain, 27), 64 << 20, "128 MiB of memory; 16 MiB are free");
    asks(test::pack_zstd("sound") + test::pack_zstd_long(plain, 26), 64 << 20, "64 MiB");
    asks(test::pack_zstd(plain), 1 << 20, "1.5 MiB");  // no window except the content itself
    asks(test::pack_xz_wide(plain), 64 << 20, "64");   // 64 MiB and the decoder's own memory
    expect_round_trip(test::pack_zstd_long(plain, 27), plain);
    expect_round_trip(test::pack_xz_wide(plain), plain);
}

TEST(byte_source, gzip_zero_padding_is_no_damage) {
    const std::string packed = test::pack_gzip("text");
    expect_round_trip(packed + std::string(1000, '\0'), "text");
}

// ISA-L then counts a byte more than it was given.
TEST(byte_source, gzip_damage_at_the_last_bytes_is_found_within_the_data) {
    constexpr std::string_view digits =
        "1f8b08000000000002032bc849cccc532849ad280b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
        "0b0b0b0b0b0b0b0b0b0b0b0b0b2a0b52ad148a528b0bf2f38a5361828945e9a925baa1419e560a1925250556fafa89fa4650"
        "4997c412a00e23235d334303435d03c31003032b308ae2e572cecf2b49cd2b819a9a58509093999c5892999fa70f32c65a21"
        "b738bd0428658bb00fa6c327352fbd24c34ac1d25a1a629053cd0eded953b1f6ff7192267c018e3c8468bc000000";
    std::string packed;
    for (std::size_t i = 0; i < digits.size(); i += 2)
        packed += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    const auto got = unpack(packed, 1);
    const std::size_t at = got.problem.find("at byte ");
    ASSERT_NE(at, std::string::npos) << got.problem;
    EXPECT_LE(std::stoull(got.problem.substr(at + 8)), packed.size());
}

TEST(byte_source, what_follows_a_member_is_reported_after_its_bytes) {
    for (const auto& format : formats()) {
        SCOPED_TRACE(format.name);
        const std::string packed = format.pack("some text");
        for (const std::string& tail : {"x"s, "BZ"s, "\x1f"s, "garbage that is long enough"s}) {
            for (const unsigned threads : {1U, 3U}) {
                const auto got = unpack(packed + tail, threads);
                EXPECT_EQ(got.bytes, "some text");
                EXPECT_NE(got.problem, "") << tail;
            }
        }
        const auto got = unpack(packed + "garbage that is long enough", 1);
        EXPECT_THAT(got.problem, HasSubstr(format.name));
        // liblzma reports neither what follows the damage nor where it began.
        if (format.name == "xz"sv) continue;
        EXPECT_THAT(got.problem, HasSubstr("byte " + std::to_string(packed.size())));
    }
}

TEST(byte_source, cut_off_anywhere_gives_a_prefix_and_says_so) {
    for (const auto& format : formats()) {
        SCOPED_TRACE(format.name);
        const std::string plain = test::words(2000, 5);
        const std::string packed = format.pack(plain) + format.pack("second");
        const std::size_t first = format.pack(plain).size();
        for (std::size_t size = 6; size < packed.size(); ++size) {
            if (size == first) continue;
            const auto got = unpack(std::string_view(packed).substr(0, size), 1 + size % 2);
            ASSERT_TRUE((plain + "second").starts_with(got.bytes)) << size;
            ASSERT_THAT(got.problem, HasSubstr("truncated")) << size;
            ASSERT_TRUE(size < first || got.bytes.starts_with(plain)) << size;
        }
    }
}

// A checksum at the very end reveals wrong bytes, but nothing is lost. More follows, unread.
TEST(byte_source, a_wrong_checksum_at_the_end_loses_nothing) {
    const std::string plain = test::words(2000, 9);
    std::string gzip = test::pack_gzip(plain), bzip2 = test::pack_bzip2(plain);
    gzip[gzip.size() - 6] ^= 1;
    bzip2[bzip2.size() - 3] ^= 1;
    for (const std::string& packed : {gzip, bzip2}) {
        for (const unsigned threads : {1U, 2U}) {
            const auto got = unpack(packed, threads);
            EXPECT_TRUE(got.bytes == plain);
            EXPECT_THAT(got.problem, HasSubstr("everything was read, but parts are wrong"));
            EXPECT_THAT(got.problem, ::testing::Not(HasSubstr("lost")));
            const auto followed = unpack(packed + packed, threads);
            EXPECT_TRUE(followed.bytes == plain);
            EXPECT_THAT(followed.problem, HasSubstr("the rest is not read"));
        }
    }
}

TEST(byte_source, bytes_before_the_cut_arrive) {
    const std::string plain = test::random_bytes(1'000'000, 16, 8);
    for (const auto& format : formats()) {
        if (format.name == "bzip2"sv) continue;  // whole blocks only: see the bzip2 tests
        SCOPED_TRACE(format.name);
        std::string packed = format.pack(plain);
        packed.resize(packed.size() / 2);
        for (const unsigned threads : {1U, 2U}) EXPECT_GT(unpack(packed, threads).bytes.size(), 350'000U);
    }
}

TEST(byte_source, any_flipped_byte_is_found_or_harmless) {
    const std::string plain = test::words(400, 6);
    for (const auto& format : formats()) {
        SCOPED_TRACE(format.name);
        const std::string packed = format.pack(plain);
        std::size_t harmless = 0;
        for (std::size_t at = 6; at < packed.size(); ++at) {
            for (const int flip : {0x01, 0x80, 0xff}) {
                std::string damaged = packed;
                damaged[at] = static_cast<char>(damaged[at] ^ flip);
                const auto got = unpack(damaged, 1 + at % 2);
                harmless += got.problem.empty();
                ASSERT_TRUE(!got.problem.empty() || got.bytes == plain) << at;
            }
        }
        EXPECT_LE(harmless, 30U);  // the time in a gzip header, the padding bits at the end of bzip2
    }
}

TEST(byte_source, piece_sizes_do_not_matter) {
    const std::string plain = test::words(20'000, 7) + std::string(3000, 'x');
    for (const auto& format : formats()) {
        const std::string packed = format.pack(plain);
        for (const std::size_t piece : {1U, 2U, 7U, 8U, 9U, 255U, 4097U}) {
            const auto got = unpack(packed, 2, piece);
            ASSERT_TRUE(got.bytes == plain && got.problem.empty()) << format.name << ' ' << piece;
        }
    }
}

RC_GTEST_PROP(byte_source_property, round_trips, (std::vector<std::pair<std::uint8_t, std::uint16_t>> runs)) {
    std::string plain;
    for (const auto& [byte, length] : runs) plain.append(length % 300U, static_cast<char>(byte % 8));
    for (const auto& format : formats()) {
        const auto got = unpack(format.pack(plain), 1 + static_cast<unsigned>(runs.size() % 3));
        RC_ASSERT(got.problem == "");
        RC_ASSERT(got.bytes == plain);
    }
}

class byte_source_files : public ::testing::Test {
  protected:
    byte_source_files() {
        ctx_.scratch = std::filesystem::path(::testing::TempDir()) / "quern-bytes-test";
        place_ = std::make_unique<scratch_folder>(ctx_);
    }
    std::string put(std::string_view name, std::string_view bytes) const {
        std::ofstream(place_->file(name), std::ios::binary) << bytes;
        return place_->file(name).string();
    }
    context ctx_;
    std::unique_ptr<scratch_folder> place_;
};

TEST_F(byte_source_files, files_count_what_they_consume) {
    const std::string plain = test::words(2'000'000, 3);
    for (const auto& format : formats()) {
        const std::string packed = format.pack(plain);
        const auto source = open_bytes(put(format.name, packed), ctx_);
        EXPECT_EQ(source->size(), packed.size());
        EXPECT_EQ(source->name(), place_->file(format.name).string());
        std::string piece(1000, '\0');
        EXPECT_EQ(source->read(piece), piece.size());
        EXPECT_GT(source->consumed(), 0U);
        EXPECT_TRUE(piece + drain(*source).bytes == plain);
        EXPECT_EQ(source->consumed(), packed.size());
    }
}

TEST_F(byte_source_files, what_cannot_be_opened) {
    EXPECT_THROW(open_bytes(place_->file("absent"), ctx_), usage_error);
    EXPECT_THROW(open_bytes(place_->file("absent/below"), ctx_), usage_error);
    EXPECT_THROW(open_bytes(place_->path(), ctx_), usage_error);
    try {
        const auto source = open_bytes(put("bad.bz2", "BZh9 is no header of bzip2"), ctx_);
        std::string piece(10, '\0');
        source->read(piece);
        FAIL();
    } catch (const invalid_input& problem) {
        EXPECT_THAT(problem.what(), HasSubstr("bad.bz2"));
        EXPECT_THAT(problem.what(), HasSubstr("byte 4"));
    }
}

TEST_F(byte_source_files, pipes_deliver_in_small_pieces) {
    const std::string plain = test::words(30'000, 3);
    for (const auto& format : formats()) {
        const std::string packed = format.pack(plain);
        const std::string fifo = place_->file(format.name + "-fifo"s).string();
        ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
        std::thread writer([&] {
            const descriptor end = open_file(fifo, O_WRONLY);
            for (std::size_t at = 0; at < packed.size(); at += 97) {
                write_all(end, std::string_view(packed).substr(at, at < 10 ? 97 : 97), fifo);
            }
        });
        const auto source = open_bytes(fifo, ctx_);
        EXPECT_EQ(source->size(), 0U);
        const auto got = drain(*source);
        writer.join();
        EXPECT_TRUE(got.bytes == plain && got.problem.empty()) << format.name;
    }
}

TEST_F(byte_source_files, an_idle_pipe_does_not_hold_up_the_end_nor_the_stop_flag) {
    const std::string plain = test::words(2'000'000, 3);
    for (const auto& format : formats()) {
        SCOPED_TRACE(format.name);
        const std::string packed = format.pack(plain);
        for (const unsigned threads : {1U, 2U, 4U}) {
            int ends[2];
            ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
            const descriptor read_end(ends[0]);
            const descriptor write_end(ends[1]);
            const std::string path = "/proc/self/fd/" + std::to_string(ends[0]);
            write_all(write_end, std::string_view(packed).substr(0, 20'000), path);
            std::atomic<int> stop{0};
            ctx_.stop_signal = &stop;
            ctx_.threads = threads;
            auto source = open_bytes(path, ctx_);
            std::string piece(3'000'000, '\0');
            std::thread interrupter([&] {
                ::usleep(30'000);
                stop = 2;
            });
            EXPECT_THROW(while (source->read(piece) != 0){}, interrupted);
            interrupter.join();
            stop = 0;
            write_all(write_end, std::string_view(packed).substr(0, 20'000), path);
            source = open_bytes(path, ctx_);  // destroyed while its threads wait
        }
    }
}

TEST_F(byte_source_files, sources_may_be_destroyed_at_any_time) {
    const std::string plain = test::words(3'000'000, 3);
    for (const auto& format : formats()) {
        const std::string packed = format.pack(plain);
        for (const unsigned threads : {1U, 2U, 4U}) {
            ctx_.threads = threads;
            for (const std::size_t bytes : {0U, 1U, 100'000U, 1'000'000U}) {
                const auto source = open_bytes_memory(packed, "sample", ctx_);
                std::string piece(bytes, '\0');
                EXPECT_EQ(source->read(piece), bytes);
            }
        }
    }
}

}  // namespace
}  // namespace quern::io::byte_source_test
