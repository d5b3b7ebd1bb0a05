// SPDX-License-Identifier: Apache-2.0
// quern count
#include "quern/tasks/count.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "commands.hpp"
#include "input_lines.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

constexpr std::size_t longest_line = 1 << 20;

struct count_request {
    common_options common;
    std::string path;
    std::vector<std::string> words;
    bool total = false;
};

void declare(command_line& line, count_request& request) {
    line.argument("STORE", "A folder written by quern build.", request.path);
    line.arguments(
        "WORD",
        "Consecutive words: several arguments form one n-gram. Without any, n-grams are read from standard "
        "input, one per line, and the rows begin with a column query, numbered from 0. In a store of word "
        "lines, words are separated by blanks or, if there is a tab, by tabs only.",
        request.words, false);
    line.section("Count options");
    line.flag("--total",
              "Write one row per n-gram instead of one per document: its words as stored, occurrences, "
              "documents that contain it, and occurrences followed by another word of the document "
              "(followed: its count as a history).",
              request.total);
    declare_common(line, request.common, {.scratch = false});
    line.example("quern count wiki steam engine",
                 "Every document that contains the two words in sequence, in input order.");
    line.example("quern count wiki \"steam engine\" --total", "Only the count in the collection.");
    line.example("quern count wiki --total --format jsonl < phrases.txt", "Many n-grams, one per line.");
}

class counting {
  public:
    counting(const count_request& request, session& job, const ngram_counter& counter, output& to)
        : request_(request), job_(job), counter_(counter), to_(to), rows_(job.rows(to, columns())) {}

    void count_words() {
        const std::string text = fmt::format("{}", fmt::join(request_.words, " "));
        count(text, job_.stage("count", [&] { return counter_.count(text, job_.ctx); }));
        ++queries_;
    }

    void count_lines() {
        job_.stage("count", [&] {
            bool whole = true;
            for (std::string text; next_line(text, longest_line, whole); ++queries_) {
                job_.ctx.check_stop();
                if (!whole) {
                    throw invalid_input(
                        "standard input", queries_ + 1,
                        fmt::format("the n-gram is too long (at most {} bytes)", grouped(longest_line)));
                }
                count(text, counter_.count(text, job_.ctx));
                to_.flush();
            }
        });
        if (queries_ == 0)
            job_.messages.warning(
                "no words: standard input is empty (expected an n-gram on each line, or as an argument)");
    }

    /// Whether anything was found.
    bool finish() {
        rows_.finish();
        auto& counts = job_.statistics.counts;
        counts["queries"] = queries_;
        counts["occurrences"] = occurrences_;
        counts["followed"] = followed_;
        counts["hits"] = hits_;
        counts["documents"] = counter_.documents();
        return hits_ != 0;
    }

  private:
    std::vector<std::string> columns() const {
        std::vector<std::string> names;
        if (request_.words.empty()) names.emplace_back("query");
        if (request_.total) {
            names.insert(names.end(), {"words", "count", "documents", "followed"});
        } else {
            names.insert(names.end(), {"doc", "count"});
        }
        return names;
    }

    void count(std::string_view text, const ngram_occurrences& found) {
        occurrences_ += found.count;
        followed_ += found.followed;
        hits_ += found.documents.size();
        tell(text, found);
        const auto row = [this](std::initializer_list<cell> of) {
            std::vector<cell> cells;
            if (request_.words.empty()) cells.emplace_back(queries_);
            cells.insert(cells.end(), of);
            rows_.row(cells);
        };
        if (request_.total) {
            const std::string words = fmt::format("{}", fmt::join(found.words, " "));
            row({std::string_view(words), found.count, std::uint64_t{found.documents.size()},
                 found.followed});
        } else {
            for (const ngram_document& d : found.documents)
                row({counter_.id(d.document), std::uint64_t{d.count}});
        }
        if (request_.words.empty()) rows_.finish();
    }

    void tell(std::string_view text, const ngram_occurrences& found) {
        if (found.words.empty()) {
            job_.messages.error(fmt::format("nothing found: '{}' contains no word", text));
        } else if (!found.unknown_words.empty()) {
            job_.messages.error(
                fmt::format("nothing found: no document contains {}", fmt::join(found.unknown_words, ", ")));
        } else if (found.documents.empty()) {
            job_.messages.error(
                fmt::format("nothing found: no document contains '{}'", fmt::join(found.words, " ")));
        } else {
            job_.messages.info(fmt::format(
                "'{}': {} in {} of {}", fmt::join(found.words, " "), counted(found.count, "occurrence"),
                grouped(found.documents.size()), counted(counter_.documents(), "document")));
        }
    }

    const count_request& request_;
    session& job_;
    const ngram_counter& counter_;
    output& to_;
    row_writer rows_;
    std::uint64_t queries_ = 0, occurrences_ = 0, followed_ = 0, hits_ = 0;
};

}  // namespace

int run_count(const command& self, const std::vector<std::string>& arguments) {
    count_request request;
    command_line line(
        self, "STORE [WORD]... [OPTION]...",
        "Counts an n-gram: how often words follow each other in the documents of a store, whose titles "
        "precede the texts. The store's text options (case, stop words, stemming) apply to the given words "
        "too. Overlapping occurrences count: \"ha ha ha\" contains \"ha ha\" twice. Writes doc and count, in "
        "input order; the counts of the collection go to standard error and to --stats.");
    declare(line, request);
    line.parse(arguments);

    session job(self, request.common);
    job.choose_device("count", offered_places::cpu_only);
    output to = job.open_output(request.common.output, {request.path});
    const auto counter = job.stage("open", [&] { return ngram_counter::open(request.path, job.ctx); });
    counting work(request, job, counter, to);
    if (request.words.empty()) {
        work.count_lines();
    } else {
        work.count_words();
    }
    const bool found = work.finish();
    to.commit();
    job.write_statistics();
    return found ? 0 : 1;
}

}  // namespace quern::cli
