// SPDX-License-Identifier: Apache-2.0
#include "dedup_parts.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "kept_file.hpp"
#include "quern/base/text_option_table.hpp"
#include "quern/tasks/dedup_parts_option_table.hpp"
#include "values.hpp"

namespace quern::cli {

void declare_parts(command_line& line, dedup_parts_request& request) {
    line.section("Parts of documents");
    line.option("level", request.options);
    line.option("min_length", request.options, "50; for words 1");
    line.option("whole_words", request.options);
    line.option("--cuts", "FILE",
                "With a level other than document: rows of id, begin, end (bytes of the text, the end "
                "excluded), id of "
                "the first occurrence.",
                "standard output if -o is not given either",
                [&](const std::string& value) { request.cuts = output_name(value); });
}

void settle_parts(command_line& line, const dedup_parts_request& request, text_choice& text) {
    const dedup_level level = request.options.level;
    if (level == dedup_level::document) {
        for (const char* const option : {"--whole-words", "--cuts"})
            line.require_used(option, false, "requires --level paragraph, line or substring");
        if (!line.given("--min-length")) return;
        const quern::option<text_options>& row = option_of<text_options>("min_length");
        const option_value length = std::uint64_t{request.options.min_length};
        check_value(row, length);
        row.set(text.values, length);
        return;
    }
    const auto name = dedup_level_names[static_cast<std::size_t>(level)];
    line.require_used("--whole-words", level == dedup_level::substring, "requires --level substring");
    for (const char* const option : {"--method",   "--threshold", "--unit",         "--signature-length",
                                     "--slack",    "--shingle",   "--shingle-unit", "--similarity",
                                     "--hamming",  "--cut",       "--rule",         "--keep",
                                     "--prefer",   "--store",     "--stream",       "--pairs",
                                     "--groups",   "--report",    "--resume",       "--binary",
                                     "--language", "--tokens",    "--stop-words",   "--stem"}) {
        line.require_used(option, false,
                          fmt::format("requires --level document; it has no meaning with --level {}", name));
    }
}

int dedup_parts(dedup_parts_request& request, session& job) {
    if (request.cuts.empty() && request.kept.empty()) request.cuts.assign(1, '-');
    std::optional<output> cuts, kept;
    if (!request.cuts.empty()) cuts = job.open({request.cuts});
    const bool to_folder = request.kept.ends_with('/');
    if (to_folder) {
        request.options.kept_folder = request.kept;
    } else if (!request.kept.empty()) {
        kept = job.open({request.kept});
    }
    request.options.keep_records = kept.has_value();

    dedup_parts_result result = quern::dedup_parts(request.options, job.ctx);
    job.statistics = std::move(result.statistics);
    job.stage("write", [&] {
        if (cuts) {
            constexpr std::uint64_t rows_at_once = 65536;
            auto rows = job.rows(*cuts, {"id", "begin", "end", "first_id"});
            std::uint64_t done = 0;
            for (const text_cut& cut : result.cuts()) {
                if (done++ % rows_at_once == 0) {
                    job.ctx.check_stop();
                    job.ctx.report({"write cuts", done, result.cuts().size(), "cuts"});
                }
                rows.row({result.id(cut.document), cut.begin, cut.end, result.id(cut.first)});
            }
            rows.finish();
        }
        if (kept) result.write_kept(job.documents(*kept));
        const auto commit = [&] { commit_given({&cuts, &kept}); };
        if (to_folder) {
            result.write_kept_folder(job.ctx, commit);
        } else {
            commit();
        }
    });
    job.messages.finish();
    std::string outcome = counted(result.documents(), "document");
    if (result.earlier() != 0) outcome += fmt::format(" (and {} before)", grouped(result.earlier()));
    const double all = static_cast<double>(result.characters());
    const double share = all == 0 ? 0 : 100 * static_cast<double>(result.characters_cut()) / all;
    outcome += fmt::format(", {} changed, {} dropped; {} of {} cut ({:.2f} %)", grouped(result.changed()),
                           grouped(result.dropped()), grouped(result.characters_cut()),
                           counted(result.characters(), "character"), share);
    report_reading(job.messages, result.counts, result.issues, outcome);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
