// SPDX-License-Identifier: Apache-2.0
// Exports a word space for other tools: NumPy arrays, word2vec's text form, TSV, GraphML.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "io/files/npy.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/similar.hpp"
#include "report/html_page.hpp"

namespace quern {
namespace {

void append_number(std::string& out, float value) {
    out += shortest(value);
}

}  // namespace

void word_space::write_vectors_npy(const sink& out) const {
    (void)vector(0);  // refuses a space without vectors
    out(io::npy_header("<f4", size(), info().dimensions));
    for (std::uint32_t w = 0; w < size(); ++w) {
        const std::span<const float> v = vector(w);
        out({reinterpret_cast<const char*>(v.data()), v.size_bytes()});
    }
}

void word_space::write_vectors_text(const sink& out) const {
    (void)vector(0);
    out(fmt::format("{} {}\n", size(), info().dimensions));
    std::string line;
    for (std::uint32_t w = 0; w < size(); ++w) {
        line = word(w);
        // The format has no quoting: a character that would end a word is replaced.
        std::ranges::replace_if(
            line, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }, '_');
        for (const float x : vector(w)) {
            line += ' ';
            append_number(line, x);
        }
        line += '\n';
        out(line);
    }
}

void word_space::write_graph_tsv(const sink& out, const context& ctx) const {
    row_writer rows(row_format::tsv, {"word", "neighbour", "score"}, out);
    each_neighbour(
        [&](std::uint32_t w, const neighbour& n) {
            rows.row({word(w), word(n.word), n.score});
        },
        ctx);
    rows.finish();
}

void word_space::write_graphml(const sink& out, const context& ctx) const {
    out("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
        "<key id=\"word\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>\n"
        "<key id=\"frequency\" for=\"node\" attr.name=\"frequency\" attr.type=\"long\"/>\n"
        "<key id=\"score\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>\n"
        "<graph edgedefault=\"directed\">\n");
    for (std::uint32_t w = 0; w < size(); ++w) {
        out(fmt::format(
            "<node id=\"n{}\"><data key=\"word\">{}</data><data key=\"frequency\">{}</data></node>\n", w,
            report::escaped(word(w)), frequency(w)));
    }
    each_neighbour(
        [&](std::uint32_t w, const neighbour& n) {
            out(fmt::format("<edge source=\"n{}\" target=\"n{}\"><data key=\"score\">{}</data></edge>\n", w,
                            n.word, shortest(n.score)));
        },
        ctx);
    out("</graph>\n</graphml>\n");
}

void word_space::write_words(const sink& out) const {
    row_writer rows(row_format::tsv, {"word", "frequency"}, out);
    for (std::uint32_t w = 0; w < size(); ++w) rows.row({word(w), frequency(w)});
    rows.finish();
}

}  // namespace quern
