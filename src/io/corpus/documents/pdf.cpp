// SPDX-License-Identifier: Apache-2.0
// PDF by pdftotext (poppler-utils), which the system has; no code of it is linked. With -htmlmeta it gives the title before
// the text, which stays as it is: lines of the page, a form feed after each page.
#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/documents/child_process.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html_entities.hpp"
#include "io/corpus/html_text.hpp"
#include "io/corpus/record_reader.hpp"
#include "quern/base/pdf_program.hpp"

namespace quern::io {
namespace {

/// The first line of the program's messages.
std::string first_message(const child_result& done) {
    constexpr std::size_t longest = 200;
    std::string line(
        trimmed(std::string_view(done.errors).substr(0, done.errors.find('\n'))).substr(0, longest));
    repair_utf8(line);
    return line;
}

void refuse_failure(const child_result& done) {
    if (done.timed_out || done.signal == SIGXCPU)
        throw not_convertible("too slow", "pdftotext was ended: it took too long");
    if (done.signal != 0)
        throw not_convertible("damaged", "pdftotext was ended by signal " + std::to_string(done.signal));
    if (done.status == 0) return;
    const std::string message = first_message(done);
    if (done.errors.find("Incorrect password") != std::string::npos)
        throw not_convertible("encrypted", "encrypted");
    throw not_convertible("damaged",
                          "damaged: pdftotext says: " +
                              (message.empty() ? "exit status " + std::to_string(done.status) : message));
}

/// The title of the document's properties, which programs often fill with the name of a file or nothing.
std::string usable_title(std::string title) {
    constexpr std::string_view of_word = "Microsoft Word - ";
    if (title.starts_with(of_word)) title.erase(0, of_word.size());
    const std::string plain = lower(title);
    return plain == "untitled" || plain == "(anonymous)" || plain == "anonymous" ? std::string() : title;
}

/// Between pages an empty line; none at the ends.
std::string paragraphs_of(std::string_view text, const convertible& file) {
    require_budget(file.budget, reading_factor * text.size(), "the text of the document");
    std::string out;
    out.reserve(text.size());
    bool page_ends = false;
    for (const char c : text) {
        if (c == '\f') {
            page_ends = true;
            continue;
        }
        if (page_ends && c != '\n' && c != ' ') {
            while (!out.empty() && is_space(out.back())) out.pop_back();
            if (!out.empty()) out += "\n\n";
            page_ends = false;
        }
        if (!page_ends) out += c;
    }
    while (!out.empty() && is_space(out.back())) out.pop_back();
    out.erase(0, out.find_first_not_of('\n'));
    return out;
}

}  // namespace

converted convert_pdf(const convertible& file) {
    const pdf_program program = used_pdf_program();
    if (program.path.empty())
        throw not_convertible(program.why_none,
                              "PDF files are read by pdftotext of poppler-utils: " + program.why_none);
    const descriptor input = file.stored->as_file();
    const child_result done =
        run_program(program.path, {"-htmlmeta", "-enc", "UTF-8", "-eol", "unix", "/dev/stdin", "-"}, input,
                    {}, file.ctx, [&](std::uint64_t bytes) { require_text_room(file, bytes); });
    refuse_failure(done);
    constexpr std::string_view title_begin = "<title>", title_end = "</title>", head_end = "</head>",
                               text_begin = "<pre>\n", text_end = "</pre>";
    const std::string_view output = done.output;
    const std::size_t head = output.find(head_end), begin = output.find(text_begin, head),
                      end = output.rfind(text_end);
    if (head == std::string_view::npos || begin == std::string_view::npos ||
        end < begin + text_begin.size() || end == std::string_view::npos)
        throw not_convertible("damaged", "pdftotext ended before the text did");
    converted result;
    const std::size_t title = output.find(title_begin), after_title = output.find(title_end);
    if (title < after_title && after_title < head) {
        const std::size_t from = title + title_begin.size();
        result.title = usable_title(collapsed(decode_references(output.substr(from, after_title - from))));
        repair_utf8(result.title);
    }
    result.text =
        paragraphs_of(output.substr(begin + text_begin.size(), end - begin - text_begin.size()), file);
    result.repaired = repair_utf8(result.text);
    if (result.text.empty()) throw not_convertible("without text", "no text: its pages may be pictures");
    if (result.repaired.empty() && done.errors.find("Syntax Error") != std::string::npos)
        result.repaired = "pdftotext says: " + first_message(done);
    return result;
}

}  // namespace quern::io
