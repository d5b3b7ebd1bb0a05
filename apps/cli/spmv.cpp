// SPDX-License-Identifier: Apache-2.0
// quern spmv
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/spmv_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

void declare(command_line& line, common_options& common, std::string& matrix, spmv_options& options) {
    line.argument("MATRIX",
                  "A sparse matrix in Matrix Market format, plain or compressed; - is standard input.",
                  matrix);
    line.section("Product");
    line.option("--vector", "FILE", "x: one value per line, or a Matrix Market array of one column.",
                "all ones", [&](const std::string& text) { options.vector = file_name(text); });
    line.option("storage", options.multiply);
    line.option("precision", options);
    line.option("repeat", options.multiply);
    line.option("error", options);
    declare_common(line, common, {.gpu = true, .scratch = false});
    line.example("quern spmv cant.mtx.gz", "The sums of the rows.");
    line.example(
        "quern spmv web.mtx --storage brc --precision f32 --error --repeat 20 --stats times.json > y",
        "Time and error of a format from the literature.");
}

}  // namespace

int run_spmv(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    spmv_options options;
    std::string matrix;
    command_line line(self, "MATRIX [OPTION]...",
                      "Writes y = A x, one value per line. Each value is the exact sum, rounded once: the "
                      "same bits in every format, for any number of threads and on any device. brc and "
                      "brcp-paper add as in their papers and may give different bits in each run.");
    declare(line, common, matrix, options);
    line.parse(arguments);
    options.matrix = matrix;

    session job(self, common);
    output to = job.open_output(common.output, {options.matrix, options.vector});
    const spmv_result found = spmv(options, job.ctx);
    job.statistics = found.statistics;
    auto rows = job.rows(to, {"y"});
    job.stage("write", [&] {
        for (const double y : found.y64) rows.row({y});
        for (const float y : found.y32) rows.row({y});
        rows.finish();
    });
    job.messages.finish();
    to.commit();

    job.messages.info(fmt::format(
        "{} by {}, {}, as {} in {}: {:.3g} ms", counted(found.rows, "row"), counted(found.columns, "column"),
        counted(found.entries, "stored value"), sparse_storage_names[static_cast<std::size_t>(found.storage)],
        in_bytes(static_cast<double>(found.bytes)), found.statistics.measures.at("median_seconds") * 1e3));
    if (options.compare) {
        const spmv_error& e = found.error;
        job.messages.result(
            fmt::format("relative error: sum {:.3g}, sum of absolute values {:.3g}, maximum {:.3g}; {} not "
                        "correctly rounded",
                        e.relative, e.absolute_relative, e.greatest, counted(e.wrong, "row")));
        if (e.zero_rows != 0) {
            job.messages.result(fmt::format("{} with exact sum 0: y up to {:.3g}",
                                            counted(e.zero_rows, "row"), e.greatest_of_zero));
        }
    }
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
