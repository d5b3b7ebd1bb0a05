// SPDX-License-Identifier: Apache-2.0
// quern export
#include <filesystem>
#include <functional>
#include <string>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/export.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words.hpp"
#include "spaces.hpp"

namespace quern::cli {
namespace {

struct export_request {
    common_options common;
    std::string path, ciff;             // of a store
    std::string vectors, graph, words;  // of a space
};

/// The form that a file's name asks for; - has none.
std::string form_of(const std::string& path, const char* option, const char* first, const char* second) {
    std::string form = std::filesystem::path(path).extension().string();
    if (form == first || form == second) return form;
    throw usage_error(std::string(option) + ": the name ends in " + first + " or " + second);
}

void declare(command_line& line, export_request& request) {
    const auto file = [&](const char* name, const char* form, const char* help, std::string& target) {
        line.option(name, form, help, "", [&target](const std::string& text) { target = text; });
    };
    line.argument("STORE|SPACE", "A folder written by quern build or by quern words.", request.path);
    line.section("Of a store");
    file("--ciff", "FILE",
         "The index in the Common Index File Format, for Anserini, PISA, Terrier and others: every word with "
         "its "
         "documents, every document with its id and length. Compressed where the name ends in .gz; - is "
         "standard "
         "output.",
         request.ciff);
    line.section("Of a space");
    file("--vectors", "FILE.npy|FILE.txt",
         "Vectors (quern words --vectors): a NumPy array of float32, a row a word, in the order of "
         "--words; or word2vec's text form, where blanks within a word become _.",
         request.vectors);
    file("--graph", "FILE.tsv|FILE.graphml",
         "Neighbours: rows of word, neighbour, score; or a directed graph, frequencies at its nodes "
         "and scores at its edges.",
         request.graph);
    file("--words", "FILE", "Rows of word and frequency, most frequent first; - is standard output.",
         request.words);
    declare_common(line, request.common, {.rows = false, .output = false});
    line.example("quern export wiki --ciff wiki.ciff.gz", "A store, for another search engine.");
    line.example("quern export wiki.words --vectors wiki.npy --words wiki.tsv", "For NumPy.");
    line.example("quern export wiki.words --vectors wiki.txt", "For gensim and all that reads word2vec.");
    line.example("quern export wiki.words --graph wiki.graphml", "For Gephi, NetworkX, igraph.");
}

using sink = std::function<void(std::string_view)>;

/// One file: whole or not at all.
template <typename Work>
void write_file(session& run, const export_request& request, const std::string& file, const char* stage,
                const Work& work) {
    if (file.empty()) return;
    run.stage(stage, [&] {
        output to(file, request.common.force);
        work([&to](std::string_view bytes) { to.write(bytes); });
        to.commit();
    });
    run.messages.finish();
}

void export_store(session& run, const export_request& request) {
    write_file(run, request, request.ciff, "ciff", [&](const sink& out) {
        const bool gzip = request.ciff.ends_with(".gz");
        const ciff_counts counts = export_ciff(request.path, out, {.gzip = gzip}, run.run);
        run.statistics.counts["words"] = counts.lists;
        run.statistics.counts["postings"] = counts.postings;
        run.statistics.counts["documents"] = counts.documents;
        run.statistics.counts["ciff_bytes"] = counts.bytes;
    });
}

void export_space(session& run, const export_request& request, bool as_array, bool as_graphml) {
    const word_space space = open_space(request.path, run);
    write_file(run, request, request.vectors, "vectors", [&](const sink& out) {
        as_array ? space.write_vectors_npy(out) : space.write_vectors_text(out);
    });
    write_file(run, request, request.graph, "graph", [&](const sink& out) {
        as_graphml ? space.write_graphml(out, run.run) : space.write_graph_tsv(out, run.run);
    });
    write_file(run, request, request.words, "words", [&](const sink& out) { space.write_words(out); });
}

}  // namespace

int run_export(const command& self, const std::vector<std::string>& arguments) {
    export_request request;
    command_line line(
        self, "STORE|SPACE [OPTION]...",
        "Writes what other tools read. Of a store: the index in the Common Index File Format. Of a space: "
        "vectors "
        "as a NumPy array or in word2vec's text form, the graph of neighbours as TSV or GraphML, the words.");
    declare(line, request);
    line.parse(arguments);
    const auto& [common, path, ciff, vectors, graph, words] = request;
    const bool of_space = !vectors.empty() || !graph.empty() || !words.empty();
    if (ciff.empty() && !of_space) {
        throw usage_error(
            "what to export is not given: --ciff of a store; --vectors, --graph or --words of a space");
    }
    if (!ciff.empty() && of_space) {
        throw usage_error(
            "--ciff is of a store, --vectors, --graph and --words are of a space: not both at once");
    }
    if (!ciff.empty() && is_word_space(path)) {
        throw usage_error(path +
                          " is a space of words, which has no index: --ciff needs a store (quern build)");
    }
    const bool as_array = !vectors.empty() && form_of(vectors, "--vectors", ".npy", ".txt") == ".npy";
    const bool as_graphml = !graph.empty() && form_of(graph, "--graph", ".tsv", ".graphml") == ".graphml";

    session run(self, common);
    run.choose_device("export", offered_places::cpu_only);
    run.check_destinations({ciff, vectors, graph, words}, {path});
    of_space ? export_space(run, request, as_array, as_graphml) : export_store(run, request);
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
