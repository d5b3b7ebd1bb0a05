// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>

#include "commands.hpp"
#include "config_file.hpp"
#include "help_page.hpp"
#include "nearest_name.hpp"
#include "quern/base/error.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

/// CLI11 reads a positional text in square brackets as a list and splits it at commas. A leading mark hides the
/// bracket; unguarded() removes it from every text that CLI11 returns.
constexpr char guard = '\x01';

std::string guarded(std::string text) {
    return text.starts_with('[') && text.ends_with(']') ? guard + std::move(text) : std::move(text);
}

std::string unguarded(std::string text) {
    if (text.starts_with(guard)) text.erase(0, 1);
    return text;
}

struct known_option {
    std::string command, name;
};

/// A command declares its options when it runs; --help ends it after that.
help_requested declared_by(const command& self) {
    try {
        self.run(self, {"--help"});
    } catch (help_requested& declared) {
        return std::move(declared);
    }
    throw std::logic_error(fmt::format("quern {} does not know --help", self.name));
}

/// The options of all commands, taken from their help pages: they are declared nowhere else.
std::vector<known_option> known_options() {
    std::vector<known_option> known;
    for (const command& other : all_commands()) {
        for (std::string& option : declared_by(other).options)
            known.push_back({other.name, std::move(option)});
    }
    return known;
}

/// "-k" of "-k5", "--top" of "--top=5".
std::string name_in(const std::string& argument) {
    return argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
}

std::string dashed(const std::string& name) {
    return (name.size() == 1 ? "-" : "--") + name;
}

}  // namespace

help_page page_of(const command& self) {
    return declared_by(self).page;
}

struct command_line::state {
    /// What parse() knows about an option in addition to CLI11.
    struct known {
        CLI::Option* option;
        bool takes_value, takes_many;
    };

    CLI::App app;
    help_page page;
    std::string heading = "Arguments";
    bool in_common_section = false;
    std::map<std::string, known> options;      ///< by each of their names
    std::map<std::string, std::string> hints;  ///< to options that do not exist
    std::map<std::string, advice> advices;     ///< by the first name of the option
    std::deque<bool> flags;                    ///< of tables; CLI11 keeps pointers to them
    std::vector<std::function<void()>> after;  ///< passes them on
    std::vector<const CLI::Option*> typed;
    std::map<const CLI::Option*, std::string> positions;  ///< of options from --config: file and line
    std::vector<option_note> notes;
    std::size_t arguments = 0;  ///< maximum number of positional ones
    bool takes_words = false;   ///< whether one of them may be any text

    std::vector<std::string> option_names() const {
        std::vector<std::string> names;
        for (const auto& [name, _] : options) names.push_back(name);
        return names;
    }

    void add_line(std::string left, std::string help) {
        page.lines.push_back({heading, std::move(left), std::move(help), in_common_section});
    }

    /// Runs the parser of an option and adds to its message where the value came from.
    CLI::callback_t named(std::string shown_name, parser parse, bool many, const std::string& name) {
        return [this, shown_name = std::move(shown_name), parse = std::move(parse), many,
                name](const CLI::results_t& values) {
            const auto position = positions.find(options.at(name).option);
            const std::string where = position == positions.end()
                                          ? shown_name
                                          : fmt::format("{}: {}", position->second, shown_name);
            // Taking one of two values would ignore the other.
            if (!many && values.size() > 1) throw usage_error(fmt::format("{} is given twice", where));
            for (const std::string& value : values) {
                try {
                    parse(unguarded(value));
                } catch (const usage_error& failure) {
                    std::string reason = failure.what();
                    const std::size_t at = reason.find(value);
                    if (at != std::string::npos && !value.empty())
                        reason.replace(at, value.size(), shown(value));
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

    [[noreturn]] void refuse(const std::string& reason) const {
        throw usage_error(fmt::format("{} (quern {} --help lists all options)", reason, page.name));
    }

    [[noreturn]] void refuse_unknown(const std::string& argument) const {
        std::string name = name_in(argument);
        if (const auto result = hints.find(name); result != hints.end()) {
            throw usage_error(fmt::format("unknown option {}: {}", name, result->second));
        }
        const bool is_long = name.starts_with("--");
        // "-k5" is the option -k; "-apple" is more likely a word.
        if (!is_long && argument.find_first_not_of("0123456789=", 2) != std::string::npos) name = argument;
        std::vector<std::string> names = option_names();
        const bool is_short_one =
            is_long && name.size() == 3 && std::ranges::count(names, name.substr(1)) != 0;
        // Any letter is close to any other: suggest long names only.
        std::erase_if(names, [](const std::string& of) { return !of.starts_with("--"); });
        const std::string near = is_short_one ? name.substr(1) : is_long ? nearest_name(name, names) : "";
        refuse(fmt::format("unknown option {}{}", shown(name),
                           !near.empty() ? fmt::format("; did you mean {}?", near)
                           : takes_words ? "; put words that begin with a dash after --"
                                         : ""));
    }

    /// Refuses unknown options and surplus arguments in the order in which they were typed: CLI11 reports the
    /// last one first. Notes which options were typed. Returns the arguments as CLI11 takes them.
    std::vector<std::string> checked(const std::vector<std::string>& typed_arguments) {
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

    /// A value that is an option of this command, after an unset variable or a forgotten name.
    void refuse_option_as_value(const std::string& name, const std::string& value) const {
        const bool is_long = value.starts_with("--"), is_short = value.size() == 2 && value[0] == '-';
        if ((!is_long && !is_short) || !options.contains(name_in(value))) return;
        refuse(fmt::format("{}: the value is missing before {}{}", name, shown(value),
                           is_short ? fmt::format("; a file of that name is ./{}", value) : ""));
    }

    /// After `--name=` CLI11 would take the next argument for the value.
    static void append_empty(const std::string& name, std::vector<std::string>& to) {
        to.push_back(name);
        to.emplace_back();
    }

    static void check_flag(const std::string& name, const std::string& value) {
        try {
            CLI::detail::to_flag_value(value);
        } catch (const std::exception&) {
            throw usage_error(
                fmt::format("{}: invalid value '{}' (expected true or false)", name, shown(value)));
        }
    }

    /// The file's settings for this command, as arguments. Keys are at the top, for every command, or in a
    /// section with the command's name, which takes precedence. A key that no command knows is refused. Typed
    /// options are skipped.
    std::vector<std::string> config_arguments(const std::string& path) {
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
                unused +=
                    fmt::format("{}{} (line {})", unused.empty() ? "" : ", ", setting.name, setting.line);
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

    void check_setting(const std::string& path, const config_setting& setting,
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

    void append_arguments(const config_setting& setting, const std::string& position,
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
};

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
    state_->arguments = std::string::npos;
    state_->takes_words = name == "QUERY" || name == "WORD";
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
    for (const auto& pass_on : state_->after) pass_on();
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
