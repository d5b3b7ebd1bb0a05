// SPDX-License-Identifier: Apache-2.0
// TREC's SGML, <DOC> <DOCNO>…</DOCNO> … </DOC>, and Reuters-21578's, <REUTERS NEWID="…"> … </REUTERS>. An SGML parser
// would not work: the collections have no common document type, and stray '<' in their text. A record ends at a closing
// tag of either name, wherever it occurs. Web collections, whose <DOCHDR> has a server's response, have HTML after it.
#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr std::array closing = {"</doc>"sv, "</reuters>"sv};

bool same(std::string_view text, std::string_view lower) {
    return text.size() >= lower.size() &&
           std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
           });
}

/// The length of the closing tag at the front of `text`; 0 if there is none.
std::size_t closes(std::string_view text) {
    for (const auto tag : closing) {
        if (same(text, tag)) return tag.size();
    }
    return 0;
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct sgml_tag {
    std::string name;  ///< lower case, with '/' before it for an end tag
    std::string_view attributes;
    std::size_t bytes = 0;
};

/// The tag at the front of `text` ('<'); none if it is text: a '<' without a nearby '>'.
bool read_tag(std::string_view text, sgml_tag& tag) {
    constexpr std::size_t longest = 4096;
    if (text.size() < 3) return false;
    if (text.starts_with("<!--")) {
        const std::size_t end = text.find("-->", 4);
        tag = {"!", {}, end == std::string_view::npos ? text.size() : end + 3};
        return true;
    }
    const bool end_tag = text[1] == '/';
    if (!is_letter(text[end_tag ? 2 : 1]) && text[1] != '!' && text[1] != '?') return false;
    const std::size_t end = text.substr(0, longest).find_first_of("<>", 1);
    if (end == std::string_view::npos || text[end] == '<') return false;
    std::size_t at = end_tag ? 2 : 1;
    tag.name.assign(end_tag ? 1 : 0, '/');
    for (; at < end && " \t\r\n/"sv.find(text[at]) == std::string_view::npos; ++at) {
        tag.name += text[at] >= 'A' && text[at] <= 'Z' ? static_cast<char>(text[at] + 32) : text[at];
    }
    tag.attributes = text.substr(at, end - at);
    tag.bytes = end + 1;
    return true;
}

std::string newid(std::string_view attributes) {
    for (std::size_t at = 0; at < attributes.size(); ++at) {
        if (!same(attributes.substr(at), "newid=")) continue;
        std::string_view value = attributes.substr(at + 6);
        if (value.starts_with('"')) value.remove_prefix(1);
        return std::string(value.substr(0, value.find_first_of("\" \t\r\n")));
    }
    return {};
}

/// White space collapsed.
std::string one_line(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (!space) out += c;
        if (space && !out.empty() && out.back() != ' ') out += ' ';
    }
    if (out.ends_with(' ')) out.pop_back();
    return out;
}

/// Elements that hold paragraphs; others are treated as inline marks.
bool is_block(std::string_view name) {
    constexpr std::array blocks = {"body"sv,     "caption"sv, "correction"sv, "date"sv,    "dateline"sv,
                                   "graphic"sv,  "head"sv,    "headline"sv,   "hl"sv,      "lp"sv,
                                   "leadpara"sv, "p"sv,       "section"sv,    "summary"sv, "text"sv,
                                   "title"sv,    "ttl"sv};
    if (name.starts_with('/')) name.remove_prefix(1);
    return std::find(blocks.begin(), blocks.end(), name) != blocks.end();
}

/// One document's elements, read in order.
class document_reader {
  public:
    document_reader(bool reuters, const reading_budget& budget) : reuters_(reuters), budget_(budget) {}

    void read(std::string_view body) {
        while (!body.empty()) {
            const std::size_t at = std::min(body.find('<'), body.size());
            take(body.substr(0, at));
            body.remove_prefix(at);
            sgml_tag tag;
            if (body.empty()) break;
            if (!read_tag(body, tag)) {
                take(body.substr(0, 1));
                body.remove_prefix(1);
                continue;
            }
            body.remove_prefix(tag.bytes);
            if (tag.name == "/dochdr") {
                html_ = body;
                return;
            }
            turn(tag.name);
        }
    }

    document result() {
        document out;
        out.id = trimmed(id_);
        out.title = one_line(decode_references(title_));
        if (!html_.empty()) {
            html_page page = parse_html(html_, "", budget_);
            out.title = std::move(page.title);
            out.text = std::move(page.text);
            return out;
        }
        while (!text_.empty() && (text_.back() == '\n' || text_.back() == ' ')) text_.pop_back();
        out.text = decode_references(text_);
        return out;
    }

  private:
    void turn(const std::string& name) {
        constexpr std::array titles = {"headline"sv, "hl"sv, "title"sv, "ttl"sv};
        constexpr std::array headers = {"date"sv,      "topics"sv,    "places"sv,  "people"sv, "orgs"sv,
                                        "exchanges"sv, "companies"sv, "unknown"sv, "mknote"sv};
        const bool end = name.starts_with('/');
        const std::string_view plain = std::string_view(name).substr(end ? 1 : 0);
        const bool header = plain == "docno" || plain == "docoldno" || plain == "dochdr" ||
                            (reuters_ && std::find(headers.begin(), headers.end(), plain) != headers.end());
        if (end && plain == inside_) {
            inside_.clear();
        } else if (!end && inside_.empty()) {
            const bool title =
                title_.empty() && std::find(titles.begin(), titles.end(), plain) != titles.end();
            if (header || title) inside_ = plain;
        }
        if (is_block(name)) {
            gap_ = "\n\n";
        } else if (gap_.empty()) {
            gap_ = " ";
        }
    }

    void take(std::string_view text) {
        const bool title = inside_ == "headline" || inside_ == "hl" || inside_ == "title" || inside_ == "ttl";
        if (inside_ == "docno") id_ += text;
        if (title) title_.append(title_.empty() ? "" : " ").append(text);
        // A headline is read like the rest of the text.
        if (!inside_.empty() && !title) return;
        if (!gap_.empty()) {
            // Between blocks, line ends belong to the mark-up.
            if (gap_ == "\n\n" || text_.empty()) {
                text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
            }
            if (text.empty()) return;
            while (gap_ == "\n\n" && (text_.ends_with('\n') || text_.ends_with(' '))) text_.pop_back();
            if (!text_.empty()) text_ += gap_;
            gap_ = {};
        }
        text_ += text;
    }

    bool reuters_;
    reading_budget budget_;
    std::string id_, title_, text_;
    std::string inside_;
    std::string_view gap_ = "\n\n";
    std::string_view html_;
};

class trec final : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const override {
        for (std::size_t at = bytes.rfind("</"); at != std::string_view::npos;
             at = at == 0 ? std::string_view::npos : bytes.rfind("</", at - 1)) {
            if (const std::size_t length = closes(bytes.substr(at))) return at + length;
        }
        return 0;
    }
    std::size_t end_within(std::string_view bytes) const override {
        for (std::size_t at = bytes.find("</"); at != std::string_view::npos; at = bytes.find("</", at + 1)) {
            if (const std::size_t length = closes(bytes.substr(at))) return at + length;
        }
        return 0;
    }
    std::size_t end_mark_bytes() const override { return closing[1].size(); }

    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const override {
        std::uint64_t line = position.first_line;
        while (!bytes.empty()) {
            std::size_t end = end_within(bytes);
            const bool closed = end != 0;
            if (!closed) end = bytes.size();
            parse_record(bytes.substr(0, end), closed, position, line, out);
            bytes.remove_prefix(end);
        }
    }

  private:
    static std::size_t find_open(std::string_view record, std::size_t from) {
        for (std::size_t at = record.find('<', from); at != std::string_view::npos;
             at = record.find('<', at + 1)) {
            const std::string_view rest = record.substr(at);
            const std::size_t name = same(rest, "<doc") ? 4 : same(rest, "<reuters") ? 8 : 0;
            if (name != 0 && rest.size() > name && " \t\r\n>"sv.find(rest[name]) != std::string_view::npos)
                return at;
        }
        return record.size();
    }

    /// Only white space and tags: a document type, an element around all documents.
    static bool only_tags(std::string_view text) {
        while (true) {
            text = trimmed(text);
            sgml_tag tag;
            if (text.empty()) return true;
            if (text.front() != '<' || !read_tag(text, tag)) return false;
            text.remove_prefix(tag.bytes);
        }
    }

    static void parse_record(std::string_view record, bool closed, const unit_position& position,
                             std::uint64_t& line, parsed_unit& out) {
        const std::uint64_t after = line + count_line_ends(record);
        if (record.size() > position.limit.bytes) {
            reject(out, position.path, line, position.limit.reason(record.size()));
            line = after;
            return;
        }
        std::size_t at = find_open(record, 0);
        const std::string_view before = record.substr(0, at);
        if (at == record.size() && closed) {
            reject(out, position.path, after, "a closing tag without <DOC>");
        } else if (!only_tags(before)) {
            reject(out, position.path, line, "text outside of <DOC> … </DOC>");
        }
        line += count_line_ends(before);
        while (at < record.size()) {
            const std::size_t next = find_open(record, at + 1);
            const std::string_view one = record.substr(at, next - at);
            parse_document(one, closed && next == record.size(), position, line, out);
            line += count_line_ends(one);
            at = next;
        }
    }

    static void parse_document(std::string_view one, bool closed, const unit_position& position,
                               std::uint64_t line, parsed_unit& out) {
        sgml_tag open;
        if (!read_tag(one, open)) return reject(out, position.path, line, "an opening tag without an end");
        std::string_view body = one.substr(open.bytes);
        if (closed) body = body.substr(0, body.rfind("</"));
        const bool reuters = open.name == "reuters";
        document_reader reader(reuters, position.budget);
        reader.read(body);
        document made;
        try {
            made = reader.result();
        } catch (const out_of_memory& why) {
            return reject_or_put_off(out, position, line, why);
        }
        made.path = position.path;
        made.line = line;
        if (reuters) made.id = newid(open.attributes);
        if (made.id.empty()) return reject(out, position.path, line, reuters ? "no NEWID" : "no DOCNO");
        if (!is_utf8(made.id)) return reject(out, position.path, line, "the DOCNO is not UTF-8");
        std::string done = repair_utf8(made.text);
        if (std::string also = repair_utf8(made.title); done.empty()) done = std::move(also);
        if (!closed) done = reuters ? "truncated: no </REUTERS>" : "truncated: no </DOC>";
        if (!done.empty()) (closed ? repair : truncate)(out, position.path, line, std::move(done));
        out.documents.push_back(std::move(made));
    }
};

}  // namespace

std::shared_ptr<const record_form> trec_form() {
    return std::make_shared<trec>();
}

}  // namespace quern::io
