// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/file_document.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "base/ascii.hpp"
#include "base/failure_kinds.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/byte_buffer.hpp"
#include "io/corpus/detect.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/front_matter.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

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
