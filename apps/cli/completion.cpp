// SPDX-License-Identifier: Apache-2.0
// quern completion
#include "commands.hpp"
#include "session.hpp"
#include "shell_completion.hpp"
#include "values.hpp"

namespace quern::cli {

int run_completion(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::string name;
    command_line line(
        self, "SHELL [OPTION]...",
        "Writes a script with which bash, zsh or fish completes commands, options, their values and files "
        "when "
        "Tab is pressed. It is made from the declarations of the options, so it fits this version. An "
        "installed "
        "package has the scripts in place; for a program elsewhere, load one as the examples show.");
    line.argument("SHELL", "bash, zsh or fish.", name);
    line.offer("SHELL", shell_names);
    declare_common(line, common, {.rows = false, .scratch = false});
    line.example("source <(quern completion bash)", "For this bash, or in ~/.bashrc for every one.");
    line.example("quern completion zsh -o ~/.zfunc/_quern",
                 "For zsh: any folder of $fpath, before compinit runs.");
    line.example("quern completion fish -o ~/.config/fish/completions/quern.fish", "For fish.");
    line.parse(arguments);

    const auto chosen = parse_name<shell>(name, shell_names);
    session job(self, common);
    output to = job.open_output(common.output, {});
    job.stage("write", [&] {
        std::vector<help_page> pages;
        for (const command& c : all_commands()) pages.push_back(page_of(c));
        to.write(completion_script(chosen, program_page(), pages));
    });
    to.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
