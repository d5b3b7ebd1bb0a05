// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/evaluate.hpp"

#include "io/trec_files.hpp"
#include "quern/base/choose_device.hpp"

namespace quern {

evaluation evaluate_files(const std::filesystem::path& judgements, const std::filesystem::path& run_file,
                          const context& run) {
    require_cpu(run, "evaluate");
    const relevance_judgements judged = io::read_judgements(judgements, run);
    const retrieval_run retrieved = io::read_run(run_file, run);
    run.check_stop();
    return evaluate(judged, retrieved);
}

}  // namespace quern
