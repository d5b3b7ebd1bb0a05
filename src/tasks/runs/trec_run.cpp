// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/trec_run.hpp"

#include <string_view>
#include <unordered_set>

#include "io/retrieval/ranked_run.hpp"

namespace quern {

void read_trec_run(const std::filesystem::path& path, const context& ctx,
                   const std::function<void(const trec_run_line&)>& sink) {
    const io::ranked_run run(path, ctx);
    std::unordered_set<std::string_view> seen;
    for (const io::ranked_topic& topic : run.topics()) {
        ctx.check_stop();
        seen.clear();
        for (const io::ranked_entry& entry : topic.entries) {
            if (!seen.insert(entry.document()).second) run.refuse_repeated(topic, entry);
            const auto rank = run.rank_of(entry);
            if (!rank) run.refuse(entry, "the rank is not a number");
            sink({topic.id, entry.document(), *rank, entry.score});
        }
    }
}

}  // namespace quern
