// SPDX-License-Identifier: Apache-2.0
// WikiExtractor's output: `<doc id="12" url="…" title="Anarchism">`, the article, `</doc>` on a separate line. A record
// ends after that line. Its releases differ: some escape the text as HTML, some leave quotes in titles unescaped, some
// keep links as <a href="Target">label</a>.
#include <algorithm>
#include <string>

#include "io/corpus/encoding.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

constexpr std::string_view close_tag = "</doc>";

/// `at` is the position of `</doc>`: returns the end of its line, if the line has nothing else; else 0.
std::size_t close_line_end(std::string_view bytes, std::size_t at) {
    std::string_view rest = bytes.substr(at + close_tag.size());
    std::size_t taken = at + close_tag.size();
    if (rest.starts_with('\r')) {
        rest.remove_prefix(1);
        ++taken;
    }
    return rest.starts_with('\n') ? taken + 1 : 0;
}

/// Values may contain quotes: one ends where the next attribute or the tag's end follows.
std::string attribute(std::string_view header, std::string_view name) {
    const std::string key = std::string(name) + "=\"";
    const std::size_t found = header.find(" " + key);
    if (found == std::string_view::npos) return {};
    const std::size_t begin = found + 1 + key.size();
    for (std::size_t at = header.find('"', begin); at != std::string_view::npos;
         at = header.find('"', at + 1)) {
        std::string_view rest = header.substr(at + 1);
        if (rest == ">" || rest.empty()) return std::string(header.substr(begin, at - begin));
        if (!rest.starts_with(' ')) continue;
        rest.remove_prefix(1);
        const std::size_t letters =
            std::min(rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), rest.size());
        if (letters != 0 && rest.substr(letters).starts_with("=\""))
            return std::string(header.substr(begin, at - begin));
    }
    return {};
}

/// Removes the link tags from the text; their targets become titles with '_', like ids of Wikipedia's dumps.
void take_links(std::string& text, std::vector<std::string>& links) {
    constexpr std::string_view open = "<a href=\"";
    constexpr std::string_view close = "</a>";
    std::size_t from = text.find(open);
    if (from == std::string::npos) return;
    std::string out(text, 0, from);
    const std::string_view all = text;
    std::size_t inside = 0;
    while (from < all.size()) {
        const std::string_view rest = all.substr(from);
        const std::size_t end =
            rest.starts_with(open) ? rest.find("\">", open.size()) : std::string_view::npos;
        const std::size_t line = rest.starts_with(open) ? rest.find('\n') : 0;
        if (end != std::string_view::npos && end < line) {
            std::string target = percent_decoded(rest.substr(open.size(), end - open.size()));
            target.resize(std::min(target.find('#'), target.size()));
            std::replace(target.begin(), target.end(), ' ', '_');
            const bool local = target.find("://") == std::string::npos && !target.empty() && is_utf8(target);
            if (local) links.push_back(std::move(target));
            from += end + 2;
            ++inside;
        } else if (inside != 0 && rest.starts_with(close)) {
            from += close.size();
            --inside;
        } else {
            out += all[from++];
        }
        const std::size_t next = std::min(all.find('<', from), all.size());
        out.append(all.substr(from, next - from));
        from = next;
    }
    text = std::move(out);
}

class wikiextractor final : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const override {
        for (std::size_t at = bytes.rfind(close_tag); at != std::string_view::npos;
             at = at == 0 ? std::string_view::npos : bytes.rfind(close_tag, at - 1)) {
            const std::size_t end = close_line_end(bytes, at);
            if (end != 0 && (at == 0 || bytes[at - 1] == '\n')) return end;
        }
        return 0;
    }
    std::size_t end_within(std::string_view bytes) const override {
        for (std::size_t at = bytes.find(close_tag); at != std::string_view::npos;
             at = bytes.find(close_tag, at + 1)) {
            const std::size_t end = close_line_end(bytes, at);
            if (end != 0 && at != 0 && bytes[at - 1] == '\n') return end;
        }
        return 0;
    }
    /// A closing tag may be a record by itself.
    std::size_t first_end(std::string_view bytes) const override {
        const std::size_t end = bytes.starts_with(close_tag) ? close_line_end(bytes, 0) : 0;
        return end != 0 ? end : end_within(bytes);
    }
    std::size_t end_mark_bytes() const override { return close_tag.size() + 3; }

    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const override {
        std::uint64_t line = position.first_line;
        while (!bytes.empty()) {
            std::size_t end = first_end(bytes);
            if (end == 0) end = bytes.size();
            parse_record(bytes.substr(0, end), position, line, out);
            line += count_line_ends(bytes.substr(0, end));
            bytes.remove_prefix(end);
        }
    }

  private:
    /// A record is one document, unless closing tags are missing: then every <doc> begins another.
    static void parse_record(std::string_view record, const unit_position& position, std::uint64_t line,
                             parsed_unit& out) {
        if (record.size() > position.limit.bytes) {
            return reject(out, position.path, line, position.limit.reason(record.size()));
        }
        std::size_t at = find_open(record, 0);
        const std::string_view before = record.substr(0, at);
        if (before.find_first_not_of(" \t\r\n") != std::string_view::npos) {
            reject(out, position.path, line, "text outside of <doc> … </doc>");
        }
        line += count_line_ends(before);
        while (at < record.size()) {
            const std::size_t next = find_open(record, at + 1);
            std::string_view one = record.substr(at, next - at);
            const std::string_view whole = one;
            const bool closed = strip_close(one);
            parse_document(one, closed, position, line, out);
            line += count_line_ends(whole);
            at = next;
        }
    }

    static std::size_t find_open(std::string_view record, std::size_t from) {
        for (std::size_t at = record.find("<doc id=\"", from);; at = record.find("<doc id=\"", at + 1)) {
            if (at == std::string_view::npos) break;
            if (at == 0 || record[at - 1] == '\n') return at;
        }
        return record.size();
    }

    static bool strip_close(std::string_view& one) {
        std::string_view text = one;
        while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
        if (!text.ends_with(close_tag)) return false;
        text.remove_suffix(close_tag.size());
        if (!text.empty() && text.back() != '\n') return false;
        one = text;
        return true;
    }

    static void parse_document(std::string_view one, bool closed, const unit_position& position,
                               std::uint64_t line, parsed_unit& out) {
        std::string_view header = one.substr(0, std::min(one.find('\n'), one.size()));
        one.remove_prefix(std::min(header.size() + 1, one.size()));
        if (header.ends_with('\r')) header.remove_suffix(1);
        document made;
        made.path = position.path;
        made.line = line;
        made.line_paragraphs = true;
        made.id = decode_references(attribute(header, "id"));
        made.title = attribute(header, "title");
        if (made.id.empty()) return reject(out, position.path, line, "the id is missing or empty");
        if (!is_utf8(made.id)) return reject(out, position.path, line, "the id is not UTF-8");
        const std::string raw_title = made.title;
        made.title = decode_references(made.title);
        // The first line repeats the title.
        std::string_view first = one.substr(0, std::min(one.find('\n'), one.size()));
        const std::size_t first_size = first.size();
        if (first.ends_with('\r')) first.remove_suffix(1);
        if (!made.title.empty() && (first == raw_title || decode_references(first) == made.title)) {
            one.remove_prefix(std::min(first_size + 1, one.size()));
        }
        while (one.starts_with('\n') || one.starts_with("\r\n"))
            one.remove_prefix(one.front() == '\n' ? 1 : 2);
        while (one.ends_with('\n') || one.ends_with('\r')) one.remove_suffix(1);
        made.text = decode_references(one);
        take_links(made.text, made.links);
        std::string done = repair_utf8(made.text);
        if (std::string also = repair_utf8(made.title); done.empty()) done = std::move(also);
        if (!closed) done = "truncated: no </doc>";
        if (!done.empty()) (closed ? repair : truncate)(out, position.path, line, std::move(done));
        out.documents.push_back(std::move(made));
    }
};

}  // namespace

std::shared_ptr<const record_form> wikiextractor_form() {
    return std::make_shared<wikiextractor>();
}

}  // namespace quern::io
