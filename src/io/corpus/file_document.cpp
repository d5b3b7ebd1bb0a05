// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/file_document.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "base/ascii.hpp"
#include "base/failure_kinds.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Front matter, which precedes a markdown text and is not part of it: YAML between lines of "---", TOML between lines
/// of "+++", as static-site generators and pandoc use it. Only the title is read.
struct front_matter {
    std::size_t bytes = 0;  ///< including its last line's end; 0 if there is none
    std::string title;      ///< without quotes; empty if there is none
};

constexpr std::string_view blanks = " \t\r";

/// Removes the first line of `text` and returns it without trailing blanks.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line.substr(0, line.find_last_not_of(blanks) + 1);
}

/// The key of "key: value" (or "key = value"), and the value; an empty key if the line has another form.
struct member {
    std::string_view key, value;
};

member member_of(std::string_view line, char sign) {
    const std::size_t end = line.find(sign);
    if (end == std::string_view::npos) return {};
    const std::string_view value = line.substr(end + 1);
    if (sign == ':' && !value.empty() && blanks.find(value.front()) == std::string_view::npos) return {};
    std::string_view key = trimmed(line.substr(0, end));
    if (key.size() > 1 && (key.front() == '"' || key.front() == '\'') && key.back() == key.front())
        key = key.substr(1, key.size() - 2);
    const auto part_of_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               static_cast<unsigned char>(c) >= 0x80 ||
               std::string_view("_-./ ").find(c) != std::string_view::npos;
    };
    return std::ranges::all_of(key, part_of_name) ? member{key, trimmed(value)} : member{};
}

/// "a # remark" becomes a; quotes are removed, and protect their contents.
std::string scalar(std::string_view value) {
    if (value.empty() || (value.front() != '"' && value.front() != '\'')) {
        return std::string(trimmed(value.substr(0, std::min(value.find(" #"), value.size()))));
    }
    const char quote = value.front();
    std::string out;
    for (std::size_t at = 1; at < value.size(); ++at) {
        const bool is_escape = quote == '"' && value[at] == '\\' && at + 1 < value.size();
        const bool is_doubled = quote == '\'' && value.substr(at).starts_with("''");
        if (is_escape || is_doubled) {
            ++at;
        } else if (value[at] == quote) {
            break;
        }
        out += value[at];
    }
    return out;
}

/// The indented lines that follow "title: >" or "title: |", joined.
std::string folded(std::string_view rest) {
    std::string out;
    while (!rest.empty() && blanks.find(rest.front()) != std::string_view::npos) {
        const std::string_view line = trimmed(take_line(rest));
        if (!out.empty() && !line.empty()) out += ' ';
        out += line;
    }
    return out;
}

/// The front matter at the beginning of `text`. Between its two marks every line must be valid at the outermost level
/// of YAML (or TOML): otherwise "---" is a horizontal rule, and what follows is text.
front_matter read_front_matter(std::string_view text) {
    std::string_view rest = text;
    const std::string_view mark = take_line(rest);
    if (mark != "---" && mark != "+++") return {};
    const bool yaml = mark == "---";
    front_matter found;
    bool any = false, bracketed = false;
    for (bool first = true; !rest.empty(); first = false) {
        const std::string_view line = take_line(rest);
        if ((any || first) && (line == mark || (yaml && line == "..."))) {
            found.bytes = text.size() - rest.size();
            return found;
        }
        const std::string_view inner = trimmed(line);
        if (inner.empty() || inner.front() == '#') continue;
        const member here = member_of(line, yaml ? ':' : '=');
        const bool nested = inner.size() != line.size() || (yaml && line.starts_with("- "));
        if (here.key.empty() || nested) {
            // Continuations of the preceding line; TOML's tables and the ends of its arrays.
            const bool fits = yaml ? nested || bracketed
                                   : nested || bracketed || line.front() == '[' || line.front() == ']';
            if (!any || !fits) return {};
            bracketed = bracketed && inner.back() != ']' && inner.back() != '}';
            continue;
        }
        any = true;
        bracketed = (here.value.starts_with('[') && !here.value.ends_with(']')) ||
                    (here.value.starts_with('{') && !here.value.ends_with('}'));
        if (!found.title.empty() || lower(here.key) != "title") continue;
        const bool goes_on = yaml && (here.value.starts_with('>') || here.value.starts_with('|'));
        found.title = goes_on ? folded(rest) : scalar(here.value);
    }
    return {};
}

struct file_bytes {
    byte_buffer buffer;
    std::string damage;
    bool binary = false, too_large = false;

    std::string_view bytes() const { return buffer.bytes(); }
};

/// Reads up to one byte more than `limit`; for binary data, only its beginning.
file_bytes read_source(byte_source& source, std::uint64_t expected, std::uint64_t limit) {
    file_bytes out;
    byte_buffer& buffer = out.buffer;
    bool judged = false;
    for (std::uint64_t target = std::min(detection_bytes, limit) + 1;; target = std::min(target, limit) + 1) {
        buffer.reserve(target);
        bool at_end = false;
        while (!at_end && buffer.size() < target) {
            try {
                const std::size_t got = source.read(buffer.budget());
                buffer.grew(got);
                at_end = got == 0;
            } catch (const invalid_input& damage) {
                out.damage = damage.reason();
                at_end = true;
            }
        }
        if (!judged) out.binary = is_binary(buffer.bytes());
        judged = true;
        out.too_large = buffer.size() > limit;
        if (at_end || out.binary || out.too_large) return out;
        target = std::max<std::uint64_t>(expected, 2 * buffer.size());
    }
}

/// The text of the first heading: "# Title", or a line underlined with = or -.
std::string markdown_title(std::string_view text) {
    std::string_view before;
    bool fenced = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
            line.remove_suffix(1);
        if (line.starts_with("```") || line.starts_with("~~~")) fenced = !fenced;
        if (fenced) continue;
        const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
        if (marks >= 1 && marks <= 6 && marks < line.size() && line[marks] == ' ') {
            line.remove_prefix(marks);
            while (!line.empty() && (line.back() == '#')) line.remove_suffix(1);
            const std::size_t begin = line.find_first_not_of(' ');
            if (begin == std::string_view::npos) continue;
            return std::string(line.substr(begin, line.find_last_not_of(' ') - begin + 1));
        }
        const bool underline =
            !line.empty() && (line.find_first_not_of('=') == line.npos ||
                              (line.size() > 2 && line.find_first_not_of('-') == line.npos));
        if (underline && !before.empty()) return std::string(before);
        before = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    }
    return {};
}

/// Rejects a file that could not be decompressed at all. If its name is not conclusive, it may have held many
/// documents.
void reject_unread(parsed_unit& out, const folder_file& file, std::string reason) {
    const file_kind kind = kind_of(file.relative);
    const bool collection = kind == file_kind::unknown || kind == file_kind::text;
    note(out, {file.path.native(), 0, std::move(reason), true, false, collection});
}

}  // namespace

std::string unreadable(const io_error& failed) {
    // The message already names the path; an issue has it as a separate field.
    return "cannot be read: " + std::generic_category().message(failed.code());
}

void parse_file(const folder_file& file, const corpus_options& options, const reading_budget& budget,
                const context& ctx, parsed_unit& out, byte_source* opened) {
    const std::string& shown = file.path.native();
    const document_limit limit = limit_of(options, std::min(budget.bytes, options.document_memory));
    file_bytes read;
    try {
        std::unique_ptr<byte_source> source;
        if (opened == nullptr) source = open_bytes(file.path, ctx);
        read = read_source(opened == nullptr ? *source : *opened, file.bytes, limit.bytes);
    } catch (const io_error& failed) {
        if (says_exhausted(failed.code())) throw;  // a failure of the run, not of the file
        return reject(out, shown, 0, unreadable(failed));
    } catch (const usage_error&) {
        return reject(out, shown, 0, "disappeared while the folder was read");
    } catch (const invalid_input& damage) {
        return reject_unread(out, file, damage.reason());
    }
    if (read.binary) {
        ++out.counts.skipped[skipped_kind(file.relative)];
        return;
    }
    if (read.too_large) {
        if (limit.is_of_memory && !budget.is_last)
            throw out_of_memory("a document", reading_factor * file.bytes, budget.bytes);
        return reject(out, shown, 0, limit.reason());
    }
    if (!read.damage.empty() && read.bytes().empty()) return reject_unread(out, file, std::move(read.damage));
    const bool damaged = !read.damage.empty();
    document made;
    made.path = shown;
    made.id = file.relative;
    std::string repaired;
    if (!is_utf8(made.id)) repaired = repair_utf8(made.id) + " (the path)";
    const file_kind kind = kind_of(file.relative);
    const bool page = kind == file_kind::html ||
                      (kind == file_kind::unknown && opens_as_html(read.bytes().substr(0, detection_bytes)));
    if (page) {
        html_page parsed = parse_html(read.bytes(), file.relative, budget);
        made.title = std::move(parsed.title);
        made.text = std::move(parsed.text);
        made.links = std::move(parsed.links);
        if (!parsed.repaired.empty()) repaired = std::move(parsed.repaired);
    } else {
        std::string done;
        made.text = decode_text(read.bytes(), done);
        read.buffer = {};
        if (!done.empty()) repaired = std::move(done);
        if (kind == file_kind::markdown) {
            front_matter front = read_front_matter(made.text);
            made.text.erase(0, front.bytes);
            made.title = front.title.empty() ? markdown_title(made.text) : std::move(front.title);
        }
    }
    if (made.title.empty()) made.title = file_name(made.id);
    if (damaged) repaired = std::move(read.damage);
    if (!repaired.empty()) (damaged ? truncate : repair)(out, shown, 0, std::move(repaired));
    keep(out, std::move(made), shown, 0);
}

}  // namespace quern::io
