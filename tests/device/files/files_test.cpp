// SPDX-License-Identifier: Apache-2.0
// Buffered files and scratch folders: complete or reported, and nothing left after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "device/files/file_writer.hpp"
#include "device/files/files_fixture.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/files/temporary.hpp"
#include "quern/base/error.hpp"

namespace quern::files_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(files, writer_counts_and_keeps_order_across_its_buffer) {
    std::string expected;
    file_writer writer(at("a"), 16);
    for (int i = 0; i < 100; ++i) {
        const std::string piece(static_cast<std::size_t>(i % 40), static_cast<char>('a' + i % 26));
        writer.append(piece);
        expected += piece;
        ASSERT_EQ(writer.size(), expected.size());
    }
    const std::array<std::uint32_t, 2> values{1, 0xffffffffU};
    writer.append_values(std::span<const std::uint32_t>(values));
    expected += std::string("\1\0\0\0\xff\xff\xff\xff", 8);
    writer.close();
    writer.close();
    EXPECT_EQ(content(at("a")), expected);
}

TEST_F(files, writer_says_when_the_disk_is_full) {
    file_writer writer("/dev/full", 8);
    try {
        writer.append("0123456789abcdef");
        FAIL() << "a full disk went unnoticed";
    } catch (const io_error& failure) {
        EXPECT_EQ(failure.code(), ENOSPC);
        EXPECT_THAT(failure.what(), HasSubstr("/dev/full"));
    }
    file_writer late("/dev/full");
    late.append("x");
    EXPECT_THROW(late.close(), io_error);
}

TEST_F(files, a_whole_file_replaces_what_was_there_and_reports_a_full_disk) {
    write_file(at("a"), "a long text");
    write_file(at("a"), std::string_view("b\0c", 3));
    EXPECT_EQ(content(at("a")), std::string("b\0c", 3));
    EXPECT_THROW(write_file("/dev/full", "x"), io_error);  // seen when the file is closed, at the latest
}

TEST_F(files, writer_continues_after_a_short_write_and_reports_the_limit) {
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    rlimit small = old;
    small.rlim_cur = 100;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    int code = 0;
    try {
        file_writer writer(at("limited"), 64);
        writer.append(std::string(150, 'x'));
    } catch (const io_error& failure) {
        code = failure.code();
    }
    ::setrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, handler);
    EXPECT_EQ(code, EFBIG);
    EXPECT_EQ(content(at("limited")), std::string(100, 'x'));
}

TEST_F(files, missing_folder_is_an_io_error_with_the_path) {
    try {
        file_writer writer(at("no/such"));
        FAIL();
    } catch (const io_error& failure) {
        EXPECT_EQ(failure.code(), ENOENT);
        EXPECT_THAT(failure.what(), HasSubstr("no/such"));
    }
}

TEST_F(files, stale_sweep_touches_only_exact_names) {
    put(at(".out.quern-abcdefg"), "");  // seven letters
    put(at(".out.quern-ABCDEF"), "");
    put(at("out.quern-abcdef"), "");
    put(at(".out.quern-abc123"), "");
    remove_stale_temporaries(place_->path(), ".out.quern-");
    EXPECT_THAT(names(), ElementsAre(".out.quern-ABCDEF", ".out.quern-abcdefg", "out.quern-abcdef"));
}

TEST_F(files, scratch_folders_are_apart_and_leave_nothing) {
    context ctx;
    ctx.scratch = at("made/on/demand");
    in_killed_process([&] { put((new scratch_folder(ctx))->file("run"), "x"); });
    {
        scratch_folder one(ctx);
        scratch_folder two(ctx);
        EXPECT_NE(one.path(), two.path());
        put(one.file("run"), "x");
        EXPECT_EQ(std::distance(fs::directory_iterator(ctx.scratch), {}), 2);
    }
    EXPECT_TRUE(fs::is_empty(ctx.scratch));
}

TEST_F(files, scratch_folders_that_cannot_be_made_are_io_errors_naming_the_folder) {
    put(at("file"), "x");
    context ctx;
    ctx.scratch = at("file") / "below";
    try {
        scratch_folder{ctx};
        ADD_FAILURE() << "made below a file";
    } catch (const io_error& failed) {
        EXPECT_THAT(failed.what(), ::testing::HasSubstr(ctx.scratch.string()));
    }
}

TEST_F(files, scratch_bytes_are_refused_before_they_are_written) {
    context ctx;
    ctx.scratch = at("scratch");
    ctx.scratch_bytes = 1000;
    scratch_folder scratch(ctx);
    const auto refused = [&ctx](scratch_folder& folder, std::uint64_t bytes, int code) {
        try {
            folder.take(bytes);
            ADD_FAILURE() << bytes << " bytes were allowed";
        } catch (const io_error& failed) {
            EXPECT_EQ(failed.code(), code);
            EXPECT_THAT(failed.what(),
                        ::testing::StartsWith(ctx.scratch.string() + ": cannot spill " +
                                              std::to_string(bytes) + " bytes in addition to "));
            return std::string(failed.what());
        }
        return std::string();
    };
    scratch.take(600);
    EXPECT_THAT(
        refused(scratch, 401, EDQUOT),
        ::testing::HasSubstr("401 bytes in addition to 600 already spilled, 1000 are allowed in all: "));
    refused(scratch, UINT64_MAX, EDQUOT);
    scratch.take(400);
    scratch.give_back(600);
    scratch.take(600);
    refused(scratch, 1, EDQUOT);

    ctx.scratch_bytes = 0;
    scratch_folder whole_disk(ctx);
    whole_disk.take(1000);
    const std::uint64_t too_many = std::filesystem::space(ctx.scratch).capacity + 1;
    EXPECT_THAT(refused(whole_disk, too_many, ENOSPC), ::testing::HasSubstr(" are free: "));
}

TEST_F(files, the_library_does_not_ask_the_environment_for_a_scratch_folder) {
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TMPDIR", "/no/such/folder", 1);
    EXPECT_EQ(context{}.scratch_folder(), "/tmp");
    before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace quern::files_test
