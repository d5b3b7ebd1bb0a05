// SPDX-License-Identifier: Apache-2.0
// PresentationML (ECMA-376, part 1, 19): slides in their order, the notes of each after it; without dates, numbers and
// footers of slides.
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/documents/office_package.hpp"
#include "io/corpus/documents/text_writer.hpp"

namespace quern::io {
namespace {

class slide_list final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) override {
        constexpr std::size_t most = 65'536;
        if (name == "sldId" && ids.size() < most) ids.emplace_back(attributes.value("relationships", "id"));
    }
    void end(std::string_view) override {}
    void text(std::string_view) override {}
    std::vector<std::string> ids;
};

class slide_handler final : public skipping_handler {
  public:
    slide_handler(text_writer& out, first_heading& heading) : out_(out), heading_(heading) {}

  protected:
    bool enter(std::string_view name, const xml_attributes& attributes) override {
        if (name == "Fallback") return false;
        if (name == "txBody") return !is_excluded_;
        if (name == "sp" || name == "graphicFrame" || name == "pic") {
            is_excluded_ = is_title_ = false;
            out_.want(html_text::paragraph);
        } else if (name == "ph") {
            const std::string_view type = attributes.value("type");
            is_title_ = type == "title" || type == "ctrTitle";
            if (is_title_) heading_.begin();
            is_excluded_ =
                type == "dt" || type == "sldNum" || type == "ftr" || type == "hdr" || type == "sldImg";
        } else if (name == "t") {
            in_text_ = true;
        } else if (name == "p") {
            out_.want(cells_ == 0 ? html_text::line : html_text::space);
        } else if (name == "br") {
            out_.line_break();
        } else if (name == "tr") {
            out_.want(html_text::line);
        } else if (name == "tc") {
            out_.want(html_text::tab);
            ++cells_;
        }
        return true;
    }
    void leave(std::string_view name) override {
        if (name == "t") in_text_ = false;
        if (name == "tc" && cells_ != 0) --cells_;
        if (name == "tr") out_.want(html_text::line);
        if (name == "txBody" && is_title_) {
            heading_.end();
            is_title_ = false;
        }
    }
    void add(std::string_view text) override {
        if (!in_text_) return;
        out_.add(text);
        if (is_title_) heading_.add(text);
    }

  private:
    text_writer& out_;
    first_heading& heading_;
    std::size_t cells_ = 0;
    bool in_text_ = false, is_title_ = false, is_excluded_ = false;
};

}  // namespace

converted read_presentation(const office_package& package, const std::string& main) {
    slide_list slides;
    if (!package.read_part(main, slides))
        throw not_convertible("damaged", "damaged: without the part " + main);
    const auto relations = package.relations(main);
    text_writer out(package.file());
    first_heading heading;
    for (const std::string& id : slides.ids) {
        const auto slide = relations.find(id);
        if (slide == relations.end()) continue;
        slide_handler handler(out, heading);
        out.want(html_text::paragraph);
        package.read_part(slide->second.target, handler);
        const std::string notes =
            office_package::first_of_type(package.relations(slide->second.target), "notesSlide");
        first_heading none;
        slide_handler of_notes(out, none);
        out.want(html_text::paragraph);
        package.read_part(notes, of_notes);
    }
    converted result;
    result.title =
        package.first_text(office_package::first_of_type(package.relations(""), "core-properties"), "title");
    if (result.title.empty()) result.title = heading.take();
    result.text = out.take();
    return result;
}

}  // namespace quern::io
