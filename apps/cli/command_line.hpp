// SPDX-License-Identifier: Apache-2.0
// The command line of one command: its options, its help, and the parsing of arguments and a configuration
// file. Options with a range, a choice or a default come from the tables of the library (quern/base/option.hpp).
// CLI11 parses the arguments; the help is written here, from the same declarations, as a readable page: wrapped,
// grouped, with defaults, examples and exit codes.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "help_page.hpp"
#include "quern/base/option.hpp"

namespace quern::cli {

/// One command of the program, for the list of commands and its own page.
struct command {
    const char* name;
    const char* summary;  ///< one line, without a final stop
    int (*run)(const command& self, const std::vector<std::string>& arguments);
};

/// Thrown by parse() for --help, --help-all and --version.
struct help_requested {
    std::string text;
    std::vector<std::string> options;  ///< the names of all options, with their dashes
    help_page page;                    ///< of --help and --help-all
};

/// The help page of a command, as it declares it.
help_page page_of(const command& self);

/// A message about the options, printed before the work.
struct option_note {
    bool is_warning;
    std::string text;
};

class command_line {
  public:
    using parser = std::function<void(const std::string&)>;

    /// `usage` is what follows the command's name; `description` is paragraphs, wrapped here.
    command_line(const command& self, std::string usage, std::string description);
    ~command_line();
    command_line(const command_line&) = delete;  // CLI11 keeps pointers into it
    command_line& operator=(const command_line&) = delete;

    /// Options declared from here on are listed under this heading.
    void section(std::string heading);
    /// The same for options that all commands share: --help lists them in one line, --help-all explains them.
    void common_section(std::string heading);
    /// The next positional argument, required; or all remaining ones.
    void argument(std::string name, std::string help, std::string& target);
    void arguments(const std::string& name, std::string help, std::vector<std::string>& target,
                   bool required);
    /// The option of this name in the table of the options. Its default is the value that `target` has now, unless
    /// `fallback` describes another one.
    template <class Options>
    void option(option_name<std::type_identity_t<Options>> name, Options& target,
                const std::string& fallback = "") {
        option(name.row, target, fallback);
    }
    template <class Options>
    void option(const quern::option<Options>& row, Options& target, const std::string& fallback = "") {
        declare_row(row, fallback.empty() ? default_text(row, row.get(target)) : fallback,
                    [row, &target](const option_value& value) { row.set(target, value); });
    }
    /// A file, or another option without a range. `names` as in "-o,--output"; `fallback` is the default as text, empty
    /// for none.
    void option(const std::string& names, const std::string& value, std::string help,
                const std::string& fallback, parser parse, bool required = false);
    /// The same, repeatable: `parse` is called for each value, in order.
    void options(const std::string& names, const std::string& value, std::string help, parser parse);
    void flag(const std::string& name, std::string help, bool& target);
    /// What to do instead, added to the message for an invalid value of this option; empty for nothing.
    using advice = std::function<std::string_view(std::string_view value)>;
    void advise(const std::string& name, advice instead);
    /// The names that an option or argument accepts, for the completion of shells. Options with a row have them from
    /// there.
    void offer(std::string_view name, const std::vector<std::string>& values);
    void offer(std::string_view name, std::span<const std::string_view> values);
    /// Removes an option from the help; it is still accepted.
    void unlist(std::string_view name);
    /// The message for an option that this command lacks but users of other commands or programs may try.
    void hint(std::string name, std::string result);
    /// A line of the help for an option that parse() itself handles.
    void remark(std::string left, std::string help);
    /// One line of the section "Examples": a command, and what it does.
    void example(std::string line, std::string meaning);

    /// Throws help_requested, or usage_error for anything not declared and for an option given twice. Values on the
    /// command line override those of --config.
    void parse(const std::vector<std::string>& arguments);
    /// After parse(): whether the option has a value from the command line or --config.
    bool given(const std::string& name) const;
    bool given(const option_description& row) const;
    /// After parse(): the values of an option, also those from --config; none for an option that the command lacks.
    std::vector<std::string> values_of(const std::string& name) const;
    /// After parse(): the options and arguments that were given, also those from --config, for a parse() of the same command.
    /// Without those of `except`, by their first long names, or the names of arguments.
    std::vector<std::string> given_arguments(std::span<const std::string_view> except) const;
    /// After parse(): an option that has an effect only if `used` is true. If it is not, throws usage_error for
    /// a typed option and adds a note for one from --config, because that file may serve other calls too.
    /// `reason` follows the name: "requires --method shingle".
    void require_used(const std::string& name, bool used, std::string_view reason);
    /// Keys of --config that had no effect. To be printed once the run can print messages.
    const std::vector<option_note>& notes() const;
    /// The page of --help; with `all` that of --help-all.
    std::string help(bool all) const;

  private:
    void declare(const std::string& names, const std::string& value, std::string help,
                 const std::string& fallback, parser parse, bool required, bool many);
    void declare_row(const option_description& row, const std::string& fallback,
                     std::function<void(const option_value&)> set);
    static std::string typed_name(const option_description& row);
    static std::string default_text(const option_description& row, const option_value& value);
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern::cli
