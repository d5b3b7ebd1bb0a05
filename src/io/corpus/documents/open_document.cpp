// SPDX-License-Identifier: Apache-2.0
// OpenDocument 1.3: texts, presentations, spreadsheets and drawings, as archives and as flat files; without headers,
// footers, comments, tables of contents and deletions that are tracked; footnotes and endnotes follow at the end.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "io/corpus/documents/office_package.hpp"
#include "io/corpus/documents/text_writer.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

class content_handler final : public skipping_handler {
  public:
    content_handler(text_writer& out, text_writer& notes, first_heading& heading)
        : out_(&out), body_(out), notes_(notes), heading_(heading) {}
    std::string title;  ///< of a flat file's properties

  protected:
    bool enter(std::string_view name, const xml_attributes& attributes) override {
        constexpr std::array excluded = {"tracked-changes"sv,
                                         "annotation"sv,
                                         "note-citation"sv,
                                         "table-of-content"sv,
                                         "forms"sv,
                                         "styles"sv,
                                         "automatic-styles"sv,
                                         "master-styles"sv,
                                         "scripts"sv,
                                         "settings"sv,
                                         "font-face-decls"sv,
                                         "ruby-text"sv,
                                         "index-title"sv,
                                         "desc"sv,
                                         "binary-data"sv,
                                         "shapes"sv,
                                         "covered-table-cell"sv,
                                         "event-listeners"sv,
                                         "sequence-decls"sv};
        if (std::ranges::find(excluded, name) != excluded.end()) return false;
        if (name == "title") {
            in_title_ = !in_body_ && title.empty();
        } else if (name == "body") {
            in_body_ = true;
        } else if (name == "p" || name == "h") {
            ++paragraphs_;
            if (cells_ == 0 || !is_first_of_cell_) out_->want(gap_before_paragraph());
            is_first_of_cell_ = false;
            in_heading_ = name == "h";
            if (in_heading_) heading_.begin();
        } else if (name == "s") {
            out_->want(html_text::space);
        } else if (name == "tab") {
            out_->want(html_text::tab);
        } else if (name == "line-break") {
            out_->line_break();
        } else if (name == "note-body") {
            out_ = &notes_;
            out_->want(html_text::paragraph);
        } else if (name == "list-item" || name == "list-header") {
            out_->want(html_text::line);
            ++items_;
        } else if (name == "table") {
            out_->want(html_text::paragraph);
            // Only a sheet's name is shown.
            if (in_spreadsheet_) {
                out_->add(attributes.value("name"));
                out_->want(html_text::line);
            }
        } else if (name == "spreadsheet") {
            in_spreadsheet_ = true;
        } else if (name == "table-row") {
            out_->want(html_text::line);
        } else if (name == "table-cell") {
            out_->want(html_text::tab);
            ++cells_;
            is_first_of_cell_ = true;
        } else if (name == "page" || name == "text-box" || name == "notes" || name == "section") {
            out_->want(html_text::paragraph);
        }
        return true;
    }

    void leave(std::string_view name) override {
        if (name == "title") {
            in_title_ = false;
        } else if (name == "p" || name == "h") {
            if (paragraphs_ != 0) --paragraphs_;
            if (cells_ == 0) out_->want(items_ == 0 ? html_text::paragraph : html_text::line);
            if (name == "h") heading_.end();
            in_heading_ = false;
        } else if (name == "note-body") {
            out_->want(html_text::paragraph);
            out_ = &body_;
        } else if ((name == "list-item" || name == "list-header") && items_ != 0) {
            --items_;
            out_->want(html_text::line);
        } else if (name == "table-cell" && cells_ != 0) {
            --cells_;
        } else if (name == "table-row") {
            out_->want(html_text::line);
        } else if (name == "table" || name == "text-box" || (name == "list" && items_ == 0)) {
            out_->want(html_text::paragraph);
        }
    }

    void add(std::string_view text) override {
        constexpr std::size_t longest = 1000;
        if (in_title_ && title.size() < longest) title.append(text);
        if (!in_body_ || paragraphs_ == 0) return;
        out_->add(text);
        if (in_heading_ && out_ == &body_) heading_.add(text);
    }

  private:
    html_text::gap gap_before_paragraph() const {
        if (cells_ != 0) return html_text::space;
        return items_ != 0 ? html_text::line : html_text::paragraph;
    }

    text_writer* out_;
    text_writer& body_;
    text_writer& notes_;
    first_heading& heading_;
    std::size_t paragraphs_ = 0, cells_ = 0, items_ = 0;
    bool in_title_ = false, in_body_ = false, in_heading_ = false, in_spreadsheet_ = false;
    bool is_first_of_cell_ = false;
};

/// Whether META-INF/manifest.xml says that a part is encrypted.
class manifest_handler final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes&) override {
        if (name == "encryption-data") encrypted = true;
    }
    void end(std::string_view) override {}
    void text(std::string_view) override {}
    bool encrypted = false;
};

}  // namespace

converted read_open_document(const convertible& file, const office_package* package) {
    text_writer out(file), notes(file);
    first_heading heading;
    content_handler content(out, notes, heading);
    converted result;
    if (package == nullptr) {
        std::uint64_t at = 0;
        const byte_reader read = [&](std::span<char> room) {
            const std::size_t bytes_read = file.stored->read_at(at, room);
            at += bytes_read;
            return bytes_read;
        };
        read_xml(read, "the file", file.budget, file.ctx, content);
        result.title = collapsed(content.title);
    } else {
        manifest_handler manifest;
        package->read_part("META-INF/manifest.xml", manifest);
        if (manifest.encrypted) throw not_convertible("encrypted", "encrypted");
        if (!package->read_part("content.xml", content))
            throw not_convertible("damaged", "damaged: without the part content.xml");
        result.title = package->first_text("meta.xml", "title");
    }
    if (result.title.empty()) result.title = heading.take();
    out.add_part(notes.take());
    result.text = out.take();
    return result;
}

}  // namespace quern::io
