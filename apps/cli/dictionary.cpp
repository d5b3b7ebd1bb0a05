// SPDX-License-Identifier: Apache-2.0
// quern dictionary
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    build_options corpus;
    text_choice text;
    std::vector<std::string> inputs;
    dictionary_options requested;
};

void declare(command_line& line, request& request) {
    line.arguments("CORPUS", "Files, folders and patterns, as for quern build; - is standard input.",
                   request.inputs, false);
    line.section("Dictionary options");
    line.option(
        "-o,--output", "FILE", "The dictionary to write. Replaces an existing file only with --force.", "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error(
                    "a dictionary cannot go to standard output; it is memory-mapped (expected the name of a "
                    "file)");
            request.requested.file = file_name(value);
        },
        true);
    line.option("min_count", request.requested);
    line.option("vocabulary", request.requested);
    line.section("Corpus options");
    declare_corpus(line, request.corpus);
    line.option("titles", request.requested);
    declare_text(line, request.text);
    declare_common(line, request.common, {.rows = false, .output = false});
    line.example("quern dictionary enwiki.xml.bz2 -o enwiki.dictionary --min-count 2",
                 "The words of Wikipedia that occur at least twice.");
    line.example("quern dictionary words.txt --input-format lines -o words.dictionary",
                 "A list of words, one per line.");
}

}  // namespace

int run_dictionary(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(self, "CORPUS... -o FILE [OPTION]...",
                      "Assigns ids to the words of a corpus, in byte order, and writes both mappings, word "
                      "to id and id to word, with the number of occurrences, as one memory-mapped file. The "
                      "same corpus and options give the same bytes for any number of threads and any memory "
                      "budget. quern info shows the contents of a dictionary, quern verify checks it.");
    declare(line, request);
    line.parse(arguments);

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    job.choose_device("dictionary", offered_places::cpu_only);
    dictionary_options& requested = request.requested;
    requested.inputs = inputs_of(request.inputs, request.corpus);
    take_reading_rules(request.corpus, requested);
    requested.text = request.text.over({});
    requested.force = request.common.force;
    std::vector<std::filesystem::path> files = requested.inputs;
    files.push_back(request.text.stop_word_file());
    if (is_compressed_name(requested.file)) {
        throw usage_error(fmt::format("{}: a dictionary cannot be compressed; it is memory-mapped",
                                      requested.file.string()));
    }
    const destination dictionary{
        .path = requested.file, .form = ".bin", .written = "a dictionary in its own format"};
    job.check_destinations({dictionary}, std::move(files));

    dictionary_result made = make_dictionary(requested, job.ctx);
    job.messages.finish();
    const dictionary_info& info = made.info;
    const double bits = info.words == 0 ? 0 : static_cast<double>(info.word_bytes) * 8 / info.words;
    report_reading(job.messages, made.counts, made.issues,
                   fmt::format("{}, {}, {} distinct, {} in the dictionary, {:.1f} bits each",
                               counted(info.documents, "document"), counted(info.occurrences, "word"),
                               grouped(info.distinct), grouped(info.words), bits));
    job.statistics = std::move(made.statistics);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
