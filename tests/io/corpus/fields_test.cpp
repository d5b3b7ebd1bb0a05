// SPDX-License-Identifier: Apache-2.0
// Named and kept fields of records, against a slow reference: the whole record as a tree of nlohmann::json, in which of
// equal names the last one counts, too.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/detect.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/reading.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/record_text.hpp"
#include "quern/base/error.hpp"

namespace quern::io::testing::fields_test {
namespace {

using json = nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

corpus_options with_fields(const document_fields& fields) {
    corpus_options options;
    options.fields = fields;
    options.keep_records = true;
    return options;
}

document_fields keeping(std::vector<std::string> names, std::string id = {}) {
    document_fields fields;
    fields.kept = std::move(names);
    fields.id = std::move(id);
    return fields;
}
document_fields text_in(std::string name) {
    document_fields fields;
    fields.text = {std::move(name)};
    return fields;
}

parsed_unit read(std::string_view bytes, const document_fields& fields,
                 corpus_form form = corpus_form::jsonl) {
    return read_bytes(bytes, form, with_fields(fields));
}

// ---- The reference ----

/// All ways to read a dotted name, the longest own names first.
std::optional<json> reference_at(const json& object, const std::string& name) {
    if (!object.is_object()) return {};
    if (object.contains(name)) return object.at(name);
    for (std::size_t length = name.size(); length-- > 0;) {
        if (name[length] != '.' || !object.contains(name.substr(0, length))) continue;
        if (auto found = reference_at(object.at(name.substr(0, length)), name.substr(length + 1)))
            return found;
    }
    return {};
}

std::optional<std::string> reference_id(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.dump();
    return {};
}

struct expected {
    std::optional<std::string> problem;
    std::string id, title, text;
    std::vector<std::string> links;
};

expected reference_of(const json& record, const document_fields& fields) {
    expected out;
    const auto present = [&](const std::string& name) {
        auto found = reference_at(record, name);
        return found && !found->is_null() ? found : std::nullopt;
    };
    const auto id = present(fields.id), title = present(fields.title), links = present(fields.links);
    bool any_text = false;
    if (id && !reference_id(*id)) out.problem = "the id is neither a string nor an integer";
    for (const std::string& name : fields.text) {
        const auto part = present(name);
        if (!part) continue;
        any_text = true;
        if (!part->is_string() && !out.problem) out.problem = "the text is not a string";
        if (!part->is_string()) continue;
        const auto value = part->get<std::string>();
        if (!value.empty()) out.text += (out.text.empty() ? "" : "\n\n") + value;
    }
    if (out.problem) return out;
    if (title && !title->is_string()) out.problem = "the title is not a string";
    if (title && title->is_string()) out.title = *title;
    bool good_links = !links || links->is_array();
    if (links && links->is_array()) {
        for (const json& link : *links) {
            good_links = good_links && reference_id(link).has_value();
            if (good_links) out.links.push_back(*reference_id(link));
        }
    }
    if (!good_links && !out.problem) out.problem = "the links are not an array of strings or integers";
    if (!out.problem && id && reference_id(*id)->empty()) out.problem = "the id is empty";
    if (!out.problem && !any_text) out.problem = "no text";
    if (!out.problem && !id) out.problem = "no id";
    if (id && reference_id(*id)) out.id = *reference_id(*id);
    return out;
}

// ---- Random records, written in odd ways ----

class writer {
  public:
    explicit writer(unsigned seed) : random_(seed) {}

    std::string record() {
        std::string out = blank() + "{";
        const int members = number(7);
        for (int i = 0; i < members; ++i) out += (i == 0 ? "" : ",") + member(2);
        return out + blank() + "}" + blank();
    }
    std::string name() {
        static const std::vector<std::string> names = {"a",   "b", "a.b", "c", "a.b.c",
                                                       "b.c", "é", "q\"", "",  "."};
        return names[static_cast<std::size_t>(number(static_cast<int>(names.size())))];
    }
    int number(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  private:
    std::string blank() {
        return std::vector<std::string>{"", "", " ", "\t", " \r "}[static_cast<std::size_t>(number(5))];
    }
    std::string text(const std::string& plain) {
        std::string out = "\"";
        for (const char c : plain) {
            if (c == '"' || c == '\\') {
                out += std::string("\\") + c;
            } else if (static_cast<unsigned char>(c) < 0x80 && number(4) == 0) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, number(2) == 0 ? "\\u%04x" : "\\u%04X", c);
                out += escaped;
            } else {
                out += c;
            }
        }
        return out + "\"";
    }
    std::string member(int depth) {
        return blank() + text(name()) + blank() + ":" + blank() + value(depth) + blank();
    }
    std::string value(int depth) {
        static const std::vector<std::string> texts = {"", "x", "{\"a\":1}", "ü\\", "a b", "]},"};
        switch (number(depth == 0 ? 5 : 8)) {
            case 0:
                return std::vector<std::string>{"null", "true", "false", "1.50",
                                                "-0.0e5"}[static_cast<std::size_t>(number(5))];
            case 1:
                return std::to_string(number(1000) - 500);
            case 5:
            case 6: {
                std::string out = "{" + blank();
                const int members = number(4);
                for (int i = 0; i < members; ++i) out += (i == 0 ? "" : ",") + member(depth - 1);
                return out + "}";
            }
            case 7: {
                std::string out = "[" + blank();
                const int values = number(4);
                for (int i = 0; i < values; ++i) out += (i == 0 ? "" : blank() + ",") + value(depth - 1);
                return out + blank() + "]";
            }
            default:
                return text(texts[static_cast<std::size_t>(number(static_cast<int>(texts.size())))]);
        }
    }

    std::mt19937 random_;
};

document_fields random_fields(writer& from) {
    document_fields fields;
    const auto some = [&from] {
        std::string name = from.name();
        return name.empty() ? std::string("a") : name;
    };
    fields.id = some();
    fields.title = some();
    fields.links = some();
    fields.text = {some()};
    if (std::string other = some(); from.number(2) == 0 && other != fields.text.front())
        fields.text.push_back(other);
    return fields;
}

void expect_equal(const parsed_unit& all, const expected& wanted, const std::string& line) {
    if (wanted.problem) {
        ASSERT_EQ(all.documents.size(), 0U) << line;
        ASSERT_EQ(all.issues.size(), 1U) << line;
        EXPECT_TRUE(all.issues[0].reason.starts_with(*wanted.problem)) << all.issues[0].reason << "\n"
                                                                       << line;
        return;
    }
    ASSERT_EQ(all.documents.size(), 1U) << line << "\n" << (all.issues.empty() ? "" : all.issues[0].reason);
    const document& d = all.documents[0];
    EXPECT_EQ(d.id, wanted.id) << line;
    EXPECT_EQ(d.title, wanted.title) << line;
    EXPECT_EQ(d.text, wanted.text) << line;
    EXPECT_EQ(d.links, wanted.links) << line;
}

/// One corpus file for all records: opening a file for each would take the most time.
std::vector<parsed_unit> read_each(const std::vector<std::string>& lines, const document_fields& fields) {
    const auto form = jsonl_form(fields);
    std::vector<parsed_unit> all;
    for (std::string line : lines) {
        const std::size_t bytes = line.size();
        line.resize(bytes + unit_padding);
        unit_position position;
        position.path = "input";
        position.keep_records = true;
        parsed_unit& out = all.emplace_back();
        form->parse(std::string_view(line).substr(0, bytes), position, out);
    }
    return all;
}

TEST(fields, chosen_members_match_the_reference_on_both_readers) {
    std::size_t accepted = 0;
    for (unsigned seed = 0; seed < 20000; ++seed) {
        writer from(seed);
        const document_fields fields = random_fields(from);
        const std::string line = from.record();
        std::string slow = line;  // a number beyond a double: only the slow reader takes the line
        const bool is_empty = json::parse(line).empty();
        slow.insert(slow.rfind('}'), std::string(is_empty ? "" : ",") + "\"~\":1e999");
        const expected wanted = reference_of(json::parse(line), fields);
        const auto all = read_each({line, slow}, fields);
        expect_equal(all[0], wanted, line);
        expect_equal(all[1], wanted, slow);
        accepted += all[0].documents.size();
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(accepted, 200U);
}

TEST(fields, kept_members_match_the_reference) {
    for (unsigned seed = 0; seed < 20000; ++seed) {
        writer from(seed);
        document_fields fields;
        fields.text = {"text"};
        fields.kept = {"*"};
        std::string line = from.record();
        const bool is_empty = json::parse(line).empty();
        line.insert(line.rfind('}'), std::string(is_empty ? "" : ",") + R"("te\u0078t":"t", "title" : null)");
        json rest = json::parse(line);
        rest.erase("text");
        rest.erase("title");
        const auto all = read_each({line}, fields)[0];
        ASSERT_EQ(all.documents.size(), 1U) << line;
        const std::string& made = all.documents[0].fields;
        EXPECT_EQ(made.empty() ? json::object() : json::parse(made), rest) << line;

        fields.kept = {from.name()};
        if (fields.kept.front().empty()) continue;
        const auto wanted = reference_at(json::parse(line), fields.kept.front());
        const auto one = read_each({line}, fields)[0];
        ASSERT_EQ(one.documents.size(), 1U) << line;
        json expected_one = json::object();
        if (wanted) expected_one[fields.kept.front()] = *wanted;
        EXPECT_EQ(one.documents[0].fields.empty() ? json::object() : json::parse(one.documents[0].fields),
                  expected_one)
            << line;
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(fields, another_text_replaces_the_named_member_alone) {
    std::size_t replaced = 0;
    for (unsigned seed = 0; seed < 20000; ++seed) {
        writer from(seed);
        document_fields fields;
        fields.text = {from.name()};
        if (fields.text.front().empty()) continue;
        const std::string line = from.record();
        const auto all = read_each({line}, fields)[0];
        if (all.documents.empty()) continue;
        ++replaced;
        const std::string made = with_text(line, document::record_form::json, {}, "new \"text\"\n", fields);
        EXPECT_EQ(reference_at(json::parse(made), fields.text.front()), json("new \"text\"\n")) << line;
        EXPECT_EQ(with_text(made, document::record_form::json, {}, all.documents[0].text, fields),
                  with_text(line, document::record_form::json, {}, all.documents[0].text, fields));
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(replaced, 500U);
}

TEST(fields, values_are_kept_as_they_are_written) {
    document_fields fields;
    fields.kept = {"*"};
    const auto all = read(
        R"({"id":"a", "n" : 1.50, "m":1e999, "s": "\u0041\/ x", "text":"t", "o":{ "k" : [ 1 , "a b" ] },)"
        R"( "n": -0, "\u006e2":[ ] })"
        "\n",
        fields);
    ASSERT_EQ(all.documents.size(), 1U);
    EXPECT_EQ(all.documents[0].fields, R"({"n":-0,"m":1e999,"s":"\u0041\/ x","o":{"k":[1,"a b"]},"n2":[]})");
}

TEST(fields, hostile_values) {
    document_fields fields;
    fields.kept = {"*"};
    const std::string deep(101, '['), end(101, ']');
    auto all = read("{\"text\":\"t\",\"x\":" + deep + end + "}\n{\"text\":\"t\",\"x\":" + deep.substr(1) +
                        end.substr(1) + "}\n{\"text\":\"t\",\"x\":\"\\ud800\"}\n",
                    fields);
    EXPECT_THAT(issues(all), ElementsAre("1: the field \"x\" is nested deeper than 100 levels",
                                         "mended 3: an escaped lone surrogate replaced"));
    ASSERT_EQ(all.documents.size(), 2U);
    EXPECT_EQ(all.documents[1].fields, R"({"x":"\ufffd"})");
    std::string many = "{\"text\":\"t\"";
    for (int i = 0; i <= 1000; ++i) many += ",\"" + std::to_string(i) + "\":0";
    EXPECT_THAT(issues(read(many + "}\n", fields)), ElementsAre("1: more than 1000 fields"));
    // Beyond what the fast reader nests.
    const std::string deeper(5000, '['), deeper_end(5000, ']');
    all = read("{\"text\":\"t\",\"x\":" + deeper + deeper_end + ",\"y\":1}\n", keeping({"y"}));
    ASSERT_EQ(all.documents.size(), 1U);
    EXPECT_EQ(all.documents[0].fields, R"({"y":1})");
}

TEST(fields, cells_of_tables_are_numbers_if_json_would_write_them_so) {
    const auto value_of = [](const std::string& cell) {
        const auto all = read("id,text,v\n1,a," + cell + "\n", keeping({"v"}), corpus_form::csv);
        const std::string fields = all.documents[0].fields;
        return fields.empty() ? std::string() : fields.substr(5, fields.size() - 6);
    };
    for (const std::string number : {"0", "7", "-12", "1.50", "-0.25", "9223372036854775807",
                                     "0.30000000000000004", "-1e5", "1.5e-07", "2E+16", "true", "false"})
        EXPECT_EQ(value_of(number), number);
    for (const std::string text :
         {"007", "+1", "1e", "1e+", "1.e5", "1.", ".5", "-", "9223372036854775808", "1e999", "True", "null",
          "NaN", " 1", "1 ", "0x10", "1_000", "--1", "1.5.2"}) {
        EXPECT_EQ(value_of(text), '"' + text + '"');
    }
    EXPECT_EQ(value_of(""), "");
}

TEST(fields, tables_have_named_columns) {
    document_fields fields;
    fields.id = "Key";
    fields.text = {"summary", "Body"};
    fields.links = "see";
    fields.title = "head";
    fields.kept = {"*"};
    const auto all = read(
        "price,KEY,head,body,summary,see\n1.50,a,H,\"one\ntwo\",,b c\n\"x\"\"\",b,,,s,\"[\"\"a\"\",7]\"\n"
        "1,c,,t,s,[1.5]\n",
        fields, corpus_form::csv);
    EXPECT_THAT(ids(all), ElementsAre("a", "b"));
    EXPECT_EQ(all.documents[0].text, "one\ntwo");
    EXPECT_EQ(all.documents[0].title, "H");
    EXPECT_THAT(all.documents[0].links, ElementsAre("b", "c"));
    EXPECT_EQ(all.documents[0].fields, R"({"price":1.50})");
    EXPECT_EQ(all.documents[1].text, "s");
    EXPECT_THAT(all.documents[1].links, ElementsAre("a", "7"));
    EXPECT_EQ(all.documents[1].fields, R"({"price":"x\""})");
    EXPECT_THAT(issues(all), ElementsAre("5: the links are not a JSON array of strings or integers"));
    EXPECT_EQ(missing_fields(fields, all.named), "");

    const auto tsv = read("n\ttext\turl\n1\ta\tu\n", keeping({"n", "url"}, "url"), corpus_form::tsv);
    EXPECT_THAT(ids(tsv), ElementsAre("u"));
    EXPECT_EQ(tsv.documents[0].fields, R"({"n":1,"url":"u"})");
}

TEST(fields, columns_without_a_name_are_ignored) {
    document_fields all_kept;
    all_kept.kept = {"*"};
    const auto all = read(",id,text,,n\n0,a,rye,x,7\n1,b,oats,,8\n", all_kept, corpus_form::csv);
    EXPECT_THAT(ids(all), ElementsAre("a", "b"));
    EXPECT_EQ(all.documents[0].text, "rye");
    EXPECT_EQ(all.documents[0].fields, R"({"n":7})");
}

TEST(fields, a_table_without_the_named_columns_is_refused) {
    const auto reason = [](std::string_view bytes, const document_fields& fields, corpus_form form) {
        try {
            read(bytes, fields, form);
        } catch (const invalid_input& why) {
            return std::string(why.reason());
        }
        return std::string();
    };
    EXPECT_EQ(reason("id,text\na,b\n", text_in("txt"), corpus_form::csv),
              R"(the first record is not a heading with columns for "txt"; found "id", "text")");
    EXPECT_THAT(reason("id|text\n1|\"a | b\"\n", {}, corpus_form::csv),
                ::testing::EndsWith(R"(; found "id|text"; it has bars where CSV has commas or semicolons)"));
    std::string why;
    EXPECT_FALSE(detect("id;txt\n1;a\n", true, "a.csv", why));
    EXPECT_THAT(why, ::testing::EndsWith(R"(; found "id", "txt")"));
    EXPECT_EQ(reason("a\tb\n", keeping({}, "url"), corpus_form::tsv).substr(0, 67),
              R"(the first record is not a heading with columns for "url" and "text")");
}

TEST(fields, names_that_no_record_has_are_noticed) {
    document_fields fields;
    fields.title = "head";
    fields.kept = {"price", "m.u"};
    const auto all =
        read("{\"id\":\"a\",\"text\":\"t\",\"price\":1}\n{\"id\":\"b\",\"text\":\"t\",\"m\":{\"u\":null}}\n",
             fields);
    EXPECT_EQ(missing_fields(fields, all.named),
              R"(no record has a field "head" (--title-field); the first has "id", "text", "price")");
    fields.title = "";
    EXPECT_EQ(missing_fields(fields, read("{\"text\":\"t\",\"price\":1,\"m\":{\"u\":1}}\n", fields).named),
              "");
    EXPECT_THAT(missing_fields(fields, {}), HasSubstr("there are none"));
}

TEST(fields, known_names_of_common_collections) {
    const auto id_and_text = [](std::string_view line) {
        const auto all = read(std::string(line) + "\n", {});
        return all.documents.size() == 1 ? all.documents[0].id + "|" + all.documents[0].text : issues(all)[0];
    };
    EXPECT_EQ(id_and_text(R"({"text":"t","timestamp":"2019","url":"u"})"), "input:1|t");   // C4
    EXPECT_EQ(id_and_text(R"({"_id":"7","title":"x","text":"t","metadata":{}})"), "7|t");  // BEIR
    EXPECT_EQ(id_and_text(R"({"pid":"p","passage":"t","docid":"d"})"), "p|t");             // MS MARCO
    EXPECT_EQ(id_and_text(R"({"docid":"d#1","url":"u","segment":"t"})"), "d#1|t");         // MS MARCO
    EXPECT_EQ(id_and_text(R"({"content":"t","url":"u","segment":"s"})"), "input:1|t");     // RefinedWeb
    EXPECT_EQ(id_and_text(R"({"id":"a","title":"x","abstract":"t"})"), "a|t");             // arXiv
    EXPECT_EQ(id_and_text(R"({"raw_content":"t","doc_id":"a"})"), "a|t");                  // RedPajama
    EXPECT_EQ(id_and_text(R"({"id":"a","text":"t","source":"s","metadata":{},"added":"x"})"),
              "a|t");  // Dolma
}

}  // namespace
}  // namespace quern::io::testing::fields_test
