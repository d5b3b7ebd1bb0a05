// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>

#include "io/compression/packers.hpp"
#include "io/corpus/reading.hpp"
#include "quern/base/excluded.hpp"
#include "test_folder.hpp"

namespace quern::io::testing::warc_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string record(const std::string& fields, const std::string& block) {
    return "WARC/1.0\r\n" + fields + "Content-Length: " + std::to_string(block.size()) + "\r\n\r\n" + block +
           "\r\n\r\n";
}

std::string response(const std::string& uri, const std::string& http) {
    return record("WARC-Type: response\r\nWARC-Target-URI: " + uri +
                      "\r\nWARC-Date: 2026-11-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
                      "Content-Type: application/http; msgtype=response\r\n",
                  http);
}

std::string page(const std::string& uri, const std::string& html) {
    return response(uri, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html);
}

std::string from_hex(std::string_view digits) {
    std::string out;
    for (std::size_t i = 0; i < digits.size(); i += 2)
        out += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    return out;
}

parsed_unit read(std::string_view bytes, const corpus_options& options = {}) {
    return read_bytes(bytes, std::nullopt, options);
}

std::string skipped(const parsed_unit& all) {
    return excluded_in_words(all.counts.skipped);
}

std::vector<std::string> texts(const parsed_unit& all) {
    std::vector<std::string> out;
    for (const auto& each : all.documents) out.push_back(each.text);
    return out;
}

TEST(warc, reads_pages_with_title_links_and_fields) {
    corpus_options options;
    options.fields.kept = {"*"};
    const auto all = read(
        record("WARC-Type: warcinfo\r\n", "software: x\r\n") +
            record("WARC-Type: request\r\nWARC-Target-URI: http://a.org/\r\n", "GET / HTTP/1.1\r\n\r\n") +
            page("http://A.org/dir/page?x=1",
                 "<title>A page</title><p>One <a href='../b#part'>b</a> <a href='//C.org:80/é'>c</a> "
                 "<a href='?y=2'>q</a> <a href='#here'>h</a> <a href='mailto:x@y'>m</a></p>"),
        options);
    ASSERT_THAT(ids(all), ElementsAre("http://A.org/dir/page?x=1"));
    const document& only = all.documents[0];
    EXPECT_EQ(only.title, "A page");
    EXPECT_EQ(only.text, "One b c q h m");
    EXPECT_EQ(only.line, 3u);
    EXPECT_THAT(only.links,
                ElementsAre("http://a.org/b", "http://c.org/%C3%A9", "http://a.org/dir/page?y=2"));
    EXPECT_EQ(only.fields,
              R"({"date":"2026-11-01T00:00:00Z","content_type":"text/html; charset=utf-8","status":200,)"
              R"("record_id":"<urn:uuid:1>"})");
    EXPECT_EQ(skipped(all), "2 records: 1 request, 1 warcinfo");
    EXPECT_THAT(all.issues, IsEmpty());
}

TEST(warc, keeps_only_the_fields_that_are_wanted) {
    EXPECT_EQ(read(page("http://a/", "x")).documents.at(0).fields, "");
    corpus_options options;
    options.fields.kept = {"status", "other"};
    EXPECT_EQ(read(page("http://a/", "x"), options).documents.at(0).fields, R"({"status":200})");
}

TEST(warc, reads_header_fields_in_any_case_and_folded) {
    const auto all = read(
        "WARC/0.18\nwarc-type: RESPONSE\nWARC-TARGET-URI:\n  <http://a/1>\ncontent-length: 54\n"
        "content-type: application/http\n\nHTTP/1.0 200\nCONTENT-TYPE: Text/Plain;\n x=y\n\nthe "
        "text\n\n\n\n");
    EXPECT_THAT(ids(all), ElementsAre("http://a/1"));
    EXPECT_THAT(texts(all), ElementsAre(HasSubstr("the text")));
    EXPECT_THAT(issues(all), IsEmpty());
}

TEST(warc, skips_by_rule_and_says_what) {
    const auto http = [](const std::string& head) { return "HTTP/1.1 " + head + "\r\n\r\nbody"; };
    const auto all =
        read(response("http://a/1", http("404 Not Found\r\nContent-Type: text/html")) +
             response("http://a/2", http("301\r\nLocation: /")) +
             response("http://a/3", http("200\r\nContent-Type: application/pdf")) +
             response("http://a/4", http("200\r\nContent-Type: image/x-rare")) +
             response("http://a/robots.txt", http("200\r\nContent-Type: text/plain")) +
             record("WARC-Type: response\r\nWARC-Target-URI: dns:a\r\nContent-Type: text/dns\r\n", "x") +
             record("WARC-Type: revisit\r\nWARC-Target-URI: http://a/5\r\n", "HTTP/1.1 200\r\n\r\n") +
             record("WARC-Type: metadata\r\n", "{}") + record("WARC-Type: strange\r\n", "") +
             response("http://a/x/robots.txt", http("200\r\nContent-Type: text/plain")));
    EXPECT_THAT(ids(all), ElementsAre("http://a/x/robots.txt"));
    EXPECT_EQ(skipped(all),
              "5 records: 1 DNS, 1 metadata, 1 of another type, 1 revisit, 1 robots.txt; "
              "2 responses of another status: 1 301, 1 404; "
              "2 responses of another type: 1 application/pdf, 1 other image");
}

TEST(warc, reads_wet_and_resources) {
    corpus_options options;
    options.fields.kept = {"language"};
    const auto all = read(
        record("WARC-Type: conversion\r\nWARC-Target-URI: http://a/\r\nContent-Type: text/plain\r\n"
               "WARC-Identified-Content-Language: deu,eng\r\n",
               "Erste Zeile\nzweite") +
            record("WARC-Type: resource\r\nWARC-Target-URI: file:///x\r\nContent-Type: text/html\r\n",
                   "<p>a resource <a href='y'>y</a>") +
            record("WARC-Type: resource\r\nWARC-Target-URI: urn:z\r\nContent-Type: image/png\r\n", "\x89PNG"),
        options);
    EXPECT_THAT(texts(all), ElementsAre("Erste Zeile\nzweite", "a resource y"));
    EXPECT_EQ(all.documents[0].fields, R"({"language":"deu,eng"})");
    EXPECT_THAT(all.documents[1].links, IsEmpty());
}

TEST(warc, numbers_later_captures_of_a_page) {
    const auto all = read(page("http://a/", "1") + page("http://a/#2", "literal") + page("http://a/", "2") +
                          page("http://a/", "3"));
    EXPECT_THAT(ids(all), ElementsAre("http://a/", "http://a/#2", "http://a/#3", "http://a/#4"));
    EXPECT_THAT(texts(all), ElementsAre("1", "literal", "2", "3"));
}

TEST(warc, undoes_chunks_and_compression) {
    const std::string text = "<p>a text of some length, a text of some length</p>";
    const std::string packed = from_hex(  // by brotli(1)
        "1b3200f8c529471a418b3c085bdfde8290a2ca30da04660ad2493c19ddfb6be687070d");
    const auto with = [](const std::string& fields, const std::string& body) {
        return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + fields + "\r\n" + body;
    };
    const std::string gzipped = test::pack_gzip(text);
    const auto chunked = [](const std::string& body) {
        return "4;name=value\r\n" + body.substr(0, 4) + "\r\n" +
               [&] {
                   char hex[20];
                   snprintf(hex, sizeof hex, "%zX", body.size() - 4);
                   return std::string(hex);
               }() +
               "\r\n" + body.substr(4) + "\r\n0\r\nTrailer: x\r\n\r\n";
    };
    const auto all =
        read(response("http://a/1", with("Content-Encoding: br\r\n", packed)) +
             response("http://a/2", with("Content-Encoding: GZIP\r\n", gzipped)) +
             response("http://a/3", with("Transfer-Encoding: chunked\r\n", chunked(text))) +
             response("http://a/4",
                      with("Transfer-Encoding: chunked\r\ncontent-encoding: x-gzip\r\n", chunked(gzipped))) +
             // Fields of a body that the crawler has decoded.
             response("http://a/5", with("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", text)) +
             response("http://a/6", with("Content-Encoding: zstd\r\n", test::pack_zstd(text))) +
             response("http://a/7", with("Content-Encoding: deflate\r\n", text)) +
             response("http://a/8", with("Content-Encoding: lzma2\r\n", "\x01\x02\x03")));
    EXPECT_EQ(texts(all), std::vector<std::string>(7, "a text of some length, a text of some length"));
    EXPECT_EQ(skipped(all), "1 response of another content coding: 1 another");
    EXPECT_THAT(issues(all), IsEmpty());
}

TEST(warc, keeps_what_damaged_bodies_still_have) {
    const std::string gzipped = test::pack_gzip("<p>" + std::string(5000, 'x') + "</p>");
    const auto all = read(
        response("http://a/1",
                 "HTTP/1.1 200\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "FFFFFFFF\r\n<p>short\r\n0\r\n\r\n") +
        response("http://a/2", "HTTP/1.1 200\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n" +
                                   gzipped.substr(0, gzipped.size() - 4)) +
        page("http://a/3", "next"));
    EXPECT_THAT(texts(all), ElementsAre("short 0", std::string(5000, 'x'), "next"));
    EXPECT_THAT(issues(all), ElementsAre("mended 1: a chunk of the response is longer than the record",
                                         "mended 2: the gzip data of the response are damaged"));
    EXPECT_EQ(all.counts.truncated, 2u);
}

TEST(warc, refuses_a_body_that_grows_beyond_the_budget) {
    std::string bomb = test::pack_gzip(std::string(64 << 20, ' '));
    for (const std::uint64_t memory : {std::uint64_t{16} << 20, std::uint64_t{80} << 20}) {
        corpus_options options;
        options.document_memory = memory;
        const auto all = read(response("http://a/1",
                                       "HTTP/1.1 200\r\nContent-Type: text/plain\r\n"
                                       "Content-Encoding: gzip\r\n\r\n" +
                                           bomb) +
                                  page("http://a/2", "kept"),
                              options);
        EXPECT_THAT(texts(all), ElementsAre("kept"));
        EXPECT_THAT(issues(all), ElementsAre(HasSubstr("bytes a document that the memory allows")));
    }
}

TEST(warc, decodes_by_header_declaration_and_content) {
    const auto html = [](const std::string& type, const std::string& body) {
        return "HTTP/1.1 200\r\nContent-Type: " + type + "\r\n\r\n" + body;
    };
    const auto all = read(
        response("http://a/1", html("text/html; charset=\"windows-1251\"", "<p>\xCF\xF0\xE8\xE2\xE5\xF2")) +
        response("http://a/2", html("text/html", "<meta charset=windows-1251><p>\xCF\xF0\xE8\xE2\xE5\xF2")) +
        response("http://a/3", html("text/html; charset=iso-8859-1", "<p>Grüße")) +  // it is UTF-8
        response("http://a/4", html("text/plain; charset=shift_jis", "\x93\xFA\x96\x7B")) +
        response("http://a/5", html("text/html; charset=nonsense", "<meta charset=latin1><p>caf\xE9")));
    EXPECT_THAT(texts(all), ElementsAre("Привет", "Привет", "Grüße", "日本", "café"));
}

TEST(warc, goes_on_after_damaged_records) {
    const std::string good = page("http://a/2", "good"), last = page("http://a/3", "last");
    const std::string bad_length =
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/1\r\nContent-Length: "
        "x\r\n\r\nbody\r\n\r\n";
    const auto all = read(page("http://a/0", "first") + bad_length + good + "garbage\r\n\r\n" + last);
    EXPECT_THAT(texts(all), ElementsAre("first", "good", "last"));
    ASSERT_EQ(all.issues.size(), 2u);
    EXPECT_THAT(issues(all)[0], HasSubstr("2: a header without a valid Content-Length, at byte "));
    EXPECT_THAT(issues(all)[1], HasSubstr("3: its length is wrong, at byte "));
    EXPECT_THAT(all.issues[1].reason, HasSubstr("the next record is at byte "));
    EXPECT_EQ(all.counts.rejected, 2u);
    EXPECT_EQ(all.counts.incomplete, 0u);
}

TEST(warc, goes_on_at_the_next_member_of_gzip) {
    std::vector<std::string> members;
    for (int i = 0; i < 5; ++i)
        members.push_back(
            test::pack_gzip(page("http://a/" + std::to_string(i), "text " + std::to_string(i))));
    const auto read_members = [&](const corpus_options& options = {}) {
        std::string all;
        for (const auto& each : members) all += each;
        return read(all, options);
    };
    EXPECT_EQ(texts(read_members()).size(), 5u);
    members[1][30] = static_cast<char>(members[1][30] ^ 0x55);  // the data
    members[3][members[3].size() - 6] ^= 1;                     // the checksum
    const auto all = read_members();
    EXPECT_THAT(ids(all), ElementsAre("http://a/0", "http://a/2", "http://a/4"));
    ASSERT_EQ(all.issues.size(), 2u) << shown(all);
    EXPECT_THAT(all.issues[0].reason, HasSubstr("gzip data are damaged at byte "));
    EXPECT_THAT(all.issues[1].reason, HasSubstr("checksum or length mismatch; reading goes on at byte " +
                                                std::to_string(members[0].size() + members[1].size() +
                                                               members[2].size() + members[3].size())));
    EXPECT_EQ(all.counts.incomplete, 0u);
    corpus_options small;
    small.unit_bytes = 1;
    EXPECT_EQ(shown(read_members(small)), shown(all));
}

TEST(warc, a_member_that_ends_early_does_not_take_the_next_along) {
    const std::string first = test::pack_gzip(page("http://a/1", test::words(20000, 1))),
                      next = test::pack_gzip(page("http://a/2", "next"));
    for (std::size_t size = 1; size < first.size(); size += 97) {
        const auto all = read(next + first.substr(0, size) + next + next);
        EXPECT_THAT(ids(all), ElementsAre("http://a/2", "http://a/2#2", "http://a/2#3")) << size;
        EXPECT_EQ(all.issues.size(), 1u) << size;
        EXPECT_EQ(all.counts.incomplete, 0u);
    }
}

TEST(warc, reads_zstd_with_a_dictionary) {
    const auto seeds = test_folder().parent_path() / "fuzz/corpus/warc";
    for (const char* name : {"dictionary", "dictionary_plain"}) {
        EXPECT_THAT(ids(read_all({seeds / name})), ElementsAre("http://a/0", "http://a/1", "http://a/2"));
        std::ifstream in(seeds / name, std::ios::binary);
        std::string bytes{std::istreambuf_iterator<char>(in), {}};
        bytes[20] = static_cast<char>(bytes[20] ^ 1);
        const temporary_folder folder;
        corpus_options options;
        options.form = corpus_form::warc;
        EXPECT_NO_FATAL_FAILURE(read_all({folder.write("x", bytes)}, options));
    }
}

TEST(warc, reports_an_incomplete_file) {
    const std::string whole = page("http://a/1", "one") + page("http://a/2", "<p>two and more");
    const auto all = read(whole.substr(0, whole.size() - 12));
    EXPECT_THAT(texts(all), ElementsAre("one", "two"));
    EXPECT_THAT(issues(all), ElementsAre(HasSubstr("truncated: the data end within the record at byte ")));
    EXPECT_EQ(all.counts.incomplete, 1u);
    const std::string packed = test::pack_gzip(whole);
    const auto cut = read(packed.substr(0, packed.size() - 20));
    EXPECT_EQ(cut.counts.incomplete, 1u);
    EXPECT_THAT(cut.issues.at(0).reason, HasSubstr("gzip data are truncated"));
}

TEST(warc, bounds_what_a_length_says) {
    const auto all =
        read(page("http://a/1", "one") +
             "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/2\r\n"
             "Content-Length: 2147483648\r\n\r\nHTTP/1.1 200\r\nContent-Type: text/html\r\n\r\nx");
    EXPECT_THAT(texts(all), ElementsAre("one"));
    EXPECT_EQ(all.counts.incomplete, 1u);
    corpus_options options;
    options.max_document_bytes = 2000;
    const auto limited =
        read(page("http://a/1", std::string(3000, 'x')) + page("http://a/2", "two"), options);
    EXPECT_THAT(texts(limited), ElementsAre("two"));
    EXPECT_THAT(issues(limited), ElementsAre("1: larger than the limit of 2000 bytes a document"));
}

TEST(warc, is_the_same_whatever_the_units) {
    std::string bytes = "\r\n";
    for (int i = 0; i < 40; ++i) {
        bytes +=
            page("http://a/" + std::to_string(i % 30), std::string(static_cast<std::size_t>(i * 97), 'x'));
        if (i % 7 == 0) bytes += "WARC/1.0\r\nbroken\r\n\r\n";
        if (i % 11 == 0) bytes += "noise";
    }
    corpus_options one, some;
    one.unit_bytes = 1;
    some.unit_bytes = 1000;
    EXPECT_EQ(shown(read(bytes, one)), shown(read(bytes)));
    EXPECT_EQ(shown(read(bytes, some)), shown(read(bytes)));
}

TEST(warc, a_folder_reads_its_files_as_collections) {
    const temporary_folder folder;
    folder.write("part/a.warc.gz", test::pack_gzip(page("http://a/1", "one")));
    folder.write("b.warc", page("http://a/1", "two"));
    folder.write("c.warc.zst", test::pack_zstd(page("http://a/3", "three")));
    folder.write("note.txt", "WARC/1.0 is a format");
    EXPECT_THAT(ids(read_all({folder.path()})),
                ElementsAre("http://a/1", "http://a/3", "note.txt", "http://a/1"));
}

}  // namespace
}  // namespace quern::io::testing::warc_test
