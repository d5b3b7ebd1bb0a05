// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/part_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "base/varint.hpp"
#include "tasks/ngrams/number_file.hpp"
#include "tasks/ngrams/part_merge.hpp"
#include "tasks/ngrams/part_words.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string name_of_counts(unsigned n) {
    return fmt::format("ngrams-{}", n);
}

/// Reads `words` of a task whose inputs begin with document `first`.
counted_part read_part(const fs::path& job, std::uint32_t task, std::uint64_t first,
                       const ngram_corpus& corpus) {
    number_file file(file_of_result(job, task, "words"));
    counted_part part;
    part.documents = file.next();
    file.next();  // what marks excluded
    if (part.documents > corpus.document_count() - first) refuse_other_words(job);
    std::uint64_t document = 0;
    for (std::uint64_t left = file.next(); left != 0; --left) {
        document += file.next();
        const std::uint64_t begin = file.next(), length = file.next();
        if (document >= part.documents) file.refuse("has words of a document that the task does not have");
        const std::uint64_t of_document = corpus.documents[first + document],
                            words = corpus.documents[first + document + 1] - of_document;
        if (begin > words || length > words - begin) refuse_other_words(job);
        part.places.add(of_document + begin, length);
    }
    while (!file.is_at_end()) {
        ngram_totals& of = part.totals.emplace_back();
        of.n = static_cast<unsigned>(file.next());
        of.occurrences = file.next();
        of.with_unknown = file.next();
        std::vector<std::uint64_t> blocks{0};
        for (std::uint64_t left = file.next(); left != 0; --left) {
            const std::uint64_t bytes = file.next();
            if (bytes > std::numeric_limits<std::uint64_t>::max() - blocks.back())
                file.refuse("has blocks of n-grams that are too long");
            blocks.push_back(blocks.back() + bytes);
        }
        part.lists.push_back({file_of_result(job, task, name_of_counts(of.n)), std::move(blocks)});
    }
    return part;
}

/// Throws usage_error unless the tasks have each word of the corpus once.
std::vector<counted_part> read_parts(const fs::path& job, const ngram_corpus& corpus) {
    const job_plan plan = read_plan(job);
    std::vector<counted_part> parts;
    std::uint64_t first = 0, end = 0, words = 0;
    for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
        const bool begins_inputs = plan.tasks[task].number("part") == 0;
        if (begins_inputs) {
            if (words != corpus.documents[end]) refuse_other_words(job);
            first = end;
        }
        parts.push_back(read_part(job, task, first, corpus));
        if (!begins_inputs && first + parts.back().documents != end) refuse_other_words(job);
        end = first + parts.back().documents;
        words += parts.back().places.size();
    }
    if (end != corpus.document_count() || words != corpus.words.size()) refuse_other_words(job);
    return parts;
}

}  // namespace

void write_part_counts(const ngram_corpus& part, collection_counts& counts,
                       std::span<const ngram_totals> totals, task_results& results, const context& ctx) {
    constexpr std::size_t flushed_bytes = std::size_t{1} << 20;
    std::string bytes;
    const auto flush = [&](std::size_t least) {
        if (bytes.size() < least) return;
        results.append(bytes);
        bytes.clear();
    };
    std::vector<std::vector<std::uint64_t>> sizes_of_blocks;
    for (const ngram_totals& of : totals) {
        results.begin(name_of_counts(of.n));
        std::vector<std::uint64_t>& sizes = sizes_of_blocks.emplace_back();
        std::uint64_t ngrams = 0;
        counts.of(of.n).for_each([&](std::span<const counted_ngram> some) {
            ctx.check_stop();
            for (const counted_ngram& ngram : some) {
                if (ngrams++ % ngrams_of_block == 0) sizes.push_back(0);
                const std::size_t before = bytes.size();
                append_varint(bytes, ngram.position);
                append_varint(bytes, ngram.count);
                sizes.back() += bytes.size() - before;
                flush(flushed_bytes);
            }
        });
        flush(0);
    }
    results.begin("words");
    append_varint(bytes, part.document_count());
    append_varint(bytes, part.skipped_marks);
    append_varint(bytes, part.segments.size());
    std::uint64_t before = 0;
    for (const words_in_document& of : part.segments) {
        append_varint(bytes, of.document - before);
        append_varint(bytes, of.begin);
        append_varint(bytes, of.length);
        before = of.document;
        flush(flushed_bytes);
    }
    for (std::size_t t = 0; t < totals.size(); ++t) {
        for (const std::uint64_t number : {std::uint64_t{totals[t].n}, totals[t].occurrences,
                                           totals[t].with_unknown, sizes_of_blocks[t].size()})
            append_varint(bytes, number);
        for (const std::uint64_t size : sizes_of_blocks[t]) append_varint(bytes, size);
        flush(flushed_bytes);
    }
    flush(0);
}

std::vector<ngram_totals> merge_part_counts(const fs::path& job, const ngram_corpus& corpus,
                                            const ngram_options& options, const context& ctx,
                                            collection_counts& counts) {
    const std::vector<counted_part> parts = read_parts(job, corpus);
    std::vector<ngram_totals> totals;
    for (unsigned n = options.only ? options.order : 1; n <= options.order; ++n) totals.push_back({.n = n});
    for (std::uint32_t task = 0; task < parts.size(); ++task) {
        const counted_part& part = parts[task];
        if (!std::ranges::equal(part.totals, totals, {}, &ngram_totals::n, &ngram_totals::n))
            refuse_counts(file_of_result(job, task, "words"), "has other lengths of n-grams");
        for (std::size_t t = 0; t < totals.size(); ++t) {
            totals[t].occurrences += part.totals[t].occurrences;
            totals[t].with_unknown += part.totals[t].with_unknown;
        }
    }
    merge_lists(parts, corpus, options, ctx, totals, counts);
    return totals;
}

}  // namespace quern
