// SPDX-License-Identifier: Apache-2.0
// The memory of units is used again: never while a unit still needs it, and documents do not refer to it. Under the address
// sanitizer a use after that is found even where the bytes happen to be the same.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/reading.hpp"

namespace quern::io::testing::unit_buffers_test {
namespace {

constexpr std::uint64_t unit_bytes = std::uint64_t{1} << 20;  // smaller buffers are not used again

std::string text_of(int number) {
    // Every 40th text is larger than a unit.
    const std::size_t letters =
        number % 40 == 39 ? 1'500'000 : 3000 + static_cast<std::size_t>(number) % 7 * 500;
    std::string text;
    for (std::size_t i = 0; i < letters; ++i)
        text += static_cast<char>('a' + (i + static_cast<std::size_t>(number)) % 26);
    return text + std::to_string(number);
}

constexpr int documents = 700;

std::string json_lines() {
    std::string bytes;
    for (int i = 0; i < documents; ++i)
        bytes += R"({"id":")" + std::to_string(i) + R"(","text":")" + text_of(i) + "\"}\n";
    return bytes;
}

std::string web_archive() {
    std::string bytes;
    for (int i = 0; i < documents; ++i) {
        const std::string block = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + text_of(i);
        bytes += "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/" + std::to_string(i) +
                 "\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: " +
                 std::to_string(block.size()) + "\r\n\r\n" + block + "\r\n\r\n";
    }
    return bytes;
}

void expect_texts(const std::vector<document>& found) {
    ASSERT_EQ(found.size(), std::size_t{documents});
    for (int i = 0; i < documents; ++i)
        ASSERT_TRUE(found[static_cast<std::size_t>(i)].text == text_of(i)) << "document " << i;
}

void append(std::vector<document>& to, parsed_unit unit) {
    for (document& each : unit.documents) to.push_back(std::move(each));
}

class unit_buffers : public ::testing::TestWithParam<corpus_form> {
  protected:
    std::unique_ptr<corpus_reader> open() {
        corpus_options options;
        options.form = GetParam();
        options.unit_bytes = unit_bytes;
        return open_corpus({path_}, options, context{});
    }

  private:
    temporary_folder folder_;
    std::filesystem::path path_ =
        folder_.write("input", GetParam() == corpus_form::jsonl ? json_lines() : web_archive());
};

TEST_P(unit_buffers, documents_outlive_their_units) {
    const auto reader = open();
    std::vector<document> found;
    while (const auto unit = reader->next()) append(found, unit->parse());
    expect_texts(found);
}

TEST_P(unit_buffers, units_outlive_their_reader_and_each_other) {
    auto reader = open();
    std::vector<std::unique_ptr<corpus_unit>> units;
    while (auto unit = reader->next()) units.push_back(std::move(unit));
    ASSERT_GT(units.size(), 4U);
    reader.reset();
    std::vector<std::vector<document>> parts(units.size());
    for (std::size_t i = units.size(); i-- != 0;) {
        append(parts[i], units[i]->parse());
        units[i].reset();
    }
    std::vector<document> found;
    for (auto& part : parts)
        for (document& each : part) found.push_back(std::move(each));
    expect_texts(found);
}

TEST_P(unit_buffers, some_units_wait_while_others_are_read) {
    const auto reader = open();
    std::vector<std::unique_ptr<corpus_unit>> units;
    std::vector<document> found;
    const auto parse_all = [&] {
        for (const auto& unit : units) append(found, unit->parse());
        units.clear();
    };
    while (auto unit = reader->next()) {
        units.push_back(std::move(unit));
        if (units.size() == 3) parse_all();
    }
    parse_all();
    expect_texts(found);
}

INSTANTIATE_TEST_SUITE_P(forms, unit_buffers, ::testing::Values(corpus_form::jsonl, corpus_form::warc),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace quern::io::testing::unit_buffers_test
