// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/words_of_tasks.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "ops/word_similarity/exact/best_words.hpp"
#include "quern/base/error.hpp"
#include "tasks/cluster/result_values.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
using word_similarity_detail::better, word_similarity_detail::scored_word;

enum head : std::size_t { words_at, relations_at, entries_at, cooccurrences_at, triples_at, head_size };

enum class row_head : std::size_t {
    words,
    columns,
    rows,
    entries,
    bits,
    product_bits,
    is_bounded,
    products,
    parts,
    shares,
    size
};
constexpr std::size_t row_head_size = static_cast<std::size_t>(row_head::size);

[[noreturn]] void refuse_size(const io::mapped_file& file) {
    throw damaged_store(file.path().string(), "words", "has another size than its counts say");
}

/// `count` values from `at` bytes on, which moves past them.
template <class Value>
std::span<const Value> values_at(const io::mapped_file& file, std::size_t& at, std::uint64_t count) {
    if (count > (file.size() - at) / sizeof(Value)) refuse_size(file);
    const std::span<const Value> values{reinterpret_cast<const Value*>(file.bytes().data() + at), count};
    at += count * sizeof(Value);
    return values;
}

/// The lists of one task.
class neighbours_of_task {
  public:
    neighbours_of_task(const fs::path& file, std::uint32_t words)
        : file_(file, io::mapped_file::access::sequential) {
        std::size_t at = 0;
        ends_ = values_at<std::uint64_t>(file_, at, words);
        const std::uint64_t all = words == 0 ? 0 : ends_.back();
        scores_ = values_at<double>(file_, at, all);
        words_ = values_at<std::uint32_t>(file_, at, all);
        if (at != file_.size() || !std::ranges::is_sorted(ends_)) refuse_size(file_);
        for (const std::uint32_t word : words_)
            if (word >= words) throw damaged_store(file.string(), "words", "names a word that is not there");
    }
    void add(std::uint32_t word, std::vector<scored_word>& to) const {
        for (std::uint64_t i = word == 0 ? 0 : ends_[word - 1]; i < ends_[word]; ++i)
            to.push_back({scores_[i], words_[i]});
    }

  private:
    io::mapped_file file_;
    std::span<const std::uint64_t> ends_;
    std::span<const double> scores_;
    std::span<const std::uint32_t> words_;
};

/// All values of a file.
template <class Value>
std::span<const Value> all_values(const io::mapped_file& file, std::uint64_t count) {
    std::size_t at = 0;
    const auto values = values_at<Value>(file, at, count);
    if (at != file.size()) refuse_size(file);
    return values;
}

}  // namespace

void write_weights(const context_matrix_view& matrix, const counting_record& record, task_results& results) {
    const std::array<std::uint64_t, head_size> numbers{matrix.words, matrix.relations, matrix.columns.size(),
                                                       record.cooccurrences, record.triples};
    results.begin("matrix");
    append_values(results, std::span<const std::uint64_t>(numbers));
    append_values(results, matrix.offsets);
    append_values(results, matrix.column_counts);
    results.begin("columns");
    append_values(results, matrix.columns);
    results.begin("weights");
    append_values(results, matrix.weights);
}

void write_shared_rows(const word_similarity_detail::shared_rows& rows, task_results& results) {
    std::array<std::uint64_t, row_head_size> numbers{};
    const auto set = [&](row_head at, auto value) {
        numbers[static_cast<std::size_t>(at)] = static_cast<std::uint64_t>(value);
    };
    set(row_head::words, rows.words);
    set(row_head::columns, rows.column_count);
    set(row_head::rows, rows.sums.size());
    set(row_head::entries, rows.columns.size());
    set(row_head::bits, rows.bits);
    set(row_head::product_bits, rows.product_bits);
    set(row_head::is_bounded, rows.is_bounded);
    set(row_head::products, rows.bounds.products);
    set(row_head::parts, rows.parts.size());
    set(row_head::shares, rows.ends.size());
    results.begin("rows");
    append_values(results, std::span<const std::uint64_t>(numbers));
    append_values(results, rows.offsets);
    append_values(results, rows.sums);
    append_values(results, rows.squares);
    append_values(results, rows.ends);
    if (rows.is_bounded) {
        append_values(results, rows.bounds.words);
        append_values(results, rows.bounds.denominators);
        append_values(results, rows.bounds.slacks);
        append_values(results, rows.least);
        append_values(results, rows.parts);
    }
    results.begin("row-columns");
    append_values(results, rows.columns);
    results.begin("row-weights");
    append_values(results, rows.weights);
    results.begin("row-values");
    append_values(results, rows.bounds.values);
}

shared_rows_of_job::shared_rows_of_job(const fs::path& job)
    : file_(file_of_result(job, 0, "rows")),
      columns_(file_of_result(job, 0, "row-columns")),
      weights_(file_of_result(job, 0, "row-weights")),
      values_(file_of_result(job, 0, "row-values")) {
    std::size_t at = 0;
    const auto numbers = values_at<std::uint64_t>(file_, at, row_head_size);
    const auto get = [&](row_head of) { return numbers[static_cast<std::size_t>(of)]; };
    const std::uint64_t rows = get(row_head::rows), entries = get(row_head::entries);
    if (get(row_head::words) > UINT32_MAX || rows > get(row_head::words)) refuse_size(file_);
    rows_.words = static_cast<std::uint32_t>(get(row_head::words));
    rows_.column_count = static_cast<std::uint32_t>(get(row_head::columns));
    rows_.bits = static_cast<int>(get(row_head::bits));
    rows_.product_bits = static_cast<int>(get(row_head::product_bits));
    rows_.is_bounded = get(row_head::is_bounded) != 0;
    rows_.offsets = values_at<std::uint64_t>(file_, at, rows + 1);
    rows_.sums = values_at<std::uint64_t>(file_, at, rows);
    rows_.squares = values_at<std::uint64_t>(file_, at, rows);
    rows_.ends = values_at<std::uint64_t>(file_, at, get(row_head::shares));
    rows_.columns = all_values<std::uint32_t>(columns_, entries);
    rows_.weights = all_values<float>(weights_, entries);
    const auto values = all_values<std::uint16_t>(values_, rows_.is_bounded ? entries : 0);
    if (rows_.is_bounded) {
        const auto words = values_at<std::uint32_t>(file_, at, rows_.words);
        const auto denominators = values_at<float>(file_, at, rows),
                   slacks = values_at<float>(file_, at, rows);
        rows_.bounds = {
            get(row_head::products) != 0, rows_.offsets, words, denominators, slacks, rows_.columns, values};
        rows_.least = values_at<float>(file_, at, rows);
        rows_.parts = values_at<word_similarity_detail::tile_part>(file_, at, get(row_head::parts));
    }
    if (at != file_.size() || rows_.offsets.back() != entries) refuse_size(file_);
}

void write_neighbours(const neighbour_lists& lists, task_results& results) {
    results.begin("neighbours");
    append_values(results, std::span<const std::uint64_t>(lists.offsets).subspan(1));
    append_values(results, std::span<const double>(lists.scores));
    append_values(results, std::span<const std::uint32_t>(lists.words));
}

weights_of_job::weights_of_job(const fs::path& job)
    : matrix_(file_of_result(job, 0, "matrix")),
      columns_(file_of_result(job, 0, "columns")),
      weights_(file_of_result(job, 0, "weights")) {
    std::size_t at = 0;
    const auto numbers = values_at<std::uint64_t>(matrix_, at, head_size);
    if (numbers[words_at] > UINT32_MAX || numbers[relations_at] > UINT32_MAX) refuse_size(matrix_);
    view_.words = static_cast<std::uint32_t>(numbers[words_at]);
    view_.relations = static_cast<std::uint32_t>(numbers[relations_at]);
    record_.cooccurrences = numbers[cooccurrences_at];
    record_.triples = numbers[triples_at];
    view_.offsets = values_at<std::uint64_t>(matrix_, at, std::uint64_t{view_.words} + 1);
    view_.column_counts = values_at<std::uint64_t>(matrix_, at, std::uint64_t{view_.words} * view_.relations);
    if (at != matrix_.size() || view_.offsets.back() != numbers[entries_at]) refuse_size(matrix_);
    at = 0;
    view_.columns = values_at<std::uint32_t>(columns_, at, numbers[entries_at]);
    if (at != columns_.size()) refuse_size(columns_);
    at = 0;
    view_.weights = values_at<float>(weights_, at, numbers[entries_at]);
    if (at != weights_.size()) refuse_size(weights_);
}

neighbour_lists merge_neighbours(const fs::path& job, std::uint32_t words, std::uint32_t top,
                                 const context& ctx, const neighbour_sink& sink) {
    const job_plan plan = read_plan(job);
    std::vector<neighbours_of_task> tasks;
    tasks.reserve(plan.tasks.size());
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i)
        tasks.emplace_back(file_of_result(job, i, "neighbours"), words);
    struct range_in_work {
        std::uint32_t begin = 0, end = 0;
        std::vector<scored_word> found, best;  ///< of a word, of all
        std::vector<std::uint32_t> counts;
    };
    constexpr std::uint32_t words_of_range = 512;
    neighbour_lists lists;
    lists.offsets.push_back(0);
    std::uint32_t next = 0;
    pipeline<range_in_work> line(std::size_t{2} * ctx.thread_count() + 2);
    line.from([&](range_in_work& range) {
        ctx.check_stop();
        range.begin = next;
        range.end = next + std::min(words_of_range, words - next);
        next = range.end;
        return range.begin != range.end;
    });
    line.in_parallel([&](range_in_work& range) {
        range.best.clear();
        range.counts.clear();
        for (std::uint32_t word = range.begin; word < range.end; ++word) {
            range.found.clear();
            for (const neighbours_of_task& task : tasks) task.add(word, range.found);
            std::ranges::sort(range.found, better);
            if (range.found.size() > top) range.found.resize(top);
            range.counts.push_back(static_cast<std::uint32_t>(range.found.size()));
            range.best.insert(range.best.end(), range.found.begin(), range.found.end());
        }
    });
    line.in_order([&](range_in_work& range) {
        for (const std::uint32_t count : range.counts) lists.offsets.push_back(lists.offsets.back() + count);
        for (const scored_word& each : range.best) {
            lists.words.push_back(each.word);
            lists.scores.push_back(each.score);
        }
        sink(lists.words, lists.scores);
        lists.words.clear();
        lists.scores.clear();
    });
    run_in_arena(ctx, [&] { line.run(); });
    return lists;
}

}  // namespace quern
