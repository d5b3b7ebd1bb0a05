// SPDX-License-Identifier: Apache-2.0
// Notebooks of Jupyter (nbformat 4): the sources of their cells, those of Markdown rendered; outputs are left out.
#include <simdjson.h>

#include <string>
#include <utility>

#include "io/corpus/documents/text_writer.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw not_convertible("damaged", "damaged: the notebook " + why);
}

/// Whether there is a value. After any other error than these two the parser must not be used.
bool is_present(simdjson::error_code got) {
    if (got == simdjson::SUCCESS) return true;
    if (got != simdjson::NO_SUCH_FIELD && got != simdjson::INCORRECT_TYPE)
        refuse("is no JSON, or is cut off");
    return false;
}

/// A text, or a list of its lines.
std::string source_of(simdjson::ondemand::object& cell) {
    simdjson::ondemand::value value;
    std::string out;
    if (!is_present(cell["source"].get(value))) return out;
    std::string_view text;
    simdjson::ondemand::array lines;
    if (is_present(value.get_string().get(text))) return std::string(text);
    if (!is_present(value.get_array().get(lines))) return out;
    for (auto line : lines) {
        if (is_present(line.get_string().get(text))) out.append(text);
    }
    return out;
}

}  // namespace

converted convert_notebook(const convertible& file) {
    converted result;
    std::string text = decode_text(file.bytes, result.repaired);
    // Its bytes once more, and four bytes for each sign of its structure.
    require_budget(file.budget, 7 * text.size(), "the values of the notebook");
    const simdjson::padded_string padded(text);
    text = {};
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document notebook;
    simdjson::ondemand::array cells;
    if (parser.iterate(padded).get(notebook) != simdjson::SUCCESS) refuse("is no JSON");
    if (!is_present(notebook["cells"].get(cells))) refuse("has no cells");
    text_writer out(file);
    for (auto each : cells) {
        file.ctx.check_stop();
        simdjson::ondemand::object cell;
        if (!is_present(each.get(cell))) refuse("has a cell that is no object");
        std::string_view type;
        const bool is_markdown = is_present(cell["cell_type"].get(type)) && type == "markdown";
        std::string source = source_of(cell);
        while (!source.empty() && (source.back() == '\n' || source.back() == ' ')) source.pop_back();
        if (!is_markdown) {
            out.add_part(source);
            continue;
        }
        convertible part{file.path, source, nullptr, file.budget, file.max_text, file.ctx};
        converted rendered = convert_markdown(part);
        if (result.title.empty()) result.title = std::move(rendered.title);
        out.add_part(rendered.text);
        for (std::string& link : rendered.links) add_link(result.links, std::move(link), file.budget);
    }
    result.text = out.take();
    return result;
}

}  // namespace quern::io
