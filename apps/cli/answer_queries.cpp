// SPDX-License-Identifier: Apache-2.0
#include "answer_queries.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <string_view>
#include <variant>

#include "hit_rows.hpp"
#include "input_lines.hpp"
#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"
#include "quern/base/rows.hpp"
#include "quern/base/terminal_text.hpp"

namespace quern::cli {
namespace {

std::string found_in_words(std::uint64_t documents) {
    return fmt::format("the query finds {} document{}", grouped(documents), documents == 1 ? "" : "s");
}

/// "lang (12 documents): en 7, de 4, fr 1 and 3 more values".
std::string facet_line(const search_facet& facet) {
    std::string text = fmt::format("{} ({} document{})", for_terminal(facet.field), grouped(facet.documents),
                                   facet.documents == 1 ? "" : "s");
    if (!facet.min.empty()) text += fmt::format(" from {} to {}", facet.min, facet.max);
    for (std::size_t i = 0; i < facet.values.size(); ++i) {
        text += fmt::format("{} {} {}", i == 0 ? ":" : ",", for_terminal(facet.values[i].value),
                            grouped(facet.values[i].documents));
    }
    if (facet.distinct == facet.values.size()) return text;
    const std::uint64_t more = facet.distinct - facet.values.size();
    return text + fmt::format("{} {} more value{}", facet.values.empty() ? ":" : " and", grouped(more),
                              more == 1 ? "" : "s");
}

/// After the rows of a query: its facets, as a JSON line or, elsewhere, on standard error. `first`: the name and the value of
/// the column before the others.
void write_facets(const search_result& result, session& job, output& to, const char* name = nullptr,
                  const cell& first = std::monostate()) {
    if (result.facets.empty()) return;
    if (job.format_for(to) != row_format::jsonl) {
        for (const search_facet& facet : result.facets) job.messages.result(facet_line(facet));
        return;
    }
    std::string line = "{";
    if (name != nullptr) {
        append_json(line, std::string_view(name));
        line += ':';
        append_json(line, first);
        line += ',';
    }
    to.write(line + "\"facets\":" + facets_json(result.facets) + "}\n");
}

bool corrects(const search_request& request, const session& job, const output& to) {
    if (request.correct != correction::automatic) return request.correct == correction::on;
    return job.format_for(to) == row_format::table;
}

/// What the rows show; `first`: the column before the others.
hit_columns columns_for(const search_engine& engine, const search_request& request, const char* first,
                        bool corrections) {
    return {.first = first,
            .explanations = request.search.explain,
            .duplicates = engine.duplicates() != 0,
            .fields = !engine.store().kept_fields.empty(),
            .totals = request.search.total,
            .corrections = corrections};
}

/// The rows of --count: the number of documents, with a first column as hits have it.
class count_rows {
  public:
    count_rows(session& job, output& to, const char* first = nullptr)
        : rows_(job.rows(to, first == nullptr ? std::vector<std::string>{"count"}
                                              : std::vector<std::string>{first, "count"})) {}
    void write(const search_result& result, std::optional<cell> first = {}) {
        std::vector<cell> cells;
        if (first) cells.push_back(*first);
        cells.emplace_back(result.total.value_or(0));
        rows_.row(cells);
    }
    void finish() { rows_.finish(); }

  private:
    row_writer rows_;
};

/// The lines of one topic; refuses documents that would look the same in them.
void append_run(std::string& text, std::string_view topic, const search_result& result,
                const std::string& store) {
    std::vector<std::string_view> ids;
    for (const search_hit& hit : result.hits) ids.push_back(hit.id);
    if (const auto alike = alike_in_run(ids)) {
        throw invalid_input(store, 0,
                            fmt::format("the documents '{}' and '{}' look the same in a TREC run; --format "
                                        "tsv or jsonl distinguishes them",
                                        alike->first, alike->second));
    }
    constexpr std::size_t usual_line = 64;
    text.reserve(result.hits.size() * usual_line);
    for (const search_hit& hit : result.hits) append_run_line(text, topic, hit.id, hit.rank, hit.score);
}

}  // namespace

bool writes_run(const search_request& request) {
    return !request.search.count && !request.topics.empty() &&
           (!request.run_file.empty() || !request.common.format);
}

found_counts search_one(const search_engine& engine, const search_request& request, session& job,
                        output& to) {
    const std::string query = fmt::format("{}", fmt::join(request.words, " "));
    const auto given = job.stage("search", [&] {
        return search_query_text(engine, query, request.search, corrects(request, job, to), job.ctx,
                                 job.messages);
    });
    if (request.search.count) {
        count_rows rows(job, to);
        rows.write(given.result);
        rows.finish();
    } else {
        hit_rows rows(job, to, columns_for(engine, request, nullptr, request.correct == correction::on));
        rows.write(engine, query, given.result, {}, given.corrected);
        rows.finish();
        if (request.search.total && job.format_for(to) != row_format::jsonl)
            job.messages.result(found_in_words(*given.result.total));
    }
    write_facets(given.result, job, to);
    if (request.like && query.empty() && given.result.empty_query && given.result.hits.empty()) {
        job.messages.error(
            fmt::format("nothing found: '{}' has no vector, or no other document has one: words that "
                        "are rare in the collection have none",
                        *request.like));
    } else {
        tell(given, job.messages);
    }
    job.statistics.counts["queries"] = 1;
    if (given.corrected) job.statistics.counts["corrected_queries"] = 1;
    found_counts found;
    found.add(given.result);
    return found;
}

found_counts search_lines(const search_engine& engine, const search_request& request, session& job,
                          output& to) {
    constexpr std::size_t max_bytes = 1 << 20;
    const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0 && !request.common.quiet;
    engine.check(request.search, job.ctx);  // before the first line
    std::optional<hit_rows> rows;
    std::optional<count_rows> counts;
    if (request.search.count)
        counts.emplace(job, to, "query");
    else
        rows.emplace(job, to, columns_for(engine, request, "query", request.correct == correction::on));
    const bool correct = corrects(request, job, to);
    found_counts found;
    std::uint64_t number = 0, refused = 0, corrected = 0;
    const auto search_line = [&](const std::string& query, bool whole) {
        if (!whole)
            throw usage_error(fmt::format("the query is too long (at most {} bytes)", grouped(max_bytes)));
        check_mapped_files();  // much time may have passed since the last query
        const auto given = search_query_text(engine, query, request.search, correct, job.ctx, job.messages);
        if (counts) {
            counts->write(given.result, cell(number));
            counts->finish();
        } else {
            rows->write(engine, query, given.result, cell(number), given.corrected);
            rows->finish();
        }
        write_facets(given.result, job, to, "query", cell(number));
        to.flush();
        if (request.search.total && !counts && job.format_for(to) != row_format::jsonl)
            job.messages.result(found_in_words(*given.result.total));
        tell(given, job.messages);
        found.add(given.result);
        corrected += given.corrected ? 1 : 0;
    };
    job.stage("search", [&] {
        bool whole = true;
        for (std::string query;; ++number) {
            if (person) std::cerr << "query> " << std::flush;
            const bool present = next_line(query, max_bytes, whole);
            job.ctx.check_stop();
            if (!present) break;
            try {
                search_line(query, whole);
            } catch (const usage_error& reason) {
                job.messages.warning(fmt::format("query {} was skipped: {}", number, reason.what()));
                if (const auto* const place = dynamic_cast<const query_error*>(&reason)) {
                    job.messages.line_below(place->excerpt());
                    job.messages.line_below(place->caret());
                }
                ++refused;
            }
        }
    });
    if (person) std::cerr << '\n';
    if (number == 0 && !person)
        job.messages.warning(
            "no query: standard input is empty (expected a query on each line, or as an argument)");
    job.statistics.counts["queries"] = number;
    if (refused != 0) job.statistics.counts["refused_queries"] = refused;
    if (corrected != 0) job.statistics.counts["corrected_queries"] = corrected;
    return found;
}

found_counts search_topics_to(const search_engine& engine, search_request& request, session& job,
                              output& to) {
    const auto topics = job.stage("topics", [&] {
        auto read = read_topics(request.topics, job.ctx, request.topic_fields);
        if (!request.query_vector.empty()) read_topic_vectors(read, request.query_vector, job.ctx);
        return read;
    });
    if (topics.empty())
        job.messages.warning(
            fmt::format("{} contains no topics (expected lines `id TAB text`, JSON lines, or TREC's <top>)",
                        request.topics));
    const bool as_run = writes_run(request);
    request.search.snippets = !as_run;
    request.search.duplicates = !as_run;
    request.search.fields = job.format_for(to) == row_format::jsonl && !as_run;
    std::optional<hit_rows> rows;
    std::optional<count_rows> counts;
    if (request.search.count)
        counts.emplace(job, to, "topic");
    else
        rows.emplace(job, to, columns_for(engine, request, "topic", false));
    found_counts found;
    const auto text = [&](const search_topic& topic, const search_result& result) {
        std::string lines;
        if (as_run) append_run(lines, topic.id, result, request.path);
        return lines;
    };
    const auto take = [&](const search_topic& topic, const search_result& result, std::string_view lines) {
        found.add(result);
        if (result.hits.empty() && result.total.value_or(0) == 0)
            job.messages.warning(fmt::format("topic {}: nothing found", topic.id));
        if (!result.syntax_note.empty())
            job.messages.info(fmt::format("topic {}: read as words: {}", topic.id, result.syntax_note));
        if (counts) {
            counts->write(result, cell(std::string_view(topic.id)));
        } else if (as_run) {
            to.write(lines);
        } else {
            rows->write(engine, topic.query, result, cell(std::string_view(topic.id)));
        }
        write_facets(result, job, to, "topic", cell(std::string_view(topic.id)));
    };
    job.pin_device(engine.choose_device(topics.size(), request.search, job.ctx));
    job.stage("search", [&] { engine.search_each(topics, request.search, job.ctx, text, take); });
    job.messages.finish();
    if (counts)
        counts->finish();
    else
        rows->finish();
    job.statistics.counts["queries"] = topics.size();
    return found;
}

}  // namespace quern::cli
