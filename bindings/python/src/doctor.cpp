// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/doctor.hpp"

#include "module.hpp"
#include "parameters.hpp"
#include "table.hpp"

namespace nb = nanobind;

namespace quern::python {

void declare_doctor(nb::module_& module) {
    static const parameters<call> options = parameters<call>("doctor").common();
    module.def(
        "doctor",
        [](const nb::kwargs& given) {
            const call requested = options.read(given);
            text_column subjects, values, notes;
            for (const finding& f : run_for(requested.run, [](const context& ctx) { return doctor(ctx); })) {
                subjects.add(f.subject);
                values.add(f.value);
                notes.add(f.note);
            }
            table found("findings");
            found.add("subject", std::move(subjects))
                .add("value", std::move(values))
                .add("note", std::move(notes));
            return found;
        },
        nb::sig(options.signature("", "Table")),
        options.doc(
            "What Quern detects on this machine: CPU, memory, GPUs and why one is used or not, versions.\n\n"
            "Returns a table of subject, value and note. Never raises because of what it finds."));
}

}  // namespace quern::python
