// SPDX-License-Identifier: Apache-2.0
#include "quern/base/excluded.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/grouped.hpp"

namespace quern {
namespace {

using namespace std::string_view_literals;

/// "3 links inside the folder": the number applies to the first word that names a thing.
std::string counted(std::uint64_t count, std::string reason) {
    for (std::size_t at = 0; count != 1 && at < reason.size();) {
        const std::size_t end = std::min(reason.find(' ', at), reason.size());
        const std::string_view word = std::string_view(reason).substr(at, end - at);
        constexpr std::array things = {"file"sv,   "folder"sv,   "link"sv, "page"sv,
                                       "record"sv, "response"sv, "part"sv, "line"sv};
        if (std::find(things.begin(), things.end(), word) != things.end()) {
            const bool leads = reason.compare(end, 12, " that leads ") == 0;
            if (leads) reason.replace(end, 12, " that lead ");
            reason.insert(end, 1, 's');
            break;
        }
        at = end + 1;
    }
    return grouped(count) + " " + reason;
}

struct reason {
    std::string name;
    std::uint64_t count = 0;
    std::vector<std::pair<std::uint64_t, std::string>> kinds;
};

std::string in_words(reason& cause) {
    constexpr std::size_t kinds_shown = 6;
    std::string out = counted(cause.count, cause.name);
    // Documents that could not be read, with the reason in parentheses, come before other files.
    std::sort(cause.kinds.begin(), cause.kinds.end(), [](const auto& a, const auto& b) {
        const bool a_says = a.second.ends_with(')'), b_says = b.second.ends_with(')');
        if (a_says != b_says) return a_says;
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = 0; i < std::min(cause.kinds.size(), kinds_shown); ++i) {
        out += i == 0 ? ": " : ", ";
        out += grouped(cause.kinds[i].first) + " " + cause.kinds[i].second;
    }
    return cause.kinds.size() > kinds_shown ? out + " …" : out;
}

}  // namespace

std::string excluded_in_words(const std::map<std::string, std::uint64_t>& skipped) {
    std::vector<reason> reasons;
    for (const auto& [key, count] : skipped) {
        const std::size_t colon = std::min(key.find(": "), key.size());
        const std::string name = key.substr(0, colon);
        if (reasons.empty() || reasons.back().name != name) reasons.push_back({name, 0, {}});
        reasons.back().count += count;
        if (colon != key.size()) reasons.back().kinds.emplace_back(count, key.substr(colon + 2));
    }
    std::string out;
    for (reason& each : reasons) {
        if (!out.empty()) out += "; ";
        out += in_words(each);
    }
    return out;
}

}  // namespace quern
