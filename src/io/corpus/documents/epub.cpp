// SPDX-License-Identifier: Apache-2.0
// EPUB 2 and 3: the pages of the spine in its order, each read as a web page; without the page of navigation.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/documents/office_package.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/html.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

class container_handler final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) override {
        if (name == "rootfile" && book.empty()) book = attributes.value("full-path");
    }
    void end(std::string_view) override {}
    void text(std::string_view) override {}
    std::string book;
};

class encryption_handler final : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) override {
        constexpr std::size_t most = 65'536;
        if (name == "CipherReference" && parts.size() < most)
            parts.insert(percent_decoded(attributes.value("URI")));
    }
    void end(std::string_view) override {}
    void text(std::string_view) override {}
    std::set<std::string, std::less<>> parts;
};

class book_handler final : public xml_handler {
  public:
    explicit book_handler(std::string_view part) : base_(part) {}
    void start(std::string_view name, const xml_attributes& attributes) override {
        constexpr std::size_t most = 65'536;
        in_title_ = name == "title" && title.empty();
        if (name == "item" && pages_.size() < most) {
            const std::string_view type = attributes.value("media-type");
            const bool is_page = type == "application/xhtml+xml" || type == "text/html";
            const bool is_navigation = attributes.value("properties").find("nav") != std::string_view::npos;
            auto target = base_.resolve(attributes.value("href"));
            if (is_page && !is_navigation && target)
                pages_.emplace(std::string(attributes.value("id")), std::move(*target));
        }
        if (name == "itemref" && spine.size() < most) {
            const auto found = pages_.find(attributes.value("idref"));
            if (found != pages_.end()) spine.push_back(found->second);
        }
    }
    void end(std::string_view) override { in_title_ = false; }
    void text(std::string_view text) override {
        constexpr std::size_t longest = 1000;
        if (in_title_ && title.size() < longest) title.append(text);
    }
    std::string title;
    std::vector<std::string> spine;

  private:
    link_base base_;
    std::map<std::string, std::string, std::less<>> pages_;
    bool in_title_ = false;
};

}  // namespace

converted read_epub(const office_package& package) {
    container_handler container;
    package.read_part("META-INF/container.xml", container);
    book_handler book(container.book);
    if (container.book.empty() || !package.read_part(container.book, book))
        throw not_convertible("damaged", "damaged: an EPUB without its package document");
    encryption_handler encryption;
    package.read_part("META-INF/encryption.xml", encryption);
    const convertible& file = package.file();
    text_writer out(file);
    std::set<std::string> read;
    std::string heading;
    for (const std::string& path : book.spine) {
        file.ctx.check_stop();
        const zip_entry* const page = package.zip().find(path);
        if (page == nullptr || !read.insert(page->name).second) continue;
        if (encryption.parts.contains(path)) throw not_convertible("encrypted", "encrypted");
        constexpr std::uint64_t largest = 64 << 20;
        require_budget(file.budget, reading_factor * page->bytes, "a page of the book");
        const html_page text =
            parse_html(package.zip().read(*page, largest), path, file.budget, html_part::shown);
        if (heading.empty()) heading = text.title;
        out.add_part(text.text);
    }
    converted result;
    result.title = collapsed(book.title);
    if (result.title.empty()) result.title = std::move(heading);
    result.text = out.take();
    return result;
}

}  // namespace quern::io
