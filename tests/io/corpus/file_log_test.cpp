// SPDX-License-Identifier: Apache-2.0
// A folder read with its log again and again, compared with the folder read without one.
#include "io/corpus/file_log.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::file_log_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(std::mt19937& chance, std::size_t bytes) {
    std::string text(bytes, ' ');
    for (char& c : text) c = static_cast<char>('a' + chance() % 26);
    return text;
}

/// A folder of 300 texts, some 3 MB, and what is read of it.
class logged_folder {
  public:
    logged_folder() {
        for (int i = 0; i < 300; ++i) write(i, i % 50 == 3 ? 300'000 : 4'000);
    }

    void write(int number, std::size_t bytes) { texts_.write(name(number), text_of(chance_, bytes)); }
    void remove(int number) { fs::remove(texts_.path() / name(number)); }

    /// Reads the folder with the last log; returns the number of files that were not read.
    std::uint64_t read() {
        std::this_thread::sleep_for(std::chrono::milliseconds(70));  // a younger file may change unnoticed
        corpus_options options;
        options.unit_bytes = 100'000;
        const fs::path made = logs_.path() / "made", last = logs_.path() / "last";
        file_log log(last, made, "key");
        const parsed_unit with = read_all(*open_corpus({texts_.path()}, options, log, context{}));
        log.finish();
        fs::rename(made, last);
        const parsed_unit without = read_all(*open_corpus({texts_.path()}, options, context{}));
        EXPECT_EQ(ids(with), ids(without));
        for (std::size_t i = 0; i < without.documents.size(); ++i)
            EXPECT_EQ(with.documents[i].text, without.documents[i].text) << ids(without)[i];
        return log.unchanged();
    }

    std::string log() const {
        std::ifstream file(logs_.path() / "last", std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    static std::string name(int number) { return std::to_string(1000 + number) + ".txt"; }

    temporary_folder texts_, logs_;
    std::mt19937 chance_{1};
};

TEST(file_log, what_it_keeps_is_what_is_read) {
    logged_folder folder;
    EXPECT_EQ(folder.read(), 0U);
    EXPECT_EQ(folder.read(), 300U);
    std::mt19937 chance(2);
    for (int round = 0; round < 6; ++round) {
        int changed = 0;
        for (int i = 0; i < 300; ++i)
            if (chance() % 40 == 0) folder.write(i, 10 + chance() % 200'000), ++changed;
        EXPECT_EQ(folder.read(), static_cast<std::uint64_t>(300 - changed));
    }
    folder.remove(0);
    folder.remove(299);
    EXPECT_EQ(folder.read(), 298U);
    EXPECT_EQ(folder.read(), 298U);
}

TEST(file_log, unchanged_parts_are_copied) {
    logged_folder folder;
    folder.read();
    const std::string first = folder.log();
    folder.read();
    EXPECT_EQ(folder.log(), first);
    folder.write(0, 100'000);
    folder.read();
    EXPECT_NE(folder.log(), first);
    EXPECT_THAT(folder.log(), ::testing::HasSubstr(first.substr(first.size() / 2, 10'000)));
}

}  // namespace
}  // namespace quern::io::testing::file_log_test
