// SPDX-License-Identifier: Apache-2.0
// Pages are cut out by the reader beforehand (wikipedia_cut.hpp), so that expat, the costly part, runs on many threads,
// and damage in one page cannot reach the next.
#include "io/corpus/wikipedia_page.hpp"

#include <expat.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <new>

#include "base/utf8.hpp"

namespace quern::io {
namespace {

struct parser_deleter {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using parser_handle = std::unique_ptr<std::remove_pointer_t<XML_Parser>, parser_deleter>;

parser_handle new_parser() {
    parser_handle parser(XML_ParserCreate("UTF-8"));
    if (!parser) throw std::bad_alloc();
    return parser;
}

const char* attribute(const XML_Char** attributes, std::string_view name) {
    for (; *attributes != nullptr; attributes += 2) {
        if (name == attributes[0]) return attributes[1];
    }
    return nullptr;
}

std::optional<int> number(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
    int value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
    return value;
}

std::string message_of(XML_Parser parser) {
    const XML_Error code = XML_GetErrorCode(parser);
    if (code == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
    return XML_ErrorString(code);
}

constexpr std::string_view dump_tags[] = {"mediawiki", "siteinfo",   "page",      "title",
                                          "ns",        "id",         "redirect",  "restrictions",
                                          "revision",  "parentid",   "timestamp", "contributor",
                                          "username",  "ip",         "minor",     "comment",
                                          "origin",    "model",      "format",    "text",
                                          "sha1",      "content",    "role",      "upload",
                                          "filename",  "src",        "size",      "discussionthreadinginfo",
                                          "sitename",  "dbname",     "base",      "generator",
                                          "case",      "namespaces", "namespace", "DiscussionThreading"};

bool begins_dump_tag(std::string_view text) {
    if (text.starts_with("<!--") || text.starts_with("<![CDATA[")) return true;
    const std::string_view rest = text.substr(text.starts_with("</") ? 2 : 1);
    return std::any_of(std::begin(dump_tags), std::end(dump_tags), [&](std::string_view name) {
        return rest.starts_with(name) && rest.size() > name.size() &&
               std::string_view(" />\n\t\r").find(rest[name.size()]) != std::string_view::npos;
    });
}

/// Length of the reference at the beginning of `text` that XML knows without a DTD; 0 if there is none. `character`:
/// whether XML allows the character it denotes.
std::size_t xml_reference(std::string_view text, bool& character) {
    character = true;
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
        if (text.starts_with(known)) return known.size();
    }
    if (!text.starts_with("&#")) return 0;
    const bool hex = text.size() > 2 && text[2] == 'x';
    const char* const begin = text.data() + (hex ? 3 : 2);
    const char* const end = text.data() + std::min<std::size_t>(text.size(), 16);
    if (begin >= end) return 0;
    std::uint32_t point = 0;
    const auto parsed = std::from_chars(begin, end, point, hex ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ';') return 0;
    character = (point >= 0x20 && point < 0xD800) || point == '\t' || point == '\n' || point == '\r' ||
                (point >= 0xE000 && point < 0xFFFE) || (point >= 0x10000 && point < 0x110000);
    return static_cast<std::size_t>(parsed.ptr - text.data()) + 1;
}

}  // namespace

void wiki_page::clear() {
    title.clear();
    space.reset();
    is_redirect = false;
    redirect_title.clear();
    model.clear();
    text.clear();
    text_begun = false;
}

struct wiki_page_parser::state {
    parser_handle parser;
    wiki_page* page = nullptr;
    int depth = 0;                // of open elements, the root being the first
    std::string* sink = nullptr;  // current destination of character data
    std::string space_text;
    std::uint64_t fed = 0;  // bytes since the parser was created

    static void start(void* user, const XML_Char* name, const XML_Char** attributes) {
        static_cast<state*>(user)->start_element(name, attributes);
    }
    static void end(void* user, const XML_Char*) {
        auto& self = *static_cast<state*>(user);
        if (--self.depth == 2 && self.sink == &self.space_text) self.page->space = number(self.space_text);
        self.sink = nullptr;
    }
    static void text(void* user, const XML_Char* data, int length) {
        auto& self = *static_cast<state*>(user);
        if (self.sink != nullptr) self.sink->append(data, static_cast<std::size_t>(length));
    }

    // <mediawiki><page>: title, ns, redirect are at depth 2 when they begin; model and text in <revision> at 3.
    void start_element(std::string_view name, const XML_Char** attributes) {
        sink = nullptr;
        if (depth == 2) {
            if (name == "title") {
                page->title.clear();
                sink = &page->title;
            } else if (name == "ns") {
                space_text.clear();
                sink = &space_text;
            } else if (name == "redirect") {
                page->is_redirect = true;
                if (const char* title = attribute(attributes, "title")) page->redirect_title = title;
            } else if (name == "revision") {
                page->text.clear();
                page->model.clear();
                page->text_begun = false;
            }
        } else if (depth == 3) {
            if (name == "text") {
                page->text.clear();
                page->text_begun = true;
                sink = &page->text;
            } else if (name == "model") {
                page->model.clear();
                sink = &page->model;
            }
        }
        ++depth;
    }

    void restart() {
        parser = new_parser();
        XML_SetUserData(parser.get(), this);
        XML_SetElementHandler(parser.get(), start, end);
        XML_SetCharacterDataHandler(parser.get(), text);
        depth = 0;
        fed = 0;
        feed("<mediawiki>", false);
    }

    bool feed(std::string_view xml, bool last) {
        // expat counts in int
        constexpr std::size_t largest = 1 << 30;
        do {
            const std::size_t now = std::min(xml.size(), largest);
            const bool final_part = last && now == xml.size();
            fed += now;
            if (XML_Parse(parser.get(), xml.data(), static_cast<int>(now), final_part) != XML_STATUS_OK)
                return false;
            xml.remove_prefix(now);
        } while (!xml.empty());
        return true;
    }

    void begin(wiki_page& target) {
        target.clear();
        page = &target;
        sink = nullptr;
        space_text.clear();
    }
};

wiki_page_parser::wiki_page_parser() : state_(std::make_unique<state>()) {}
wiki_page_parser::~wiki_page_parser() = default;

page_result wiki_page_parser::parse(std::string_view xml, bool complete, wiki_page& page) {
    state& s = *state_;
    page_result result;
    if (complete) {
        if (!s.parser) s.restart();
        s.begin(page);
        const std::uint64_t before = s.fed;
        if (s.feed(xml, false) && s.depth == 1) return result;
        const bool stopped = XML_GetErrorCode(s.parser.get()) != XML_ERROR_NONE;
        result.reason = stopped ? message_of(s.parser.get()) : "elements without an end";
        const auto seen =
            static_cast<std::uint64_t>(std::max<XML_Index>(0, XML_GetCurrentByteIndex(s.parser.get())));
        result.damage_at = stopped && seen > before ? std::min<std::uint64_t>(seen - before, xml.size()) : 0;
    } else {
        result.reason = "no </page>";
        result.damage_at = xml.size();
    }
    s.restart();
    s.begin(page);
    const std::string repaired = repaired_xml(xml);
    if (s.feed(repaired, false) && s.feed("</mediawiki>", true) && complete) {
        result.state = page_state::repaired;
    } else {
        result.state = page.text_begun && !page.title.empty() ? page_state::truncated : page_state::hopeless;
    }
    s.parser.reset();
    return result;
}

namespace {

struct site_reader {
    wiki_site site;
    std::string text;
    int key = 0;
    bool named = false;

    static void start(void* user, const XML_Char* name, const XML_Char** attributes) {
        auto& self = *static_cast<site_reader*>(user);
        self.text.clear();
        const std::string_view element = name;
        if (element == "mediawiki") {
            if (const char* language = attribute(attributes, "xml:lang")) self.site.set_language(language);
        } else if (element == "namespace") {
            const char* key = attribute(attributes, "key");
            const auto value = key != nullptr ? number(key) : std::nullopt;
            self.named = value.has_value();
            self.key = value.value_or(0);
        }
    }
    static void end(void* user, const XML_Char* name) {
        auto& self = *static_cast<site_reader*>(user);
        const std::string_view element = name;
        if (element == "namespace" && self.named) self.site.add_namespace(self.text, self.key);
        if (element == "case") self.site.set_first_letter(self.text != "case-sensitive");
        self.text.clear();
    }
    static void characters(void* user, const XML_Char* data, int length) {
        static_cast<site_reader*>(user)->text.append(data, static_cast<std::size_t>(length));
    }
};

}  // namespace

wiki_site parse_site(std::string_view xml, std::string& reason) {
    site_reader reader;
    const parser_handle parser = new_parser();
    XML_SetUserData(parser.get(), &reader);
    XML_SetElementHandler(parser.get(), site_reader::start, site_reader::end);
    XML_SetCharacterDataHandler(parser.get(), site_reader::characters);
    const bool read = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), 0) == XML_STATUS_OK;
    reason = read ? std::string() : message_of(parser.get());
    return std::move(reader.site);
}

std::string repaired_xml(std::string_view xml) {
    std::string out;
    out.reserve(xml.size() + 64);
    for (std::size_t i = 0; i < xml.size();) {
        const std::size_t begin = i;
        const char32_t c = next_utf8(xml, i);
        if (c == ill_formed || (c & 0xFFFE) == 0xFFFE) {
            out += "\xEF\xBF\xBD";
        } else if (c == '&') {
            bool character = false;
            const std::size_t length = xml_reference(xml.substr(begin), character);
            if (length == 0) out += "&amp;";
            if (length > 0 && character) out.append(xml.substr(begin, length));
            if (length > 0) i = begin + length;
        } else if (c == '<' && !begins_dump_tag(xml.substr(begin))) {
            out += "&lt;";
        } else if (c >= 0x20 || c == '\t' || c == '\n' || c == '\r') {
            out.append(xml.substr(begin, i - begin));
        }
    }
    return out;
}

}  // namespace quern::io
