// SPDX-License-Identifier: Apache-2.0
// Files of markup: any bytes as each kind give valid UTF-8, links that stay in the folder, or a refusal, within a small
// budget; the same with and without one. Markdown also as HTML.
#include <string>
#include <string_view>

#include "corpus_input.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/documents/rendering.hpp"
#include "io/corpus/encoding.hpp"
#include "quern/base/error.hpp"

namespace {

/// Markdown as HTML is valid UTF-8, and its links stay in the folder.
void check_rendering(std::string_view bytes, const quern::context& ctx) {
    using namespace quern::io;
    using fuzzing::require;
    std::string done;
    const std::string html = markdown_as_html(decode_text(bytes, done), ctx);
    require(is_utf8(html));
    for (const resolved_link& link : links_of_html(html, "a/b/file.md", 1000)) {
        require(is_utf8(link.path) && !link.path.empty() && link.path.front() != '/' &&
                !link.path.starts_with("../"));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern::io;
    using fuzzing::require;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const quern::context ctx;
    check_rendering(bytes, ctx);
    for (const file_kind kind :
         {file_kind::markdown, file_kind::manual, file_kind::restructured, file_kind::latex,
          file_kind::notebook, file_kind::subtitles, file_kind::rich_text}) {
        std::string whole;
        for (const std::uint64_t budget : {std::uint64_t{1} << 40, std::uint64_t{64} << 10}) {
            const memory_bytes_at stored(bytes);
            const convertible file{"a/b/file", bytes, &stored, {budget, true}, 16 << 20, ctx};
            try {
                const converted made = convert(kind, file);
                require(is_utf8(made.text) && is_utf8(made.title));
                for (const auto& link : made.links) {
                    require(is_utf8(link) && !link.empty() && link.front() != '/' &&
                            !link.starts_with("../"));
                }
                const std::string shown = made.title + '\1' + made.text;
                require(whole.empty() || whole == shown);
                whole = shown;
            } catch (const not_convertible& why) {
                require(!why.category().empty());
            } catch (const quern::out_of_memory&) {
                require(budget < (std::uint64_t{1} << 40));
            }
        }
    }
    return 0;
}
