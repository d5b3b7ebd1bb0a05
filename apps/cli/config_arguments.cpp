// SPDX-License-Identifier: Apache-2.0
// The settings of --config as arguments of a command.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "command_line_state.hpp"
#include "commands.hpp"
#include "nearest_name.hpp"
#include "quern/base/error.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

/// The options of all commands, taken from their help pages: they are declared nowhere else.
std::vector<known_option> known_options() {
    std::vector<known_option> known;
    for (const command& other : all_commands()) {
        for (std::string& option : declared_by(other).options)
            known.push_back({other.name, std::move(option)});
    }
    return known;
}

std::string dashed(const std::string& name) {
    return (name.size() == 1 ? "-" : "--") + name;
}

}  // namespace

std::vector<std::string> command_line::state::config_arguments(const std::string& path) {
    const std::vector<config_setting> settings = read_config(path);
    const std::vector<known_option> all = known_options();
    std::vector<const config_setting*> here;
    std::string unused;
    for (const config_setting& setting : settings) {
        check_setting(path, setting, all);
        if (!setting.section.empty() && setting.section != page.name) continue;
        if (options.contains(dashed(setting.name))) {
            here.push_back(&setting);
        } else {
            unused += fmt::format("{}{} (line {})", unused.empty() ? "" : ", ", setting.name, setting.line);
        }
    }
    if (!unused.empty()) {
        notes.push_back(
            {false, fmt::format("{}: settings without effect in quern {}: {}", path, page.name, unused)});
    }
    // The section comes last; the last setting wins.
    std::ranges::stable_sort(here, {}, [](const config_setting* s) { return !s->section.empty(); });
    std::map<const CLI::Option*, const config_setting*> chosen;
    for (const config_setting* s : here) chosen[options.at(dashed(s->name)).option] = s;
    std::vector<std::string> found;
    for (const auto& [option, setting] : chosen) {
        if (std::ranges::find(typed, option) != typed.end()) continue;
        positions[option] = fmt::format("{}:{}", path, setting->line);
        append_arguments(*setting, positions[option], found);
    }
    return found;
}

void command_line::state::check_setting(const std::string& path, const config_setting& setting,
                                        const std::vector<known_option>& all) const {
    const std::string& section = setting.section;
    const auto fail = [&](const std::string& reason) {
        throw usage_error(fmt::format("{}:{}: {}", path, setting.line, reason));
    };
    if (!section.empty() && std::ranges::find(all, section, &known_option::command) == all.end())
        fail(fmt::format("'{}' is not a command of quern", shown(section)));
    std::vector<std::string> names;
    for (const known_option& option : all) {
        if (!section.empty() && option.command != section) continue;
        names.push_back(option.name.substr(option.name.find_first_not_of('-')));
    }
    std::erase(names, "config");  // a file of options cannot name another one
    if (std::ranges::find(names, setting.name) != names.end()) return;
    const std::string near = nearest_name(setting.name, names);
    fail(fmt::format("'{}' is not an option of {}{}", shown(setting.name),
                     section.empty() ? "any command" : "quern " + section,
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

void command_line::state::append_arguments(const config_setting& setting, const std::string& position,
                                           std::vector<std::string>& found) const {
    const std::string name = dashed(setting.name);
    const known& option = options.at(name);
    const auto append = [&](const std::string& value) {
        if (!option.takes_value) check_flag(fmt::format("{}: {}", position, name), value);
        if (value.empty()) return append_empty(name, found);
        found.push_back(fmt::format("{}{}{}", name, setting.name.size() == 1 ? "" : "=", value));
    };
    if (option.takes_many) {
        for (const std::string& value : setting.values) append(value);
    } else {
        append(fmt::format("{}", fmt::join(setting.values, ",")));
    }
}

}  // namespace quern::cli
