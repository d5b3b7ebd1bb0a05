// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/fixed_fields.hpp"

#include <algorithm>

#include "io/corpus/kept_fields.hpp"

namespace quern::io {

bool fixed_fields::keeps(std::string_view name) const {
    return fields_.keeps_all() || std::ranges::find(fields_.kept, name) != fields_.kept.end();
}

void fixed_fields::add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    std::string json;
    if (keeps(name)) append_json_text(json, value);
    found_.emplace_back(name, std::move(json));
}

void fixed_fields::add_number(std::string_view name, unsigned value) {
    found_.emplace_back(name, std::to_string(value));
}

std::string fixed_fields::finish(named_members& named) {
    if (!named.any_record) {
        named.any_record = true;
        for (std::size_t i = 0; i < std::min(found_.size(), named_members::max_found); ++i)
            named.found.push_back(found_[i].first);
    }
    fields_writer writer;
    if (fields_.keeps_all()) {
        for (auto& [name, value] : found_) writer.add_json(name, std::move(value));
        return writer.finish();
    }
    if (fields_.kept.empty()) return {};
    const std::size_t first = named_fields(fields_).size() - fields_.kept.size();
    for (std::size_t i = 0; i < fields_.kept.size(); ++i) {
        const auto at =
            std::ranges::find(found_, fields_.kept[i], &std::pair<std::string, std::string>::first);
        if (at == found_.end()) continue;
        named.saw(first + i);
        writer.add_json(at->first, at->second);
    }
    return writer.finish();
}

}  // namespace quern::io
