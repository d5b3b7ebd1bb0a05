// SPDX-License-Identifier: Apache-2.0
#include "command_line_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nearest_name.hpp"
#include "quern/base/error.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {
constexpr char guard = '\x01';

/// "-k" of "-k5", "--top" of "--top=5".
std::string name_in(const std::string& argument) {
    return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
}

}  // namespace

std::string guarded(std::string text) {
    return text.starts_with('[') && text.ends_with(']') ? guard + std::move(text) : std::move(text);
}

std::string unguarded(std::string text) {
    if (text.starts_with(guard)) text.erase(0, 1);
    return text;
}

std::vector<std::string> command_line::state::option_names() const {
    std::vector<std::string> names;
    for (const auto& [name, _] : options) names.push_back(name);
    return names;
}

void command_line::state::add_line(std::string left, std::string help) {
    page.lines.push_back({heading, std::move(left), std::move(help), in_common_section});
}

CLI::callback_t command_line::state::named(std::string shown_name, parser parse, bool many,
                                           const std::string& name) {
    return [this, shown_name = std::move(shown_name), parse = std::move(parse), many,
            name](const CLI::results_t& values) {
        const auto position = positions.find(options.at(name).option);
        const std::string where =
            position == positions.end() ? shown_name : fmt::format("{}: {}", position->second, shown_name);
        // Taking one of two values would ignore the other.
        if (!many && values.size() > 1) throw usage_error(fmt::format("{} is given twice", where));
        for (const std::string& value : values) {
            try {
                parse(unguarded(value));
            } catch (const usage_error& failure) {
                std::string reason = failure.what();
                const std::size_t at = reason.find(value);
                if (at != std::string::npos && !value.empty()) reason.replace(at, value.size(), shown(value));
                if (const auto instead = advices.find(name); instead != advices.end()) {
                    if (const auto text = instead->second(value); !text.empty())
                        reason.append("; ").append(text);
                }
                throw usage_error(fmt::format("{}: {}", where, reason));
            }
        }
        return true;
    };
}

void command_line::state::refuse(const std::string& reason) const {
    throw usage_error(fmt::format("{} (quern {} --help lists all options)", reason, page.name));
}

void command_line::state::refuse_unknown(const std::string& argument) const {
    std::string name = name_in(argument);
    if (const auto result = hints.find(name); result != hints.end()) {
        throw usage_error(fmt::format("unknown option {}: {}", name, result->second));
    }
    const bool is_long = name.starts_with("--");
    // "-k5" is the option -k; "-apple" is more likely a word.
    if (!is_long && argument.find_first_not_of("0123456789=", 2) != std::string::npos) name = argument;
    std::vector<std::string> names = option_names();
    const bool is_short_one = is_long && name.size() == 3 && std::ranges::count(names, name.substr(1)) != 0;
    // Any letter is close to any other: suggest long names only.
    std::erase_if(names, [](const std::string& of) { return !of.starts_with("--"); });
    const std::string near = is_short_one ? name.substr(1) : is_long ? nearest_name(name, names) : "";
    refuse(fmt::format("unknown option {}{}", shown(name),
                       !near.empty() ? fmt::format("; did you mean {}?", near)
                       : takes_words ? "; put words that begin with a dash after --"
                                     : ""));
}

std::vector<std::string> command_line::state::checked(const std::vector<std::string>& typed_arguments) {
    std::vector<std::string> made;
    std::size_t count = 0;
    bool only_arguments = false;
    for (std::size_t i = 0; i < typed_arguments.size(); ++i) {
        const std::string& argument = typed_arguments[i];
        made.push_back(guarded(argument));
        if (!only_arguments && argument == "--") {
            only_arguments = true;
        } else if (only_arguments || argument.size() < 2 || !argument.starts_with('-')) {
            if (++count > arguments) refuse(fmt::format("unexpected argument '{}'", shown(argument)));
        } else {
            const auto found = options.find(name_in(argument));
            if (found == options.end()) refuse_unknown(argument);
            typed.push_back(found->second.option);
            const std::string& name = found->first;
            const bool has_equals = argument.substr(name.size()).starts_with('=');
            const bool has_value = has_equals || (!argument.starts_with("--") && argument.size() > 2);
            if (has_equals) {
                const std::string value = argument.substr(name.size() + 1);
                if (!found->second.takes_value) check_flag(name, value);
                if (value.empty()) {
                    made.pop_back();
                    append_empty(name, made);
                } else if (!argument.starts_with("--")) {
                    made.back() = name + value;  // -k=5 is -k5
                }
            }
            if (!found->second.takes_value || has_value) continue;
            if (++i == typed_arguments.size()) refuse(fmt::format("{}: the value is missing", argument));
            const std::string& value = typed_arguments[i];
            refuse_option_as_value(argument, value);
            made.push_back(guarded(value));
        }
    }
    return made;
}

void command_line::state::refuse_option_as_value(const std::string& name, const std::string& value) const {
    const bool is_long = value.starts_with("--"), is_short = value.size() == 2 && value[0] == '-';
    if ((!is_long && !is_short) || !options.contains(name_in(value))) return;
    refuse(fmt::format("{}: the value is missing before {}{}", name, shown(value),
                       is_short ? fmt::format("; a file of that name is ./{}", value) : ""));
}

void command_line::state::append_empty(const std::string& name, std::vector<std::string>& to) {
    to.push_back(name);
    to.emplace_back();
}

void command_line::state::check_flag(const std::string& name, const std::string& value) {
    try {
        CLI::detail::to_flag_value(value);
    } catch (const std::exception&) {
        throw usage_error(fmt::format("{}: invalid value '{}' (expected true or false)", name, shown(value)));
    }
}

}  // namespace quern::cli
