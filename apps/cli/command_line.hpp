// SPDX-License-Identifier: Apache-2.0
// The command line of one command: what it takes, its help, and the parsing of both arguments and a
// configuration file. CLI11 reads the words; the help is written here, from the same declarations, as a page
// to be read: wrapped, grouped, with defaults, examples and exit codes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern::cli {

/// One command of the program, for the list of commands and its own page.
struct command {
    const char* name;
    const char* summary;  ///< one line, without a final stop
    int (*run)(const command& self, const std::vector<std::string>& arguments);
};

/// Thrown by parse() when --help is asked for.
struct help_asked {
    std::string text;
    std::vector<std::string> options;  ///< the names of all options, with their dashes
};

class command_line {
  public:
    using parser = std::function<void(const std::string&)>;

    /// `usage` is what follows the command's name; `description` is paragraphs, wrapped here.
    command_line(const command& self, std::string usage, std::string description);
    ~command_line();
    command_line(const command_line&) = delete;  // CLI11 keeps pointers into it
    command_line& operator=(const command_line&) = delete;

    /// The options declared from here on stand under this heading.
    void section(std::string heading);
    /// The next positional argument, required; or all that are left.
    void argument(std::string name, std::string help, std::string& target);
    void arguments(const std::string& name, std::string help, std::vector<std::string>& target,
                   bool required);
    /// `names` as in "-o,--output"; `fallback` is the default as text, empty for none.
    void option(const std::string& names, const std::string& value, std::string help,
                const std::string& fallback, parser parse, bool required = false);
    /// The same, given as often as one likes: `parse` is called for each value, in order.
    void options(const std::string& names, const std::string& value, std::string help, parser parse);
    void flag(const std::string& name, std::string help, bool& target);
    /// Takes an option out of the help: it is still understood.
    void unlist(std::string_view name);
    /// A line of the help for what parse() itself understands.
    void remark(std::string left, std::string help);
    /// One line of the section "Examples": a command, and what it does.
    void example(std::string line, std::string meaning);

    /// Throws help_asked, or usage_error for anything that is not as declared, an option given twice included. Values
    /// on the command line win over those of --config.
    void parse(const std::vector<std::string>& arguments);
    /// After parse(): whether an option stands among the arguments themselves, and not in --config alone.
    bool typed(const std::string& name) const;
    std::string help() const;

  private:
    void declare(const std::string& names, const std::string& value, std::string help,
                 const std::string& fallback, parser parse, bool required, bool many);
    struct state;
    std::unique_ptr<state> state_;
};

/// The names in a list nearest to a mistyped one, for "did you mean"; empty where none is near.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

/// Paragraphs wrapped to a page of 80 columns, each line indented.
std::string wrapped(std::string_view text, std::size_t indent);

/// The table of exit codes, for the foot of every help page.
std::string exit_code_table();

}  // namespace quern::cli
