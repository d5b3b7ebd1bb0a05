// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/output_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "io/byte_source.hpp"
#include "quern/base/error.hpp"
#include "temporary_folder.hpp"

namespace quern::output_file_test {
namespace {

namespace fs = std::filesystem;
using testing::temporary_folder;

std::string plain_content(const fs::path& file) {
    const context ctx = context::cpu(1);
    const auto source = io::open_bytes(file, ctx);
    std::string text(1 << 16, '\0');
    text.resize(source->read(text));
    return text;
}

std::string bytes_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(output_file_test, is_compressed_as_its_name_says) {
    const temporary_folder folder;
    const context ctx = context::cpu(2);
    for (const char* name : {"a.tsv", "a.tsv.gz", "a.tsv.zst", "b.GZ"}) {
        const fs::path path = folder.path() / name;
        {
            output_file file(path, {}, ctx);
            file.write("one\n");
            file.flush();
            file.write("two\n");
            EXPECT_FALSE(fs::exists(path));
            file.commit();
        }
        EXPECT_EQ(plain_content(path), "one\ntwo\n") << name;
        EXPECT_EQ(bytes_of(path) == "one\ntwo\n", std::string_view(name) == "a.tsv");
    }
    // No name and no time: the ten bytes of gzip's header are always these.
    EXPECT_EQ(bytes_of(folder.path() / "a.tsv.gz").substr(0, 10),
              std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10));
    { output_file dropped(folder.path() / "dropped.gz", {}, ctx); }
    EXPECT_FALSE(fs::exists(folder.path() / "dropped.gz"));
}

TEST(output_file_test, names_that_ask_for_more_are_refused) {
    const temporary_folder folder;
    for (const char* name : {"a.bz2", "a.tsv.xz", "a.npy", "a.npy.gz", "a.MTX", "none/a", "."})
        EXPECT_THROW(check_output(folder.path() / name), usage_error) << name;
    for (const char* name : {"a", "a.tsv", "a.gz", "a.v2", "npy"})
        EXPECT_NO_THROW(check_output(folder.path() / name)) << name;
    EXPECT_NO_THROW(check_output(folder.path() / "a.npy", {.form = ".npy"}));
    EXPECT_NO_THROW(check_output(folder.path() / "a.npy.zst", {.form = ".npy"}));
    EXPECT_THROW(check_output(folder.path() / "a.graphml", {.form = ".npy"}), usage_error);
    std::ofstream(folder.path() / "there") << "x";
    EXPECT_THROW(check_output(folder.path() / "there"), usage_error);
    EXPECT_NO_THROW(check_output(folder.path() / "there", {.replace = true}));
    EXPECT_THROW(check_output(folder.path() / "there" / "a"), usage_error);
}

TEST(output_file_test, form_of_a_name) {
    EXPECT_EQ(form_of_name("a.TSV.gz"), ".tsv");
    EXPECT_EQ(form_of_name("a.npy"), ".npy");
    EXPECT_EQ(form_of_name("a.zst"), "");
    EXPECT_EQ(form_of_name("-"), "");
}

}  // namespace
}  // namespace quern::output_file_test
