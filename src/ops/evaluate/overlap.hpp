// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "quern/base/retrieval.hpp"

namespace quern::evaluate_detail {

/// The ids of a run, at most as many as show how they differ from those of judgements.
class sampled_ids {
  public:
    static constexpr std::size_t max = 100'000;

    /// False, without effect, where there are enough.
    bool add_topic(std::string_view id) { return add(topics_, id); }
    bool add_document(std::string_view id) { return add(documents_, id); }

    using ids = std::set<std::string, std::less<>>;
    const ids& topics() const { return topics_; }
    const ids& documents() const { return documents_; }

  private:
    static bool add(ids& to, std::string_view id) {
        if (to.size() == max) return false;
        to.emplace(id);
        return true;
    }
    ids topics_, documents_;
};

/// Explains, from the ids alone, why judgements and a run share no judged document. `share_topics`: whether they share a topic.
/// Cost: a table of both id sets; of larger ones than max ids, the first count.
std::string differing_ids(const relevance_judgements& judgements, const sampled_ids& run, bool share_topics);

}  // namespace quern::evaluate_detail
