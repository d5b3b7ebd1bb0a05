// SPDX-License-Identifier: Apache-2.0
// make-corpus: writes collections of any size for benchmarks, as JSON lines, to standard output. The same arguments
// give the same bytes.
#include <oneapi/tbb/parallel_pipeline.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "generator/corpus_with_copies.hpp"
#include "generator/growing_corpus.hpp"

namespace {

using quern::generator::corpus_with_copies;
using quern::generator::growing_corpus;

constexpr const char* usage =
    "usage: make-corpus SIZE[K|M|G] [SEED] > corpus.jsonl\n"
    "           documents for an index, with links, about SIZE bytes of them\n"
    "       make-corpus --documents N [SEED] [--copies SHARE] [--mean-length BYTES] [--sentences FILE] > "
    "corpus.jsonl\n"
    "           documents for the search of near-duplicates: N texts, log-normal lengths (mean 2048), a "
    "SHARE (0.01)\n"
    "           of them edited copies, at an edit rate of 0 to 0.06; FILE: real sentences, one a line, of "
    "which "
    "the\n"
    "           texts consist\n";

/// A number with its unit; -1 for anything else.
double number_of(const char* text) {
    char* end = nullptr;
    const double number = std::strtod(text, &end);
    const std::string_view suffix = end;
    const double unit = suffix == "K" ? 1e3 : suffix == "M" ? 1e6 : suffix == "G" ? 1e9 : 1;
    const bool fine = end != text && (suffix.empty() || unit != 1) && number >= 0 && number < 1e15;
    return fine ? number * unit : -1;
}

bool write(const std::string& lines) {
    return std::fwrite(lines.data(), 1, lines.size(), stdout) == lines.size();
}

bool write_growing(std::uint64_t bytes, std::uint64_t seed) {
    growing_corpus documents(seed);
    for (std::uint64_t written = 0; written < bytes;) {
        const std::string& line = documents.next_document();
        if (!write(line)) return false;
        written += line.size();
    }
    return true;
}

/// All cores make blocks of documents, which are written in order.
bool write_with_copies(std::uint64_t documents, const corpus_with_copies::options& options) {
    constexpr std::uint64_t block = 1024;
    const corpus_with_copies corpus(options);
    std::uint64_t next = 0;
    bool fine = true;
    const auto begin_block = [&](tbb::flow_control& control) {
        if (next >= documents || !fine) control.stop();
        return std::exchange(next, next + block);
    };
    const auto make_block = [&](std::uint64_t first) {
        std::string lines;
        for (std::uint64_t n = first; n < std::min(first + block, documents); ++n)
            corpus.append_line(n, lines);
        return lines;
    };
    const auto write_block = [&](const std::string& lines) { fine = fine && write(lines); };
    using tbb::filter_mode;
    tbb::parallel_pipeline(
        2 * std::max(1U, std::thread::hardware_concurrency()),
        tbb::make_filter<void, std::uint64_t>(filter_mode::serial_in_order, begin_block) &
            tbb::make_filter<std::uint64_t, std::string>(filter_mode::parallel, make_block) &
            tbb::make_filter<std::string, void>(filter_mode::serial_in_order, write_block));
    return fine;
}

struct request {
    double size = 0, documents = 0;
    corpus_with_copies::options copies;
};

/// False if the file has no lines.
bool read_lines(const char* name, std::vector<std::string>& lines) {
    std::ifstream file(name);
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) lines.push_back(line);
    return !lines.empty();
}

/// False if the arguments are invalid.
bool parse(const std::vector<const char*>& words, request& wanted) {
    std::vector<const char*> plain;
    bool only_copies = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!word.starts_with("--")) {
            plain.push_back(words[i]);
            continue;
        }
        if (i + 1 == words.size()) return false;
        if (word == "--sentences") {
            only_copies = true;
            if (!read_lines(words[++i], wanted.copies.sentences)) return false;
            continue;
        }
        const double value = number_of(words[++i]);
        if (word == "--documents") {
            wanted.documents = value;
            if (value < 1) return false;
        } else if (word == "--copies") {
            wanted.copies.copies = value;
            only_copies = true;
            if (value < 0 || value > 1) return false;
        } else if (word == "--mean-length") {
            wanted.copies.mean_length = value;
            only_copies = true;
            if (value < 16) return false;
        } else {
            return false;
        }
    }
    if (wanted.documents == 0) {
        if (plain.empty() || only_copies) return false;
        wanted.size = number_of(plain.front());
        if (wanted.size < 1) return false;
        plain.erase(plain.begin());
    }
    if (!plain.empty()) wanted.copies.seed = std::strtoull(plain.front(), nullptr, 10);
    return plain.size() <= 1;
}

}  // namespace

int main(int count, char** arguments) {
    request wanted;
    if (!parse({arguments + 1, arguments + count}, wanted)) {
        std::fputs(usage, stderr);
        return 2;
    }
    const bool fine = wanted.documents > 0
                          ? write_with_copies(static_cast<std::uint64_t>(wanted.documents), wanted.copies)
                          : write_growing(static_cast<std::uint64_t>(wanted.size), wanted.copies.seed);
    return fine && std::fflush(stdout) == 0 ? 0 : 1;
}
