// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/signature.hpp"

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/paced_checks.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/signature_option_table.hpp"
#include "tasks/corpus/document_id_table.hpp"
#include "tasks/corpus/document_ids.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"

namespace quern {

signature_result signatures(const signature_options& options, const context& ctx,
                            const std::function<void(std::string_view, const fuzzy_signature&)>& sink) {
    require_documents(options);
    for (const auto& input : options.inputs) refuse_own_output(input);
    require_cpu(ctx, "signature");
    check_ranges(options);
    struct unit_in_work {
        std::unique_ptr<io::corpus_unit> raw;
        io::parsed_unit parsed;
        std::vector<fuzzy_signature> made;
    };
    const auto corpus = open_documents(options, corpus_options_for(options, ctx), ctx);
    unit_parser parser(ctx, {});
    reading_record record;
    document_ids ids(options.ids);
    id_table taken(ctx, ctx.memory_limit() / 8);

    pipeline<unit_in_work> line(units_at_once(ctx));
    const auto tell = [&] { ctx.report({"read", corpus->consumed_bytes(), corpus->total_bytes(), "bytes"}); };
    line.from([&](unit_in_work& unit) {
        ctx.check_stop();
        tell();  // before it waits
        unit.raw = corpus->next();
        tell();
        return unit.raw != nullptr;
    });
    parser.add_to(line);
    line.in_parallel([&](unit_in_work& unit) {
        for (document& d : unit.parsed.documents) {
            ctx.check_stop();
            unit.made.push_back(signature_of(d.text, options.length));
            release(d.text);
        }
    });
    line.in_order([&](unit_in_work& unit) {
        record.take(unit.parsed);
        paced_checks checks(ctx, scattered_values);
        for (std::size_t i = 0; i < unit.made.size(); ++i) {
            checks.after(1);
            document& d = unit.parsed.documents[i];
            const auto next = static_cast<std::uint32_t>(taken.size());
            const auto found =
                ids.settle(d, next, [&](std::string_view id) { return taken.find(hash128(id)); });
            if (found == document_ids::outcome::fresh) {
                taken.insert(d.id, next);
                sink(d.id, unit.made[i]);
            } else {
                record.reject_repeated(d, ids.reason());
            }
        }
        record.refuse_early(options);
    });
    run_parallel(with_threads_that_read(ctx), [&] { line.run(); });
    record.refuse_too_many(options);
    ids.tell(ctx);
    return {std::move(record.counts), std::move(record.issues), corpus->consumed_bytes()};
}

}  // namespace quern
