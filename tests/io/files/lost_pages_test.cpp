// SPDX-License-Identifier: Apache-2.0
// Files that are truncated or changed while they are mapped, in a program with a handler of SIGBUS. Lost pages stay
// recorded until the process ends, so that each test that loses pages is a separate process.
#include "quern/base/lost_pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "device/files/scratch_folder.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/joined_files.hpp"
#include "io/files/mapped_file.hpp"
#include "io/store/section.hpp"
#include "quern/base/error.hpp"

namespace quern::io::lost_pages_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::size_t size = std::size_t{3} << 16;

class lost_pages : public ::testing::Test {
  protected:
    fs::path made(const char* name, std::size_t bytes = size) const {
        file_writer file(place_->file(name));
        file.append(std::string(bytes, 'x'));
        file.close();
        return place_->file(name);
    }
    fs::path made_section() const {
        section_writer writer(place_->file("texts.section"));
        writer.append(std::string(size, 'x'));
        writer.finish();
        return place_->file("texts.section");
    }

  private:
    std::optional<scratch_folder> place_{std::in_place, context{}};
};

void with_handler() {
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
        if (!put_zeros_for_lost_page(info->si_addr)) _exit(9);
    };
    sigaction(SIGBUS, &action, nullptr);
}

char touched(const volatile char* at) {
    return *at;
}

/// In a separate process, with a handler: 0 if the check then throws an Error with this message.
template <class Error>
void expect_lost(const std::function<void()>& work, const char* says) {
    EXPECT_EXIT(
        {
            with_handler();
            work();
            try {
                check_mapped_files();
            } catch (const Error& failed) {
                _exit(std::string_view(failed.what()).find(says) == std::string_view::npos ? 1 : 0);
            }
            _exit(2);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(lost_pages, read_as_zeros_and_are_reported) {
    const fs::path path = made("vectors");
    expect_lost<io_error>(
        [&] {
            const mapped_file file(path);
            if (touched(file.text().data() + size - 1) != 'x') _exit(3);
            fs::resize_file(path, 10);
            if (touched(file.text().data() + size - 1) != 0 || touched(file.text().data()) != 'x') _exit(4);
        },
        "vectors: was cut");
}

TEST_F(lost_pages, of_a_store_are_damage_of_its_section) {
    const fs::path path = made_section();
    expect_lost<damaged_store>(
        [&] {
            const section_view section(path, "texts");
            fs::resize_file(path, 0);
            try {
                section.all();
                _exit(5);
            } catch (const damaged_store&) {  // zeros do not match the checksum
            }
        },
        "section texts: was cut");
}

TEST_F(lost_pages, of_joined_files_are_reported) {
    const fs::path path = made("texts");
    expect_lost<io_error>(
        [&] {
            joined_files texts;
            texts.append(path, size);
            fs::resize_file(path, 0);
            if (touched(texts.bytes().data() + size / 2) != 0) _exit(3);
        },
        "texts: was cut");
}

TEST_F(lost_pages, keep_results_from_their_names) {
    const fs::path path = made("vectors"), out = path.parent_path() / "out";
    expect_lost<io_error>(
        [&] {
            const mapped_file file(path);
            atomic_file result(out);
            fs::resize_file(path, 0);
            result.append({file.text().data(), 1});
            try {
                result.commit();
                _exit(3);
            } catch (const io_error&) {
            }
        },
        "vectors: was cut");
    EXPECT_FALSE(fs::exists(out));
}

TEST_F(lost_pages, elsewhere_are_not_ours) {
    const mapped_file file(made("vectors"));
    EXPECT_FALSE(put_zeros_for_lost_page(const_cast<char*>(file.text().data() + size)));
    EXPECT_FALSE(put_zeros_for_lost_page(nullptr));
    EXPECT_NO_THROW(check_mapped_files());
}

TEST_F(lost_pages, a_section_changed_in_place_is_seen_while_it_is_open) {
    const fs::path path = made_section();
    {
        const section_view section(path, "texts");
        EXPECT_NO_THROW(check_mapped_files());
        fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(5));
        EXPECT_THROW(check_mapped_files(), damaged_store);
    }
    EXPECT_NO_THROW(check_mapped_files());
}

TEST_F(lost_pages, a_file_that_grows_or_is_replaced_by_name_is_none) {
    const fs::path path = made("vectors"), section_path = made_section();
    const mapped_file file(path);
    const section_view section(section_path, "texts");
    fs::resize_file(path, 2 * size);
    fs::rename(made("other", 5), section_path);
    EXPECT_NO_THROW(check_mapped_files());
    fs::resize_file(path, size / 2);
    EXPECT_THROW(check_mapped_files(), io_error);
}

}  // namespace
}  // namespace quern::io::lost_pages_test
