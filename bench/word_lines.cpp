// SPDX-License-Identifier: Apache-2.0
// word-lines LANGUAGE TOKENS MIN_LENGTH STOP_WORDS STEM CORPUS...: the words of a corpus as `quern words` reads them, a
// paragraph a line, separated by blanks; for programs that read words. Options by the names of the program.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "device/cpu/pipeline.hpp"
#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_words.hpp"

namespace {

template <class Value, std::size_t Size>
Value named(std::string_view name, const std::string_view (&names)[Size]) {
    const auto* found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names)) throw std::runtime_error("unknown name: " + std::string(name));
    return static_cast<Value>(found - names);
}

void write_lines(const quern::text::token_list& words) {
    std::string line;
    std::uint32_t at = 0;
    for (const std::uint32_t end : words.paragraph_ends) {
        line.clear();
        for (; at < end; ++at) {
            if (!line.empty()) line += ' ';
            line += words.word(words.tokens[at]);
        }
        if (line.empty()) continue;
        line += '\n';
        if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size())
            throw std::runtime_error("cannot write the words");
    }
}

void run(std::span<char*> arguments) {
    quern::text_options text;
    text.language = arguments[1];
    text.tokens = named<quern::token_rule>(arguments[2], quern::token_rule_names);
    text.min_length = static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10));
    text.stop_words = arguments[4];
    text.stem = named<quern::stemmer>(arguments[5], quern::stemmer_names);
    quern::corpus_input input;
    for (const char* path : arguments.subspan(6)) input.inputs.emplace_back(path);
    const quern::context ctx = quern::context::cpu(1);
    quern::admitted_corpus corpus(input, {.a_byte = 4, .a_word = 48, .a_distinct_word = 100}, text, ctx);
    quern::pipeline<quern::document_unit> line(quern::units_at_once(ctx));
    corpus.begin(line);
    quern::document_words words(text);
    line.in_order([&](quern::document_unit& unit) {
        for (const quern::document& d : unit.parsed.documents)
            write_lines(words.of(d, d.line_paragraphs ? quern::text::boundaries::line_paragraphs
                                                      : quern::text::boundaries::paragraphs));
        unit.parsed.documents.clear();
    });
    corpus.run(line);
    if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write the words");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 7) {
        std::fprintf(stderr, "usage: word-lines LANGUAGE TOKENS MIN_LENGTH STOP_WORDS STEM CORPUS...\n");
        return 2;
    }
    try {
        run({argv, static_cast<std::size_t>(argc)});
    } catch (const std::exception& failed) {
        std::fprintf(stderr, "word-lines: %s\n", failed.what());
        return 1;
    }
    return 0;
}
