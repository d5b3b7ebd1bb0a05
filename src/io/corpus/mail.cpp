// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/mail.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/fixed_fields.hpp"
#include "io/corpus/header_fields.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/html_charset.hpp"
#include "io/corpus/mail_coding.hpp"
#include "io/corpus/mail_date.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_depth = 50, max_parts = 10000;

/// The category of a part that is not read; there are few of them.
std::string part_category(std::string_view type) {
    constexpr std::array common = {"application/pdf"sv,
                                   "application/pgp-encrypted"sv,
                                   "application/pgp-keys"sv,
                                   "application/pgp-signature"sv,
                                   "application/pkcs7-signature"sv,
                                   "application/x-pkcs7-signature"sv,
                                   "application/msword"sv,
                                   "application/octet-stream"sv,
                                   "application/zip"sv,
                                   "image/gif"sv,
                                   "image/jpeg"sv,
                                   "image/png"sv,
                                   "message/delivery-status"sv,
                                   "message/external-body"sv,
                                   "text/calendar"sv,
                                   "text/csv"sv,
                                   "text/html"sv,
                                   "text/plain"sv,
                                   "text/vcard"sv,
                                   "text/x-vcard"sv};
    if (std::ranges::find(common, type) != common.end()) return std::string(type);
    for (const auto family :
         {"application/"sv, "audio/"sv, "image/"sv, "message/"sv, "text/"sv, "video/"sv}) {
        if (type.starts_with(family)) return "other " + std::string(family.substr(0, family.size() - 1));
    }
    return "unknown";
}

/// A header and a body.
struct entity {
    header_fields fields;
    media_type type;
    std::string_view body;

    entity(std::string_view bytes, std::string_view usual_type)
        : entity(bytes, header_block_end(bytes), usual_type) {}

    bool is_attachment() const {
        return media_type(fields.value("content-disposition")).name == "attachment";
    }
    bool is_multipart() const { return type.name.starts_with("multipart/"); }

  private:
    entity(std::string_view bytes, std::size_t head, std::string_view usual_type)
        : fields(bytes.substr(0, head == 0 ? bytes.size() : head)), type(fields.value("content-type")) {
        if (head != 0) body = bytes.substr(head);
        if (type.name.find('/') == std::string::npos) type = media_type(usual_type);
    }
};

/// The parts of a multipart's body; without the text before the first and after the last.
std::vector<std::string_view> parts_of(std::string_view body, const std::string& boundary) {
    std::vector<std::string_view> out;
    const std::string mark = "--" + boundary;
    std::size_t begin = std::string_view::npos;  // of the part, after its line
    for (std::size_t at = body.find(mark); at != std::string_view::npos; at = body.find(mark, at + 1)) {
        if (at != 0 && body[at - 1] != '\n') continue;
        std::size_t end = at + mark.size();
        const bool closes = body.substr(end).starts_with("--");
        if (closes) end += 2;
        while (end < body.size() && (body[end] == ' ' || body[end] == '\t' || body[end] == '\r')) ++end;
        if (end < body.size() && body[end] != '\n') continue;
        if (begin != std::string_view::npos && out.size() < max_parts)
            out.push_back(body.substr(begin, std::max(at, begin + 1) - 1 - begin));
        begin = std::min(end + 1, body.size());
        if (closes) return out;
    }
    if (begin != std::string_view::npos && out.size() < max_parts) out.push_back(body.substr(begin));
    return out;
}

bool is_blank(std::string_view text) {
    return std::ranges::all_of(text, is_space);
}

/// The text of a message, part by part.
class mail_reader {
  public:
    mail_reader(const reading_budget& budget, reading_counts& counts) : budget_(budget), counts_(counts) {}

    void read(const entity& part, std::size_t depth) {
        if (depth > max_depth) {
            cut = "parts nested more than 50 deep are not read";
        } else if (part.is_multipart()) {
            read_parts(part, depth);
        } else if (part.type.name == "message/rfc822" || part.type.name == "message/global") {
            read_message(part, depth);
        } else if (!part.is_attachment() && is_text(part.type.name)) {
            add(text_of(part));
        } else {
            ++counts_.skipped["part of mail: " + part_category(part.type.name)];
        }
    }

    std::string text, repaired, cut;

  private:
    static bool is_text(std::string_view type) {
        constexpr std::array texts = {"text/plain"sv,         "text/html"sv,     "text/x-patch"sv,
                                      "text/x-diff"sv,        "text/markdown"sv, "text/enriched"sv,
                                      "text/rfc822-headers"sv};
        return std::ranges::find(texts, type) != texts.end();
    }

    void read_parts(const entity& whole, std::size_t depth) {
        const std::string boundary = whole.type.parameter("boundary");
        if (boundary.empty()) return add(text_of(whole));
        const std::string_view usual =
            whole.type.name == "multipart/digest" ? "message/rfc822"sv : "text/plain"sv;
        const std::vector<std::string_view> parts = parts_of(whole.body, boundary);
        if (parts.size() == max_parts) cut = "parts beyond the first 10,000 are not read";
        if (parts.empty()) {
            cut = "the parts of the message are missing: no line --" + boundary.substr(0, 70);
            repair_utf8(cut);
            return;
        }
        if (whole.type.name == "multipart/alternative") return read_alternative(parts, depth);
        for (const std::string_view part : parts) read(entity(part, usual), depth + 1);
    }

    /// The first that is plain text, else the last that has a text.
    void read_alternative(const std::vector<std::string_view>& parts, std::size_t depth) {
        std::vector<entity> alternatives;
        for (const std::string_view part : parts) {
            entity each(part, "text/plain");
            if (each.type.name == "text/plain" && !each.is_attachment()) {
                if (std::string plain = text_of(each); !is_blank(plain)) return add(plain);
            } else {
                alternatives.push_back(std::move(each));
            }
        }
        for (std::size_t i = alternatives.size(); i-- > 0;) {
            const std::size_t before = text.size();
            if (is_text(alternatives[i].type.name) || alternatives[i].is_multipart())
                read(alternatives[i], depth + 1);
            if (text.size() != before) return;
        }
    }

    void read_message(const entity& part, std::size_t depth) {
        std::string held;
        const entity inner(decoded(part, held), "text/plain");
        add(decode_mail_words(inner.fields.value("subject")));
        read(inner, depth + 1);
    }

    /// The body without its transfer encoding.
    static std::string_view decoded(const entity& part, std::string& held) {
        const std::string coding = lower(part.fields.value("content-transfer-encoding"));
        if (coding == "base64") {
            held = from_base64(part.body);
        } else if (coding == "quoted-printable") {
            held = from_quoted_printable(part.body, false);
        } else {
            return part.body;
        }
        return held;
    }

    std::string text_of(const entity& part) {
        std::string held, done;
        const std::string_view bytes = decoded(part, held);
        const std::string charset = part.type.parameter("charset");
        if (part.type.name == "text/html") {
            const std::string page = page_by_header(bytes, charset);
            html_page read = parse_html(page.empty() ? bytes : page, "", budget_, html_part::shown);
            if (!read.repaired.empty()) repaired = std::move(read.repaired);
            return std::move(read.text);
        }
        std::string out = decode_labelled(bytes, charset, done);
        if (!done.empty()) repaired = std::move(done);
        std::erase(out, '\r');
        return out;
    }

    void add(std::string_view more) {
        const std::size_t end = more.find_last_not_of(ascii_space) + 1;
        const std::size_t begin = std::min(more.find_first_not_of('\n'), end);
        if (end == begin) return;
        if (!text.empty()) text += "\n\n";
        text.append(more.substr(begin, end - begin));
    }

    const reading_budget& budget_;
    reading_counts& counts_;
};

/// The message without the mark of mbox before lines "From ": one ">" of ">From ", ">>From " …
std::string unquoted(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
        std::string_view line = bytes.substr(0, end);
        bytes.remove_prefix(end);
        const std::size_t marks = std::min(line.find_first_not_of('>'), line.size());
        if (marks != 0 && line.substr(marks).starts_with("From ")) line.remove_prefix(1);
        out += line;
    }
    return out;
}

void add_links(document& made, std::string_view value, const reading_budget& budget) {
    for (std::string& id : message_ids(value)) {
        const bool known = std::ranges::find(made.links, id) != made.links.end();
        if (!known && id != made.id) add_link(made.links, std::move(id), budget);
    }
}

}  // namespace

mail_message read_mail(std::string_view bytes, bool is_quoted, const document_fields& kept,
                       const reading_budget& budget, reading_counts& counts, named_members& named) {
    std::string held;
    if (is_quoted && bytes.find("\n>") != std::string_view::npos) {
        held = unquoted(bytes);
        bytes = held;
    }
    const entity whole(bytes, "text/plain");
    mail_message out;
    out.made.id = message_id(whole.fields);
    out.made.title = decode_mail_words(whole.fields.value("subject"));
    constexpr std::size_t max_references = 64 << 10;  // bytes; each is compared with the others
    add_links(out.made, std::string_view(whole.fields.value("references")).substr(0, max_references), budget);
    add_links(out.made, std::string_view(whole.fields.value("in-reply-to")).substr(0, max_references),
              budget);
    mail_reader reader(budget, counts);
    reader.read(whole, 0);
    out.made.text = std::move(reader.text);
    out.repaired = std::move(reader.repaired);
    out.cut = std::move(reader.cut);
    fixed_fields fields(kept);
    for (const auto name : {"from"sv, "to"sv, "cc"sv})
        fields.add(name, decode_mail_words(whole.fields.value(name)));
    if (const std::string written = whole.fields.value("date"); !written.empty()) {
        const std::string date = iso_date_of_mail(written);
        if (date.empty() && fields.keeps("date")) ++counts.skipped["date of mail: unreadable"];
        fields.add("date", date);
    }
    fields.add("list_id", decode_mail_words(whole.fields.value("list-id")));
    out.made.fields = fields.finish(named);
    return out;
}

std::string message_id(const header_fields& fields) {
    const std::string value = fields.value("message-id");
    if (auto ids = message_ids(value); !ids.empty()) return std::move(ids.front());
    std::string bare(value.substr(0, value.find(' ')));
    repair_utf8(bare);
    return bare;
}

bool is_from_line(std::string_view line) {
    if (!line.starts_with("From ") || line.size() > longest_from_line) return false;
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t at = line.find(':', 5); at != std::string_view::npos; at = line.find(':', at + 1)) {
        if (at + 2 < line.size() && digit(line[at - 1]) && digit(line[at + 1]) && digit(line[at + 2]))
            return true;
    }
    return false;
}

bool opens_as_mbox(std::string_view head) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos || !is_from_line(head.substr(0, end))) return false;
    return opens_as_mail(head.substr(end + 1), true);
}

bool opens_as_mail(std::string_view head, bool named) {
    const std::size_t end = header_block_end(head);
    std::string_view block = head.substr(0, end == 0 ? head.rfind('\n') + 1 : end);
    const header_fields fields(block);
    bool is_served = false, is_mail = false, has_sender = false;
    for (const auto& each : fields.all()) {
        const std::string name = lower(each.name);
        if (name.find_first_of(" \t\"<>()") != std::string::npos) return false;
        is_served = is_served || name == "received" || name == "return-path" || name == "delivered-to";
        has_sender = has_sender || name == "from";
        constexpr std::array usual = {"from"sv, "to"sv,         "subject"sv,
                                      "date"sv, "message-id"sv, "mime-version"sv};
        is_mail = is_mail || is_served || std::ranges::find(usual, name) != usual.end();
    }
    // Every line that does not continue another is a field.
    std::size_t lines = 0;
    while (!block.empty()) {
        const std::size_t stop = std::min(block.find('\n'), block.size() - 1) + 1;
        const std::string_view line = trimmed(block.substr(0, stop));
        lines += !line.empty() && block.front() != ' ' && block.front() != '\t' ? 1 : 0;
        block.remove_prefix(stop);
    }
    return lines == fields.all().size() && lines > 1 && (named ? is_mail : is_served && has_sender);
}

}  // namespace quern::io
