// SPDX-License-Identifier: Apache-2.0
// Web pages: any bytes give valid UTF-8 and links that stay in the folder, at any depth; what is
// shown has the words of the main text.
#include <string_view>

#include "corpus_input.hpp"
#include "io/corpus/html.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using quern::io::is_utf8;
    using quern::io::fuzzing::require;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::string deep;
    for (int i = 0; i < 600; ++i) deep += "<div>";
    for (const std::string& page : {std::string(bytes), deep.append(bytes)}) {
        const auto read = quern::io::parse_html(page, "a/b/page.html");
        require(is_utf8(read.text) && is_utf8(read.title));
        const auto shown = quern::io::parse_html(page, "a/b/page.html", {}, quern::io::html_part::shown);
        require(shown.text.size() >= read.text.size() && is_utf8(shown.text));
        for (const auto& link : read.links) {
            require(is_utf8(link) && !link.empty() && link.front() != '/' && !link.starts_with("../"));
        }
    }
    return 0;
}
