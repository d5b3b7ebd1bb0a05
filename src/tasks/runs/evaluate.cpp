// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/evaluate.hpp"

#include "io/retrieval/trec_files.hpp"
#include "quern/base/choose_device.hpp"

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

}  // namespace quern
