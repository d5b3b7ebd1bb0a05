// SPDX-License-Identifier: Apache-2.0
// Plain text with a document on each line, or between empty lines: every task makes of it what it makes of the same
// documents as JSON lines, for any threads and memory.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "corpus_fixture.hpp"
#include "quern/quern.hpp"
#include "temporary_folder.hpp"

namespace quern::text_lines_test {
namespace {

namespace fs = std::filesystem;
using testing::files_of;
using testing::temporary_folder;
using testing::write_file;

/// A corpus in two forms. Lines that have no words, and ends of lines of both kinds, are in it.
struct two_forms {
    std::string plain, json;
    std::vector<std::string> records;  ///< of the documents, in the plain form

    void add(const std::string& text, std::size_t line, const std::string& record) {
        records.push_back(record);
        json += nlohmann::json{{"id", "plain:" + std::to_string(line)}, {"text", text}}.dump() + '\n';
    }
};

const std::vector<std::string> words = {"corn", "salt", "bread", "Über", "東京",
                                        "\"",   "\\",   "\t",    "1.5",  "mill"};

std::string random_text(const std::vector<unsigned>& numbers) {
    std::string text = "the";
    for (const unsigned n : numbers) text += ' ' + words[n % words.size()];
    return text;
}

two_forms as_lines(const std::vector<std::vector<unsigned>>& documents) {
    two_forms made;
    std::size_t line = 0;
    for (const std::vector<unsigned>& d : documents) {
        const unsigned first = d.empty() ? 0 : d.front();
        const std::string end = first % 5 == 0 ? "\r\n" : "\n";
        ++line;
        if (d.empty()) {
            made.plain += line % 2 == 0 ? " \t" + end : end;
            continue;
        }
        const std::string text = random_text(d);
        made.add(text, line, text + end);
        made.plain += made.records.back();
    }
    return made;
}

/// Line ends as they are, so that what is kept is compared byte for byte.
two_forms as_paragraphs(const std::vector<std::vector<unsigned>>& documents) {
    two_forms made;
    std::size_t line = 1;
    for (const std::vector<unsigned>& d : documents) {
        if (d.empty()) {
            made.plain += '\n';
            ++line;
            continue;
        }
        const std::string text = random_text(d) + '\n' + random_text({d.front()});
        made.add(text, line, text + "\n\n");
        made.plain += made.records.back();
        line += 3;
    }
    return made;
}

struct outcome {
    std::vector<duplicate_pair> pairs;
    std::vector<std::string> ids;
    std::string ngrams;
    bool operator==(const outcome&) const = default;
};

outcome outcome_of(corpus_input input, const context& ctx, std::string& kept) {
    outcome made;
    dedup_options options;
    static_cast<corpus_input&>(options) = input;
    options.keep_records = true;
    options.duplicates.threshold = {1, 5};
    const dedup_result found = dedup(options, ctx);
    made.pairs.assign(found.pairs().begin(), found.pairs().end());
    for (std::uint32_t i = 0; i < found.documents(); ++i) made.ids.emplace_back(found.id(i));
    found.write_kept([&](std::string_view piece) { kept += piece; });
    ngrams_options counted;
    static_cast<corpus_input&>(counted) = std::move(input);
    ngrams_as_text(counted, row_format::tsv, ctx, [&](std::string_view piece) { made.ngrams += piece; });
    return made;
}

void expect_same(const two_forms& corpus, const std::string& form, bool cuts_last_end) {
    if (corpus.records.empty()) return;  // refused in both forms
    const temporary_folder folder;
    std::string plain = corpus.plain;
    cuts_last_end = cuts_last_end && plain.ends_with(corpus.records.back());
    if (cuts_last_end) plain.erase(plain.find_last_not_of("\r\n") + 1);
    write_file(folder / "plain", plain);
    write_file(folder / "json", corpus.json);
    context ctx = context::cpu(*rc::gen::element(1U, 2U, 5U));
    ctx.memory_bytes = *rc::gen::element(std::uint64_t{4} << 20, std::uint64_t{64} << 20);
    ctx.scratch = folder.path();
    corpus_input as_plain, as_json;
    as_plain.inputs = {folder / "plain"};
    as_plain.input_format = form;
    as_json.inputs = {folder / "json"};
    std::string kept, lines;
    const outcome of_json = outcome_of(as_json, ctx, lines);
    RC_ASSERT(outcome_of(as_plain, ctx, kept) == of_json);
    std::string expected;
    for (std::size_t i = 0; i < corpus.records.size(); ++i) {
        if (lines.find('"' + of_json.ids[i] + '"') == std::string::npos) continue;
        expected += corpus.records[i];
        // The last line of a file gets the end that it lacks.
        if (cuts_last_end && i + 1 == corpus.records.size() && expected.ends_with("\r\n"))
            expected.replace(expected.size() - 2, 2, "\n");
    }
    RC_ASSERT(kept == expected);
}

RC_GTEST_PROP(text_lines, are_the_same_documents_as_json_lines,
              (const std::vector<std::vector<unsigned>>& documents, bool cuts_last_end)) {
    expect_same(as_lines(documents), "text-lines", cuts_last_end);
}

RC_GTEST_PROP(text_paragraphs, are_the_same_documents_as_json_lines,
              (const std::vector<std::vector<unsigned>>& documents, bool cuts_last_end)) {
    expect_same(as_paragraphs(documents), "text-paragraphs", cuts_last_end);
}

/// Larger than a unit, so that several threads read one file.
TEST(text_lines, make_the_same_store_as_json_lines) {
    testing::made_numbers random(3);
    std::vector<std::vector<unsigned>> documents(20'000);
    for (std::vector<unsigned>& d : documents) {
        d.resize(random(30));
        for (unsigned& n : d) n = static_cast<unsigned>(random(words.size()));
    }
    const two_forms corpus = as_lines(documents);
    const temporary_folder folder;
    write_file(folder / "plain", corpus.plain);
    write_file(folder / "json", corpus.json);
    const auto built = [&](const std::string& file, const std::string& form, unsigned threads) {
        build_options options;
        options.inputs = {folder / file};
        options.input_format = form;
        options.store = folder / "store";
        options.skip = all_build_stages;
        context ctx = context::cpu(threads);
        ctx.memory_bytes = 8 << 20;
        ctx.scratch = folder.path();
        const build_result made = build(options, ctx);
        EXPECT_EQ(made.counts.documents, corpus.records.size());
        const std::uint64_t empty =
            made.counts.skipped.contains("empty line") ? made.counts.skipped.at("empty line") : 0;
        EXPECT_EQ(empty, form.empty() ? 0 : documents.size() - corpus.records.size());
        auto files = files_of(options.store);
        fs::remove_all(options.store);
        return files;
    };
    const auto expected = built("json", "", 2);
    EXPECT_EQ(built("plain", "text-lines", 1), expected);
    EXPECT_EQ(built("plain", "text-lines", 5), expected);
}

}  // namespace
}  // namespace quern::text_lines_test
