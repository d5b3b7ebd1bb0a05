// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/file_document.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/ascii.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/front_matter.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

struct file_bytes {
    std::string bytes;
    std::string damage;
    bool too_large = false;
};

file_bytes read_source(byte_source& source, std::uint64_t expected, std::uint64_t limit) {
    file_bytes out;
    std::size_t target = std::min(expected, limit) + 1;
    while (true) {
        const std::size_t held = out.bytes.size();
        out.bytes.resize(target);
        std::size_t got = 0;
        try {
            got = source.read(std::span(out.bytes).subspan(held));
        } catch (const invalid_input& damage) {
            out.damage = damage.reason();
        }
        out.bytes.resize(held + got);
        if (out.bytes.size() > limit) out.too_large = true;
        if (got == 0 || out.too_large) return out;
        if (out.bytes.size() == target) target = std::min<std::uint64_t>(2 * target, limit + 1);
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

/// A file of which not one byte could be decompressed. Where its name leaves it open, it may have held many documents.
void reject_unread(parsed_unit& out, const folder_file& file, std::string reason) {
    const file_kind kind = kind_of(file.relative);
    const bool collection = kind == file_kind::unknown || kind == file_kind::text;
    note(out, {file.path.native(), 0, std::move(reason), true, false, collection});
}

}  // namespace

void parse_file(const folder_file& file, std::uint64_t max_document_bytes, const context& run,
                parsed_unit& out, byte_source* opened) {
    const std::string& shown = file.path.native();
    file_bytes read;
    try {
        std::unique_ptr<byte_source> source;
        if (opened == nullptr) source = open_bytes(file.path, run);
        read = read_source(opened == nullptr ? *source : *opened, file.bytes, max_document_bytes);
    } catch (const io_error& failed) {
        // The message names the path already; an issue has it apart.
        return reject(out, shown, 0, "cannot be read: " + std::generic_category().message(failed.code()));
    } catch (const usage_error&) {
        return reject(out, shown, 0, "vanished while the folder was read");
    } catch (const invalid_input& damage) {
        return reject_unread(out, file, damage.reason());
    }
    if (is_binary(read.bytes)) {
        ++out.counts.skipped["binary file"];
        return;
    }
    if (read.too_large) return reject(out, shown, 0, oversize_reason(max_document_bytes));
    if (!read.damage.empty() && read.bytes.empty()) return reject_unread(out, file, std::move(read.damage));
    const bool damaged = !read.damage.empty();
    document made;
    made.path = shown;
    made.id = file.relative;
    std::string mended;
    if (!is_utf8(made.id)) mended = mend_utf8(made.id) + " (the path)";
    const file_kind kind = kind_of(file.relative);
    const bool page =
        kind == file_kind::html || (kind == file_kind::unknown &&
                                    opens_as_html(std::string_view(read.bytes).substr(0, detection_bytes)));
    if (page) {
        html_page parsed = parse_html(read.bytes, file.relative);
        made.title = std::move(parsed.title);
        made.text = std::move(parsed.text);
        made.links = std::move(parsed.links);
        if (!parsed.mended.empty()) mended = std::move(parsed.mended);
    } else {
        std::string done;
        made.text = decode_text(read.bytes, done);
        if (!done.empty()) mended = std::move(done);
        if (kind == file_kind::markdown) {
            front_matter front = read_front_matter(made.text);
            made.text.erase(0, front.bytes);
            made.title = front.title.empty() ? markdown_title(made.text) : std::move(front.title);
        }
    }
    if (made.title.empty()) made.title = file_name(made.id);
    if (damaged) mended = std::move(read.damage);
    if (!mended.empty()) (damaged ? cut : mend)(out, shown, 0, std::move(mended));
    keep(out, std::move(made), shown, 0);
}

}  // namespace quern::io
