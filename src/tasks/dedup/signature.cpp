// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/signature.hpp"

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/id_table.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"

namespace quern {

signature_result signatures(const signature_options& options, const context& run,
                            const std::function<void(std::string_view, const fuzzy_signature&)>& take) {
    require_inputs(options.inputs);
    for (const auto& input : options.inputs) refuse_own_output(input);
    require_cpu(run, "signature");
    signature_of({}, options.length);  // refuses a length out of range, before the work
    struct unit_in_work {
        std::unique_ptr<io::corpus_unit> raw;
        io::parsed_unit parsed;
        std::vector<fuzzy_signature> made;
    };
    const auto corpus = io::open_corpus(options.inputs, corpus_options_for(options.input_format, run), run);
    reading_record record;
    id_table ids;

    pipeline<unit_in_work> line(units_at_once(run));
    line.from([&](unit_in_work& unit) {
        run.check_stop();
        unit.raw = corpus->next();
        run.report({"read", corpus->consumed_bytes(), corpus->total_bytes(), "bytes"});
        if (unit.raw) refuse_oversized(*unit.raw, run);
        return unit.raw != nullptr;
    });
    line.in_parallel([&](unit_in_work& unit) {
        unit.parsed = unit.raw->parse();
        unit.raw.reset();
        for (document& d : unit.parsed.documents) {
            run.check_stop();
            unit.made.push_back(signature_of(d.text, options.length));
            release(d.text);
        }
    });
    line.in_order([&](unit_in_work& unit) {
        record.take(unit.parsed);
        for (std::size_t i = 0; i < unit.made.size(); ++i) {
            const document& d = unit.parsed.documents[i];
            if (ids.insert(d.id, 0)) {
                take(d.id, unit.made[i]);
            } else {
                record.reject_repeated(d);
            }
        }
        record.refuse_early(options.max_errors, options.inputs);
    });
    run_parallel(run, [&] { line.run(); });
    record.refuse_too_many(options.max_errors, options.inputs);
    return {std::move(record.counts), std::move(record.issues), corpus->consumed_bytes()};
}

}  // namespace quern
