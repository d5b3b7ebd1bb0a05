// SPDX-License-Identifier: Apache-2.0
// quern model
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/language_model_option_table.hpp"
#include "quern/tasks/output_file.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {

int run_model(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::string model;
    compact_model_options options;
    command_line line(
        self, "MODEL -o FILE [OPTION]...",
        "Writes a language model in the ARPA format as a compact one: a file that is mapped instead of read, "
        "in a fraction of the memory. quern perplexity and quern filter take both; the scores are the same "
        "to "
        "the bit, unless it is quantized. quern info shows its contents, quern verify checks it.");
    line.argument("MODEL", "A language model in the ARPA format, plain or compressed.", model);
    line.section("Model options");
    line.option(
        "-o,--output", "FILE", "The file to write. Replaces an existing file only with --force.", "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error(
                    "a compact model cannot go to standard output; it is memory-mapped (expected the name "
                    "of a file)");
            options.file = file_name(value);
        },
        true);
    line.option("quantize", options);
    declare_common(line, common, {.rows = false, .output = false, .scratch = false});
    line.example("quern model news.arpa -o news.model", "The same scores from a smaller file.");
    line.example("quern model news.arpa -o small.model --quantize 8",
                 "A smaller file, and slightly other scores.");
    line.parse(arguments);

    session job(self, common);
    job.choose_device("model", offered_places::cpu_only);
    options.force = common.force;
    if (is_compressed_name(options.file))
        throw usage_error(fmt::format("{}: a compact model cannot be compressed; it is memory-mapped",
                                      options.file.string()));
    job.check_destinations({{.path = options.file, .form = ".bin", .written = "a model in its own format"}},
                           {std::filesystem::path(file_name(model))});
    const language_model_info made =
        job.stage("model", [&] { return make_compact_model(file_name(model), options, job.ctx); });
    job.messages.finish();
    std::uint64_t ngrams = 0;
    for (const std::uint64_t of_length : made.ngrams) ngrams += of_length;
    job.messages.result(fmt::format("{}, {}, {:.1f} bytes each", counted(made.words, "word"),
                                    counted(ngrams, "n-gram"),
                                    static_cast<double>(made.file_bytes) / static_cast<double>(ngrams)));
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
