// SPDX-License-Identifier: Apache-2.0
#include "shell_completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

namespace quern::cli {
namespace {

enum class completes { nothing, files, folders, names, list_of_names };

/// An option of a command, or (without names) its arguments.
struct completed {
    std::vector<std::string> names;
    std::string value;    ///< stands for the value: "FILE"; empty for a flag
    std::string meaning;  ///< the first sentence of the help
    completes kind = completes::nothing;
    std::vector<std::string> values;
    bool is_repeatable = false;
};

struct completed_command {
    std::string name, meaning;
    std::vector<completed> options = {};
    completed arguments = {};
};

bool names_a_path(std::string_view value) {
    constexpr std::string_view parts[] = {"FILE", "STORE", "SPACE", "CORPUS", "EVAL", "SOURCE", "LIST"};
    return std::ranges::any_of(parts,
                               [value](auto part) { return value.find(part) != std::string_view::npos; });
}

completes kind_of(const help_line& line, std::string_view value) {
    if (value.empty()) return completes::nothing;
    if (!line.values.empty()) return value.ends_with(",...") ? completes::list_of_names : completes::names;
    if (value == "DIR") return completes::folders;
    return names_a_path(value) ? completes::files : completes::nothing;
}

std::string first_sentence(std::string_view text) {
    const std::size_t end = std::min({text.find(". "), text.find(" ["), text.find('\n')});
    text = text.substr(0, end);
    if (text.ends_with('.')) text.remove_suffix(1);
    return std::string(text);
}

completed_command completed_of(const help_page& page) {
    completed_command command{.name = page.name, .meaning = page.summary};
    std::set<std::string> seen;  // a page may explain an option twice, for two kinds of input
    for (const help_line& line : page.lines) {
        typed_form form = form_of(line);
        if (form.names.empty()) {
            // The arguments of a command complete alike: its page has no further kinds of them.
            const bool named = !line.values.empty();
            completed& all = command.arguments;
            if (named) all.values = line.values;
            all.value += (all.value.empty() ? "" : " ") + form.value;
            all.kind = named ? completes::names : completes::files;
            continue;
        }
        std::erase_if(form.names, [&seen](const std::string& name) { return !seen.insert(name).second; });
        if (form.names.empty()) continue;
        const completes kind = kind_of(line, form.value);
        command.options.push_back({std::move(form.names), std::move(form.value), first_sentence(line.help),
                                   kind, line.values, line.is_repeatable});
    }
    return command;
}

/// Text with a backslash before each of these characters.
std::string guarded(std::string_view text, std::string_view characters) {
    std::string out;
    for (const char c : text) {
        if (characters.find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

/// One word of bash or zsh, in single quotes.
std::string zsh_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

std::vector<std::string> names_of(const std::vector<completed_command>& commands) {
    std::vector<std::string> names;
    for (const completed_command& command : commands) names.push_back(command.name);
    return names;
}

std::string bash_action(const completed& option) {
    switch (option.kind) {
        case completes::nothing:
            return "kind=nothing";
        case completes::files:
            return "kind=files";
        case completes::folders:
            return "kind=folders";
        case completes::names:
            return fmt::format("kind=names values='{}'", fmt::join(option.values, " "));
        case completes::list_of_names:
            return fmt::format("kind=list values='{}'", fmt::join(option.values, " "));
    }
    return {};
}

std::string bash_script(const completed_command& program, const std::vector<completed_command>& commands) {
    const std::vector<std::string> names = names_of(commands);
    std::vector<std::string> own;
    for (const completed& option : program.options)
        own.insert(own.end(), option.names.begin(), option.names.end());
    std::string out = fmt::format(R"(# Completion of quern in bash, made by: quern completion bash
_quern() {{
    COMPREPLY=()
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
    local options='{}' kind=argument arguments=files values='' word place prefix=''
    # bash splits --option=value into three words.
    if [[ $cur == '=' ]]; then
        cur=''
    elif [[ $prev == '=' ]]; then
        prev=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    # After quern plan COMMAND the options are those of that command.
    local command=${{COMP_WORDS[1]}}
    if [[ $command == plan && $COMP_CWORD -gt 2 && ${{COMP_WORDS[2]}} != -* ]]; then command=${{COMP_WORDS[2]}}; fi
    if ((COMP_CWORD == 1)); then
        arguments=names values='{} help'
    else
        case $command in
        help) options='' arguments=names values='{}' ;;
)",
                                  fmt::join(own, " "), fmt::join(names, " "), fmt::join(names, " "));
    for (const completed_command& command : commands) {
        std::vector<std::string> all;
        std::string cases;
        for (const completed& option : command.options) {
            all.insert(all.end(), option.names.begin(), option.names.end());
            if (!option.value.empty())
                cases += fmt::format("            {}) {} ;;\n", fmt::join(option.names, " | "),
                                     bash_action(option));
        }
        out += fmt::format("        {})\n            options='{}'\n", command.name, fmt::join(all, " "));
        const completed& arguments = command.arguments;
        if (arguments.value.empty()) out += "            arguments=nothing\n";
        if (arguments.kind == completes::names)
            out += fmt::format("            arguments=names values='{}'\n", fmt::join(arguments.values, " "));
        out += fmt::format("            case $prev in\n{}            esac\n            ;;\n", cases);
    }
    return out + R"(        esac
    fi
    for ((place = 2; place < COMP_CWORD; ++place)); do
        if [[ ${COMP_WORDS[place]} == -- ]]; then kind=argument options=''; fi
    done
    if [[ $kind == argument ]]; then
        kind=$arguments
        if [[ $cur == -* && -n $options ]]; then kind=names values=$options; fi
    fi
    case $kind in
    files) ;; # what complete -o default does
    folders) compopt +o default -o dirnames 2>/dev/null ;;
    nothing) compopt +o default 2>/dev/null ;;
    *)
        compopt +o default 2>/dev/null
        if [[ $kind == list && $cur == *,* ]]; then prefix=${cur%,*}, cur=${cur##*,}; fi
        # A value with a colon: bash has split it, and replaces only what follows the colon.
        if [[ $prev == : ]]; then return; fi
        while read -r word; do COMPREPLY+=("$prefix$word"); done < <(compgen -W "$values" -- "$cur")
        ;;
    esac
}
complete -o default -F _quern quern
)";
}

std::string zsh_action(const completed& option) {
    const std::string message = guarded(option.value, ":\\[]()'");
    switch (option.kind) {
        case completes::nothing:
            return fmt::format(":{}: ", message);
        case completes::files:
            return fmt::format(":{}:_files", message);
        case completes::folders:
            return fmt::format(":{}:_files -/", message);
        case completes::names: {
            std::vector<std::string> values;
            for (const std::string& value : option.values) values.push_back(guarded(value, ":\\ "));
            return fmt::format(":{}:({})", message, fmt::join(values, " "));
        }
        case completes::list_of_names:
            return fmt::format(":{}:_values -s , {} {}", message, zsh_quoted(option.value),
                               fmt::join(option.values, " "));
    }
    return {};
}

/// An option for _arguments. The value of --name follows a blank or =, that of -n a blank or nothing.
std::string zsh_option(const completed& option) {
    const std::string meaning = fmt::format("[{}]", guarded(option.meaning, "\\[]:"));
    const std::string action = option.value.empty() ? "" : zsh_action(option);
    std::string out;
    for (const std::string& name : option.names) {
        const char* const mark = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
        std::string exclusive;
        if (option.is_repeatable) {
            exclusive = "*";
        } else if (option.names.size() > 1) {
            exclusive = fmt::format("({})", fmt::join(option.names, " "));
        }
        out += fmt::format("            {} \\\n",
                           zsh_quoted(fmt::format("{}{}{}{}{}", exclusive, name, mark, meaning, action)));
    }
    return out;
}

std::string zsh_script(const std::vector<completed_command>& commands) {
    std::string list;
    for (const completed_command& command : commands)
        list += fmt::format("        {}\n",
                            zsh_quoted(fmt::format("{}:{}", command.name, guarded(command.meaning, ":\\"))));
    std::string out = fmt::format(R"(#compdef quern
# Completion of quern in zsh, made by: quern completion zsh
_quern() {{
    local -a commands=(
{}    )
    if ((CURRENT == 2)); then
        if [[ $words[2] == -* ]]; then
            _arguments '(- *)'{{-h,--help}}'[show the commands]' '(- *)'{{-V,--version}}'[show the version]'
        else
            _describe -t commands command commands
        fi
        return
    fi
    shift words
    ((CURRENT--))
    # After quern plan COMMAND the options are those of that command.
    if [[ $words[1] == plan && $words[2] != -* ]] && ((CURRENT > 2)); then
        shift words
        ((CURRENT--))
    fi
    case $words[1] in
    help)
        _describe -t commands command commands
        ;;
)",
                                  list);
    for (const completed_command& command : commands) {
        out += fmt::format("    {})\n        _arguments -S \\\n", command.name);
        for (const completed& option : command.options) out += zsh_option(option);
        const completed& arguments = command.arguments;
        out += fmt::format("            {}\n        ;;\n",
                           arguments.value.empty() ? "&& return" : zsh_quoted("*" + zsh_action(arguments)));
    }
    return out + R"(    esac
}
# Run by the completion system, or sourced.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _quern "$@"
else
    compdef _quern quern
fi
)";
}

/// One word of fish, in single quotes.
std::string fish_quoted(std::string_view text) {
    return "'" + guarded(text, "\\'") + "'";
}

std::string fish_option(const completed_command& command, const completed& option) {
    std::string out = fmt::format("complete -c quern -n '__quern_runs {}'", command.name);
    for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty()) {
        switch (option.kind) {
            case completes::nothing:
                out += " -x";
                break;
            case completes::files:
                out += " -r -F";
                break;
            case completes::folders:
                out += " -x -a '(__fish_complete_directories)'";
                break;
            case completes::names:
                out += " -x -a " + fish_quoted(fmt::format("{}", fmt::join(option.values, " ")));
                break;
            case completes::list_of_names:
                out += " -x -a " +
                       fish_quoted(fmt::format("(__fish_append , {})", fmt::join(option.values, " ")));
                break;
        }
    }
    return out + fmt::format(" -d {}\n", fish_quoted(option.meaning));
}

std::string fish_script(const completed_command& program, const std::vector<completed_command>& commands) {
    std::string out = R"(# Completion of quern in fish, made by: quern completion fish
function __quern_runs
    set -l words (commandline -opc)
    # After quern plan COMMAND the options are those of that command.
    if test (count $words) -gt 2; and test $words[2] = plan; and not string match -q -- '-*' $words[3]
        set -e words[2]
    end
    test (count $words) -gt 1; and contains -- $words[2] $argv
end
function __quern_begins
    test (count (commandline -opc)) -eq 1
end
complete -c quern -f
)";
    for (const completed& option : program.options) {
        if (option.names.front() == "--help-all") continue;  // after a command only
        out += "complete -c quern -n __quern_begins";
        for (const std::string& name : option.names)
            out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        out += fmt::format(" -d {}\n", fish_quoted(option.meaning));
    }
    for (const completed_command& command : commands) {
        out += fmt::format("complete -c quern -n __quern_begins -a {} -d {}\n", command.name,
                           fish_quoted(command.meaning));
    }
    out +=
        fmt::format("complete -c quern -n '__quern_runs help' -a '{}'\n", fmt::join(names_of(commands), " "));
    for (const completed_command& command : commands) {
        for (const completed& option : command.options) out += fish_option(command, option);
        const completed& arguments = command.arguments;
        if (arguments.kind == completes::names) {
            out += fmt::format("complete -c quern -n '__quern_runs {}' -a {}\n", command.name,
                               fish_quoted(fmt::format("{}", fmt::join(arguments.values, " "))));
        } else if (!arguments.value.empty()) {
            out += fmt::format("complete -c quern -n '__quern_runs {}' -F\n", command.name);
        }
    }
    return out;
}

}  // namespace

std::string completion_script(shell for_shell, const help_page& program, std::span<const help_page> pages) {
    std::vector<completed_command> commands;
    for (const help_page& page : pages) commands.push_back(completed_of(page));
    const completed_command own = completed_of(program);
    switch (for_shell) {
        case shell::bash:
            return bash_script(own, commands);
        case shell::zsh:
            return zsh_script(commands);
        case shell::fish:
            return fish_script(own, commands);
    }
    return {};
}

}  // namespace quern::cli
