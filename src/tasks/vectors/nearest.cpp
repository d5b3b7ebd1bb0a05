// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/vectors/vector_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/nearest_tasks.hpp"
#include "tasks/shared/pinned_to_device.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/vectors/merged_rankings.hpp"

namespace quern {
namespace {

/// Compares rankings with a given truth. An id in the truth that is missing from a ranking is checked again: is it as
/// near as the ranking's last (a tie, broken differently), or is the truth wrong?
class truth_comparison {
  public:
    /// Throws invalid_input if the truth has another number of queries, or a repeated id within one.
    truth_comparison(io::neighbour_truth truth, const std::filesystem::path& path, std::uint64_t queries,
                     std::uint64_t k);

    /// Call once with the ranking of each query.
    void take(std::uint64_t query, std::span<const std::uint32_t> ids, std::span<const double> distances);

    /// The distances of chosen vectors (a bitmap) to a query, nearest first.
    using distances_of =
        std::function<std::vector<double>(std::uint64_t query, std::span<const std::uint64_t> chosen)>;
    nearest_recall result(bool greatest_first, const distances_of& distances, std::uint64_t rows) const;

  private:
    struct missing {
        std::uint64_t query;
        double last;  ///< of the ranking
        std::vector<std::uint32_t> ids;
    };
    io::neighbour_truth truth_;
    nearest_recall recall_;
    std::vector<missing> missing_;
};

truth_comparison::truth_comparison(io::neighbour_truth truth, const std::filesystem::path& path,
                                   std::uint64_t queries, std::uint64_t k)
    : truth_(std::move(truth)) {
    if (truth_.queries != queries) {
        throw invalid_input(
            path.string(), 0,
            "has " + std::to_string(truth_.queries) + " queries, but there are " + std::to_string(queries));
    }
    recall_.queries = queries;
    recall_.depth = std::min(k, truth_.k);
    std::vector<std::uint32_t> ids;
    for (std::uint64_t query = 0; query < queries; ++query) {
        const auto row = std::span(truth_.ids).subspan(query * truth_.k, truth_.k);
        ids.assign(row.begin(), row.end());
        std::ranges::sort(ids);
        if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) {
            throw invalid_input(
                path.string(), 0,
                "query " + std::to_string(query) + " repeats the id " + std::to_string(*twice));
        }
    }
}

void truth_comparison::take(std::uint64_t query, std::span<const std::uint32_t> ids,
                            std::span<const double> distances) {
    const std::size_t depth = recall_.depth;
    std::vector<std::uint32_t> ours(ids.begin(),
                                    ids.begin() + static_cast<std::ptrdiff_t>(std::min(depth, ids.size())));
    std::ranges::sort(ours);
    const auto true_ids = std::span(truth_.ids).subspan(query * truth_.k, depth);
    std::vector<std::uint32_t> theirs(true_ids.begin(), true_ids.end()), absent;
    std::ranges::sort(theirs);
    std::ranges::set_difference(theirs, ours, std::back_inserter(absent));
    recall_.found += theirs.size() - absent.size();
    // A ranking shortened by a filter or a radius has lost nothing to ties.
    if (!absent.empty() && ours.size() == depth)
        missing_.push_back({query, distances[depth - 1], std::move(absent)});
}

nearest_recall truth_comparison::result(bool greatest_first, const distances_of& distances,
                                        std::uint64_t rows) const {
    nearest_recall recall = recall_;
    std::vector<std::uint64_t> chosen((rows + 63) / 64);
    for (const missing& of : missing_) {
        for (const std::uint32_t id : of.ids) chosen[id / 64] |= std::uint64_t{1} << (id % 64);
        for (const double distance : distances(of.query, chosen)) {
            if (distance == of.last)
                ++recall.ties;
            else if ((distance < of.last) == greatest_first)
                ++recall.worse;
        }
        for (const std::uint32_t id : of.ids) chosen[id / 64] = 0;
    }
    return recall;
}

context placed(const context& requested, run_statistics& statistics) {
    return pinned_to_device(requested, "nearest", statistics, offered_places::several_gpus);
}

distance_number number_of(vector_type type, bool sparse, vector_metric metric) {
    if (metric == vector_metric::l2) return distance_number::float64;
    if (type == vector_type::f64) return distance_number::float64;
    const bool floats =
        sparse || type == vector_type::f32 || type == vector_type::f16 || type == vector_type::bf16;
    return floats || metric == vector_metric::cosine ? distance_number::float32 : distance_number::integer;
}

/// The message of an invalid component, with its file.
[[noreturn]] void throw_in(const std::filesystem::path& path, const invalid_value& problem) {
    throw invalid_input(path.string(), 0, problem.what());
}

/// The two matrices of a run in which all rankings have the same length.
class matrix_files {
  public:
    matrix_files(const nearest_request& request, std::uint64_t queries, std::uint64_t columns)
        : ids_(request.ibin, queries, columns, request.replace),
          distances_(std::filesystem::path(request.ibin).replace_extension(".fbin"), queries, columns,
                     request.replace) {}
    void row(std::span<const std::uint32_t> ids, std::span<const double> distances) {
        ids_.row(ids);
        narrow_.assign(distances.begin(), distances.end());
        distances_.row(std::span<const float>(narrow_));
    }
    void commit() { io::bin_writer::commit_together(ids_, distances_); }

  private:
    io::bin_writer ids_, distances_;
    std::vector<float> narrow_;
};

/// The two files of one run.
class opened_files {
  public:
    opened_files(const nearest_request& request, const context& ctx)
        : request_(request), set_(open(request.vectors, ctx)), queries_(open(request.queries, ctx)) {
        if (set_.sparse() != queries_.sparse()) {
            throw usage_error(request.vectors.string() + " is " + kind(set_) + " and " +
                              request.queries.string() + " is " + kind(queries_) + " (expected one kind)");
        }
        io::match_types(set_, queries_, ctx);
        check_alike();
        files_.rows = set_.rows();
        files_.queries = queries_.rows();
        files_.dimensions = set_.dimensions();
        files_.sparse = set_.sparse();
        if (!files_.sparse) files_.type = set_.dense().type;
        const bool bits = !files_.sparse && files_.type == vector_type::bits;
        files_.metric = request.metric.value_or(bits ? vector_metric::hamming : vector_metric::l2);
        files_.number = number_of(files_.type, files_.sparse, files_.metric);
        files_.names = set_.names();
        files_.query_names = queries_.names();
    }

    const nearest_files& files() const { return files_; }
    std::uint64_t bytes() const { return set_.file_bytes() + queries_.file_bytes(); }

    vector_set make_set(const context& ctx) const {
        const vector_set_options options{.metric = files_.metric, .method = request_.method};
        try {
            return files_.sparse ? vector_set(set_.sparse_rows(), options, ctx)
                                 : vector_set(set_.dense(), options, ctx);
        } catch (const invalid_value& problem) {
            throw_in(request_.vectors, problem);
        }
    }
    /// Of some of the rows. `offsets`, those of sparse rows, must outlive it.
    vector_set make_part(std::uint64_t first, std::uint64_t rows, std::vector<std::uint64_t>& offsets,
                         const context& ctx) const {
        const vector_set_options options{.metric = files_.metric, .method = request_.method};
        try {
            if (!files_.sparse) {
                vectors_view part = set_.dense();
                part.values =
                    part.values.subspan(first * part.stride, (rows - 1) * part.stride + part.row_bytes());
                part.rows = rows;
                return vector_set(part, options, ctx);
            }
            sparse_vectors_view part = set_.sparse_rows();
            const std::uint64_t begin = part.offsets[first], end = part.offsets[first + rows];
            for (std::uint64_t i = 0; i <= rows; ++i) offsets.push_back(part.offsets[first + i] - begin);
            part.rows = rows;
            part.offsets = offsets;
            part.columns = part.columns.subspan(begin, end - begin);
            part.values = part.values.subspan(begin, end - begin);
            return vector_set(part, options, ctx);
        } catch (const invalid_value& problem) {
            throw_in(request_.vectors, problem);
        }
    }
    void search(vector_set& set, const retrieval_options& options, const vector_set::sink& each) const {
        try {
            files_.sparse ? set.search(queries_.sparse_rows(), options, each)
                          : set.search(queries_.dense(), options, each);
        } catch (const invalid_value& problem) {
            throw_in(request_.queries, problem);
        }
    }
    /// The rankings of one query.
    rankings search_one(vector_set& set, std::uint64_t query, const retrieval_options& options) const {
        if (files_.sparse) {
            sparse_vectors_view one = queries_.sparse_rows();
            const std::uint64_t begin = one.offsets[query], size = one.offsets[query + 1] - begin;
            const std::uint64_t offsets[] = {0, size};
            one.rows = 1;
            one.offsets = offsets;
            one.columns = one.columns.subspan(begin, size);
            one.values = one.values.subspan(begin, size);
            return set.search(one, options);
        }
        vectors_view one = queries_.dense();
        one.values = one.values.subspan(query * one.stride, one.row_bytes());
        one.rows = 1;
        return set.search(one, options);
    }

    std::vector<std::string> notes() const {
        std::vector<std::string> all;
        const auto add = [&](const std::filesystem::path& path, const io::vector_file& file) {
            for (const std::string& note : file.notes()) all.push_back(path.string() + ": " + note);
        };
        add(request_.vectors, set_);
        if (request_.queries != request_.vectors) add(request_.queries, queries_);
        return all;
    }

  private:
    io::vector_file open(const std::filesystem::path& path, const context& ctx) const {
        return io::open_vectors(
            path, {.tensor = request_.tensor, .as_bits = request_.metric == vector_metric::hamming}, ctx);
    }
    /// Reports an inconsistency between the two with both names.
    void check_alike() const {
        const auto is = [](const std::filesystem::path& path, const std::string& what) {
            return path.string() + " is of " + what;
        };
        const auto refuse = [&](const std::string& set, const std::string& queries) {
            throw usage_error(is(request_.vectors, set) + ", but " + is(request_.queries, queries));
        };
        const auto dimensions = [](const io::vector_file& file) {
            return std::to_string(file.dimensions()) +
                   (file.dimensions() == 1 ? " dimension" : " dimensions");
        };
        if (set_.dimensions() != queries_.dimensions()) refuse(dimensions(set_), dimensions(queries_));
        if (set_.sparse() || set_.dense().type == queries_.dense().type) return;
        const auto type = [](const io::vector_file& file) {
            return std::string(vector_type_names[static_cast<std::size_t>(file.dense().type)]);
        };
        refuse(type(set_), type(queries_));
    }
    static std::string kind(const io::vector_file& file) { return file.sparse() ? "sparse" : "dense"; }

    const nearest_request& request_;
    io::vector_file set_, queries_;
    nearest_files files_;
};

/// Whether equal reported distances are equal distances, so that ids decide: integers, and roots of integers below 2^50.
bool are_exact(const nearest_files& files) {
    if (files.number == distance_number::integer) return true;
    const bool are_integers = files.type == vector_type::u8 || files.type == vector_type::i8 ||
                              files.type == vector_type::i16 || files.type == vector_type::bits;
    return !files.sparse && are_integers && files.metric == vector_metric::l2 && files.dimensions < 1 << 18;
}

/// Merges the rankings of the tasks of a job.
void merge(const opened_files& opened, const nearest_request& request,
           const std::function<vector_set&()>& set, const vector_set::sink& each) {
    const nearest_files& files = opened.files();
    std::vector<std::uint64_t> chosen((files.rows + 63) / 64);
    const auto order = [&](std::uint64_t query, std::span<const std::uint32_t> ids) {
        for (const std::uint32_t id : ids) {
            if (id >= files.rows) throw usage_error("a task ranked rows that the vectors do not have");
            chosen[id / 64] |= std::uint64_t{1} << (id % 64);
        }
        const rankings found = opened.search_one(set(), query, {.k = all_vectors, .allowed = chosen});
        for (const std::uint32_t id : ids) chosen[id / 64] = 0;
        return found.ids;
    };
    const merge_rules rules{.k = request.k,
                            .greatest_first = files.metric == vector_metric::ip,
                            .are_exact = are_exact(files),
                            .order = order};
    merged_rankings merged(request.rankings);
    for (std::uint64_t query = 0; query < files.queries; ++query) {
        merged.next(rules);
        each(query, merged.ids(), merged.distances());
    }
}

std::uint64_t ones_in(std::span<const std::uint64_t> bitmap) {
    std::uint64_t count = 0;
    for (const std::uint64_t word : bitmap) count += static_cast<std::uint64_t>(std::popcount(word));
    return count;
}

void note_record(const retrieval_record& record, const nearest_files& files, nearest_result& result) {
    auto& counts = result.statistics.counts;
    counts["rows"] = files.rows;
    counts["queries"] = files.queries;
    counts["dimensions"] = files.dimensions;
    counts["listed"] = result.listed;
    counts["distances"] = record.distances;
    counts["filtered"] = record.filtered;
    counts["tiles"] = record.tiles;
    counts["tile_bytes"] = record.tile_bytes;
    result.statistics.stages.push_back({"nearest/prepare", 0, record.prepare_seconds, 0});
    result.statistics.stages.push_back({"nearest/search", 0, record.search_seconds, 0});
    if (!result.recall) return;
    result.statistics.measures["recall"] = result.recall->recall();
    counts["truth_found"] = result.recall->found;
    counts["truth_ties"] = result.recall->ties;
    counts["truth_worse"] = result.recall->worse;
}

}  // namespace

double nearest_recall::recall() const {
    const std::uint64_t all = queries * depth;
    return all == 0 ? 1 : static_cast<double>(found) / static_cast<double>(all);
}

nearest_result nearest(const nearest_request& request, const context& requested, const nearest_sink& sink) {
    nearest_result result;
    const context ctx = placed(requested, result.statistics);
    if (!request.ibin.empty() && request.radius) {
        throw usage_error("within a radius rankings differ in length: they are no matrix, " +
                          request.ibin.filename().string());
    }
    stage_clock clock(result.statistics);
    ctx.report({"read", 0, 0, "bytes"});
    const opened_files opened(request, ctx);
    const nearest_files& files = opened.files();
    retrieval_options options{.k = request.k, .radius = request.radius};
    std::vector<std::uint64_t> allowed;
    if (!request.allowed.empty()) {
        allowed = io::read_allowed(request.allowed, files.rows, ctx);
        options.allowed = allowed;
    }
    std::optional<truth_comparison> comparison;
    if (!request.truth.empty()) {
        comparison.emplace(io::read_truth(request.truth, files.rows, ctx), request.truth, files.queries,
                           request.k);
    }
    const std::uint64_t candidates = request.allowed.empty() ? files.rows : ones_in(allowed);
    std::optional<matrix_files> matrices;
    if (!request.ibin.empty()) matrices.emplace(request, files.queries, std::min(request.k, candidates));
    clock.end_stage("read", opened.bytes());

    std::optional<vector_set> made;
    const auto set = [&]() -> vector_set& {
        if (!made) made.emplace(opened.make_set(ctx));
        return *made;
    };
    const auto each = [&](std::uint64_t query, std::span<const std::uint32_t> ids,
                          std::span<const double> distances) {
        result.listed += ids.size();
        if (comparison) comparison->take(query, ids, distances);
        if (matrices) matrices->row(ids, distances);
        if (sink) sink(files, query, ids, distances);
    };
    if (request.rankings.empty()) {
        opened.search(set(), options, each);
    } else {
        merge(opened, request, set, each);
    }
    const retrieval_record record = made ? made->record() : retrieval_record();
    clock.end_stage("nearest", record.tile_bytes);
    if (comparison) {
        ctx.report({"compare", 0, 0, "queries"});
        const bool greatest_first = files.metric == vector_metric::ip;
        result.recall = comparison->result(
            greatest_first,
            [&](std::uint64_t query, std::span<const std::uint64_t> missing) {
                return opened.search_one(set(), query, {.k = all_vectors, .allowed = missing}).distances;
            },
            files.rows);
        clock.end_stage("compare", 0);
    }
    if (matrices) matrices->commit();
    result.files = files;
    result.files.names = result.files.query_names = {};
    result.notes = opened.notes();
    note_record(record, files, result);
    return result;
}

std::vector<job_task> plan_nearest(const nearest_request& request, unsigned shards,
                                   const context& requested) {
    run_statistics statistics;
    const context ctx = placed(requested, statistics);
    const opened_files opened(request, ctx);
    std::vector<std::filesystem::path> files;
    for (const auto& file : {request.vectors, request.queries, request.allowed})
        if (!file.empty() && std::ranges::find(files, file) == files.end()) files.push_back(file);
    job_task task;
    task.kind = "rank";
    task.inputs = describe_inputs(files, ctx);
    constexpr std::uint64_t word = 64;  // rows of a word of the bitmap of allowed ones
    const std::uint64_t rows = opened.files().rows, words = (rows + word - 1) / word,
                        count = std::clamp<std::uint64_t>(shards, 1, std::max<std::uint64_t>(words, 1));
    std::vector<job_task> tasks;
    for (std::uint64_t i = 0; i < count; ++i) {
        task.parameters = {{"first", std::to_string(words * i / count * word)},
                           {"end", std::to_string(std::min(words * (i + 1) / count * word, rows))}};
        tasks.push_back(task);
    }
    return tasks;
}

void run_nearest_task(const nearest_request& request, const task_file& file, task_results& results,
                      const context& requested) {
    run_statistics statistics;
    const context ctx = placed(requested, statistics);
    results.ran_on(statistics.device);
    const opened_files opened(request, ctx);
    const nearest_files& files = opened.files();
    const std::uint64_t first = file.task.number("first"), end = file.task.number("end");
    if (first % 64 != 0 || first >= end || end > files.rows)
        throw usage_error(fmt::format("task {} has rows that the vectors do not have", file.number));
    retrieval_options options{.k = request.k, .radius = request.radius};
    std::vector<std::uint64_t> allowed;
    if (!request.allowed.empty()) {
        allowed = io::read_allowed(request.allowed, files.rows, ctx);
        const std::uint64_t rows = end - first;
        allowed.erase(allowed.begin(), allowed.begin() + static_cast<std::ptrdiff_t>(first / 64));
        allowed.resize((rows + 63) / 64);
        if (rows % 64 != 0) allowed.back() &= (std::uint64_t{1} << (rows % 64)) - 1;
        options.allowed = allowed;
    }
    std::vector<std::uint64_t> offsets;
    vector_set set = opened.make_part(first, end - first, offsets, ctx);
    results.begin("rankings");
    std::string bytes;
    opened.search(set, options,
                  [&](std::uint64_t, std::span<const std::uint32_t> ids, std::span<const double> distances) {
                      bytes.clear();
                      append_ranking(bytes, ids, distances, static_cast<std::uint32_t>(first));
                      results.append(bytes);
                  });
}

}  // namespace quern
