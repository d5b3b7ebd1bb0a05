// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "commands.hpp"
#include "quern/base/error.hpp"

namespace quern::cli {
namespace {

constexpr std::size_t page_width = 80;

/// CLI11 takes a positional text in square brackets for a list and splits it at commas. A leading mark hides
/// the bracket from it; every text that comes back is unguarded.
constexpr char guard = '\x01';

std::string guarded(std::string text) {
    return text.starts_with('[') && text.ends_with(']') ? guard + std::move(text) : std::move(text);
}

std::string unguarded(std::string text) {
    if (text.starts_with(guard)) text.erase(0, 1);
    return text;
}

/// Runs the parser of an option, so that its message begins with the option's name.
CLI::callback_t named(std::string name, command_line::parser parse, bool many) {
    return [name = std::move(name), parse = std::move(parse), many](const CLI::results_t& values) {
        // To take one of two values would be to ignore what was asked for.
        if (!many && values.size() > 1) throw usage_error(fmt::format("{} is given twice", name));
        try {
            for (const std::string& value : values) parse(unguarded(value));
        } catch (const usage_error& failure) {
            throw usage_error(fmt::format("{}: {}", name, failure.what()));
        }
        return true;
    };
}

/// What CLI11 found wrong, in the words of this program.
std::string in_our_words(const CLI::ParseError& failure, std::vector<std::string> options) {
    const auto* extras = dynamic_cast<const CLI::ExtrasError*>(&failure);
    if (extras == nullptr) return failure.what();
    const std::string text = failure.what();
    const auto colon = text.rfind(": ");
    std::string words = unguarded(colon == std::string::npos ? text : text.substr(colon + 2));
    const std::string first = words.substr(0, words.find_first_of(" ="));
    if (!first.starts_with('-')) return fmt::format("'{}' is one argument too many", words);
    // One letter is near to any other: only long names are worth a guess.
    std::erase_if(options, [](const std::string& name) { return !name.starts_with("--"); });
    const std::string near = nearest_name(first, options);
    return fmt::format("unknown option {}{}", first,
                       near.empty() ? "; words that begin with a dash go behind --"
                                    : fmt::format("; did you mean {}?", near));
}

struct known_option {
    std::string command, name;
};

/// The options of all commands, which each tells with its help page: they are declared nowhere else.
std::vector<known_option> known_options() {
    std::vector<known_option> known;
    for (const command& other : all_commands()) {
        try {
            other.run(other, {"--help"});
        } catch (const help_asked& page) {
            for (const std::string& option : page.options) known.push_back({other.name, option});
        }
    }
    return known;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
    std::string out;
    std::string line(indent, ' ');
    const auto flush = [&] {
        out.append(line, 0, line.find_last_not_of(' ') + 1);
        out += '\n';
        line.assign(indent, ' ');
    };
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\n') {
            flush();
            ++i;
            continue;
        }
        const std::size_t end = std::min(text.find_first_of(" \n", i), text.size());
        const std::string_view word = text.substr(i, end - i);
        if (line.size() + word.size() > page_width && line.size() > indent) flush();
        line.append(word);
        line += ' ';
        i = end < text.size() && text[end] == ' ' ? end + 1 : end;
    }
    flush();
    return out;
}

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
    std::string best;
    std::size_t best_distance = typed.size() < 5 ? 2 : 3;  // nothing farther than this is a slip of the hand
    for (const std::string& name : names) {
        // Edits and swaps of neighbours (optimal string alignment), three rows of the table at a time.
        std::vector<std::size_t> before(name.size() + 1), last(name.size() + 1), now(name.size() + 1);
        for (std::size_t j = 0; j <= name.size(); ++j) last[j] = j;
        for (std::size_t i = 1; i <= typed.size(); ++i) {
            now[0] = i;
            for (std::size_t j = 1; j <= name.size(); ++j) {
                const bool same = typed[i - 1] == name[j - 1];
                now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
                if (i > 1 && j > 1 && typed[i - 1] == name[j - 2] && typed[i - 2] == name[j - 1]) {
                    now[j] = std::min(now[j], before[j - 2] + 1);
                }
            }
            before.swap(last);
            last.swap(now);
        }
        if (last[name.size()] < best_distance) {
            best_distance = last[name.size()];
            best = name;
        }
    }
    return best;
}

std::string exit_code_table() {
    return "Exit codes:\n"
           "  0            done; also when the reader of a pipe has gone\n"
           "  1            nothing found, or an unknown word\n"
           "  2            usage, missing input, refused overwrite\n"
           "  3            bad input beyond --max-errors\n"
           "  4            resources: memory, disk, an absent or failing device\n"
           "  5            damaged or unsupported store\n"
           "  70           internal error; please report it\n"
           "  129 130 143  hang-up, Ctrl-C, SIGTERM; no half-written result is left\n";
}

struct command_line::state {
    struct line {
        std::string heading, left, help;
    };

    CLI::App app;
    std::string name, summary, usage, description, heading = "Arguments";
    std::vector<line> lines;
    std::vector<const CLI::Option*> repeatable, typed;
    std::vector<std::pair<std::string, std::string>> examples;

    /// The options that an argument may name.
    std::vector<const CLI::Option*> named_in(const std::vector<std::string>& arguments) const {
        std::vector<const CLI::Option*> named;
        for (const std::string& argument : arguments) {
            if (argument == "--") break;
            if (!argument.starts_with('-')) continue;
            const bool is_long = argument.starts_with("--");
            const std::string typed_name =
                is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
            if (const CLI::Option* option = app.get_option_no_throw(typed_name)) named.push_back(option);
        }
        return named;
    }

    std::vector<std::string> option_names() const {
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& short_name : option->get_snames()) names.push_back("-" + short_name);
            for (const std::string& long_name : option->get_lnames()) names.push_back("--" + long_name);
        }
        return names;
    }

    /// What the file says for this command, as arguments. Keys stand at the top, for every command, or in a
    /// section with the command's name, which wins. A key that no command knows there is a slip and is refused. Options
    /// that were typed are left out.
    std::vector<std::string> config_arguments(const std::string& path) {
        std::ifstream file(path);
        if (!file) throw usage_error(fmt::format("--config: {}: no such file, or not readable", path));
        std::vector<CLI::ConfigItem> items;
        try {
            items = CLI::ConfigTOML().from_config(file);
        } catch (const CLI::Error& failure) {
            throw usage_error(fmt::format("{}: {}", path, failure.what()));
        }
        const std::vector<known_option> known = known_options();
        struct setting {
            const CLI::Option* option;
            std::string argument;
            bool of_section;
        };
        std::vector<setting> settings;
        for (const CLI::ConfigItem& item : items) {
            if (item.parents.size() > 1) {
                throw usage_error(fmt::format("{}: '{}' is no command", path, fmt::join(item.parents, ".")));
            }
            const std::string section = item.parents.empty() ? "" : item.parents.front();
            if (!section.empty() &&
                std::ranges::find(known, section, &known_option::command) == known.end()) {
                throw usage_error(fmt::format("{}: '{}' is no command", path, section));
            }
            if (item.name == "++" || item.name == "--") continue;  // CLI11's begin and end of a section
            const std::string dashed = (item.name.size() == 1 ? "-" : "--") + item.name;
            const bool is_known = std::ranges::any_of(known, [&](const known_option& option) {
                return option.name == dashed && (section.empty() || option.command == section);
            });
            if (!is_known || item.name == "config") {
                throw usage_error(fmt::format("{}: '{}' is no option of {}", path, item.name,
                                              section.empty() ? "any command" : section));
            }
            const CLI::Option* const option = app.get_option_no_throw(dashed);
            if ((!section.empty() && section != name) || option == nullptr) continue;
            if (std::ranges::find(typed, option) != typed.end()) continue;
            const bool of_section = !section.empty();
            if (of_section) {
                std::erase_if(settings,
                              [&](const setting& s) { return s.option == option && !s.of_section; });
            }
            const char* const between = item.name.size() == 1 ? "" : "=";
            const auto set = [&](const std::string& value) {
                settings.push_back({option, fmt::format("{}{}{}", dashed, between, value), of_section});
            };
            if (std::ranges::find(repeatable, option) != repeatable.end()) {
                std::ranges::for_each(item.inputs, set);
            } else {
                set(fmt::format("{}", fmt::join(item.inputs, " ")));
            }
        }
        std::vector<std::string> arguments;
        for (setting& s : settings) arguments.push_back(std::move(s.argument));
        return arguments;
    }
};

command_line::command_line(const command& self, std::string usage, std::string description)
    : state_(std::make_unique<state>()) {
    state_->name = self.name;
    state_->summary = self.summary;
    state_->usage = std::move(usage);
    state_->description = std::move(description);
    state_->app.set_help_flag();
}
command_line::~command_line() = default;

void command_line::section(std::string heading) {
    state_->heading = std::move(heading);
}

void command_line::argument(std::string name, std::string help, std::string& target) {
    state_->app
        .add_option_function<std::string>(name,
                                          [&target](const std::string& value) { target = unguarded(value); })
        ->required();
    state_->lines.push_back({"Arguments", std::move(name), std::move(help)});
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
    state_->lines.push_back({"Arguments", name + "...", std::move(help)});
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
    std::string shown = names;
    if (comma != std::string::npos) shown.insert(comma + 1, " ");
    CLI::Option* const made = state_->app.add_option(names, named(shown, std::move(parse), many))
                                  ->take_all()
                                  ->required(required)
                                  ->type_size(1)
                                  ->expected(1);
    if (many) state_->repeatable.push_back(made);
    std::string left = shown.starts_with("--") ? "    " + shown : shown;
    if (!fallback.empty()) help += fmt::format(" [default: {}]", fallback);
    state_->lines.push_back({state_->heading, left + ' ' + value, std::move(help)});
}

void command_line::flag(const std::string& name, std::string help, bool& target) {
    state_->app.add_flag(name, target)->take_last();
    state_->lines.push_back({state_->heading, "    " + name, std::move(help)});
}

void command_line::unlist(std::string_view name) {
    std::erase_if(state_->lines, [name](const auto& line) {
        const std::size_t at = line.left.find("--");
        return at != std::string::npos && line.left.substr(at, line.left.find(' ', at) - at) == name;
    });
}

void command_line::remark(std::string left, std::string help) {
    state_->lines.push_back({state_->heading, std::move(left), std::move(help)});
}

void command_line::example(std::string line, std::string meaning) {
    state_->examples.emplace_back(std::move(line), std::move(meaning));
}

void command_line::parse(const std::vector<std::string>& arguments) {
    // --config must be known before its values can take their place in front of the user's.
    std::string config;
    for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
        if (arguments[i] == "--help" || arguments[i] == "-h")
            throw help_asked{help(), state_->option_names()};
        if (arguments[i] == "--config" && i + 1 < arguments.size()) config = arguments[i + 1];
        if (arguments[i].starts_with("--config=")) config = arguments[i].substr(9);
    }
    std::vector<std::string> all;
    state_->typed = state_->named_in(arguments);
    if (!config.empty()) all = state_->config_arguments(config);
    for (const std::string& argument : arguments) all.push_back(guarded(argument));
    std::reverse(all.begin(), all.end());  // CLI11 takes them from the back
    try {
        state_->app.parse(all);
    } catch (const CLI::ParseError& failure) {
        throw usage_error(fmt::format("{} (quern {} --help lists all options)",
                                      in_our_words(failure, state_->option_names()), state_->name));
    }
}

bool command_line::typed(const std::string& name) const {
    return std::ranges::find(state_->typed, state_->app.get_option_no_throw(name)) != state_->typed.end();
}

std::string command_line::help() const {
    constexpr std::size_t column = 26;
    const state& s = *state_;
    std::string text =
        fmt::format("quern {} - {}\n\nUsage: quern {} {}\n\n", s.name, s.summary, s.name, s.usage);
    text += wrapped(s.description, 0);
    std::string heading;
    for (const auto& line : s.lines) {
        if (line.heading != heading) text += fmt::format("\n{}:\n", heading = line.heading);
        std::string body = wrapped(line.help, column);
        if (line.left.size() + 4 <= column) {
            body.replace(0, line.left.size() + 2, "  " + line.left);
        } else {
            text += fmt::format("  {}\n", line.left);
        }
        text += body;
    }
    text += "\nExamples:\n";
    for (const auto& [line, meaning] : s.examples) text += fmt::format("  {}\n{}", line, wrapped(meaning, 6));
    return text + '\n' + exit_code_table();
}

}  // namespace quern::cli
