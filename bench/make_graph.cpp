// SPDX-License-Identifier: Apache-2.0
// make-graph: writes graphs and matrices for benchmarks to standard output. The same arguments give the same bytes.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/graphs.hpp"
#include "generator/matrices.hpp"
#include "generator/paper_matrices.hpp"

namespace {

using namespace quern::generator;

constexpr const char* usage =
    "usage: make-graph GRAPH [--simple] [--seed N] [--format edges|mtx] > graph.txt\n"
    "         kronecker SCALE LINKS [--not-permuted]   Graph500: 2^SCALE nodes\n"
    "         web NODES                                copying model, 24% of the nodes without links\n"
    "         uniform NODES LINKS\n"
    "         NAME                                     twin of a graph: eu-2005, in-2004, as-skitter,\n"
    "                                                  higgs-twitter, sx-stackoverflow, wiki-topcats\n"
    "       make-graph MATRIX [--seed N] > matrix.mtx\n"
    "         mesh SIDE 5|9|7|27 UNKNOWNS              finite elements in the plane or in space\n"
    "         banded ROWS HALF_WIDTH\n"
    "         random ROWS EACH                         EACH entries a row\n"
    "         NAME                                     twin of a matrix: cant, consph, rma10, webbase-1M,\n"
    "                                                  human_gene1, mouse_gene, fl2010, il2010, cage13, "
    "cage14\n"
    "--simple drops repeated links and links of a node to itself. Numbers may end in K, M or G.\n";

/// Text, buffered and written in large pieces.
class writer {
  public:
    ~writer() { flush(); }
    template <class Number>
    writer& operator<<(Number number) {
        char digits[32];
        text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        return *this;
    }
    writer& operator<<(char c) {
        text_ += c;
        if (c == '\n' && text_.size() > 1 << 20) flush();
        return *this;
    }
    writer& operator<<(const char* text) {
        text_ += text;
        return *this;
    }

  private:
    void flush() {
        std::fwrite(text_.data(), 1, text_.size(), stdout);
        text_.clear();
    }
    std::string text_;
};

void write_edges(const graph& made) {
    writer out;
    out << "# " << made.nodes << " nodes, " << made.links.size() << " links" << '\n';
    for (const quern::link& each : made.links) out << each.from << '\t' << each.to << '\n';
}

void write_market(const graph& made) {
    writer out;
    out << "%%MatrixMarket matrix coordinate pattern general" << '\n';
    out << made.nodes << ' ' << made.nodes << ' ' << made.links.size() << '\n';
    for (const quern::link& each : made.links) out << each.from + 1 << ' ' << each.to + 1 << '\n';
}

void write_market(const matrix& made) {
    writer out;
    out << "%%MatrixMarket matrix coordinate real general" << '\n';
    out << made.rows << ' ' << made.columns << ' ' << made.value.size() << '\n';
    for (std::uint32_t row = 0; row < made.rows; ++row)
        for (std::uint64_t k = made.offsets[row]; k < made.offsets[row + 1]; ++k)
            out << row + 1 << ' ' << made.column[k] + 1 << ' ' << made.value[k] << '\n';
}

struct request {
    std::vector<std::string> words;
    std::map<std::string, std::string> options;
};

class misused : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::uint64_t number_of(const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const std::string_view suffix = end;
    const double unit = suffix == "K" ? 1e3 : suffix == "M" ? 1e6 : suffix == "G" ? 1e9 : 1;
    if (end == text.c_str() || (!suffix.empty() && unit == 1) || !(number >= 0 && number < 1e15))
        throw misused("not a number: " + text);
    return static_cast<std::uint64_t>(number * unit);
}

request parse(int count, char** arguments) {
    request found;
    for (int i = 1; i < count; ++i) {
        const std::string word = arguments[i];
        if (word == "--simple" || word == "--not-permuted") {
            found.options[word] = "";
        } else if ((word == "--seed" || word == "--format") && i + 1 < count) {
            found.options[word] = arguments[++i];
        } else if (word.starts_with("--")) {
            throw misused("unknown option or missing value: " + word);
        } else {
            found.words.push_back(word);
        }
    }
    if (found.words.empty()) throw misused("missing name of a graph or matrix");
    return found;
}

/// The words after the kind.
std::vector<std::uint32_t> numbers_of_words(const request& wanted, std::size_t count) {
    if (wanted.words.size() != count + 1)
        throw misused(wanted.words[0] + " wants " + std::to_string(count) + " numbers");
    std::vector<std::uint32_t> numbers;
    for (std::size_t i = 1; i <= count; ++i) {
        const std::uint64_t number = number_of(wanted.words[i]);
        if (number > 0xffffffff) throw misused("too large: " + wanted.words[i]);
        numbers.push_back(static_cast<std::uint32_t>(number));
    }
    return numbers;
}

void write_graph(const request& wanted, graph made) {
    if (wanted.options.contains("--simple")) made = simple(std::move(made));
    const auto format = wanted.options.find("--format");
    const bool edges = format == wanted.options.end() || format->second == "edges";
    if (!edges && format->second != "mtx") throw misused("no such format: " + format->second);
    if (edges) {
        write_edges(made);
    } else {
        write_market(made);
    }
}

void make(const request& wanted) {
    const std::string& kind = wanted.words[0];
    const auto given = wanted.options.find("--seed");
    const std::uint64_t seed = given == wanted.options.end() ? 1 : number_of(given->second);
    const auto is_named = [&](const auto& twin) { return twin.name == kind; };
    if (kind == "kronecker") {
        const auto n = numbers_of_words(wanted, 2);
        const bool permuted = !wanted.options.contains("--not-permuted");
        return write_graph(
            wanted, make_kronecker({.scale = n[0], .links = n[1], .permuted = permuted, .seed = seed}));
    }
    if (kind == "web")
        return write_graph(wanted, make_web({.nodes = numbers_of_words(wanted, 1)[0], .seed = seed}));
    if (kind == "uniform") {
        const auto n = numbers_of_words(wanted, 2);
        return write_graph(wanted, make_uniform_graph(n[0], n[1], seed));
    }
    if (std::ranges::any_of(paper_graphs(), is_named))
        return write_graph(wanted, make_paper_graph(kind, seed));
    if (kind == "mesh") {
        const auto n = numbers_of_words(wanted, 3);
        return write_market(make_mesh({.side = n[0], .points = n[1], .unknowns = n[2], .seed = seed}));
    }
    if (kind == "banded" || kind == "random") {
        const auto n = numbers_of_words(wanted, 2);
        return write_market(kind == "banded" ? make_banded(n[0], n[1], seed)
                                             : make_uniform_matrix(n[0], n[1], seed));
    }
    if (std::ranges::any_of(paper_matrices(), is_named)) return write_market(make_paper_matrix(kind, seed));
    throw misused("unknown graph or matrix " + kind);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        make(parse(count, arguments));
    } catch (const misused& wrong) {
        std::fprintf(stderr, "make-graph: %s\n%s", wrong.what(), usage);
        return 2;
    } catch (const std::exception& wrong) {
        std::fprintf(stderr, "make-graph: %s\n", wrong.what());
        return 1;
    }
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : 1;
}
