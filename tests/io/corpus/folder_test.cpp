// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "io/compression/packers.hpp"
#include "io/corpus/reading.hpp"
#include "no_more_files.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::folder_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(folder, orders_files_by_relative_path_in_bytes) {
    const temporary_folder folder;
    for (const char* name :
         {"b.txt", "a/z.txt", "a.txt", "a-b.txt", "a/b/c.md", "A.py", "\u00e9.txt", "README"}) {
        folder.write(name, "text");
    }
    for (const std::uint64_t unit : {1, 7, 1000}) {
        corpus_options options;
        options.unit_bytes = unit;
        const auto all = read_all({folder.path()}, options);
        EXPECT_THAT(ids(all), ElementsAre("A.py", "README", "a-b.txt", "a.txt", "a/b/c.md", "a/z.txt",
                                          "b.txt", "é.txt"));
    }
}

TEST(folder, files_are_read_within_the_run_s_limits) {
    const temporary_folder folder;
    folder.write("a.txt.zst", test::pack_zstd_long(test::words(100'000, 1), 27));
    corpus_options options;
    context ctx;
    ctx.memory_bytes = 64 << 20;
    const std::vector<fs::path> whole{folder.path()}, one{folder.path() / "a.txt.zst"};
    for (const auto& inputs : {whole, one}) {
        options.form = corpus_form::folder;
        const parsed_unit read = read_all(*open_corpus(inputs, options, ctx));
        EXPECT_EQ(read.counts.rejected, 1U);
        EXPECT_THAT(read.issues[0].reason, HasSubstr("the zstd window of"));
    }
    // The stop flag also stops units that are already cut.
    std::atomic<int> signal = 0;
    ctx = {};
    ctx.stop_signal = &signal;
    for (const auto& inputs : {whole, one}) {
        const auto unit = open_corpus(inputs, options, ctx)->next();
        ASSERT_NE(unit, nullptr);
        signal = 2;
        EXPECT_THROW(unit->parse(), interrupted);
        signal = 0;
    }
}

TEST(folder, where_no_file_can_be_opened_the_run_fails_and_no_file_is_rejected) {
    const temporary_folder folder;
    folder.write("a.txt", "text");
    folder.write("b/c.jsonl", "{\"id\":\"1\",\"text\":\"a document\"}\n");
    const auto corpus = open_corpus({folder.path()}, {}, context{});
    const auto unit = corpus->next();
    ASSERT_NE(unit, nullptr);
    const quern::testing::no_more_files limit;
    EXPECT_THROW(unit->parse(), io_error);
    const auto again = [&] { return open_corpus({folder.path()}, {}, context{})->next(); };
    EXPECT_THROW(again(), io_error);
}

TEST(folder, a_document_that_needs_more_memory_than_there_is_is_put_off_and_then_rejected) {
    const temporary_folder folder;
    folder.write("a.txt", "first");
    const auto large = folder.write("b.txt", std::string(300'000, 'x'));
    folder.write("c.txt.gz", test::pack_gzip(std::string(300'000, 'y')));
    std::string tags;
    for (int i = 0; i < 20'000; ++i) tags += "<p>a";
    folder.write("d.html", tags);
    folder.write("e.txt", "last");
    const auto unit = open_corpus({folder.path()}, {}, {})->next();
    parsed_unit out;
    for (int put_off = 0; put_off < 3; ++put_off) EXPECT_FALSE(unit->parse_within({100'000, false}, out));
    EXPECT_THAT(ids(out), ElementsAre("a.txt"));
    EXPECT_TRUE(unit->parse_within({1'000'000, true}, out));
    EXPECT_THAT(ids(out), ElementsAre("a.txt", "e.txt"));
    EXPECT_EQ(out.counts.documents, 2U);
    EXPECT_EQ(out.counts.rejected, 3U);
    EXPECT_THAT(issues(out),
                ElementsAre(HasSubstr("larger than the 250000 bytes"), HasSubstr("larger than the"),
                            HasSubstr("the elements of the page needs")));
    EXPECT_EQ(out.issues[0].path, large.native());
    const auto all = read_all({folder.path()});
    EXPECT_EQ(all.documents.size(), 5U);
}

TEST(folder, what_is_put_off_keeps_what_the_walk_noted) {
    const temporary_folder folder;
    folder.write(".hidden", "x");
    folder.write("a.txt", std::string(300'000, 'x'));
    const auto unit = open_corpus({folder.path()}, {}, {})->next();
    parsed_unit out;
    EXPECT_FALSE(unit->parse_within({100'000, false}, out));
    EXPECT_TRUE(unit->parse_within({}, out));
    EXPECT_THAT(ids(out), ElementsAre("a.txt"));
    EXPECT_THAT(out.counts.skipped, ElementsAre(Pair("hidden file", 1)));
}

TEST(folder, a_file_of_a_terabyte_without_bytes_costs_nothing) {
    const temporary_folder folder;
    const auto sparse = folder.write("a.txt", "text");
    folder.write("b.txt", "text");
    fs::resize_file(sparse, std::uintmax_t{1} << 40);
    corpus_options options;
    options.max_document_bytes = 256 << 20;
    options.document_memory = 4 << 20;
    const auto all = read_all({folder.path()}, options);
    EXPECT_THAT(ids(all), ElementsAre("b.txt"));
    EXPECT_EQ(all.counts.rejected + all.counts.skipped.at("file: .txt (binary)"), 1U);
}

TEST(folder, files_of_bytes_are_documents_as_they_are) {
    using namespace std::string_literals;
    const temporary_folder folder;
    const std::string zeros = "a\0b\xFF\r\n\xEF\xBB\xBF"s, packed = test::pack_gzip("text");
    folder.write("a.png", zeros);
    folder.write("b.txt.gz", packed);
    folder.write("c.jsonl", "{\"id\":\"1\",\"text\":\"a document\"}\n");
    folder.write("d/empty", "");
    folder.write("e.html", "<html><title>T</title>text</html>");
    folder.write("utf16.txt",
                 "\xFF\xFE"
                 "a\0"s);
    folder.write(".hidden", "x");
    folder.write("large", std::string(1 << 20, 'x'));
    for (const std::uint64_t unit : {1, 1000, 4 << 20}) {
        corpus_options options;
        options.form = corpus_form::binary;
        options.unit_bytes = unit;
        options.max_document_bytes = (1 << 20) - 1;
        const auto all = read_all({folder.path()}, options);
        EXPECT_THAT(ids(all), ElementsAre("a.png", "b.txt.gz", "c.jsonl", "d/empty", "e.html", "utf16.txt"));
        ASSERT_EQ(all.documents.size(), 6U);
        EXPECT_EQ(all.documents[0].text, zeros);
        EXPECT_EQ(all.documents[1].text, packed);
        EXPECT_EQ(all.documents[3].text, "");
        EXPECT_EQ(all.documents[4].text, "<html><title>T</title>text</html>");
        EXPECT_EQ(all.documents[5].text,
                  "\xFF\xFE"
                  "a\0"s);
        EXPECT_EQ(all.documents[3].path, (folder.path() / "d/empty").native());
        EXPECT_THAT(issues(all), ElementsAre("0: larger than the limit of 1048575 bytes a document"));
        EXPECT_EQ(all.issues[0].path, (folder.path() / "large").native());
        EXPECT_THAT(all.counts.skipped, ElementsAre(Pair("hidden file", 1)));
        options.max_document_bytes = 1 << 20;
        EXPECT_EQ(read_all({folder.path()}, options).documents.size(), 7U);
    }
}

TEST(folder, a_file_or_a_pipe_of_bytes_is_one_document) {
    const temporary_folder folder;
    const std::string bytes = test::pack_gzip(std::string(200'000, '\0')) + std::string(300'000, '\1');
    corpus_options options;
    options.form = corpus_form::binary;
    auto all = read_all({folder.write("deep/a.bin", bytes), folder.write("empty", "")}, options);
    EXPECT_THAT(ids(all), ElementsAre("a.bin", "empty"));
    EXPECT_EQ(all.documents[0].text, bytes);
    EXPECT_EQ(all.documents[1].text, "");
    const auto pipe = folder.path() / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const std::uint64_t limit : {bytes.size() - 1, bytes.size()}) {
        std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
        options.max_document_bytes = limit;
        all = read_all({pipe}, options);
        writer.join();
        ASSERT_EQ(all.documents.size(), limit == bytes.size() ? 1U : 0U);
        if (!all.documents.empty()) {
            EXPECT_EQ(all.documents[0].text, bytes);
        }
    }
}

TEST(folder, a_file_of_bytes_that_needs_more_memory_than_there_is_is_put_off_and_then_rejected) {
    const temporary_folder folder;
    folder.write("a", std::string(300'000, '\0'));
    folder.write("b", std::string(500'001, '\0'));
    corpus_options options;
    options.form = corpus_form::binary;
    const auto unit = open_corpus({folder.path()}, options, {})->next();
    parsed_unit out;
    EXPECT_FALSE(unit->parse_within({100'000, false}, out));
    EXPECT_TRUE(unit->parse_within({1'000'000, true}, out));
    EXPECT_THAT(ids(out), ElementsAre("a"));
    EXPECT_THAT(issues(out),
                ElementsAre("0: larger than the 500000 bytes a document that the memory allows"));
}

TEST(folder, counts_what_it_leaves_out) {
    const temporary_folder folder;
    folder.write(".hidden.txt", "x");
    folder.write(".git/config", "x");
    folder.write("zero.txt", std::string("ab\0cd", 5));
    folder.write("controls.md", "a\x01 \x02");
    folder.write("image.png", "\x89PNG\r\n\x1A\n\0\0\0");
    folder.write("table.csv", "a,b\n");
    folder.write("kept.txt", "kept");
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("kept.txt"));
    EXPECT_THAT(all.issues, IsEmpty());
    EXPECT_THAT(all.counts.skipped, ElementsAre(Pair("file: .csv", 1), Pair("file: .md (binary)", 1),
                                                Pair("file: .png", 1), Pair("file: .txt (binary)", 1),
                                                Pair("hidden file", 1), Pair("hidden folder", 1)));
}

TEST(folder, reads_every_file_once_through_links) {
    const temporary_folder outside;
    outside.write("far.txt", "far");
    outside.write("deep/further.txt", "further");
    const temporary_folder folder;
    folder.write("a/real.txt", "real");
    fs::create_symlink("../..", folder.path() / "a/loop");
    fs::create_symlink(folder.path(), folder.path() / "a/self");
    fs::create_symlink("real.txt", folder.path() / "a/again.txt");
    fs::create_symlink(outside.path() / "far.txt", folder.path() / "first.txt");
    fs::create_symlink(outside.path() / "far.txt", folder.path() / "second.txt");
    fs::create_symlink(outside.path() / "deep", folder.path() / "deep");
    fs::create_symlink(folder.path(), outside.path() / "deep/back");
    fs::create_symlink("..", outside.path() / "deep/up");
    fs::create_symlink("nowhere", folder.path() / "broken.txt");
    fs::create_symlink("itself", folder.path() / "itself");
    fs::create_symlink("a/real.txt/below", folder.path() / "below");
    corpus_options options;
    options.follow_links = true;
    const auto all = read_all({folder.path()}, options);
    EXPECT_THAT(ids(all), ElementsAre("a/real.txt", "deep/further.txt", "deep/up/far.txt", "first.txt"));
    EXPECT_THAT(issues(all), IsEmpty());
    EXPECT_EQ(all.counts.skipped.at("link that leads nowhere"), 3u);

    const auto inside = read_all({folder.path()});
    EXPECT_THAT(ids(inside), ElementsAre("a/real.txt"));
    EXPECT_THAT(issues(inside), IsEmpty());
    EXPECT_EQ(inside.counts.skipped.at("link that leads out of the folder"), 3u);
    EXPECT_EQ(inside.counts.skipped.at("link inside the folder"), 3u);
    EXPECT_EQ(inside.counts.skipped.at("link that leads nowhere"), 3u);
    // An input named by the user is read under any name.
    fs::create_symlink(folder.path() / "a", outside.path() / "named");
    EXPECT_THAT(ids(read_all({outside.path() / "named"})), ElementsAre("real.txt"));
}

TEST(folder, an_unreadable_file_is_an_issue) {
    const temporary_folder folder;
    const auto locked = folder.write("locked.txt", "x");
    folder.write("open.txt", "x");
    chmod(locked.c_str(), 0);
    if (geteuid() == 0) {
        // The superuser can read everything; a file that disappears while the folder is read fails for everyone.
        const auto reader = open_corpus({folder.path()}, {}, context{});
        const auto unit = reader->next();
        fs::remove(locked);
        const auto part = unit->parse();
        EXPECT_THAT(ids(part), ElementsAre("open.txt"));
        EXPECT_EQ(part.counts.rejected, 1u);
        return;
    }
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("open.txt"));
    EXPECT_EQ(all.counts.rejected, 1u);
    EXPECT_EQ(all.issues[0].path, locked.native());
}

TEST(folder, titles_are_the_first_heading_or_the_file_name) {
    const temporary_folder folder;
    folder.write("a.md", "text\n```\n# not this\n```\n## The title ##\n# later\n");
    folder.write("b.md", "Underlined\n===\n");
    folder.write("c.md", "no heading\n");
    folder.write("d/e.txt", "# not a heading here\n");
    const auto all = read_all({folder.path()});
    ASSERT_EQ(all.documents.size(), 4u);
    EXPECT_EQ(all.documents[0].title, "The title");
    EXPECT_EQ(all.documents[1].title, "Underlined");
    EXPECT_EQ(all.documents[2].title, "c.md");
    EXPECT_EQ(all.documents[3].title, "e.txt");
}

TEST(folder, front_matter_has_fields) {
    const struct {
        std::string_view bytes, fields;
    } cases[] = {
        {"---\ntitle: Jam\nprice: 1.50\ndate: 2024-05-01\ntags: [sweet, \"red, dark\"]\ndraft: "
         "false\n---\nx\n",
         R"({"price":1.50,"date":"2024-05-01","tags":["sweet","red, dark"],"draft":false})"},
        {"---\r\nyear: \"2024\"\r\nlang: de # German\r\nold: ~\r\nn: 007\r\nbig: -1e3\r\n---\r\nx",
         R"({"year":"2024","lang":"de","n":"007","big":-1e3})"},
        {"---\ntags:\n- a\n- 'b: c'\n- 3\nlist:\n  - x\n\n  - y\nmeta:\n  inner: 1\nlast: z\n---\nx",
         R"({"tags":["a","b: c",3],"list":["x","y"],"last":"z"})"},
        {"---\nabout: >\n  two\n  lines\nparts: [a,\n  b]\nnested: [[1], 2]\nmap: {a: 1}\nopen:\nx: \"say "
         "\\\"hi\\\"\"\n---\n",
         R"({"about":"two lines","parts":["a","b"],"x":"say \"hi\""})"},
        {"+++\nprice = 3\ntags = [\"a\", \"b\"]\ndate = 2024-05-01T12:00:00Z\n[extra]\nprice = 9\n+++\nx",
         R"({"price":3,"tags":["a","b"],"date":"2024-05-01T12:00:00Z"})"},
        {"# No front matter\n", ""},
        {"---\ntitle: only\n---\n", ""},
    };
    for (const auto& each : cases) {
        const temporary_folder folder;
        folder.write("x.md", each.bytes);
        corpus_options all, none;
        all.fields.kept = {"*"};
        ASSERT_EQ(read_all({folder.path()}, all).documents.at(0).fields, each.fields) << each.bytes;
        ASSERT_EQ(read_all({folder.path()}, none).documents.at(0).fields, "");
    }
    const temporary_folder folder;
    folder.write("x.md", cases[0].bytes);
    corpus_options some;
    some.fields.kept = {"date", "none"};
    const auto read = read_all({folder.path()}, some);
    EXPECT_EQ(read.documents.at(0).fields, R"({"date":"2024-05-01"})");
}

TEST(folder, front_matter_is_no_text_and_gives_the_title) {
    const struct {
        std::string_view bytes, title, text;
    } cases[] = {
        {"---\ntitle: Making jam\ntags: [a, b]\n---\n# Jam\n", "Making jam", "Jam"},
        {"---\r\nTitle: \"A \\\"quoted\\\" one\" # remark\r\n---\r\ntext\r\n", "A \"quoted\" one", "text"},
        {"---\ntitle: 'it''s here'\nlist:\n- a\n- b\nmore:\n  title: inner\n...\ntext\n", "it's here",
         "text"},
        {"---\ntitle: C # of the page\n---\n", "C", ""},
        {"---\ntitle: >-\n  folded\n  lines\nlayout: page\n---\nx\n", "folded lines", "x"},
        {"---\nlayout: page\ntags: [a,\nb]\n---\n\n# The heading\n", "The heading", "The heading"},
        {"+++\ntitle = \"Of TOML\"\n[extra]\ntitle = \"inner\"\n+++\ntext\n", "Of TOML", "text"},
        // Horizontal rules, and marks without an end: what precedes "---" is a heading.
        {"---\n\nA paragraph of prose.\n\n---\n# After\n", "After", "A paragraph of prose.\n\nAfter"},
        {"---\ntitle: X\nNo line of YAML.\n---\n", "title: X No line of YAML.", "title: X No line of YAML."},
        {"---\ntitle: X\n", "x.md", "title: X"},
        {"---\n---\n# H\n", "H", "H"},
        {"text\n---\ntitle: X\n---\n", "text", "text\n\ntitle: X"},
        {"---", "x.md", ""},
    };
    for (const auto& each : cases) {
        const temporary_folder folder;
        folder.write("x.md", each.bytes);
        const auto all = read_all({folder.path()});
        ASSERT_EQ(all.documents.size(), 1u) << each.bytes;
        EXPECT_EQ(all.documents[0].title, each.title) << each.bytes;
        EXPECT_EQ(all.documents[0].text, each.text) << each.bytes;
    }
}

TEST(folder, decodes_what_is_not_utf8) {
    using namespace std::string_literals;
    const temporary_folder folder;
    folder.write("a.txt", "caf\xE9 \x93quoted\x94");
    folder.write("b.txt",
                 "\xFF\xFE"
                 "h\0\xE9\0\x3D\xD8\x00\xDE"s);
    folder.write("c.txt",
                 "\xFE\xFF"
                 "\0h\xD8\x3D"s);
    folder.write("d.txt", "\xFF\xFE\0\0h\0\0\0\x00\xF6\x01\0"s);
    folder.write("e.txt", "\xEF\xBB\xBFh");
    const auto all = read_all({folder.path()});
    ASSERT_EQ(all.documents.size(), 5u);
    EXPECT_EQ(all.documents[0].text, "café “quoted”");
    EXPECT_EQ(all.documents[1].text, "hé😀");
    EXPECT_EQ(all.documents[2].text, "h\uFFFD");
    EXPECT_EQ(all.documents[3].text, "h😀");
    EXPECT_EQ(all.documents[4].text, "h");
    EXPECT_THAT(issues(all), ElementsAre("mended 0: not UTF-8: read as Windows-1252",
                                         "mended 0: 1 ill-formed UTF-16 or UTF-32 units replaced"));
}

TEST(folder, reads_files_that_hold_collections_by_their_form) {
    const temporary_folder folder;
    folder.write("AA/part.jsonl", "{\"id\":\"j1\",\"text\":\"\"}\n{\"id\":\"j2\",\"text\":\"\"}\n");
    folder.write("AA/part.tsv", "t1\tx\nt2\ty\n");
    folder.write("AA/note.txt", "plain\n");
    folder.write("config.py", "{\"id\":\"code\"}\n");
    for (const std::uint64_t unit : {1, 1000}) {
        corpus_options options;
        options.unit_bytes = unit;
        EXPECT_THAT(ids(read_all({folder.path()}, options)),
                    ElementsAre("AA/note.txt", "j1", "j2", "t1", "t2", "config.py"));
    }
}

TEST(folder, what_opens_like_a_collection_and_holds_none_is_what_its_name_says) {
    const temporary_folder folder;
    folder.write("package.json", "{\n  \"name\": \"x\",\n  \"text\": \"y\"\n}\n");
    folder.write("small.json", "{\"version\": 3}\n");
    folder.write("events.jsonl", "{\"event\": 1}\n{\"event\": 2}\n");
    folder.write("fire.xyz", "{ A program in Pascal }\nbegin end.\n");
    folder.write("a.txt", "{ in braces }\n{\"x\": 1}\n");
    folder.write("b.txt", "{\"id\":1, \"text\"\n");
    folder.write("c.txt", "<doc>\nTags of another kind.\n</doc>\n");
    folder.write("d.txt", "<doc id=\"1\"><p>A tree.</p></doc>\n");
    folder.write("e.txt", "<REUTERS>\nno number\n</REUTERS>\n");
    folder.write("notes", "{\"cells\": [\n1\n]}\n");
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "notes"));
    EXPECT_EQ(all.documents[0].text, "{ in braces }\n{\"x\": 1}\n");
    EXPECT_THAT(all.issues, IsEmpty());
    EXPECT_THAT(all.counts.skipped,
                ElementsAre(Pair("file: .json", 2), Pair("file: .jsonl", 1), Pair("file: .xyz", 1)));
}

TEST(folder, json_lines_are_detected_by_most_of_their_first_lines) {
    const temporary_folder folder;
    const std::string good = "{\"text\":\"x\",\"id\":\"good\"}\n";
    const std::string padded = "{\"text\":\"" + std::string(100'000, 'x') + "\",\"id\":";
    folder.write("a.json", "{\"id\":1, \"text\"\n\n" + good);
    folder.write("b.dat", padded + "\"long\"}\n");
    folder.write("c.dat", "{\"of\":{\"text\":\"" + std::string(100'000, 'x') + "\"}}\n");
    folder.write("d.dat", "{\"text\":\"\"} " + std::string(100'000, 'x') + "\n");
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("good", "long"));
    ASSERT_EQ(all.issues.size(), 1u);
    EXPECT_EQ(all.issues[0].path, (folder.path() / "a.json").native());
    EXPECT_EQ(all.issues[0].line, 1u);
    EXPECT_THAT(all.counts.skipped, ElementsAre(Pair("file: .dat", 2)));
}

TEST(folder, a_broken_first_line_loses_only_itself) {
    const temporary_folder folder;
    const std::string fragment = "xt\":\"the end of a line\"}\n", good = "{\"text\":\"x\",\"id\":\"good\"}\n";
    folder.write("a.jsonl", fragment + good);
    folder.write("b.txt", fragment + fragment + good);
    const auto all = read_all({folder.path()});
    EXPECT_THAT(ids(all), ElementsAre("good", "b.txt"));
    EXPECT_THAT(all.counts.skipped, IsEmpty());
    ASSERT_EQ(all.issues.size(), 1u);
    EXPECT_EQ(all.issues[0].path, (folder.path() / "a.jsonl").native());
    EXPECT_EQ(all.issues[0].line, 1u);
    // Named directly, a file is read by its name.
    folder.write("c.jsonl", "words\n");
    EXPECT_EQ(issues(read_all({folder.path() / "c.jsonl"})).size(), 1u);
}

TEST(folder, the_form_folder_takes_every_file_as_a_text) {
    const temporary_folder folder;
    folder.write("a.jsonl", "{\"id\":\"j\",\"text\":\"one\"}\n");
    folder.write("b.csv", "two,three\n");
    folder.write("c.xyz", "<html><title>Page</title><p>four");
    folder.write("d.bin", std::string("ab\0cd", 5));
    folder.write(".hidden", "x");
    corpus_options options;
    options.form = corpus_form::folder;
    const auto all = read_all({folder.path()}, options);
    EXPECT_THAT(ids(all), ElementsAre("a.jsonl", "b.csv", "c.xyz"));
    EXPECT_EQ(all.documents[1].text, "two,three\n");
    EXPECT_EQ(all.documents[2].title, "Page");
    EXPECT_THAT(all.counts.skipped, ElementsAre(Pair("file: .bin", 1), Pair("hidden file", 1)));
}

TEST(folder, a_named_form_reads_every_file) {
    const temporary_folder folder;
    folder.write("a", "x\n\ny\n");
    folder.write("b.dat", "z\n");
    folder.write(".hidden", "w\n");
    corpus_options options;
    options.form = corpus_form::lines;
    EXPECT_THAT(ids(read_all({folder.path()}, options)), ElementsAre("0", "1", "2"));
}

TEST(folder, a_form_of_plain_text_leaves_out_binary_files) {
    const temporary_folder folder;
    folder.write("a.txt", "x\n\ny\n");
    folder.write("b.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n", 17));
    folder.write("sub/c.dat", "z\n");
    for (const auto form : {corpus_form::text_lines, corpus_form::text_paragraphs, corpus_form::lines}) {
        corpus_options options;
        options.form = form;
        const auto all = read_all({folder.path()}, options);
        EXPECT_EQ(all.documents.size(), 3);
        EXPECT_EQ(all.counts.skipped.at("file: .png"), 1);
        EXPECT_THAT(issues(all), ElementsAre());
        // Named directly, it is read as it is.
        EXPECT_NE(read_all({folder.path() / "b.png"}, options).documents.size(), 0);
    }
}

TEST(folder, rejects_files_beyond_the_limit) {
    const temporary_folder folder;
    for (const auto* const name : {"a.txt", "b.md", "c.py", "d.rst", "e.tex"})
        folder.write(name, std::string(101, 'a'));
    folder.write("f.txt", std::string(100, 'b'));
    folder.write("g.html", std::string(101, 'c'));
    corpus_options options;
    options.max_document_bytes = 100;
    const auto all = read_all({folder.path()}, options);
    EXPECT_THAT(ids(all), ElementsAre("f.txt"));
    const auto too_large = ::testing::HasSubstr("larger than the limit of 100 bytes a document");
    const auto lines = ::testing::AllOf(too_large, ::testing::HasSubstr("--input-format text-lines"));
    EXPECT_THAT(
        issues(all),
        ElementsAre(lines, lines, lines, lines, lines,
                    ::testing::AllOf(too_large, ::testing::Not(::testing::HasSubstr("--input-format")))));
}

TEST(folder, one_file_is_a_folder_of_one) {
    const temporary_folder folder;
    const auto all = read_all({folder.write("sub/a.md", "# T\n"), folder.write("c.py", "{\n\"x\": 1}\n"),
                               folder.write("notes", "n")});
    EXPECT_THAT(ids(all), ElementsAre("a.md", "c.py", "notes"));
}

TEST(folder, an_empty_folder_holds_nothing) {
    const temporary_folder folder;
    EXPECT_THAT(shown(read_all({folder.path()})), "");
}

}  // namespace
}  // namespace quern::io::testing::folder_test
