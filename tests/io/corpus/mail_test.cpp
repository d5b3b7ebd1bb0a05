// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <string>

#include "io/corpus/mail.hpp"
#include "io/corpus/mail_date.hpp"
#include "io/corpus/reading.hpp"
#include "quern/base/excluded.hpp"

namespace quern::io::testing::mail_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view from = "From a@b.org Mon Nov  2 10:00:00 2026\n";

parsed_unit read(std::string_view bytes, const corpus_options& options = {}) {
    return read_bytes(bytes, corpus_form::mail, options);
}

document only(std::string_view bytes, const corpus_options& options = {}) {
    parsed_unit all = read(bytes, options);
    EXPECT_EQ(all.documents.size(), 1u) << shown(all);
    return all.documents.empty() ? document() : std::move(all.documents[0]);
}

TEST(mail, reads_an_mbox) {
    const std::string bytes =
        std::string(from) +
        "From: A <a@b.org>\nMessage-ID: <1@b.org>\nSubject: First\n subject\n\nHello.\n\n"
        ">From here on it is quoted.\n>>From twice\n> From not\nFrom my view: 5 o'clock\n\n" +
        std::string(from) +
        "message-id: <2@b.org>\nSubject: Re: First\nIn-Reply-To: <1@b.org>\n"
        "References: <0@b.org>\n\t<1@b.org> <2@b.org>\n\nA reply.\n\nFrom: no message\n\n" +
        std::string(from) + "Subject: none\n\nWithout id.\n";
    const auto all = read(bytes);
    ASSERT_THAT(ids(all), ElementsAre("1@b.org", "2@b.org", "input:25"));
    EXPECT_EQ(all.documents[0].title, "First subject");
    EXPECT_EQ(all.documents[0].text,
              "Hello.\n\nFrom here on it is quoted.\n>From twice\n> From not\nFrom my view: 5 o'clock");
    EXPECT_EQ(all.documents[1].text, "A reply.\n\nFrom: no message");
    EXPECT_THAT(all.documents[1].links, ElementsAre("0@b.org", "1@b.org"));
    EXPECT_EQ(all.documents[1].line, 14u);
    EXPECT_TRUE(all.documents[2].is_numbered);
    EXPECT_THAT(all.issues, IsEmpty());
    for (const std::uint64_t size : {1, 50, 300}) {
        corpus_options options;
        options.unit_bytes = size;
        EXPECT_EQ(shown(read(bytes, options)), shown(all));
    }
}

TEST(mail, numbers_messages_that_come_again) {
    std::string bytes;
    for (const char* text : {"one", "two", "three"})
        bytes += std::string(from) + "Message-ID: <x@y>\n\n" + text + "\n\n";
    EXPECT_THAT(ids(read(bytes)), ElementsAre("x@y", "x@y#2", "x@y#3"));
    corpus_options options;
    options.unit_bytes = 1;
    EXPECT_EQ(shown(read(bytes, options)), shown(read(bytes)));
}

TEST(mail, reads_one_message_and_its_fields) {
    corpus_options options;
    options.fields.kept = {"from", "date", "to"};
    const auto message = only(
        "Return-Path: <a@b>\r\nFrom: =?utf-8?Q?Andr=C3=A9?= <a@b>\r\nTo: \"x\" <c@d>,\r\n e@f\r\n"
        "Date: Mon, 2 Nov 2026 10:00:00 +0100\r\nMessage-Id: <7@b>\r\n\r\nLine one.\r\n\r\nFrom x 10:00\r\n",
        options);
    EXPECT_EQ(message.id, "7@b");
    EXPECT_EQ(message.text, "Line one.\n\nFrom x 10:00");
    EXPECT_EQ(message.fields,
              R"({"from":"André <a@b>","date":"2026-11-02T10:00:00+01:00","to":"\"x\" <c@d>, e@f"})");
}

TEST(mail, writes_dates_by_iso_8601) {
    for (const auto& [written, date] : std::vector<std::pair<const char*, const char*>>{
             {"Mon, 2 Nov 2026 10:00:00 +0100", "2026-11-02T10:00:00+01:00"},
             {"Mon, 02 Nov 2026 10:00 -0930 (a (nested) comment)", "2026-11-02T10:00:00-09:30"},
             {"2 November 2026 23:59:60 GMT", "2026-11-02T23:59:59Z"},
             {"Mon,2 Nov 26 1:02:03 EST", "2026-11-02T01:02:03-05:00"},
             {"Lun, 2 Nov 98 01:02:03 PDT", "1998-11-02T01:02:03-07:00"},
             {"2 Nov 102 01:02:03 CET", "2002-11-02T01:02:03Z"},
             {"Mon Nov  2 10:00:00 2026", "2026-11-02T10:00:00Z"},
             {"Mon, 2 Nov 2026 10:00:00 -0000", "2026-11-02T10:00:00Z"},
             {"Mon, 2 Nov 2026 10:00:00 GMT+0200", "2026-11-02T10:00:00+02:00"},
             {"Mon, 2 Nov 2026 10:00:00 -0800 PST", "2026-11-02T10:00:00-08:00"},
             {"Mon, 2 Nov 2026 10:00:00 PM", "2026-11-02T22:00:00Z"},
             {"2 Nov 2026 12:30 AM +0100", "2026-11-02T00:30:00+01:00"}})
        EXPECT_EQ(iso_date_of_mail(written), date) << written;
    for (const char* written :
         {"", "yesterday", "2 Nov 2026", "30 Feb 2026 10:00", "2 Nov 2026 24:00", "2 Nov 2026 10:61",
          "2 Nov 2026 10:00 +2500", "2 Nov 2026 10:00 +01:00", "2 Nov 2026 10:00 UTC 7", "2 Nov 0 10:00",
          "a b 2 Nov 2026 10:00", "2 Nov Dec 2026 10:00", "0 Nov 2026 10:00", "2 Nov 2026 1:2:3:4",
          "2 Nov 2026 13:00 PM", "("})
        EXPECT_EQ(iso_date_of_mail(written), "") << written;

    corpus_options options;
    options.fields.kept = {"date"};
    const auto all = read("From: a@b\nTo: c@d\nSubject: s\nMessage-ID: <1@a>\nDate: soon\n\ntext\n", options);
    ASSERT_EQ(all.documents.size(), 1u);
    EXPECT_EQ(all.documents[0].fields, "");
    EXPECT_EQ(excluded_in_words(all.counts.skipped), "1 date of mail: 1 unreadable");
}

TEST(mail, decodes_words_of_header_fields) {
    EXPECT_EQ(decode_mail_words("plain  text"), "plain  text");
    EXPECT_EQ(decode_mail_words("=?ISO-8859-1?Q?a_b=E9?= =?utf-8?b?w7w=?= end"), "a béü end");
    EXPECT_EQ(decode_mail_words("=?utf-8?B?w7?= =?UTF-8*de?B?w7w=?="), "\xEF\xBF\xBDü");
    EXPECT_EQ(decode_mail_words("=?utf-8?q?=E6=97?=\n =?utf-8?q?=A5?="), "日");  // one sign in two words
    EXPECT_EQ(decode_mail_words("=?iso-2022-jp?B?GyRCRnxLXBsoQg==?="), "日本");
    EXPECT_EQ(decode_mail_words("a =?x?= b =?utf-8?z?c?= ?= =?"), "a =?x?= b =?utf-8?z?c?= ?= =?");
    EXPECT_EQ(decode_mail_words("Gr\xFC\xDF"
                                "e"),
              "Grüße");
    EXPECT_EQ(decode_mail_words("a  =?utf-8?q?b?=  c"), "a  b  c");
}

TEST(mail, reads_parts_by_type) {
    const std::string bytes =
        "Message-ID: <1@a>\nContent-Type: multipart/mixed; boundary=\"out er\"\n\npreamble\n"
        "--out er\nContent-Type: multipart/alternative; boundary=in\n\n"
        "--in\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n"
        "caf=E9 with a long=\n line\n"
        "--in\nContent-Type: text/html\n\n<p>html\n--in--\n"
        "--out er\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
        "PHA+VGhlIDxiPmh0bWw8L2I+IHBhcnQ8\nL3A+\n"
        "--out er\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n\nx\n"
        "--out er\nContent-Type: text/plain\nContent-Disposition: attachment\n\nattached\n"
        "--out er\nContent-Type: image/x-odd\n\nx\n"
        "--out er\nContent-Type: message/rfc822\n\nSubject: inner\nContent-Type: text/plain\n\ninner text\n"
        "--out er--\nepilogue\n";
    const auto all = read(bytes);
    ASSERT_EQ(all.documents.size(), 1u);
    EXPECT_EQ(all.documents[0].text, "café with a long line\n\nThe html part\n\ninner\n\ninner text");
    EXPECT_EQ(excluded_in_words(all.counts.skipped),
              "3 parts of mail: 1 application/pdf, 1 other image, 1 text/plain");
}

TEST(mail, takes_the_page_if_there_is_no_plain_text) {
    EXPECT_EQ(
        only("Content-Type: multipart/alternative; boundary=x\n\n--x\n\n \n--x\nContent-Type: text/html\n\n"
             "<p>page\n--x\nContent-Type: text/calendar\n\nBEGIN\n--x--\n")
            .text,
        "page");
    EXPECT_EQ(only("Content-Type: text/html; charset=windows-1251\n\n<p>\xCF\xF0\xE8").text, "При");
}

TEST(mail, survives_parts_without_end_or_bound) {
    std::string deep = "Message-ID: <1@a>\n";
    for (int i = 0; i < 80; ++i) {
        const std::string mark = "b" + std::to_string(i);
        deep += "Content-Type: multipart/mixed; boundary=" + mark + "\n\n--" + mark + "\n";
    }
    const auto all = read(deep + "\ntext\n");
    EXPECT_THAT(issues(all), ElementsAre("mended 1: parts nested more than 50 deep are not read"));
    EXPECT_THAT(issues(read("Message-ID: <1@a>\nContent-Type: multipart/mixed; boundary=q\n\nno parts\n")),
                ElementsAre("mended 1: the parts of the message are missing: no line --q"));
    EXPECT_EQ(only("Message-ID: <1@a>\nContent-Type: multipart/mixed; boundary=q\n\n--q\n\nopen end\n").text,
              "open end");
}

TEST(mail, is_detected) {
    const temporary_folder folder;
    const std::string mbox = std::string(from) + "Subject: x\nMessage-ID: <1@m>\n\nm\n";
    folder.write("archive", mbox);
    folder.write("new/1700.M1P1.host:2,S", "Return-Path: <a@b>\nFrom: a@b\nMessage-ID: <2@m>\n\nm\n");
    folder.write("one.eml", "Subject: x\nMessage-ID: <3@m>\nFrom: z\n\nm\n");
    folder.write("again.eml", "Subject: x\nMessage-ID: <3@m>\nFrom: z\n\nm\n");
    folder.write("post.txt", "From: a@b\nSubject: news\nLines: 1\n\nnews\n");
    folder.write("prose.txt", "From time to time, at 10:30\nit: happens\n");
    EXPECT_THAT(ids(read_all({folder.path()})),
                ElementsAre("3@m", "1@m", "2@m", "3@m", "post.txt", "prose.txt"));
}

}  // namespace
}  // namespace quern::io::testing::mail_test
