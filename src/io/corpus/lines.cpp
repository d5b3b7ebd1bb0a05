// SPDX-License-Identifier: Apache-2.0
// One word a line, empty lines between documents, words verbatim: text that was cut into words elsewhere.
// A record is the lines of one document and the empty line after it, or an empty line alone.
#include <algorithm>
#include <string>

#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

/// The length of the line that begins `bytes`, with its end; it is empty where nothing but the end is there.
struct line_shape {
    std::size_t length;
    bool empty;
};

line_shape shape_of(std::string_view bytes) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return {bytes.size(), bytes.empty() || bytes == "\r"};
    return {end + 1, end == 0 || (end == 1 && bytes[0] == '\r')};
}

std::size_t first_end(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const auto [length, empty] = shape_of(bytes.substr(at));
        at += length;
        if (empty) return at;
    }
    return bytes.size();
}

class lines final : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const override {
        std::size_t end = bytes.rfind('\n');
        while (end != std::string_view::npos) {
            const std::size_t before = end == 0 ? std::string_view::npos : bytes.rfind('\n', end - 1);
            const std::size_t begin = before + 1;  // 0 where there is no line before
            if (end == begin || (end == begin + 1 && bytes[begin] == '\r')) return end + 1;
            end = before;
        }
        return 0;
    }

    std::size_t end_within(std::string_view bytes) const override {
        for (std::size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
            if (bytes.substr(at + 1).starts_with('\n')) return at + 2;
            if (bytes.substr(at + 1).starts_with("\r\n")) return at + 3;
        }
        return 0;
    }

    std::size_t end_mark_bytes() const override { return 3; }

    /// Documents that begin here: lines with a word whose predecessor is empty (a unit begins a record).
    std::uint64_t count(std::string_view bytes) const override {
        if (bytes.find('\r') != std::string_view::npos) return count_by_lines(bytes);
        if (bytes.empty()) return 0;
        std::uint64_t found = bytes[0] != '\n' ? 1 : 0;
        if (bytes.size() > 1 && bytes[0] == '\n' && bytes[1] != '\n') ++found;
        // Branchless, so that the compiler turns it into vector code.
        std::size_t inside = 0;
        for (std::size_t i = 2; i < bytes.size(); ++i) {
            const int first = bytes[i - 2] == '\n', second = bytes[i - 1] == '\n', word = bytes[i] != '\n';
            inside += static_cast<std::size_t>(first & second & word);
        }
        return found + inside;
    }

    void parse(std::string_view bytes, const unit_place& place, parsed_unit& out) const override {
        std::uint64_t number = place.first_line, record = place.first_record;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::string_view block = bytes.substr(at, first_end(bytes.substr(at)));
            const std::uint64_t first_line = number;
            at += block.size();
            number += static_cast<std::uint64_t>(std::count(block.begin(), block.end(), '\n'));
            if (shape_of(block).empty) continue;
            parse_block(block, place, first_line, record++, out);
        }
    }

  private:
    static std::uint64_t count_by_lines(std::string_view bytes) {
        std::uint64_t found = 0;
        bool after_empty = true;
        while (!bytes.empty()) {
            const auto [length, empty] = shape_of(bytes);
            found += static_cast<std::uint64_t>(after_empty && !empty);
            after_empty = empty;
            bytes.remove_prefix(length);
        }
        return found;
    }

    static void parse_block(std::string_view block, const unit_place& place, std::uint64_t line,
                            std::uint64_t record, parsed_unit& out) {
        if (block.size() > place.max_document_bytes) {
            return reject(out, place.path, line, oversize_reason(place.max_document_bytes));
        }
        document made;
        made.path = place.path;
        made.line = line;
        made.id = std::to_string(record);
        made.verbatim = true;
        made.text.reserve(block.size());
        while (!block.empty()) {
            const std::size_t end = std::min(block.find('\n'), block.size());
            std::string_view word = block.substr(0, end);
            block.remove_prefix(std::min(end + 1, block.size()));
            if (word.ends_with('\r')) word.remove_suffix(1);
            if (word.empty()) continue;
            if (!made.text.empty()) made.text += '\n';
            made.text += word;
        }
        if (auto done = mend_utf8(made.text); !done.empty()) mend(out, place.path, line, std::move(done));
        keep(out, std::move(made), place.path, line);
    }
};

}  // namespace

std::shared_ptr<const record_form> lines_form() {
    return std::make_shared<lines>();
}

}  // namespace quern::io
