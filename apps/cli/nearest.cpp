// SPDX-License-Identifier: Apache-2.0
// quern nearest
#include <fmt/format.h>

#include <filesystem>

#include "cluster.hpp"
#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/nearest_option_table.hpp"
#include "quern/tasks/nearest_tasks.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::string vectors;
    nearest_request requested;
    cluster_options cluster;
    bool names = false;
};

void declare(command_line& line, request& request) {
    nearest_request& requested = request.requested;
    line.argument("VECTORS",
                  "The vectors to search: .npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin, idx, word2vec or "
                  "GloVe text, safetensors; sparse: .mtx, .csr.",
                  request.vectors);
    line.section("Retrieval options");
    line.option(
        "--queries", "FILE", "Query vectors, of the same dimension.", "",
        [&](const std::string& text) { requested.queries = file_name(text); }, true);
    line.option("top", requested, "10; all with --radius");
    line.option("radius", requested);
    line.option("metric", requested, "l2; hamming for bits");
    line.option("--allow", "FILE",
                "Search only these ids: one per line, or a NumPy array of ids or of one boolean per row.", "",
                [&](const std::string& text) { requested.allowed = file_name(text); });
    line.option("--truth", "FILE", "The known nearest ids (.ivecs, .ibin, .npy, text): reports the recall.",
                "", [&](const std::string& text) { requested.truth = file_name(text); });
    line.option("method", requested);
    line.option("tensor", requested);
    line.flag("--names", "Write words instead of numbers if the files contain them (word2vec, GloVe).",
              request.names);
    declare_common(line, request.common, {.gpu = true, .scratch = false});
    declare_cluster(line, request.cluster);
    line.hint("--index", "the ranking is exact and needs no index");
    line.example("quern nearest base.fvecs --queries query.fvecs -k 100 -o found.ibin",
                 "Writes found.ibin and found.fbin, for other vector-search tools.");
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
        const cell requested = named(files.query_names, query);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            rows_.row(
                {requested, std::uint64_t{j + 1}, named(files.names, ids[j]), number(files, distances[j])});
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
    messages.result(fmt::format("recall@{}: {:.6g} ({} of {})", recall.depth, recall.recall(),
                                grouped(recall.found), grouped(recall.queries * recall.depth)));
    if (recall.ties != 0)
        messages.result(
            fmt::format("{} of the true neighbours tie with the last of a ranking", grouped(recall.ties)));
    if (recall.worse != 0)
        messages.warning(
            fmt::format("{} of the true neighbours are farther away than all vectors found instead",
                        grouped(recall.worse)));
}

}  // namespace

int run_nearest(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(self, "VECTORS --queries FILE [OPTION]...",
                      "Writes the nearest vectors of each query: query, rank, id, distance. Distances are "
                      "exact: the same ids and bits on every device and for any number of threads; equal "
                      "distances are ordered by ascending id. Queries and ids are row numbers, from 0.");
    declare(line, request);
    line.parse(arguments);
    nearest_request& requested = request.requested;
    requested.vectors = request.vectors;
    requested.replace = request.common.force;
    if (requested.radius && !line.given("--top")) requested.k = all_vectors;

    session job(self, request.common);
    const std::vector<std::filesystem::path> inputs = {requested.vectors, requested.queries,
                                                       requested.allowed, requested.truth};
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_nearest_task(requested, task, results, job.ctx);
        });
    const auto runs_here = [&] {
        const auto plan = [&](unsigned shards) { return plan_nearest(requested, shards, job.ctx); };
        if (!request.cluster.is_used()) return true;
        if (!distribute(self, line, request.cluster, job, plan)) return false;
        requested.rankings = request.cluster.share;
        return true;
    };
    nearest_result found;
    if (is_compressed_name(request.common.output) && form_of_name(request.common.output) == ".ibin")
        throw usage_error(fmt::format("{}: an .ibin file cannot be compressed", request.common.output));
    if (is_matrix(request.common.output)) {
        if (request.names)
            throw usage_error("--names cannot be combined with -o FILE.ibin, which contains numbers");
        if (request.common.format)
            throw usage_error("--format cannot be combined with -o FILE.ibin, which is a matrix");
        requested.ibin = request.common.output;
        job.check_destinations({{requested.ibin, ".ibin"},
                                {std::filesystem::path(requested.ibin).replace_extension(".fbin"), ".fbin"}},
                               inputs);
        if (!runs_here()) return 0;
        found = nearest(requested, job.ctx, {});
        job.messages.finish();
    } else {
        const destination rows_file{
            .path = request.common.output,
            .written =
                "rows, such as FILE.tsv, or two matrices, FILE.ibin of ids and FILE.fbin of distances"};
        job.check_destinations({rows_file}, inputs);
        if (!runs_here()) return 0;
        output to = job.open(rows_file);
        ranking_rows rows(job.rows(to, {"query", "rank", "id", "distance"}), request.names);
        found =
            nearest(requested, job.ctx,
                    [&](const nearest_files& files, std::uint64_t query, std::span<const std::uint32_t> ids,
                        std::span<const double> distances) { rows.write(files, query, ids, distances); });
        job.messages.finish();
        rows.finish();
        to.commit();
    }
    job.statistics = found.statistics;
    tell(job.messages, found);
    job.write_statistics();
    return found.listed == 0 ? 1 : 0;
}

}  // namespace quern::cli
