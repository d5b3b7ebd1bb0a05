// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "command_line_state.hpp"
#include "commands.hpp"
#include "help_page.hpp"
#include "quern/base/error.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

/// Whether a positional argument may be any text.
bool is_text(std::string_view argument) {
    return argument == "QUERY" || argument == "WORD" || argument == "TEXT";
}

bool names_a_file(std::string_view argument) {
    return !is_text(argument) && argument != "COMMAND" && argument != "SHELL";
}

void require_file_name(const std::string& argument, const std::string& value) {
    try {
        file_name(value);
    } catch (const usage_error& failure) {
        throw usage_error(fmt::format("{}: {}", argument, failure.what()));
    }
}

}  // namespace

help_requested declared_by(const command& self) {
    try {
        self.run(self, {"--help"});
    } catch (help_requested& declared) {
        return std::move(declared);
    }
    throw std::logic_error(fmt::format("quern {} does not know --help", self.name));
}

help_page page_of(const command& self) {
    return declared_by(self).page;
}

command_line::command_line(const command& self, std::string usage, std::string description)
    : state_(std::make_unique<state>()) {
    state_->page.name = self.name;
    state_->page.summary = self.summary;
    state_->page.usage = std::move(usage);
    state_->page.description = std::move(description);
    state_->app.set_help_flag();
}
command_line::~command_line() = default;

void command_line::section(std::string heading) {
    state_->heading = std::move(heading);
    state_->in_common_section = false;
}

void command_line::common_section(std::string heading) {
    state_->heading = std::move(heading);
    state_->in_common_section = true;
}

void command_line::argument(std::string name, std::string help, std::string& target) {
    state_->app
        .add_option_function<std::string>(name,
                                          [&target](const std::string& value) { target = unguarded(value); })
        ->required();
    if (names_a_file(name)) state_->after.emplace_back([name, &target] { require_file_name(name, target); });
    if (state_->arguments != std::string::npos) ++state_->arguments;
    state_->page.lines.push_back({"Arguments", std::move(name), std::move(help)});
}

void command_line::arguments(const std::string& name, std::string help, std::vector<std::string>& target,
                             bool required) {
    state_->app
        .add_option_function<std::vector<std::string>>(name,
                                                       [&target](const std::vector<std::string>& values) {
                                                           for (const std::string& value : values)
                                                               target.push_back(unguarded(value));
                                                       })
        ->required(required);
    if (names_a_file(name))
        state_->after.emplace_back([name, &target] {
            for (const std::string& value : target) require_file_name(name, value);
        });
    state_->arguments = std::string::npos;
    state_->takes_words = is_text(name);
    state_->page.lines.push_back({"Arguments", name + "...", std::move(help)});
}

void command_line::option(const std::string& names, const std::string& value, std::string help,
                          const std::string& fallback, parser parse, bool required) {
    declare(names, value, std::move(help), fallback, std::move(parse), required, false);
}

void command_line::options(const std::string& names, const std::string& value, std::string help,
                           parser parse) {
    declare(names, value, std::move(help), "", std::move(parse), false, true);
}

void command_line::declare(const std::string& names, const std::string& value, std::string help,
                           const std::string& fallback, parser parse, bool required, bool many) {
    const auto comma = names.find(',');
    std::string shown_names = names;
    if (comma != std::string::npos) shown_names.insert(comma + 1, " ");
    const std::string first = names.substr(0, comma);
    CLI::Option* const made =
        state_->app.add_option(names, state_->named(shown_names, std::move(parse), many, first))
            ->take_all()
            ->required(required)
            ->type_size(1)
            ->expected(1);
    state_->options.insert({first, {made, true, many}});
    if (comma != std::string::npos) state_->options.insert({names.substr(comma + 1), {made, true, many}});
    std::string left = shown_names.starts_with("--") ? "    " + shown_names : shown_names;
    if (!fallback.empty()) help += fmt::format(" [default: {}]", fallback);
    state_->add_line(left + ' ' + value, std::move(help));
    state_->page.lines.back().is_repeatable = many;
}

void command_line::flag(const std::string& name, std::string help, bool& target) {
    state_->options.insert({name, {state_->app.add_flag(name, target)->take_last(), false, false}});
    state_->add_line("    " + name, std::move(help));
}

std::string command_line::typed_name(const option_description& row) {
    if (row.letter != 0 && row.name.size() == 1) return {'-', row.letter};
    std::string name = "--" + std::string(row.name);
    std::ranges::replace(name, '_', '-');
    return name;
}

std::string command_line::default_text(const option_description& row, const option_value& value) {
    if (row.kind == option_kind::flag && row.names.empty()) return {};
    const std::string text = value_text(row, value);
    return fmt::format("{}{}{}", text, text.empty() || row.note.empty() ? "" : "; ", row.note);
}

void command_line::declare_row(const option_description& row, const std::string& fallback,
                               std::function<void(const option_value&)> set) {
    const std::string name = typed_name(row);
    if (row.kind == option_kind::flag && row.names.empty()) {
        bool& target = state_->flags.emplace_back(false);
        flag(name, std::string(row.help), target);
        state_->after.emplace_back([&target, set = std::move(set)] {
            if (target) set(true);
        });
        return;
    }
    std::string help(row.help);
    const std::string range = range_text(row);
    if (!range.empty() && !fallback.empty()) {
        help += fmt::format(" [{}; default: {}]", range, fallback);
    } else if (!range.empty()) {
        help += fmt::format(" [{}]", range);
    } else if (!fallback.empty()) {
        help += fmt::format(" [default: {}]", fallback);
    }
    const bool has_both = row.letter != 0 && row.name.size() != 1;
    option(has_both ? fmt::format("-{},{}", row.letter, name) : name, std::string(row.value), std::move(help),
           "", [row, set = std::move(set)](const std::string& text) {
               const bool is_file =
                   row.kind == option_kind::text && (row.value == "FILE" || row.value == "MODEL");
               set(parse_value(row, is_file ? file_name(text) : text));
           });
    if (!row.names.empty()) offer(name, row.names);
}

void command_line::advise(const std::string& name, advice instead) {
    state_->advices.insert_or_assign(name, std::move(instead));
}

void command_line::offer(std::string_view name, const std::vector<std::string>& values) {
    for (help_line& line : state_->page.lines) {
        const typed_form form = form_of(line);
        if (form.value == name || form.value == std::string(name) + "..." ||
            std::ranges::find(form.names, name) != form.names.end())
            line.values = values;
    }
}

void command_line::offer(std::string_view name, std::span<const std::string_view> values) {
    offer(name, std::vector<std::string>(values.begin(), values.end()));
}

void command_line::unlist(std::string_view name) {
    std::erase_if(state_->page.lines, [name](const auto& line) {
        const std::size_t at = line.left.find("--");
        return at != std::string::npos && line.left.substr(at, line.left.find(' ', at) - at) == name;
    });
}

void command_line::hint(std::string name, std::string result) {
    state_->hints.insert_or_assign(std::move(name), std::move(result));
}

void command_line::remark(std::string left, std::string help) {
    state_->add_line(std::move(left), std::move(help));
}

void command_line::example(std::string line, std::string meaning) {
    state_->page.examples.emplace_back(std::move(line), std::move(meaning));
}

void command_line::parse(const std::vector<std::string>& arguments) {
    // --config must be known before its values can be put in front of the user's.
    std::string config;
    for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
        if (arguments[i] == "--help" || arguments[i] == "-h")
            throw help_requested{help(false), state_->option_names(), state_->page};
        if (arguments[i] == "--help-all") throw help_requested{help(true), {}, {}};
        if (arguments[i] == "--version" || arguments[i] == "-V") throw help_requested{version_line(), {}, {}};
        if (arguments[i] == "--config" && i + 1 < arguments.size()) config = arguments[i + 1];
        if (arguments[i].starts_with("--config=")) config = arguments[i].substr(9);
    }
    const std::vector<std::string> typed = state_->checked(arguments);
    std::vector<std::string> all;
    if (!config.empty()) all = state_->config_arguments(config);
    all.insert(all.end(), typed.begin(), typed.end());
    std::reverse(all.begin(), all.end());  // CLI11 takes them from the back
    try {
        state_->app.parse(all);
    } catch (const CLI::ParseError& failure) {
        state_->refuse(failure.what());
    }
    for (const auto& step : state_->after) step();
}

bool command_line::given(const std::string& name) const {
    return state_->options.at(name).option->count() != 0;
}

bool command_line::given(const option_description& row) const {
    return given(typed_name(row));
}

std::vector<std::string> command_line::values_of(const std::string& name) const {
    std::vector<std::string> values;
    const auto found = state_->options.find(name);
    if (found == state_->options.end()) return values;
    for (const std::string& value : found->second.option->results()) values.push_back(unguarded(value));
    return values;
}

std::vector<std::string> command_line::given_arguments(std::span<const std::string_view> except) const {
    std::vector<std::string> given, positional;
    for (const CLI::Option* const option : state_->app.get_options()) {
        if (option->count() == 0) continue;
        if (option->get_positional()) {
            if (std::ranges::find(except, option->get_name()) != except.end()) continue;
            for (const std::string& value : option->results()) positional.push_back(unguarded(value));
            continue;
        }
        const bool is_long = !option->get_lnames().empty();
        const std::string name =
            is_long ? "--" + option->get_lnames().front() : "-" + option->get_snames().front();
        if (std::ranges::find(except, name) != except.end()) continue;
        const auto known = state_->options.find(name);
        if (known != state_->options.end() && !known->second.takes_value) {
            given.push_back(option->as<bool>() ? name : name + "=false");
            continue;
        }
        for (const std::string& value : option->results())
            given.push_back(fmt::format("{}{}{}", name, is_long ? "=" : "", unguarded(value)));
    }
    if (!positional.empty()) given.emplace_back("--");
    given.insert(given.end(), positional.begin(), positional.end());
    return given;
}

void command_line::require_used(const std::string& name, bool used, std::string_view reason) {
    if (used) return;
    const CLI::Option* const option = state_->options.at(name).option;
    if (std::ranges::find(state_->typed, option) != state_->typed.end())
        throw usage_error(fmt::format("{} {}", name, reason));
    if (const auto position = state_->positions.find(option); position != state_->positions.end())
        state_->notes.push_back(
            {true, fmt::format("{}: without effect: {} {}", position->second, name, reason)});
}

const std::vector<option_note>& command_line::notes() const {
    return state_->notes;
}

std::string command_line::help(bool all) const {
    return to_text(state_->page, all);
}

}  // namespace quern::cli
