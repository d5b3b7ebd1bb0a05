// SPDX-License-Identifier: Apache-2.0
// quern doctor
#include "quern/tasks/doctor.hpp"

#include "commands.hpp"
#include "session.hpp"

namespace quern::cli {

int run_doctor(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    command_line line(self, "[OPTION]...",
                      "Shows what Quern detects on this machine and would use: processor and its features, "
                      "cores, memory limit and its source, scratch space, driver and GPUs or why there are "
                      "none, versions, and the guarantees of each operation about its results. Writes "
                      "subject, value and note. Add options of another command to see their effect here.");
    declare_common(line, common, {.gpu = true, .seed = true});
    line.example("quern doctor", "The complete table.");
    line.example("quern doctor --memory 2G --tmp /scratch", "The resources of a run with these options.");
    line.parse(arguments);

    session job(self, common);
    output to = job.open_output(common.output, {});
    const std::vector<finding> findings = job.stage("look", [&] { return doctor(job.ctx); });
    auto rows = job.rows(to, {"subject", "value", "note"});
    rows.wrap();
    for (const finding& f : findings) {
        rows.row({std::string_view(f.subject), std::string_view(f.value), std::string_view(f.note)});
    }
    rows.finish();
    to.commit();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
