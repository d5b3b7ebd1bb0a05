// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/record_json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace quern {

using nlohmann::json;

json to_json(const reading_record& record) {
    const reading_counts& counts = record.counts;
    json issues = json::array();
    for (const input_issue& issue : record.issues) {
        issues.push_back({issue.path, issue.line, issue.reason, issue.rejected, issue.truncated});
    }
    return {{"documents", counts.documents}, {"redirects", counts.redirects}, {"rejected", counts.rejected},
            {"damaged", counts.damaged},     {"cut", counts.truncated},       {"skipped", counts.skipped},
            {"issues", std::move(issues)}};
}

reading_record record_of(const json& member) {
    reading_record record;
    reading_counts& counts = record.counts;
    counts.documents = member.at("documents");
    counts.redirects = member.at("redirects");
    counts.rejected = member.at("rejected");
    counts.damaged = member.at("damaged");
    counts.truncated = member.at("cut");
    counts.skipped = member.at("skipped").get<std::map<std::string, std::uint64_t>>();
    for (const json& issue : member.at("issues")) {
        record.issues.push_back({issue.at(0), issue.at(1), issue.at(2), issue.at(3), issue.at(4)});
    }
    return record;
}

json in_utf8(const json& any) {
    return json::parse(any.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace quern
