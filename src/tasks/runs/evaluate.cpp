// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/evaluate.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/release.hpp"
#include "base/retrieved_view.hpp"
#include "device/memory_budget.hpp"
#include "io/retrieval/indexed_run.hpp"
#include "io/retrieval/trec_files.hpp"
#include "ops/evaluate/overlap.hpp"
#include "ops/evaluate/run_measures.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "tasks/runs/compared_runs.hpp"

namespace quern {

namespace {

using namespace evaluate_detail;

/// Ids of a run that shares no judged document, topic by topic in the order of bytes, as of a run in memory.
sampled_ids sample_of(const io::indexed_run& run) {
    sampled_ids sample;
    std::vector<const io::indexed_topic*> order;
    for (const io::indexed_topic& topic : run.topics()) order.push_back(&topic);
    std::ranges::sort(order, {}, &io::indexed_topic::id);
    std::vector<retrieved_view> documents;
    for (const io::indexed_topic* topic : order) {
        if (!sample.add_topic(topic->id)) break;
        if (sample.documents().size() == sampled_ids::max) continue;
        run.read(*topic, documents);
        for (const retrieved_view& document : documents)
            if (!sample.add_document(document.id)) break;
    }
    return sample;
}

/// Judgements, and runs measured topic by topic. In memory are the judgements, the places of a run's topics and the documents
/// of one topic.
class measured_files {
  public:
    measured_files(const std::filesystem::path& judgements, const context& ctx)
        : ctx_(ctx), memory_(ctx.memory_limit()), judged_(io::read_judgements(judgements, ctx, memory_)) {}

    const relevance_judgements& judgements() const { return judged_; }

    measured_run measure(const std::filesystem::path& path, std::span<const measure> measures,
                         bool complete) {
        memory_budget memory(memory_.left());  // of this run
        const io::indexed_run run(path, ctx_, memory);
        const std::uint64_t of_topic = run.max_lines() * run_measures::bytes_of_a_document(measures);
        if (of_topic > memory.left()) {
            throw out_of_memory("the longest topic of " + path.string() + ", with all judgements,",
                                memory_.used() + memory.used() + of_topic, memory_.limit());
        }
        run_measures of(judged_, measures, complete);
        std::vector<retrieved_view> documents;
        for (const io::indexed_topic& topic : run.topics()) {
            ctx_.check_stop();
            run.read(topic, documents);
            of.add(std::string(topic.id), documents);
        }
        release(documents);
        measured_run made = of.take();
        if (made.overlap.none())
            made.mismatch = differing_ids(judged_, sample_of(run), made.overlap.shared_topics != 0);
        return made;
    }

  private:
    const context& ctx_;
    memory_budget memory_;
    const relevance_judgements judged_;
};

}  // namespace

evaluation evaluate_files(const std::filesystem::path& judgements, const std::filesystem::path& run_file,
                          const context& ctx) {
    require_cpu(ctx, "evaluate");
    measured_files files(judgements, ctx);
    return evaluation_of(files.measure(run_file, usual_measures(), false));
}

relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx) {
    return io::read_judgements(path, ctx);
}

run_comparison compare_runs(const relevance_judgements& judgements, std::span<const named_run> runs,
                            const comparison_options& options, const context& ctx) {
    compared_runs result(judgements, options, ctx);
    for (const named_run& run : runs) result.add(run.name, run.run);
    return result.take();
}

run_comparison compare_run_files(const std::filesystem::path& judgements,
                                 std::span<const std::filesystem::path> runs,
                                 const comparison_options& options, const context& ctx) {
    require_cpu(ctx, "evaluate");
    measured_files files(judgements, ctx);
    compared_runs result(files.judgements(), options, ctx);
    for (const std::filesystem::path& path : runs) {
        const auto alike = std::ranges::count_if(
            runs, [&](const auto& other) { return other.filename() == path.filename(); });
        result.add((alike == 1 ? path.filename() : path).string(),
                   files.measure(path, options.measures, options.complete));
    }
    return result.take();
}

}  // namespace quern
