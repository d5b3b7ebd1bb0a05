// SPDX-License-Identifier: Apache-2.0
// What a command line knows of its options, and how it reads what is typed and what --config names.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "config_file.hpp"
#include "help_page.hpp"

namespace quern::cli {

/// CLI11 reads a positional text in square brackets as a list and splits it at commas. A leading mark hides the
/// bracket; unguarded() removes it from every text that CLI11 returns.
std::string guarded(std::string text);
std::string unguarded(std::string text);

/// A command declares its options when it runs; --help ends it after that.
help_requested declared_by(const command& self);

struct known_option {
    std::string command, name;
};

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
    std::vector<std::function<void()>> after;  ///< checks arguments, passes flags on
    std::vector<const CLI::Option*> typed;
    std::map<const CLI::Option*, std::string> positions;  ///< of options from --config: file and line
    std::vector<option_note> notes;
    std::size_t arguments = 0;  ///< maximum number of positional ones
    bool takes_words = false;   ///< whether one of them may be any text

    std::vector<std::string> option_names() const;
    void add_line(std::string left, std::string help);
    /// Runs the parser of an option and adds to its message where the value came from.
    CLI::callback_t named(std::string shown_name, parser parse, bool many, const std::string& name);
    [[noreturn]] void refuse(const std::string& reason) const;
    [[noreturn]] void refuse_unknown(const std::string& argument) const;
    /// Refuses unknown options and surplus arguments in the order in which they were typed: CLI11 reports the
    /// last one first. Notes which options were typed. Returns the arguments as CLI11 takes them.
    std::vector<std::string> checked(const std::vector<std::string>& typed_arguments);
    /// A value that is an option of this command, after an unset variable or a forgotten name.
    void refuse_option_as_value(const std::string& name, const std::string& value) const;
    /// After `--name=` CLI11 would take the next argument for the value.
    static void append_empty(const std::string& name, std::vector<std::string>& to);
    static void check_flag(const std::string& name, const std::string& value);
    /// The file's settings for this command, as arguments. Keys are at the top, for every command, or in a
    /// section with the command's name, which takes precedence. A key that no command knows is refused. Typed
    /// options are skipped.
    std::vector<std::string> config_arguments(const std::string& path);
    void check_setting(const std::string& path, const config_setting& setting,
                       const std::vector<known_option>& all) const;
    void append_arguments(const config_setting& setting, const std::string& position,
                          std::vector<std::string>& found) const;
};

}  // namespace quern::cli
