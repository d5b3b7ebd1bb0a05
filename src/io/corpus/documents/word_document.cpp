// SPDX-License-Identifier: Apache-2.0
// WordprocessingML (ECMA-376, part 1, 17): the text as it prints, without headers, footers, comments, tables of contents
// and deletions that are tracked; footnotes and endnotes follow at the end.
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/documents/office_package.hpp"
#include "io/corpus/documents/text_writer.hpp"

namespace quern::io {
namespace {

enum class paragraph_role : std::uint8_t { plain, heading, item, contents };

/// The names of styles differ with the language of a program, the names that styles.xml gives them do not.
class style_handler final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) override {
        if (name == "style") id_ = attributes.value("styleId");
        if (name != "name" || id_.empty()) return;
        const std::string shown = lower(attributes.value("val"));
        if (shown == "title" || shown.starts_with("heading ")) roles[id_] = paragraph_role::heading;
        if (shown.starts_with("list ")) roles[id_] = paragraph_role::item;
        if (shown.starts_with("toc ")) roles[id_] = paragraph_role::contents;
    }
    void end(std::string_view name) override {
        if (name == "style") id_.clear();
    }
    void text(std::string_view) override {}
    std::unordered_map<std::string, paragraph_role> roles;

  private:
    std::string id_;
};

class body_handler final : public skipping_handler {
  public:
    body_handler(text_writer& out, first_heading& heading,
                 const std::unordered_map<std::string, paragraph_role>& roles)
        : out_(out), heading_(heading), roles_(roles) {}

  protected:
    bool enter(std::string_view name, const xml_attributes& attributes) override {
        if (name == "moveFrom" || name == "Fallback" || name == "rt" || name == "sectPr" || name == "tabs" ||
            name == "rPr")
            return false;
        if (name == "footnote" || name == "endnote") {
            const std::string_view type = attributes.value("type");
            if (!type.empty() && type != "normal") return false;
            out_.want(html_text::paragraph);
        } else if (name == "p") {
            open_.push_back({});
            open_.back().cells = cells_;
            cells_ = 0;
        } else if (name == "t") {
            in_text_ = true;
        } else if (name == "tbl" || name == "txbxContent") {
            out_.want(html_text::paragraph);
        } else if (name == "tr") {
            out_.want(html_text::line);
        } else if (name == "tc") {
            out_.want(html_text::tab);
            ++cells_;
            is_first_of_cell_ = true;
        } else if (name == "tab" || name == "ptab") {
            out_.want(html_text::tab);
        } else if (name == "br" || name == "cr") {
            if (attributes.value("type").empty()) {
                out_.line_break();
            } else {
                out_.want(html_text::paragraph);
            }
        } else if (name == "noBreakHyphen") {
            add_text("-");
        } else if (!open_.empty()) {
            if (name == "numPr") open_.back().in_list = true;
            if (name == "pStyle") {
                const auto found = roles_.find(std::string(attributes.value("val")));
                if (found != roles_.end()) open_.back().role = found->second;
                if (open_.back().role == paragraph_role::item) open_.back().in_list = true;
            }
        }
        return true;
    }

    void leave(std::string_view name) override {
        if (name == "t") {
            in_text_ = false;
        } else if (name == "p" && !open_.empty()) {
            if (open_.back().role == paragraph_role::heading) heading_.end();
            last_in_list_ = open_.back().in_list;
            cells_ = open_.back().cells;
            open_.pop_back();
            if (!open_.empty()) open_.back().begun = false;
        } else if (name == "tbl" || name == "txbxContent") {
            out_.want(html_text::paragraph);
        } else if (name == "tr") {
            out_.want(html_text::line);
        } else if (name == "tc" && cells_ != 0) {
            --cells_;
        }
    }

    void add(std::string_view text) override {
        if (in_text_) add_text(text);
    }

  private:
    struct paragraph {
        bool begun = false, in_list = false;
        paragraph_role role = paragraph_role::plain;
        std::size_t cells = 0;  ///< open around it
    };

    void add_text(std::string_view text) {
        if (open_.empty()) {
            out_.add(text);
            return;
        }
        paragraph& here = open_.back();
        if (here.role == paragraph_role::contents) return;
        if (!here.begun) {
            here.begun = true;
            if (here.cells != 0) {
                if (!is_first_of_cell_) out_.want(html_text::space);
                is_first_of_cell_ = false;
            } else {
                out_.want(here.in_list && last_in_list_ ? html_text::line : html_text::paragraph);
            }
            if (here.role == paragraph_role::heading) heading_.begin();
        }
        if (here.role == paragraph_role::heading) heading_.add(text);
        out_.add(text);
    }

    text_writer& out_;
    first_heading& heading_;
    const std::unordered_map<std::string, paragraph_role>& roles_;
    std::vector<paragraph> open_;  ///< a text box has paragraphs inside one
    std::size_t cells_ = 0;
    bool in_text_ = false, last_in_list_ = false, is_first_of_cell_ = false;
};

}  // namespace

converted read_word_document(const office_package& package, const std::string& main) {
    const auto relations = package.relations(main);
    style_handler styles;
    package.read_part(office_package::first_of_type(relations, "styles"), styles);
    text_writer out(package.file());
    first_heading heading;
    body_handler body(out, heading, styles.roles);
    if (!package.read_part(main, body)) throw not_convertible("damaged", "damaged: without the part " + main);
    for (const char* const notes : {"footnotes", "endnotes"})
        package.read_part(office_package::first_of_type(relations, notes), body);
    converted result;
    result.title =
        package.first_text(office_package::first_of_type(package.relations(""), "core-properties"), "title");
    if (result.title.empty()) result.title = heading.take();
    result.text = out.take();
    return result;
}

}  // namespace quern::io
