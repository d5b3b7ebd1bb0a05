// SPDX-License-Identifier: Apache-2.0
// Documents between empty lines. `lines`: one word a line, words verbatim, text that was tokenised elsewhere;
// `text-paragraphs`: plain text. A record is the lines of one document and the empty line after it, or an empty line alone.
#include <algorithm>
#include <string>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/record_text.hpp"
#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

/// The length of the first line of `bytes`, including its end; empty if it has only the end.
struct line_shape {
    std::size_t length;
    bool empty;
};

line_shape shape_of(std::string_view bytes) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return {bytes.size(), bytes.empty() || bytes == "\r"};
    return {end + 1, end == 0 || (end == 1 && bytes[0] == '\r')};
}

std::size_t block_end(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const auto [length, empty] = shape_of(bytes.substr(at));
        at += length;
        if (empty) return at;
    }
    return bytes.size();
}

class blocks : public record_form {
  public:
    std::size_t last_end(std::string_view bytes) const override {
        std::size_t end = bytes.rfind('\n');
        while (end != std::string_view::npos) {
            const std::size_t before = end == 0 ? std::string_view::npos : bytes.rfind('\n', end - 1);
            const std::size_t begin = before + 1;  // 0 if there is no line before
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

    /// An empty line at the beginning is a separate record.
    std::size_t first_end(std::string_view bytes) const override {
        if (bytes.starts_with('\n')) return 1;
        return bytes.starts_with("\r\n") ? 2 : end_within(bytes);
    }
    std::size_t end_mark_bytes() const override { return 3; }

    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const override {
        std::uint64_t number = position.first_line, record = position.first_record;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::string_view block = bytes.substr(at, block_end(bytes.substr(at)));
            const std::uint64_t first_line = number;
            at += block.size();
            number += count_line_ends(block);
            if (shape_of(block).empty) continue;
            parse_block(block, position, first_line, record++, out);
        }
    }

  private:
    /// Completes a document whose place and text are set. Returns false, and counts it as skipped, if it is blank. `block`: its
    /// lines, and the empty line after it, if there is one.
    virtual bool finish(document& made, std::string_view block, const unit_position& position,
                        std::uint64_t record, parsed_unit& out) const = 0;

    void parse_block(std::string_view block, const unit_position& position, std::uint64_t line,
                     std::uint64_t record, parsed_unit& out) const {
        if (block.size() > position.limit.bytes) {
            return reject(out, position.path, line, position.limit.reason(block.size()));
        }
        document made;
        made.path = position.path;
        made.line = line;
        made.text.reserve(block.size());
        for (std::string_view rest = block; !rest.empty();) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            std::string_view one = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (one.ends_with('\r')) one.remove_suffix(1);
            if (one.empty()) continue;
            if (!made.text.empty()) made.text += '\n';
            made.text += one;
        }
        if (!finish(made, block, position, record, out)) return;
        if (auto done = repair_utf8(made.text); !done.empty())
            repair(out, position.path, line, std::move(done));
        keep(out, std::move(made), position.path, line);
    }
};

class lines final : public blocks {
  public:
    /// Documents that begin here: lines with a word that follow an empty line (a unit begins a record).
    std::uint64_t count(std::string_view bytes) const override {
        if (bytes.find('\r') != std::string_view::npos) return count_by_lines(bytes);
        if (bytes.empty()) return 0;
        std::uint64_t found = bytes[0] != '\n' ? 1 : 0;
        if (bytes.size() > 1 && bytes[0] == '\n' && bytes[1] != '\n') ++found;
        // Branch-free, so that the compiler vectorises it.
        std::size_t inside = 0;
        for (std::size_t i = 2; i < bytes.size(); ++i) {
            const int first = bytes[i - 2] == '\n', second = bytes[i - 1] == '\n', word = bytes[i] != '\n';
            inside += static_cast<std::size_t>(first & second & word);
        }
        return found + inside;
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

    bool finish(document& made, std::string_view, const unit_position&, std::uint64_t record,
                parsed_unit&) const override {
        made.id = std::to_string(record);
        made.verbatim = true;
        return true;
    }
};

class text_paragraphs final : public blocks {
    bool may_be_short() const override { return true; }
    bool finish(document& made, std::string_view block, const unit_position& position, std::uint64_t,
                parsed_unit& out) const override {
        if (trimmed(made.text).empty()) {
            ++out.counts.skipped["empty line"];
            return false;
        }
        made.is_numbered = true;
        made.id = position.id_of_line(made.line);
        if (!position.keep_records) return true;
        mark_as_text(made);
        made.record = block;
        // The last document of a file may lack the empty line; another one may be written after it.
        if (!made.record.ends_with('\n')) made.record += '\n';
        if (!ends_with_empty_line(made.record)) made.record += '\n';
        return true;
    }
};

}  // namespace

std::shared_ptr<const record_form> lines_form() {
    return std::make_shared<lines>();
}

std::shared_ptr<const record_form> text_paragraphs_form() {
    return std::make_shared<text_paragraphs>();
}

}  // namespace quern::io
