// SPDX-License-Identifier: Apache-2.0
// quern nearest
#include "quern/tasks/nearest.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::string vectors;
    nearest_request asked;
    std::optional<std::uint64_t> top;
    bool names = false;
};

std::uint64_t parse_count(const std::string& text) {
    try {
        return parse_integer(text, 1, all_vectors - 1);
    } catch (const usage_error&) {
        throw usage_error(fmt::format("'{}' is neither all nor a whole number from 1 on", text));
    }
}

void declare(command_line& line, request& request) {
    nearest_request& asked = request.asked;
    line.argument(
        "VECTORS",
        "The set: .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin, idx, word2vec or GloVe text, safetensors; "
        "sparse: .mtx, .csr.",
        request.vectors);
    line.option(
        "--queries", "FILE", "Vectors to look for, of the same dimensions.", "",
        [&](const std::string& text) { asked.queries = text; }, true);
    line.section("Retrieval options");
    line.option("-k,--top", "K|all", "How many to write of each query; all: the complete ranking.",
                "10, with --radius all", [&](const std::string& text) {
                    request.top = text == "all" ? all_vectors : parse_count(text);
                });
    line.option("--radius", "R", "Only those within this distance (ip: of this product and more).", "",
                [&](const std::string& text) {
                    asked.radius = parse_number(text);
                    if (std::isnan(*asked.radius)) throw usage_error("a radius is a number");
                });
    line.option("--metric", "NAME",
                "l2, sql2 (its square), ip (inner product, greatest first), cosine (1 - cosine), l1, linf or "
                "hamming (of bits; of uint8, eight to a byte).",
                "l2, of bits hamming", [&](const std::string& text) {
                    asked.metric = parse_name<vector_metric>(text, vector_metric_names);
                });
    line.option("--allow", "FILE",
                "Only these ids: one a line, or a NumPy array of ids or of a boolean a row.", "",
                [&](const std::string& text) { asked.allowed = text; });
    line.option("--truth", "FILE",
                "The nearest ids as known (.ivecs, .ibin, .npy, text): tells how many of them were found.",
                "", [&](const std::string& text) { asked.truth = text; });
    line.option(
        "--method", "NAME",
        "auto, or reduction: sixteen partial sums a vector, then everything is sorted. The answers are the "
        "same.",
        "auto", [&](const std::string& text) {
            asked.method = parse_name<retrieval_method>(text, retrieval_method_names);
        });
    line.option("--tensor", "NAME", "Of a safetensors file that holds several.", "",
                [&](const std::string& text) { asked.tensor = text; });
    line.flag("--names", "Write words instead of numbers, where the files have them (word2vec, GloVe).",
              request.names);
    declare_common(line, request.common);
    line.example("quern nearest base.fvecs --queries query.fvecs -k 100 -o found.ibin",
                 "Writes found.ibin and found.fbin, for the tools of the field.");
    line.example("quern nearest images.npy --queries image.npy -k all", "The complete ranking.");
    line.example("quern nearest codes.npy --queries codes.npy --metric hamming --radius 8",
                 "All pairs within 8 bits.");
    line.example("quern nearest glove.txt --queries glove.txt --metric cosine --names",
                 "Neighbours of words.");
}

bool is_matrix(const std::string& path) {
    return std::filesystem::path(path).extension() == ".ibin";
}

/// Writes a ranking as rows of query, rank, id, distance.
class ranking_rows {
  public:
    ranking_rows(row_writer rows, bool names) : rows_(std::move(rows)), names_(names) {}

    void write(const nearest_files& files, std::uint64_t query, std::span<const std::uint32_t> ids,
               std::span<const double> distances) {
        const cell asked = named(files.query_names, query);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            rows_.row({asked, std::uint64_t{j + 1}, named(files.names, ids[j]), number(files, distances[j])});
        }
    }
    void finish() { rows_.finish(); }

  private:
    cell named(std::span<const std::string_view> names, std::uint64_t row) const {
        if (names_ && !names.empty()) return names[row];
        return row;
    }
    static cell number(const nearest_files& files, double distance) {
        switch (files.number) {
            case distance_number::float32:
                return static_cast<float>(distance);
            case distance_number::integer:
                return static_cast<std::int64_t>(distance);
            default:
                return distance;
        }
    }

    row_writer rows_;
    bool names_;
};

void tell(console& messages, const nearest_result& found) {
    const nearest_files& files = found.files;
    for (const std::string& note : found.notes) messages.info(note);
    messages.info(fmt::format(
        "{} {} to {} of {} {}, {}: {} listed", grouped(files.queries),
        files.queries == 1 ? "query" : "queries", counted(files.rows, "vector"), grouped(files.dimensions),
        files.sparse ? "sparse float32" : vector_type_names[static_cast<std::size_t>(files.type)],
        vector_metric_names[static_cast<std::size_t>(files.metric)], grouped(found.listed)));
    if (!found.recall) return;
    const nearest_recall& recall = *found.recall;
    messages.answer(fmt::format("recall@{}: {:.6g} ({} of {})", recall.depth, recall.recall(),
                                grouped(recall.found), grouped(recall.queries * recall.depth)));
    if (recall.ties != 0)
        messages.answer(fmt::format("{} of the truth tie with the last of a ranking", grouped(recall.ties)));
    if (recall.worse != 0)
        messages.warning(fmt::format("{} of the truth are farther away than all that were found instead",
                                     grouped(recall.worse)));
}

}  // namespace

int run_nearest(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(
        self, "VECTORS --queries FILE [OPTION]...",
        "Writes the vectors nearest to each query: query, rank, id, distance. Distances are exact: "
        "the same ids and bits on every device, for any number of threads; equal distances by rising "
        "id. Queries and ids are rows, numbered from 0.");
    declare(line, request);
    line.parse(arguments);
    nearest_request& asked = request.asked;
    asked.vectors = request.vectors;
    asked.replace = request.common.force;
    asked.k = request.top.value_or(asked.radius ? all_vectors : asked.k);

    session run(self, request.common);
    const std::vector<std::filesystem::path> inputs = {asked.vectors, asked.queries, asked.allowed,
                                                       asked.truth};
    nearest_result found;
    if (is_compressed_name(request.common.output) && form_of_name(request.common.output) == ".ibin")
        throw usage_error(fmt::format("{}: an .ibin is not compressed", request.common.output));
    if (is_matrix(request.common.output)) {
        if (request.names) throw usage_error("--names writes words: -o FILE.ibin holds numbers");
        if (request.common.format) throw usage_error("--format is of rows: -o FILE.ibin is a matrix");
        asked.ibin = request.common.output;
        run.check_destinations(
            {{asked.ibin, ".ibin"}, {std::filesystem::path(asked.ibin).replace_extension(".fbin"), ".fbin"}},
            inputs);
        found = nearest(asked, run.run, {});
        run.messages.finish();
    } else {
        output to = run.open_output(request.common.output, inputs);
        ranking_rows rows(run.rows(to, {"query", "rank", "id", "distance"}), request.names);
        found =
            nearest(asked, run.run,
                    [&](const nearest_files& files, std::uint64_t query, std::span<const std::uint32_t> ids,
                        std::span<const double> distances) { rows.write(files, query, ids, distances); });
        run.messages.finish();
        rows.finish();
        to.commit();
    }
    run.statistics = found.statistics;
    tell(run.messages, found);
    run.write_statistics();
    return found.listed == 0 ? 1 : 0;
}

}  // namespace quern::cli
