// SPDX-License-Identifier: Apache-2.0
// The main job: corpus in, store out. One pass over the input, then the links, then the merge of the words: the index.
// Then the stages that need it, one by one. Everything goes into a folder under another name, which gets its own at the
// very end.
#include "quern/tasks/build.hpp"

#include <fmt/format.h>

#include <utility>

#include "device/cpu/threads.hpp"
#include "device/files/file_writer.hpp"
#include "device/files/scratch_folder.hpp"
#include "io/files/atomic_folder.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/build/reading.hpp"
#include "tasks/build/stages.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/output_folder.hpp"
#include "tasks/pinned_to_device.hpp"
#include "tasks/stage_clock.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

build_options checked(const build_options& request) {
    require_inputs(request.inputs);
    if (request.store.empty()) throw usage_error("no store is given");
    build_options options = request;
    options.store = resolved_folder(options.store);
    for (const fs::path& input : options.inputs) {
        if (input != "-") refuse_overlap(options.store, input);
    }
    refuse_to_replace(options.store, {"store", is_store, {store_layout::manifest, store_layout::statistics}},
                      options.force);
    return options;
}

/// Where the stages run that can run on a GPU, and what memory there is. A build without such stages looks for no GPU
/// but the one that is asked for.
context settled(const build_options& options, const context& run, run_statistics& statistics) {
    const bool cpu_only =
        run.device.where == device_choice::kind::automatic && options.skip == all_build_stages;
    return pinned_to_device(run, cpu_only ? "an index" : "build", statistics,
                            cpu_only ? offered_places::cpu_only : offered_places::all);
}

void add_steps(run_statistics& statistics, const step_seconds& s) {
    for (const auto& [name, seconds] : {std::pair{"read", s.read},
                                        {"parse", s.parse},
                                        {"admit", s.admit},
                                        {"analyse", s.analyse},
                                        {"compress", s.compress},
                                        {"append", s.append}}) {
        statistics.stages.push_back({std::string("collection/") + name, 0, seconds, 0});
    }
}

/// A stage that adds to an index.
struct added_stage {
    build_stage stage;
    stage_outcome (*make)(const opened_store& store, const context& run);
};
constexpr added_stage added_stages[] = {{build_stage::ranks, make_link_ranks}};

std::uint64_t bytes_of(const std::vector<store_section>& sections) {
    std::uint64_t bytes = 0;
    for (const store_section& section : sections) bytes += section.bytes;
    return bytes;
}

void log_stage(std::string_view name, std::string_view device, const context& run) {
    run.log(log_level::info, fmt::format("{}: done on {}", name, device));
}

}  // namespace

bool error_limit::exceeded(std::uint64_t lost, std::uint64_t documents) const {
    if (!is_share) return lost > count;
    return static_cast<double>(lost) > share * static_cast<double>(documents);
}

build_result build(const build_options& request, const context& asked) {
    build_result result;
    run_statistics& statistics = result.statistics;
    const context run = settled(request, asked, statistics);
    const build_options options = checked(request);
    stage_clock clock(statistics);

    io::atomic_folder folder(options.store, options.force ? io::existing::replace : io::existing::refuse);
    const scratch_folder scratch(run);
    const text_options text = keep_stop_words(options.text, folder.temporary());
    const std::uint64_t memory = run.memory_limit();
    collection_pieces pieces(scratch, memory / 4);

    run_parallel(run, [&] {
        read_collection(options, with_stop_words_of(text, folder.temporary()), folder.temporary(), scratch,
                        pieces, run);
    });
    if (pieces.documents == 0) {
        throw invalid_input(options.inputs.front().string(), 0, "holds no documents");
    }
    clock.end_stage("collection", pieces.input_bytes);
    add_steps(statistics, pieces.seconds);

    const auto links = pieces.links.resolve(pieces.ids, folder.temporary(), run);
    pieces.ids = {};
    clock.end_stage("links", links.links * sizeof(std::uint32_t));

    const auto merge = [&](std::string_view stage, run_store& runs,
                           const store_layout::word_index_names& names,
                           const run_store::range_visitor& also = {}) {
        return run_parallel(run, [&] {
            return runs.merge(stage, folder.temporary(), names, pieces.document_lengths, run, memory / 2,
                              also);
        });
    };
    const auto words = merge("merge", pieces.words_of_all, store_layout::all_words,
                             [&](const auto& range) { pieces.tokens.take_words(range); });
    const auto title_words = merge("merge titles", pieces.words_of_titles, store_layout::title_words);
    const std::uint64_t spilled = pieces.words_of_all.spilled_bytes() +
                                  pieces.words_of_titles.spilled_bytes() + pieces.tokens.spilled_bytes();
    clock.end_stage("merge", spilled);

    const auto tokens = run_parallel(
        run, [&] { return pieces.tokens.write(folder.temporary(), pieces.document_lengths, run); });
    clock.end_stage("tokens", tokens.front().bytes);

    store_info info;
    info.format_version = store_format_version;
    info.unicode_version = text::unicode_version();
    info.text = text;
    info.verbatim = pieces.verbatim;
    info.documents = pieces.documents;
    info.words = pieces.words;
    info.vocabulary = words.vocabulary;
    info.postings = words.postings;
    info.links = links.links;
    info.sections = std::move(pieces.sections);
    for (const std::vector<store_section>& part :
         {links.sections, words.sections, title_words.sections, tokens}) {
        info.sections.insert(info.sections.end(), part.begin(), part.end());
    }
    write_file(folder.file(store_layout::manifest), store_layout::manifest_text(info));
    for (const auto& [stage, make] : added_stages) {
        if (options.skip.contains(stage)) continue;
        run.check_stop();
        stage_outcome outcome = make(opened_store(folder.temporary()), run);
        info.stages.insert(stage);
        add_outcome(info, outcome);
        write_file(folder.file(store_layout::manifest), store_layout::manifest_text(info));
        const auto name = build_stage_names[static_cast<std::size_t>(stage)];
        clock.end_stage(std::string(name), bytes_of(outcome.sections));
        log_stage(name, statistics.device, run);
        statistics.counts.merge(outcome.counts);
    }

    result.counts = pieces.record.counts;
    result.words = info.words;
    result.vocabulary = info.vocabulary;
    result.postings = info.postings;
    result.links = info.links;
    result.dangling_links = links.dangling;
    result.issues = std::move(pieces.record.issues);
    result.store_bytes = bytes_of(info.sections);

    statistics.counts.merge(
        std::map<std::string, std::uint64_t>{{"documents", info.documents},
                                             {"words", info.words},
                                             {"vocabulary", info.vocabulary},
                                             {"postings", info.postings},
                                             {"links", info.links},
                                             {"dangling_links", links.dangling},
                                             {"redirects", pieces.record.counts.redirects},
                                             {"rejected", pieces.record.counts.rejected},
                                             {"damaged", pieces.record.counts.damaged},
                                             {"cut", pieces.record.counts.cut},
                                             {"spilled_bytes", spilled},
                                             {"store_bytes", result.store_bytes}});
    for (const auto& [reason, count] : pieces.record.counts.skipped)
        statistics.counts["skipped: " + reason] = count;
    statistics.threads = run.thread_count();
    statistics.peak_memory_bytes = peak_memory_bytes();
    write_file(folder.file(store_layout::statistics), to_json(statistics));
    run.check_stop();
    folder.commit();
    clock.end_stage("commit", result.store_bytes);
    return result;
}

}  // namespace quern
