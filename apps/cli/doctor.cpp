// SPDX-License-Identifier: Apache-2.0
// quern doctor
#include "quern/tasks/doctor.hpp"

#include "commands.hpp"
#include "session.hpp"

namespace quern::cli {

int run_doctor(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    command_line line(
        self, "[OPTION]...",
        "Shows what Quern sees of this machine and would use: processor and its features, cores, memory "
        "limit and who sets it, scratch space, driver and GPUs or why there are none, versions, and "
        "what each operation promises about its results. Writes subject, value and note. Give it the "
        "options of another command to see what they mean here.");
    declare_common(line, common);
    line.example("quern doctor", "The whole table.");
    line.example("quern doctor --memory 2G --tmp /scratch", "What a run with these options would have.");
    line.parse(arguments);

    session run(self, common);
    const std::vector<finding> findings = run.stage("look", [&] { return doctor(run.run); });
    output to = run.open_output(common.output, {});
    auto rows = run.rows(to, {"subject", "value", "note"});
    for (const finding& f : findings) {
        rows.row({std::string_view(f.subject), std::string_view(f.value), std::string_view(f.note)});
    }
    rows.finish();
    to.commit();
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
