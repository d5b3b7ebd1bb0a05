// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/warc_record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/fixed_fields.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/html_charset.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/http_response.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

enum class content { page, text, unknown, other };

/// `type` as a header names it. Without one the content decides.
content content_of(std::string_view type) {
    if (type == "text/html" || type == "application/xhtml+xml") return content::page;
    if (type == "text/plain") return content::text;
    const bool says_nothing = type.empty() || type == "application/octet-stream" ||
                              type == "unknown/unknown" || type == "application/unknown" ||
                              type.find('/') == std::string_view::npos;
    return says_nothing ? content::unknown : content::other;
}

/// The category of a type that is not read; there are few of them.
std::string type_category(std::string_view type) {
    constexpr std::array common = {"application/atom+xml"sv,
                                   "application/javascript"sv,
                                   "application/json"sv,
                                   "application/msword"sv,
                                   "application/pdf"sv,
                                   "application/rss+xml"sv,
                                   "application/xml"sv,
                                   "application/zip"sv,
                                   "image/gif"sv,
                                   "image/jpeg"sv,
                                   "image/png"sv,
                                   "image/svg+xml"sv,
                                   "image/webp"sv,
                                   "text/calendar"sv,
                                   "text/css"sv,
                                   "text/csv"sv,
                                   "text/javascript"sv,
                                   "text/markdown"sv,
                                   "text/xml"sv};
    if (std::ranges::find(common, type) != common.end()) return std::string(type);
    constexpr std::array families = {"application/"sv, "audio/"sv, "font/"sv,
                                     "image/"sv,       "text/"sv,  "video/"sv};
    for (const auto family : families) {
        if (type.starts_with(family)) return "other " + std::string(family.substr(0, family.size() - 1));
    }
    return type.empty() ? "without a type" : "unknown";
}

std::string skipped_type(std::string_view type) {
    return "response of another type: " + type_category(type);
}

bool is_robots_file(std::string_view uri) {
    uri = uri.substr(0, uri.find_first_of("?#"));
    if (!uri.ends_with("/robots.txt")) return false;
    const std::size_t host = uri.find("://");
    return host != std::string_view::npos && uri.find('/', host + 3) == uri.size() - "/robots.txt"sv.size();
}

/// The content's type and encoding, as HTTP's header or the record's says.
media_type type_of(const warc_header& header, const std::optional<http_head>& head) {
    return media_type(head ? head->fields.value("content-type") : header.content_type);
}

bool is_response(const warc_header& header, std::string_view block) {
    return header.type == "response" || (header.type == "resource" && block.starts_with("HTTP/"));
}

/// A body without a useful type, judged by its beginning.
content sniffed(std::string_view body) {
    return opens_as_html(body.substr(0, detection_bytes)) ? content::page : content::other;
}

/// Fills the document's text, title and links from a body.
void read_content(content what, std::string_view body, const std::string& charset, const warc_header& header,
                  const reading_budget& budget, document& made, std::string& repaired) {
    if (what == content::text) {
        made.text = decode_labelled(body, charset, repaired);
        return;
    }
    const std::string decoded = page_by_header(body, charset);
    html_page page = parse_html(decoded.empty() ? body : decoded, header.uri, budget);
    made.title = std::move(page.title);
    made.text = std::move(page.text);
    if (is_web_address(header.uri)) made.links = std::move(page.links);
    if (!page.repaired.empty()) repaired = std::move(page.repaired);
}

}  // namespace

std::optional<warc_header> warc_header::of(const header_fields& fields) {
    warc_header out;
    const std::string length = fields.value("content-length");
    const auto [end, failed] = std::from_chars(length.data(), length.data() + length.size(), out.length);
    if (failed != std::errc() || end != length.data() + length.size()) return std::nullopt;
    out.type = lower(fields.value("warc-type"));
    out.uri = fields.value("warc-target-uri");
    if (out.uri.starts_with('<') && out.uri.ends_with('>')) out.uri = out.uri.substr(1, out.uri.size() - 2);
    out.content_type = fields.value("content-type");
    out.date = fields.value("warc-date");
    out.record_id = fields.value("warc-record-id");
    out.language = fields.value("warc-identified-content-language");
    out.truncated = fields.value("warc-truncated");
    return out;
}

std::string skipped_record(const warc_header& header, std::string_view block) {
    constexpr std::array known = {"warcinfo"sv, "request"sv, "metadata"sv, "revisit"sv, "continuation"sv};
    if (std::ranges::find(known, header.type) != known.end()) return "record: " + header.type;
    const bool readable =
        header.type == "response" || header.type == "resource" || header.type == "conversion";
    if (!readable) return "record: of another type";
    const media_type block_type(header.content_type);
    if (block_type.name == "text/dns" || header.uri.starts_with("dns:")) return "record: DNS";
    if (is_robots_file(header.uri)) return "record: robots.txt";
    std::optional<http_head> head;
    if (is_response(header, block)) {
        head = read_http_head(block);
        if (!head) return "response of another protocol than HTTP";
        if (head->status != 200) {
            const bool usual = head->status >= 100 && head->status < 600;
            return "response of another status: " + (usual ? std::to_string(head->status) : "unknown");
        }
    }
    const media_type type = type_of(header, head);
    return content_of(type.name) == content::other ? skipped_type(type.name) : std::string();
}

void parse_warc_item(const warc_item& item, std::string_view block, const unit_position& position,
                     const document_fields& kept, parsed_unit& out) {
    const auto& path = position.path;
    const document_limit limit = position.limit;
    std::optional<http_head> head;
    http_body body;
    body.bytes = block;
    if (is_response(item.header, block)) {
        head = read_http_head(block.substr(0, http_head_bytes));
        if (!head) return reject(out, path, item.number, "a response without a status line");
        decode_http_body(block.substr(head->bytes), head->fields, limit.bytes, body);
    }
    if (body.too_large) {
        if (limit.is_of_memory && !position.budget.is_last)
            throw out_of_memory("a document", reading_factor * limit.bytes, position.budget.bytes);
        return reject(out, path, item.number, limit.reason());
    }
    if (!body.unsupported.empty()) {
        ++out.counts.skipped["response of another content coding: " + body.unsupported];
        return;
    }
    const media_type type = type_of(item.header, head);
    content what = content_of(type.name);
    if (what == content::unknown) what = sniffed(body.bytes);
    if (what == content::other || (what == content::text && is_binary(body.bytes))) {
        ++out.counts.skipped[what == content::text ? "response of another type: binary, called text/plain"
                                                   : skipped_type(type.name)];
        return;
    }
    document made;
    std::string repaired;
    try {
        read_content(what, body.bytes, type.parameter("charset"), item.header, position.budget, made,
                     repaired);
    } catch (const out_of_memory& why) {
        return reject_or_put_off(out, position, item.number, why);
    }
    made.id = item.id;
    if (std::string done = repair_utf8(made.id); !done.empty()) repaired = done + " (the URI)";
    fixed_fields fields(kept);
    fields.add("date", item.header.date);
    fields.add("content_type", head ? head->fields.value("content-type") : item.header.content_type);
    if (head) fields.add_number("status", head->status);
    fields.add("record_id", item.header.record_id);
    fields.add("language", item.header.language);
    fields.add("truncated", item.header.truncated);
    made.fields = fields.finish(out.named);
    if (!body.problem.empty()) {
        truncate(out, path, item.number, std::move(body.problem));
    } else if (!repaired.empty()) {
        repair(out, path, item.number, std::move(repaired));
    }
    keep(out, std::move(made), path, item.number);
}

}  // namespace quern::io
