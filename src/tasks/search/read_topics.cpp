// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "io/retrieval/trec_files.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

io::topic_fields topic_fields_of(std::string_view names) {
    io::topic_fields fields{.title = false};
    for (std::string_view rest = names; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string_view name = trimmed(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (name == "title") {
            fields.title = true;
        } else if (name == "desc") {
            fields.description = true;
        } else if (name == "narr") {
            fields.narrative = true;
        } else {
            throw usage_error(fmt::format(
                "topic fields: unknown field '{}' (expected title, desc or narr, separated by commas)",
                name));
        }
    }
    if (fields == io::topic_fields{.title = false})
        throw usage_error("topic fields: none is named (expected title, desc or narr)");
    return fields;
}

}  // namespace

std::vector<search_topic> read_topics(const std::filesystem::path& path, const context& ctx,
                                      std::string_view fields) {
    std::vector<search_topic> topics;
    for (io::topic& t : io::read_topics(path, ctx, topic_fields_of(fields)))
        topics.push_back({std::move(t.id), std::move(t.query), {}, std::move(t.weights)});
    return topics;
}

}  // namespace quern
