// SPDX-License-Identifier: Apache-2.0
// The guarantee of the output files: under its final name a file or folder is complete or absent, whatever fails.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/files/files_fixture.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/atomic_folder.hpp"
#include "io/files/joined_files.hpp"
#include "io/files/mapped_file.hpp"
#include "io/files/name_lock.hpp"
#include "quern/base/error.hpp"

namespace quern::io::files_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(files, mapped_file_shows_the_bytes) {
    put(at("a"), "some text");
    mapped_file first(at("a"), mapped_file::access::random);
    EXPECT_EQ(first.text(), "some text");
    const auto* where = first.bytes().data();
    mapped_file second(std::move(first));
    EXPECT_EQ(second.bytes().data(), where);
    EXPECT_EQ(first.size(), 0U);
    put(at("b"), "other");
    mapped_file third(at("b"));
    third = std::move(second);
    EXPECT_EQ(third.text(), "some text");
    fs::remove(at("a"));
    EXPECT_EQ(third.text(), "some text");
}

TEST_F(files, joined_files_are_one_text) {
    const std::uint64_t joint = joined_files::joint;
    std::string whole;
    joined_files joined;
    int number = 0;
    // Within a page, exactly up to a joint, nothing at all, over several joints.
    for (const std::uint64_t more : {std::uint64_t{5}, joint - 5, std::uint64_t{0}, std::uint64_t{1},
                                     3 * joint, std::uint64_t{4096}, 10 * joint + 7, std::uint64_t{1}}) {
        const std::string overlap(joined.overlap());
        EXPECT_EQ(overlap, whole.substr(whole.size() - whole.size() % joint));
        std::string added;
        for (std::uint64_t i = 0; i < more; ++i)
            added += static_cast<char>('a' + (whole.size() + i * i) % 23);
        const auto path = at("part" + std::to_string(number++));
        put(path, overlap + added + "what stands behind is not read");
        joined.append(path, overlap.size() + added.size());
        fs::remove(path);
        whole += added;
        ASSERT_EQ(joined.size(), whole.size());
        ASSERT_TRUE(std::string_view(joined.bytes().data(), joined.size()) == whole);
    }
    joined_files moved(std::move(joined));
    EXPECT_TRUE(joined.bytes().empty());
    EXPECT_TRUE(std::string_view(moved.bytes().data(), moved.size()) == whole);
    put(at("short"), "abc");
    EXPECT_THROW(moved.append(at("short"), 4), io_error);
    EXPECT_THROW(moved.append(at("absent"), 4), io_error);
    EXPECT_EQ(moved.size(), whole.size());
}

TEST_F(files, mapped_file_of_nothing_and_of_what_is_no_file) {
    put(at("empty"), "");
    EXPECT_TRUE(mapped_file(at("empty")).bytes().empty());
    EXPECT_THROW(mapped_file(at("absent")), io_error);
    EXPECT_THROW(mapped_file{place_->path()}, io_error);
    ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
    EXPECT_THROW(mapped_file(at("fifo")), io_error);
}

TEST_F(files, atomic_file_appears_on_commit_only) {
    {
        atomic_file file(at("out"));
        file.append("text");
        file.writer().flush();
        EXPECT_FALSE(fs::exists(at("out")));
        file.commit();
        EXPECT_EQ(content(at("out")), "text");
    }
    EXPECT_THAT(names(), ElementsAre("out"));
    {
        atomic_file dropped(at("never"));
        dropped.append("text");
    }
    EXPECT_THAT(names(), ElementsAre("out"));
}

TEST_F(files, atomic_file_refuses_to_overwrite_unless_forced) {
    put(at("out"), "old");
    EXPECT_THROW(atomic_file{at("out")}, usage_error);
    EXPECT_THROW(atomic_file(place_->path(), existing::replace), usage_error);
    ::chmod(at("out").c_str(), 0640);
    atomic_file file(at("out"), existing::replace);
    file.append("new");
    EXPECT_EQ(content(at("out")), "old");
    file.commit();
    EXPECT_EQ(content(at("out")), "new");
    struct stat status {};
    ::stat(at("out").c_str(), &status);
    EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(files, atomic_file_does_not_overwrite_what_appeared_meanwhile) {
    atomic_file file(at("out"));
    file.append("mine");
    put(at("out"), "theirs");
    EXPECT_THROW(file.commit(), usage_error);
    EXPECT_EQ(content(at("out")), "theirs");
}

TEST_F(files, atomic_files_appear_together_or_not_at_all) {
    atomic_file first(at("first")), second(at("second")), third(at("third"), existing::replace);
    atomic_file* const all[] = {&first, &third, &second};
    for (atomic_file* const file : all) file->append("new");
    put(at("second"), "of another process");
    EXPECT_THROW(atomic_file::commit_together(all), usage_error);
    EXPECT_FALSE(fs::exists(at("first")));
    EXPECT_FALSE(fs::exists(at("third")));
    EXPECT_EQ(content(at("second")), "of another process");
    EXPECT_FALSE(first.is_published());
}

TEST_F(files, atomic_file_writes_to_an_open_descriptor) {
    put(at("open"), "before, ");
    const descriptor file(::open(at("open").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    atomic_file to("/dev/fd/" + std::to_string(file.number()));
    to.append("after");
    to.commit();
    EXPECT_EQ(content(at("open")), "before, after");
    fs::create_symlink("/proc/self/fd/" + std::to_string(file.number()), at("link"));
    atomic_file(at("link")).commit();
    EXPECT_THROW(atomic_file("/dev/fd/12345"), io_error);
}

TEST_F(files, atomic_file_follows_links_and_writes_devices_directly) {
    put(at("target"), "old");
    fs::create_symlink("target", at("link"));
    atomic_file file(at("link"), existing::replace);
    file.append("new");
    file.commit();
    EXPECT_TRUE(fs::is_symlink(at("link")));
    EXPECT_EQ(content(at("target")), "new");
    atomic_file null("/dev/null");
    null.append("x");
    null.commit();
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    atomic_file full("/dev/full");
    full.append("x");
    EXPECT_THROW(full.commit(), io_error);
}

TEST_F(files, leftovers_of_a_killed_process_are_removed_and_those_of_a_living_one_kept) {
    in_killed_process([&] {
        auto* lost = new atomic_file(at("out"));
        lost->append("half");
        lost->writer().flush();
    });
    ASSERT_EQ(names().size(), 1U);
    in_killed_process([&] { put((new atomic_folder(at("store")))->file("x"), "half"); });
    ASSERT_EQ(names().size(), 2U);
    atomic_folder(at("store"));
    atomic_file alive(at("out"));
    EXPECT_EQ(names().size(), 1U);
    atomic_file another(at("out"));
    EXPECT_EQ(names().size(), 2U);
    another.commit();
    EXPECT_EQ(names().size(), 2U);
    EXPECT_THROW(alive.commit(), usage_error);
}

TEST_F(files, atomic_folder_appears_whole) {
    {
        atomic_folder folder(at("store/"));
        put(folder.file("a"), "1");
        fs::create_directory(folder.file("sub"));
        put(folder.file("sub") / "b", "2");
        EXPECT_FALSE(fs::exists(at("store")));
        folder.commit();
    }
    EXPECT_THAT(names(), ElementsAre("store"));
    EXPECT_EQ(content(at("store") / "sub" / "b"), "2");
    fs::create_directory(at("usual"));
    EXPECT_EQ(fs::status(at("store")).permissions(), fs::status(at("usual")).permissions());
}

TEST_F(files, atomic_folder_replaces_at_once_and_keeps_nothing_old) {
    fs::create_directory(at("store"));
    put(at("store") / "old", "1");
    EXPECT_THROW(atomic_folder{at("store")}, usage_error);
    {
        atomic_folder dropped(at("store"), existing::replace);
        put(dropped.file("new"), "2");
    }
    EXPECT_TRUE(fs::exists(at("store") / "old"));
    atomic_folder folder(at("store"), existing::replace);
    put(folder.file("new"), "2");
    folder.commit();
    folder.commit();
    EXPECT_THAT(names(), ElementsAre("store"));
    EXPECT_FALSE(fs::exists(at("store") / "old"));
    EXPECT_EQ(content(at("store") / "new"), "2");
}

TEST_F(files, atomic_folder_refuses_files_and_what_appeared_meanwhile) {
    put(at("file"), "");
    EXPECT_THROW(atomic_folder(at("file"), existing::replace), usage_error);
    EXPECT_THROW(atomic_folder(""), usage_error);
    EXPECT_THROW(atomic_folder(at("no/such/parent")), usage_error);
    atomic_folder late(at("store"));
    fs::create_directory(at("store"));
    EXPECT_THROW(late.commit(), usage_error);
}

TEST_F(files, two_step_replacement_ends_in_the_new_folder_or_the_old_one) {
    fs::create_directory(at("store"));
    put(at("store") / "old", "1");
    fs::create_directory(at("fresh"));
    put(at("fresh") / "new", "2");
    detail::replace_in_two_steps(at("fresh"), at("store"));
    EXPECT_THAT(names(), ElementsAre("fresh", "store"));
    EXPECT_TRUE(fs::exists(at("store") / "new"));
    EXPECT_TRUE(fs::exists(at("fresh") / "old"));
    fs::remove_all(at("fresh"));
    EXPECT_THROW(detail::replace_in_two_steps(at("absent"), at("store")), io_error);
    EXPECT_TRUE(fs::exists(at("store") / "new"));
    // Killed between the steps: only the renamed old folder exists.
    fs::rename(at("store"), at(".store.quern-old"));
    EXPECT_THROW(atomic_folder{at("store")}, usage_error);
    EXPECT_TRUE(fs::exists(at("store") / "new"));
}

TEST_F(files, what_the_disk_does_not_confirm_is_in_place_and_said_to_be) {
    try {
        confirm_name(at("absent/name"));
        ADD_FAILURE() << "confirmed";
    } catch (const io_error& failed) {
        EXPECT_THAT(failed.what(), HasSubstr("absent/name: is written and in place, but the disk did not"));
    }
    EXPECT_NO_THROW(confirm_name(at("name")));
}

TEST_F(files, a_name_has_one_holder_and_a_killed_one_holds_nothing) {
    {
        const name_lock one(at("store"));
        const name_lock other(at("other"));
        try {
            name_lock{at("store")};
            ADD_FAILURE() << "two holders";
        } catch (const name_in_use& refused) {
            EXPECT_THAT(refused.what(), HasSubstr("another build of " + at("store").string()));
        }
        EXPECT_THAT(names(), ElementsAre(".other.quern-lock", ".store.quern-lock"));
    }
    EXPECT_THAT(names(), IsEmpty());
    in_killed_process([&] { new name_lock(at("store")); });
    EXPECT_THAT(names(), ElementsAre(".store.quern-lock"));
    { const name_lock next(at("store")); }
    EXPECT_THAT(names(), IsEmpty());
    EXPECT_THROW(name_lock(at("no/such/parent")), usage_error);
}

TEST_F(files, a_name_that_many_want_has_one_holder) {
    std::atomic<int> holders{0}, held{0};
    std::vector<std::thread> wanting;
    for (int i = 0; i < 8; ++i) {
        wanting.emplace_back([&] {
            for (int mine = 0; mine < 100;) {
                try {
                    const name_lock lock(at("store"));
                    EXPECT_EQ(++holders, 1);
                    ++held;
                    ++mine;
                    --holders;
                } catch (const name_in_use&) {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::thread& t : wanting) t.join();
    EXPECT_EQ(held, 800);
    EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace quern::io::files_test
