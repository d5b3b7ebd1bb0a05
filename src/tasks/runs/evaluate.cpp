// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/evaluate.hpp"

#include <algorithm>

#include "io/retrieval/trec_files.hpp"
#include "quern/base/choose_device.hpp"
#include "tasks/runs/compared_runs.hpp"

namespace quern {

evaluation evaluate_files(const std::filesystem::path& judgements, const std::filesystem::path& run_file,
                          const context& ctx) {
    require_cpu(ctx, "evaluate");
    const relevance_judgements judged = io::read_judgements(judgements, ctx);
    const retrieval_run retrieved = io::read_run(run_file, ctx);
    ctx.check_stop();
    return evaluate(judged, retrieved);
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
    const relevance_judgements judged = io::read_judgements(judgements, ctx);
    compared_runs result(judged, options, ctx);
    for (const std::filesystem::path& path : runs) {
        const auto alike = std::ranges::count_if(
            runs, [&](const auto& other) { return other.filename() == path.filename(); });
        result.add((alike == 1 ? path.filename() : path).string(), io::read_run(path, ctx));
        ctx.check_stop();
    }
    return result.take();
}

}  // namespace quern
