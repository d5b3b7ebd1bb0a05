// SPDX-License-Identifier: Apache-2.0
// quern export
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "spaces.hpp"

namespace quern::cli {
namespace {

/// The form that a file's name asks for; - has none.
std::string form_of(const std::string& path, const char* option, const char* first, const char* second) {
    std::string form = std::filesystem::path(path).extension().string();
    if (form == first || form == second) return form;
    throw usage_error(std::string(option) + ": the name ends in " + first + " or " + second);
}

}  // namespace

int run_export(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::string path, vectors, graph, words;
    command_line line(
        self, "SPACE [OPTION]...",
        "Writes what other tools read of a space: vectors as a NumPy array or in word2vec's text form, the "
        "graph of neighbours as TSV or GraphML, the words.");
    line.argument("SPACE", "A folder written by quern words.", path);
    line.section("Export options");
    line.option("--vectors", "FILE.npy|FILE.txt",
                "Vectors (quern words --vectors): a NumPy array of float32, a row a word, in the order of "
                "--words; or word2vec's text form, where blanks within a word become _.",
                "", [&](const std::string& text) { vectors = text; });
    line.option("--graph", "FILE.tsv|FILE.graphml",
                "Neighbours: rows of word, neighbour, score; or a directed graph, frequencies at its nodes "
                "and scores at its edges.",
                "", [&](const std::string& text) { graph = text; });
    line.option("--words", "FILE", "Rows of word and frequency, most frequent first; - is standard output.",
                "", [&](const std::string& text) { words = text; });
    declare_common(line, common, {.rows = false, .output = false});
    line.example("quern export wiki.words --vectors wiki.npy --words wiki.tsv", "For NumPy.");
    line.example("quern export wiki.words --vectors wiki.txt", "For gensim and all that reads word2vec.");
    line.example("quern export wiki.words --graph wiki.graphml", "For Gephi, NetworkX, igraph.");
    line.parse(arguments);
    if (vectors.empty() && graph.empty() && words.empty()) {
        throw usage_error("what to export is not given: --vectors, --graph or --words");
    }
    const bool as_array = !vectors.empty() && form_of(vectors, "--vectors", ".npy", ".txt") == ".npy";
    const bool as_graphml = !graph.empty() && form_of(graph, "--graph", ".tsv", ".graphml") == ".graphml";

    session run(self, common);
    run.choose_device("export", offered_places::cpu_only);
    run.check_destinations({vectors, graph, words}, {path});
    const word_space space = open_space(path, run);
    const auto write = [&](const std::string& file, const char* stage, const auto& work) {
        if (file.empty()) return;
        run.stage(stage, [&] {
            output to(file, common.force);
            work([&to](std::string_view bytes) { to.write(bytes); });
            to.commit();
        });
    };
    write(vectors, "vectors", [&](const word_space::sink& out) {
        as_array ? space.write_vectors_npy(out) : space.write_vectors_text(out);
    });
    write(graph, "graph", [&](const word_space::sink& out) {
        as_graphml ? space.write_graphml(out, run.run) : space.write_graph_tsv(out, run.run);
    });
    write(words, "words", [&](const word_space::sink& out) { space.write_words(out); });
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
