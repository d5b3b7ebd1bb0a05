// SPDX-License-Identifier: Apache-2.0
// From a corpus to a dictionary, as a pipeline over units of the corpus:
//   cut (in order) → parse (parallel) → admit: ids (in order) → analyse and count within the unit (parallel)
//       → collect (in order; distinct words of a unit only).
// The collected words are returned sorted and distinct. If the vocabulary is limited, they are read twice, first to
// find the count from which a word is among the most frequent.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "io/files/atomic_file.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/dictionary_option_table.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/document_words.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dictionary/dictionary_file.hpp"
#include "tasks/dictionary/word_collector.hpp"
#include "tasks/shared/stage_clock.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/dictionary.hpp"

namespace quern {
namespace {

struct unit_in_work : document_unit {
    word_count_table words;
    std::uint64_t occurrences = 0;
};

/// Which words are kept: those with counts above `least`, and the first `ties` of those with that count.
struct threshold {
    std::uint64_t least;
    std::uint64_t ties;
};

class dictionary_run {
  public:
    dictionary_run(const dictionary_options& options, const context& ctx)
        : options_(options),
          ctx_(ctx),
          file_(options.file, options.force ? io::existing::replace : io::existing::refuse),
          scratch_(ctx),
          collected_(scratch_, ctx.memory_limit() / 2),
          corpus_(options, {.a_distinct_word = 100}, options.text, ctx),
          words_(options.text, options.titles ? title_words::in_front : title_words::excluded) {}

    dictionary_result run() {
        read();
        clock_.end_stage("read", corpus_.consumed_bytes());
        ctx_.report({"choose", 0, 0, "words"});
        const threshold from = choose();
        clock_.end_stage("choose", 0);
        write(from);
        clock_.end_stage("write", result_.info.file_bytes);
        result_.counts = std::move(corpus_.record().counts);
        result_.issues = std::move(corpus_.record().issues);
        result_.runs = collected_.runs();
        fill_statistics();
        return std::move(result_);
    }

  private:
    void read() {
        pipeline<unit_in_work> line(units_at_once(ctx_));
        corpus_.begin(line);
        line.in_parallel([this](unit_in_work& unit) { analyse(unit); });
        line.in_order([this](unit_in_work& unit) {
            result_.info.occurrences += unit.occurrences;
            collected_.add(unit.words);
        });
        corpus_.run(line);
        result_.info.documents = corpus_.record().counts.documents;
        result_.info.verbatim = corpus_.verbatim();
    }

    void analyse(unit_in_work& unit) {
        unit.words = word_count_table();
        unit.occurrences = 0;
        for (const document& d : unit.parsed.documents) {
            ctx_.check_stop();
            words_.for_each_piece(d, [&unit](const text::token_list& words) {
                for (const text::token& t : words.tokens) unit.words.add(words.word(t));
                unit.occurrences += words.tokens.size();
            });
        }
        release(unit.parsed.documents);
    }

    threshold choose() {
        const threshold every{options_.min_count, std::numeric_limits<std::uint64_t>::max()};
        if (options_.vocabulary == 0) return every;
        std::map<std::uint64_t, std::uint64_t> words_with;  // one entry per distinct count: few
        collected_.for_each(ctx_, [&](std::string_view, std::uint64_t count) {
            if (count >= options_.min_count) ++words_with[count];
        });
        std::uint64_t capacity = options_.vocabulary;
        for (auto at = words_with.rbegin(); at != words_with.rend(); ++at) {
            if (at->second > capacity) return {at->first, capacity};
            capacity -= at->second;
        }
        return every;
    }

    void write(threshold from) {
        spill_file blocks(scratch_.file("blocks")), counts(scratch_.file("counts"));
        dictionary_info& info = result_.info;
        text::dictionary_builder builder;
        std::uint64_t block_bytes = 0;
        std::vector<std::uint64_t> some_counts;
        const auto hand_over = [&] {
            const std::string coded = builder.take_blocks();
            scratch_.take(coded.size() + some_counts.size() * 8);
            blocks.append(coded);
            counts.append({reinterpret_cast<const char*>(some_counts.data()), some_counts.size() * 8});
            block_bytes += coded.size();
            some_counts.clear();
        };
        collected_.for_each(ctx_, [&](std::string_view word, std::uint64_t count) {
            if (info.distinct++ % 65536 == 0) ctx_.report({"write", info.distinct - 1, 0, "words"});
            if (count < from.least || (count == from.least && from.ties == 0)) return;
            if (count == from.least) --from.ties;
            if (builder.size() == std::numeric_limits<std::uint32_t>::max()) {
                throw invalid_input("the corpus", 0, "has more words than there are ids; raise --min-count");
            }
            builder.append(word);
            some_counts.push_back(count);
            info.kept += count;
            if (some_counts.size() == std::size_t{1} << 16) hand_over();
        });
        builder.end();
        hand_over();
        blocks.flush();
        counts.flush();
        info.words = builder.size();
        info.unicode_version = text::unicode_version();
        info.text = as_recorded(options_.text);
        info.titles = options_.titles;
        info.min_count = options_.min_count;
        const std::uint64_t count_bytes = std::uint64_t{info.words} * 8;
        dictionary_file::write(file_.writer(), {builder.finish(), blocks, block_bytes, counts, count_bytes},
                               info);
        file_.commit();
    }

    void fill_statistics() {
        run_statistics& statistics = result_.statistics;
        const dictionary_info& info = result_.info;
        statistics.device = "cpu";
        statistics.device_reason = "dictionary runs on cpu only";
        statistics.threads = ctx_.thread_count();
        statistics.peak_memory_bytes = peak_memory_bytes();
        statistics.counts = {{"documents", info.documents},
                             {"rejected", result_.counts.rejected},
                             {"occurrences", info.occurrences},
                             {"distinct", info.distinct},
                             {"words", info.words},
                             {"kept", info.kept},
                             {"runs", result_.runs}};
    }

    const dictionary_options& options_;
    const context& ctx_;
    dictionary_result result_;
    stage_clock clock_{result_.statistics};
    io::atomic_file file_;
    scratch_folder scratch_;
    word_collector collected_;
    admitted_corpus corpus_;
    document_words words_;
};

}  // namespace

dictionary_result make_dictionary(const dictionary_options& options, const context& ctx) {
    require_cpu(ctx, "dictionary");
    require_documents(options);
    if (options.file.empty()) throw usage_error("no dictionary given");
    check_ranges(options);
    for (const std::filesystem::path& input : options.inputs) refuse_own_output(input);
    return dictionary_run(options, ctx).run();
}

}  // namespace quern
