// SPDX-License-Identifier: Apache-2.0
// The folder of a store as readers see it: documents as HTML or text, images by their bytes, and nothing outside.
#include "quern/tasks/source_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "temporary_folder.hpp"

namespace quern::source_folder_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class source_folder_test : public ::testing::Test {
  protected:
    source_folder_test() {
        fs::create_directories(root() / "sub");
        fs::create_directories(root() / ".hidden");
    }
    fs::path root() const { return folder_ / "docs"; }
    void write(std::string_view path, std::string_view bytes) {
        testing::write_file(root() / path, std::string(bytes));
    }
    folder_document read(std::string_view id) {
        auto made = source_folder::open(root()).document(id, 1 << 20, context::cpu(1));
        if (!made) ADD_FAILURE() << id << " is not there";
        return made.value_or(folder_document{});
    }
    testing::temporary_folder folder_;
};

TEST_F(source_folder_test, markdown_becomes_html) {
    write("a.md",
          "---\ntitle: T\n---\n# One & two\n\n3. *a* **b** ~~c~~ `x<y`\n\n> q\n\n```\n<b>\n```\n\n| h "
          "|\n|---|\n| d |\n\n---\n"
          "![alt *text*](pic.png \"t\") [to](sub/b.md#part)\\\nnext <i>raw</i>\n");
    const folder_document made = read("a.md");
    EXPECT_EQ(made.form, document_form::html);
    for (const char* const part :
         {"<h1>One &amp; two</h1>", "<ol start=\"3\">", "<em>a</em>", "<strong>b</strong>", "<del>c</del>",
          "<code>x&lt;y</code>", "<blockquote><p>q</p></blockquote>", "<pre><code>&lt;b&gt;\n</code></pre>",
          "<th>h</th>", "<td>d</td>", "<hr>", "<img src=\"pic.png\" alt=\"alt text\">",
          "<a href=\"sub/b.md#part\">to</a><br>", "<i>raw</i>"})
        EXPECT_THAT(made.text, HasSubstr(part));
    EXPECT_THAT(made.text, ::testing::Not(HasSubstr("title: T")));
    ASSERT_EQ(made.links.size(), 2U);
    EXPECT_EQ(made.links[0].path, "pic.png");
    EXPECT_EQ(made.links[1].address, "sub/b.md#part");
    EXPECT_EQ(made.links[1].path, "sub/b.md");
}

TEST_F(source_folder_test, quotes_do_not_end_attributes) {
    write("a.md", "[x](<y\"onload=\"z>) ![\"a\" <b>](p.png)\n");
    const std::string html = read("a.md").text;
    EXPECT_THAT(html, HasSubstr("href=\"y&quot;onload=&quot;z\""));
    EXPECT_THAT(html, HasSubstr("alt=\"&quot;a&quot; \""));
}

TEST_F(source_folder_test, links_are_resolved_as_a_build_does) {
    write("sub/b.html",
          "<p><a href='../a%20b.md?q#f'>1</a><a href='c/'>2</a><a href='http://x.org/'>3</a>"
          "<a href='#f'>4</a><a href='../../out.md'>5</a><img src='d&amp;e.png'><a href='c/'>6</a>");
    const folder_document made = read("sub/b.html");
    EXPECT_EQ(made.form, document_form::html);
    ASSERT_EQ(made.links.size(), 3U);
    EXPECT_EQ(made.links[0].path, "a b.md");
    EXPECT_EQ(made.links[1].path, "sub/c/index.html");
    EXPECT_EQ(made.links[2].address, "d&e.png");
    EXPECT_EQ(made.links[2].path, "sub/d&e.png");
}

TEST_F(source_folder_test, forms_of_other_files) {
    write("a.txt", "one\n\ntwo");
    write("a.py", "if x:\n    y()\n");
    write("a.pdf", "%PDF-1.4");
    write("zeros.txt", std::string_view("a\0b", 3));
    EXPECT_EQ(read("a.txt").form, document_form::text);
    EXPECT_EQ(read("a.py").form, document_form::verbatim);
    EXPECT_EQ(read("a.py").text, "if x:\n    y()\n");
    const source_folder folder = source_folder::open(root());
    for (const char* const id : {"a.pdf", "zeros.txt", "none.md", "sub"})
        EXPECT_FALSE(folder.document(id, 1 << 20, context::cpu(1)).has_value()) << id;
    EXPECT_FALSE(folder.document("a.txt", 7, context::cpu(1)).has_value());
    EXPECT_TRUE(folder.document("a.txt", 8, context::cpu(1)).has_value());
}

TEST_F(source_folder_test, images_are_known_by_their_bytes) {
    write("a.png", "\x89PNG\r\n\x1A\nrest");
    write("b.jpg", "\xFF\xD8\xFFrest");
    write("c.dat", "GIF89arest");
    write("d.webp", std::string_view("RIFF\0\0\0\0WEBPrest", 16));
    write("e.svg", "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>");
    write("f.svg", "no picture");
    write("g.png", "<svg>");
    write("h.html", "<script>alert(1)</script>");
    const source_folder folder = source_folder::open(root());
    const auto type = [&](std::string_view path) {
        const auto image = folder.image(path, 1 << 20);
        return image ? image->media_type : std::string_view();
    };
    EXPECT_EQ(type("a.png"), "image/png");
    EXPECT_EQ(type("b.jpg"), "image/jpeg");
    EXPECT_EQ(type("c.dat"), "image/gif");
    EXPECT_EQ(type("d.webp"), "image/webp");
    EXPECT_EQ(type("e.svg"), "image/svg+xml");
    for (const char* const path : {"f.svg", "g.png", "h.html", "none.png"}) EXPECT_EQ(type(path), "") << path;
    EXPECT_EQ(folder.image("a.png", 1 << 20)->bytes, "\x89PNG\r\n\x1A\nrest");
    EXPECT_FALSE(folder.image("a.png", 11).has_value());
}

TEST_F(source_folder_test, nothing_outside_can_be_read) {
    testing::write_file(folder_ / "secret.txt", "secret");
    write(".hidden/a.txt", "secret");
    write(".a.txt", "secret");
    write("sub/a.txt", "open");
    fs::create_symlink(folder_ / "secret.txt", root() / "link.txt");
    fs::create_symlink(folder_.path(), root() / "up");
    fs::create_symlink("sub", root() / "inner");
    const source_folder folder = source_folder::open(root());
    EXPECT_EQ(folder.bytes("sub/a.txt", 100), "open");
    for (const char* const path : {"../secret.txt", "sub/../../secret.txt", "link.txt", "up/secret.txt",
                                   "inner/a.txt", ".hidden/a.txt", ".a.txt", "/etc/passwd", "sub//a.txt",
                                   "./sub/a.txt", "sub/a.txt/", "", "/", ".", "..", "sub"})
        EXPECT_FALSE(folder.bytes(path, 1 << 20).has_value()) << path;
    EXPECT_FALSE(folder.bytes(std::string_view("sub/a.txt\0b", 11), 100).has_value());
    EXPECT_FALSE(folder.bytes(std::string(100'000, 'x'), 100).has_value());
    EXPECT_THROW(source_folder::open(root() / "sub/a.txt"), usage_error);
    EXPECT_THROW(source_folder::open(root() / "none"), usage_error);
}

}  // namespace
}  // namespace quern::source_folder_test
