// SPDX-License-Identifier: Apache-2.0
// quern export
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <tuple>
#include <vector>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ngram_option_table.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/export.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/store.hpp"
#include "quern/tasks/words.hpp"
#include "spaces.hpp"
#include "values.hpp"

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

/// Refuses file names that imply another format; - implies none.
void require_form(const std::string& path, const char* option, const char* first, const char* second) {
    const std::string form = form_of_name(path);
    if (form == first || (*second != 0 && form == second)) return;
    throw usage_error(fmt::format("{}: wrong file name (expected the ending {}{}{})", option, first,
                                  *second == 0 ? "" : " or ", second));
}

void declare(command_line& line, export_request& request) {
    const auto file = [&](const char* name, const char* form, const char* help, std::string& target) {
        line.option(name, form, help, "", [&target](const std::string& text) { target = output_name(text); });
    };
    line.argument("STORE|SPACE", "A folder written by quern build or by quern words.", request.path);
    line.section("Of a store (- is standard output, except for --vectors)");
    file("--ciff", "FILE",
         "The index in the Common Index File Format, for Anserini, PISA, Terrier and others: each word with "
         "its documents, each document with its id and length.",
         request.ciff);
    file("--arpa", "FILE",
         "A back-off language model of the word sequence, titles before texts, in the ARPA format.",
         request.arpa);
    file("--graph", "FILE", "Links: rows of id, id, as read by quern pagerank and others.", request.graph);
    line.remark("    --vectors FILE.npy",
                "The documents' vectors: a NumPy array of float32, one row per document, in the order of "
                "--documents.");
    file("--documents", "FILE", "Rows of id, title and number of words, in the order of the collection.",
         request.documents);
    line.section("Language model (--arpa), as in quern ngrams");
    line.option("order", request.model);
    line.option("min_count", request.model);
    line.option("smoothing", request.model);
    line.option("lambda", request.model);
    line.option("mu", request.model);
    line.option("delta", request.model);
    line.section("Of a space");
    file("--vectors", "FILE.npy|FILE.txt",
         "Vectors (quern words --vectors): a NumPy array of float32, one row per word, in the order of "
         "--words; or word2vec's text format, in which blanks within a word become _.",
         request.vectors);
    line.remark("    --graph FILE.tsv|FILE.graphml",
                "Neighbours: rows of word, neighbour, score; or a directed graph with frequencies on nodes "
                "and scores on edges.");
    file("--words", "FILE", "Rows of word and frequency, most frequent first; - is standard output.",
         request.words);
    declare_common(line, request.common, {.rows = false, .output = false});
    line.example("quern export wiki --ciff wiki.ciff.gz", "A store for another search engine.");
    line.example("quern export wiki --arpa wiki.arpa --order 4 --smoothing absolute", "For KenLM and SRILM.");
    line.example("quern export wiki --vectors wiki.npy --documents wiki.tsv",
                 "For NumPy, Faiss, quern nearest.");
    line.example("quern export wiki --graph wiki.tsv.gz", "For igraph, NetworkX, quern pagerank.");
    line.example("quern export wiki.words --vectors wiki.npy --words wiki.tsv", "For NumPy.");
    line.example("quern export wiki.words --vectors wiki.txt", "For gensim and other readers of word2vec.");
    line.example("quern export wiki.words --graph wiki.graphml", "For Gephi, NetworkX, igraph.");
}

constexpr const char* ciff_form = ".ciff .bin";

using sink = std::function<void(std::string_view)>;

/// The files of a run, which appear together: all of them complete, or none.
class written_files {
  public:
    explicit written_files(session& job) : job_(job) {}

    template <typename Work>
    void write(const std::string& file, const char* stage, const std::string& form, const Work& work) {
        if (file.empty()) return;
        job_.stage(stage, [&] {
            output& to = outputs_.emplace_back(job_.open({file, form}));
            work([&to](std::string_view bytes) { to.write(bytes); });
        });
        job_.messages.finish();
    }
    void commit() {
        std::vector<output*> all;
        for (output& to : outputs_) all.push_back(&to);
        output::commit_together(all);
    }

  private:
    session& job_;
    std::list<output> outputs_;
};

void export_store(session& job, const export_request& request, written_files& files) {
    auto& reported = job.statistics.counts;
    files.write(request.ciff, "ciff", ciff_form, [&](const sink& out) {
        const ciff_counts counts = export_ciff(request.path, out, {}, job.ctx);
        reported["words"] = counts.lists;
        reported["postings"] = counts.postings;
        reported["documents"] = counts.documents;
        reported["ciff_bytes"] = counts.bytes;
    });
    files.write(request.arpa, "arpa", ".arpa", [&](const sink& out) {
        const arpa_counts counts = export_arpa(request.path, out, request.model, {}, job.ctx);
        reported["ngrams"] = counts.ngrams;
        reported["arpa_bytes"] = counts.bytes;
        reported["spilled_bytes"] = counts.spilled_bytes;
    });
    files.write(request.graph, "graph", "", [&](const sink& out) {
        const graph_counts counts = export_graph(request.path, out, {}, job.ctx);
        reported["links"] = counts.links;
        reported["graph_bytes"] = counts.bytes;
    });
    files.write(request.vectors, "vectors", ".npy", [&](const sink& out) {
        const vector_counts counts = export_vectors(request.path, out, {}, job.ctx);
        reported["vectors"] = counts.rows;
        reported["dimensions"] = counts.dimensions;
    });
    files.write(request.documents, "documents", "", [&](const sink& out) {
        reported["documents"] = export_documents(request.path, out, {}, job.ctx).documents;
    });
}

void export_space(session& job, const export_request& request, written_files& files) {
    const word_space space = open_space(request.path, job);
    const std::string vectors = form_of_name(request.vectors), graph = form_of_name(request.graph);
    files.write(request.vectors, "vectors", vectors, [&](const sink& out) {
        vectors == ".npy" ? space.write_vectors_npy(out) : space.write_vectors_text(out);
    });
    files.write(request.graph, "graph", graph, [&](const sink& out) {
        graph == ".graphml" ? space.write_graphml(out, job.ctx) : space.write_graph_tsv(out, job.ctx);
    });
    files.write(request.words, "words", "", [&](const sink& out) { space.write_words(out); });
}

bool model_given(const ngram_options& model) {
    const auto choice = [](const ngram_options& of) {
        return std::tuple(of.order, of.min_count, of.smoothing, of.lambda, of.mu, of.delta);
    };
    return choice(model) != choice({});
}

void refuse_missing(const export_request& request, bool of_space) {
    const auto& [common, path, ciff, arpa, documents, words, vectors, graph, model] = request;
    if (ciff.empty() && arpa.empty() && documents.empty() && words.empty() && vectors.empty() &&
        graph.empty()) {
        throw usage_error(
            "nothing to export (expected --ciff, --arpa, --graph, --vectors or --documents of a store; "
            "--vectors, --graph or --words of a space)");
    }
    if (of_space && !(ciff.empty() && arpa.empty() && documents.empty())) {
        throw usage_error(fmt::format("{} is a word space; {} requires a store (quern build)", path,
                                      !ciff.empty()   ? "--ciff"
                                      : !arpa.empty() ? "--arpa"
                                                      : "--documents"));
    }
    if (!of_space && !words.empty() && is_store(path)) {
        throw usage_error(path + " is a store of documents; --words requires a word space (quern words)");
    }
    if (!of_space && is_dictionary(path))
        throw usage_error(path + " is a dictionary (expected a store or a word space)");
    if (!of_space && !words.empty() && !is_store(path))
        throw usage_error(path + " is not a word space (quern words)");
    if (arpa.empty() && model_given(model))
        throw usage_error("the options of a language model require --arpa");
}

}  // namespace

int run_export(const command& self, const std::vector<std::string>& arguments) {
    export_request request;
    command_line line(
        self, "STORE|SPACE [OPTION]...",
        "Writes files for other tools. From a store: the index in the Common Index File Format, a language "
        "model, the link graph, the documents and their vectors. From a space: vectors as a NumPy array or "
        "in word2vec's text format, the graph of neighbours as TSV or GraphML, the words.");
    declare(line, request);
    line.parse(arguments);
    const auto& [common, path, ciff, arpa, documents, words, vectors, graph, model] = request;
    const bool of_space = is_word_space(path);
    refuse_missing(request, of_space);
    if (!vectors.empty()) require_form(vectors, "--vectors", ".npy", of_space ? ".txt" : "");
    if (of_space && !graph.empty()) require_form(graph, "--graph", ".tsv", ".graphml");

    session job(self, common);
    job.choose_device("export", offered_places::cpu_only);
    job.check_destinations({{.path = ciff, .form = ciff_form, .written = "an index in the CIFF format"},
                            {.path = arpa, .form = ".arpa", .written = "a model in the ARPA format"},
                            {documents},
                            {vectors, form_of_name(vectors)},
                            {graph, of_space ? form_of_name(graph) : ""},
                            {words}},
                           {path});
    written_files files(job);
    of_space ? export_space(job, request, files) : export_store(job, request, files);
    files.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
