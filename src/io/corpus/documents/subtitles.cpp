// SPDX-License-Identifier: Apache-2.0
// Subtitles (SubRip, WebVTT): the spoken text, without numbers, times, styles and comments. A line that repeats the one
// before, as in captions that roll, comes once.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html_entities.hpp"

namespace quern::io {
namespace {

/// Without <i>, <00:01.000> and {\an8}.
std::string said(std::string_view line) {
    std::string out;
    while (!line.empty()) {
        const std::size_t mark = line.starts_with('<')     ? line.find('>')
                                 : line.starts_with("{\\") ? line.find('}')
                                                           : 0;
        if (mark == std::string_view::npos) break;
        if (mark != 0) {
            line.remove_prefix(mark + 1);
            continue;
        }
        const std::size_t end = std::min(line.find_first_of("<{", 1), line.size());
        out.append(line.substr(0, end));
        line.remove_prefix(end);
    }
    return decode_references(out);
}

}  // namespace

converted convert_subtitles(const convertible& file) {
    converted result;
    const std::string text = decode_text(file.bytes, result.repaired);
    text_writer out(file);
    std::string last;
    bool any = false, in_cue = false;
    const char end_of_line = text.find('\n') == std::string::npos ? '\r' : '\n';
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = std::min(rest.find(end_of_line), rest.size());
        const std::string_view line = trimmed(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.find("-->") != std::string_view::npos) {
            in_cue = any = true;
        } else if (line.empty()) {
            in_cue = false;
        } else if (in_cue) {
            std::string words = said(line);
            if (words == last) continue;
            out.add(words);
            out.want(html_text::line);
            last = std::move(words);
        }
    }
    result.text = any ? out.take() : text;
    return result;
}

}  // namespace quern::io
