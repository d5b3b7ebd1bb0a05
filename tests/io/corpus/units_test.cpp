// SPDX-License-Identifier: Apache-2.0
// Properties of every form: the same bytes give the same documents for any unit size, and no bytes make a reader fail.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <random>

#include "io/corpus/reading.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::units_test {
namespace {

constexpr corpus_form record_forms[] = {
    corpus_form::jsonl, corpus_form::tsv,        corpus_form::trec,           corpus_form::wikiextractor,
    corpus_form::lines, corpus_form::text_lines, corpus_form::text_paragraphs};

void expect_same_in_any_units(const std::string& bytes, corpus_form form, std::uint64_t limit) {
    const temporary_folder folder;
    const auto path = folder.write("input", bytes);
    corpus_options options;
    options.form = form;
    options.max_document_bytes = limit;
    std::string first;
    for (const std::uint64_t unit : {4 << 20, 1, 7, 64, 4096}) {
        options.unit_bytes = unit;
        const std::string now = shown(read_all({path}, options));
        if (first.empty()) first = now;
        ASSERT_EQ(now, first) << name_of(form) << " in units of " << unit << ", limit " << limit << ", of "
                              << bytes;
    }
}

/// Parts of the forms, and parts that break them, in random order.
std::string jumble(std::mt19937_64& random, std::size_t pieces) {
    static const std::string parts[] = {"{\"id\":\"a\",\"text\":\"b\"}\n",
                                        "{\"id\":1,\"text\":\"\\ud800\",\"links\":[1,\"x\"]}\n",
                                        "{\"id\":",
                                        "}\n",
                                        "\n",
                                        "\n\n",
                                        "\r\n",
                                        "\r",
                                        "word\n",
                                        "id\ttext\n",
                                        "\t",
                                        "\"",
                                        "a,\"b\n",
                                        ",",
                                        "<DOC>\n",
                                        "<DOCNO>",
                                        "1</DOCNO>\n",
                                        "</DOC>\n",
                                        "</doc>",
                                        "\n</doc>\n",
                                        "\n</doc>\r\n",
                                        "<doc id=\"1\" url=\"u\" title=\"T\">\n",
                                        "<doc id=\"2\" title=\"",
                                        "\">\nT\n",
                                        "<REUTERS NEWID=\"1\">",
                                        "</REUTERS>",
                                        "<TITLE>",
                                        "</TITLE>",
                                        "<a href=\"x%20y\">",
                                        "</a>",
                                        "&lt;",
                                        "&#1;",
                                        "&",
                                        "<",
                                        ">",
                                        "\xEF\xBB\xBF",
                                        "\xFF",
                                        "\xC3",
                                        "\xC3\xA9",
                                        std::string(1, '\0'),
                                        " ",
                                        "<DOCHDR>",
                                        "</DOCHDR>",
                                        "<p>",
                                        "text",
                                        std::string(70, 'x')};
    std::string out;
    for (std::size_t i = 0; i < pieces; ++i) out += parts[random() % std::size(parts)];
    return out;
}

TEST(corpus_units, documents_do_not_depend_on_the_unit_size) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 150; ++round) {
        const std::string bytes = jumble(random, 1 + random() % 60);
        for (const corpus_form form : record_forms) {
            expect_same_in_any_units(bytes, form, 1 << 30);
            expect_same_in_any_units(bytes, form, 50);
        }
        expect_same_in_any_units("text,id\n" + bytes, corpus_form::csv, 1 << 30);
        expect_same_in_any_units("text,id\nx,y\n" + bytes, corpus_form::csv, 50);
        expect_same_in_any_units("text\tid\n" + bytes, corpus_form::tsv, 50);
    }
}

RC_GTEST_PROP(corpus_units, any_bytes_are_read_to_their_end, (const std::string& bytes)) {
    for (const corpus_form form : record_forms) {
        try {
            const auto all = read_bytes(bytes, form);
            RC_ASSERT(all.counts.documents == all.documents.size());
            for (const auto& each : all.documents) RC_ASSERT(!each.id.empty());
        } catch (const invalid_input& refused) {
            RC_ASSERT(refused.reason().find("CR alone") != std::string::npos);
        }
    }
}

TEST(corpus_units, folders_do_not_depend_on_the_unit_size) {
    std::mt19937_64 random(11);
    const temporary_folder folder;
    const char* extensions[] = {".txt", ".md", ".html", ".py", "", ".jsonl", ".tsv", ".bin"};
    for (int i = 0; i < 60; ++i) {
        folder.write(std::to_string(random() % 5) + "/" + std::to_string(i) + extensions[i % 8],
                     jumble(random, random() % 40));
    }
    std::string first;
    for (const std::uint64_t unit : {4 << 20, 1, 7, 64, 4096}) {
        corpus_options options;
        options.unit_bytes = unit;
        const std::string now = shown(read_all({folder.path()}, options));
        if (first.empty()) first = now;
        ASSERT_EQ(now, first) << unit;
    }
    EXPECT_FALSE(first.empty());
}

}  // namespace
}  // namespace quern::io::testing::units_test
