// SPDX-License-Identifier: Apache-2.0
// quern export
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string>
#include <tuple>

#include "commands.hpp"
#include "ngram_options.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/export.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words.hpp"
#include "spaces.hpp"

namespace quern::cli {
namespace {

struct export_request {
    common_options common;
    std::string path;
    std::string ciff, arpa, documents;  // of a store
    std::string words;                  // of a space
    std::string vectors, graph;         // of either
    ngram_options model;
};

/// Refuses names that ask for another form; - has none.
void require_form(const std::string& path, const char* option, const char* first, const char* second) {
    const std::string form = form_of_name(path);
    if (form == first || (*second != 0 && form == second)) return;
    throw usage_error(
        fmt::format("{}: the name ends in {}{}{}", option, first, *second == 0 ? "" : " or ", second));
}

void declare(command_line& line, export_request& request) {
    const auto file = [&](const char* name, const char* form, const char* help, std::string& target) {
        line.option(name, form, help, "", [&target](const std::string& text) { target = text; });
    };
    line.argument("STORE|SPACE", "A folder written by quern build or by quern words.", request.path);
    line.section("Of a store (- is standard output, but not of --vectors)");
    file("--ciff", "FILE",
         "The index in the Common Index File Format, for Anserini, PISA, Terrier and others: every word with "
         "its documents, every document with its id and length.",
         request.ciff);
    file("--arpa", "FILE",
         "A back-off language model of the words in their order, titles in front of texts, in the ARPA "
         "format.",
         request.arpa);
    file("--graph", "FILE", "Links: rows of id, id, as quern pagerank and others read them.", request.graph);
    line.remark(
        "    --vectors FILE.npy",
        "The documents' vectors: a NumPy array of float32, a row a document, in the order of --documents.");
    file("--documents", "FILE", "Rows of id, title and words (how many), in the order of the collection.",
         request.documents);
    line.section("The model (--arpa), as quern ngrams makes it");
    declare_order(line, request.model);
    declare_min_count(line, request.model);
    declare_smoothing(line, request.model);
    line.section("Of a space");
    file("--vectors", "FILE.npy|FILE.txt",
         "Vectors (quern words --vectors): a NumPy array of float32, a row a word, in the order of "
         "--words; or word2vec's text form, where blanks within a word become _.",
         request.vectors);
    line.remark("    --graph FILE.tsv|FILE.graphml",
                "Neighbours: rows of word, neighbour, score; or a directed graph, frequencies at its nodes "
                "and scores at its edges.");
    file("--words", "FILE", "Rows of word and frequency, most frequent first; - is standard output.",
         request.words);
    declare_common(line, request.common, {.rows = false, .output = false});
    line.example("quern export wiki --ciff wiki.ciff.gz", "A store, for another search engine.");
    line.example("quern export wiki --arpa wiki.arpa --order 4 --smoothing absolute", "For KenLM and SRILM.");
    line.example("quern export wiki --vectors wiki.npy --documents wiki.tsv",
                 "For NumPy, Faiss, quern nearest.");
    line.example("quern export wiki --graph wiki.tsv.gz", "For igraph, NetworkX, quern pagerank.");
    line.example("quern export wiki.words --vectors wiki.npy --words wiki.tsv", "For NumPy.");
    line.example("quern export wiki.words --vectors wiki.txt", "For gensim and all that reads word2vec.");
    line.example("quern export wiki.words --graph wiki.graphml", "For Gephi, NetworkX, igraph.");
}

using sink = std::function<void(std::string_view)>;

/// One file: whole or not at all.
template <typename Work>
void write_file(session& run, const std::string& file, const char* stage, const std::string& form,
                const Work& work) {
    if (file.empty()) return;
    run.stage(stage, [&] {
        output to = run.open({file, form});
        work([&to](std::string_view bytes) { to.write(bytes); });
        to.commit();
    });
    run.messages.finish();
}

void export_store(session& run, const export_request& request) {
    auto& told = run.statistics.counts;
    write_file(run, request.ciff, "ciff", "", [&](const sink& out) {
        const ciff_counts counts = export_ciff(request.path, out, {}, run.run);
        told["words"] = counts.lists;
        told["postings"] = counts.postings;
        told["documents"] = counts.documents;
        told["ciff_bytes"] = counts.bytes;
    });
    write_file(run, request.arpa, "arpa", "", [&](const sink& out) {
        const arpa_counts counts = export_arpa(request.path, out, request.model, {}, run.run);
        told["ngrams"] = counts.ngrams;
        told["arpa_bytes"] = counts.bytes;
        told["spilled_bytes"] = counts.spilled_bytes;
    });
    write_file(run, request.graph, "graph", "", [&](const sink& out) {
        const graph_counts counts = export_graph(request.path, out, {}, run.run);
        told["links"] = counts.links;
        told["graph_bytes"] = counts.bytes;
    });
    write_file(run, request.vectors, "vectors", ".npy", [&](const sink& out) {
        const vector_counts counts = export_vectors(request.path, out, {}, run.run);
        told["vectors"] = counts.rows;
        told["dimensions"] = counts.dimensions;
    });
    write_file(run, request.documents, "documents", "", [&](const sink& out) {
        told["documents"] = export_documents(request.path, out, {}, run.run).documents;
    });
}

void export_space(session& run, const export_request& request) {
    const word_space space = open_space(request.path, run);
    const std::string vectors = form_of_name(request.vectors), graph = form_of_name(request.graph);
    write_file(run, request.vectors, "vectors", vectors, [&](const sink& out) {
        vectors == ".npy" ? space.write_vectors_npy(out) : space.write_vectors_text(out);
    });
    write_file(run, request.graph, "graph", graph, [&](const sink& out) {
        graph == ".graphml" ? space.write_graphml(out, run.run) : space.write_graph_tsv(out, run.run);
    });
    write_file(run, request.words, "words", "", [&](const sink& out) { space.write_words(out); });
}

bool model_given(const ngram_options& model) {
    const auto choice = [](const ngram_options& of) {
        return std::tuple(of.order, of.min_count, of.smoothing, of.lambda, of.mu, of.delta);
    };
    return choice(model) != choice({});
}

void refuse_what_is_not_there(const export_request& request, bool of_space) {
    const auto& [common, path, ciff, arpa, documents, words, vectors, graph, model] = request;
    if (ciff.empty() && arpa.empty() && documents.empty() && words.empty() && vectors.empty() &&
        graph.empty()) {
        throw usage_error(
            "what to export is not given: --ciff, --arpa, --graph, --vectors or --documents of a store; "
            "--vectors, "
            "--graph or --words of a space");
    }
    if (of_space && !(ciff.empty() && arpa.empty() && documents.empty())) {
        throw usage_error(
            fmt::format("{} is a space of words, which has no index: {} needs a store (quern build)", path,
                        !ciff.empty()   ? "--ciff"
                        : !arpa.empty() ? "--arpa"
                                        : "--documents"));
    }
    if (!of_space && !words.empty() && is_store(path)) {
        throw usage_error(path + " is a store of documents: --words needs a space of words (quern words)");
    }
    if (!of_space && is_dictionary(path))
        throw usage_error(path + " is a dictionary, and what is exported is a store or a space of words");
    if (!of_space && !words.empty() && !is_store(path))
        throw usage_error(path + " is no space of words (quern words)");
    if (arpa.empty() && model_given(model))
        throw usage_error("a model's options are of use with --arpa only");
}

}  // namespace

int run_export(const command& self, const std::vector<std::string>& arguments) {
    export_request request;
    command_line line(
        self, "STORE|SPACE [OPTION]...",
        "Writes what other tools read. Of a store: the index in the Common Index File Format, a language "
        "model, the graph of links, the documents and their vectors. Of a space: vectors as a NumPy array or "
        "in word2vec's text form, the graph of "
        "neighbours as TSV or GraphML, the words.");
    declare(line, request);
    line.parse(arguments);
    const auto& [common, path, ciff, arpa, documents, words, vectors, graph, model] = request;
    const bool of_space = is_word_space(path);
    refuse_what_is_not_there(request, of_space);
    if (!vectors.empty()) require_form(vectors, "--vectors", ".npy", of_space ? ".txt" : "");
    if (of_space && !graph.empty()) require_form(graph, "--graph", ".tsv", ".graphml");

    session run(self, common);
    run.choose_device("export", offered_places::cpu_only);
    run.check_destinations({{ciff},
                            {arpa},
                            {documents},
                            {vectors, form_of_name(vectors)},
                            {graph, of_space ? form_of_name(graph) : ""},
                            {words}},
                           {path});
    of_space ? export_space(run, request) : export_store(run, request);
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
