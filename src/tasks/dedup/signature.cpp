// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/signature.hpp"

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/signature_option_table.hpp"
#include "tasks/corpus/admitted_corpus.hpp"
#include "tasks/corpus/own_output.hpp"
#include "tasks/corpus/reading_rules.hpp"

namespace quern {

signature_result signatures(const signature_options& options, const context& ctx,
                            const std::function<void(std::string_view, const fuzzy_signature&)>& sink) {
    require_documents(options);
    for (const auto& input : options.inputs) refuse_own_output(input);
    require_cpu(ctx, "signature");
    check_ranges(options);
    struct unit_in_work : document_unit {
        std::vector<fuzzy_signature> made;
    };
    admitted_corpus corpus(options, {}, {}, ctx, {.content = corpus_content::any_bytes});
    pipeline<unit_in_work> line(units_at_once(ctx));
    corpus.begin(line);
    line.in_parallel([&](unit_in_work& unit) {
        for (document& d : unit.parsed.documents) {
            ctx.check_stop();
            unit.made.push_back(signature_of(d.text, options.length));
            release(d.text);
        }
    });
    line.in_order([&](unit_in_work& unit) {
        for (std::size_t i = 0; i < unit.made.size(); ++i) sink(unit.parsed.documents[i].id, unit.made[i]);
    });
    corpus.run(line);
    reading_record& record = corpus.record();
    return {std::move(record.counts), std::move(record.issues), corpus.consumed_bytes()};
}

}  // namespace quern
