// SPDX-License-Identifier: Apache-2.0
// quern dictionary
#include "quern/tasks/dictionary.hpp"

#include <fmt/format.h>

#include <limits>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    build_options corpus;
    text_choice text;
    std::vector<std::string> inputs;
    dictionary_options asked;
};

void declare(command_line& line, request& request) {
    line.arguments("CORPUS", "Files and folders, as for quern build; - is standard input (JSON lines).",
                   request.inputs, true);
    line.section("Dictionary options");
    line.option(
        "-o,--output", "FILE", "The dictionary to write. An existing file is refused without --force.", "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error("a dictionary is used where it lies; it cannot go to standard output");
            request.asked.file = value;
        },
        true);
    line.option(
        "--min-count", "N", "Leave out words that occur less often.", "1", [&](const std::string& text) {
            request.asked.min_count = parse_integer(text, 1, std::numeric_limits<std::int64_t>::max());
        });
    line.option("--vocabulary", "N|all", "Words at most: the most frequent ones.", "all",
                [&](const std::string& text) {
                    if (text == "all") return;
                    request.asked.vocabulary = static_cast<std::uint32_t>(
                        parse_integer(text, 1, std::numeric_limits<std::uint32_t>::max()));
                });
    line.section("Corpus options");
    declare_corpus(line, request.corpus);
    declare_titles(line, request.asked.titles);
    declare_text(line, request.text);
    declare_common(line, request.common, {.rows = false, .output = false});
    line.example("quern dictionary enwiki.xml.bz2 -o enwiki.dictionary --min-count 2",
                 "The words of Wikipedia that occur twice.");
    line.example("quern dictionary words.txt --input-format lines -o words.dictionary",
                 "A list of words, one a line.");
}

}  // namespace

int run_dictionary(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(self, "CORPUS... -o FILE [OPTION]...",
                      "Gives the words of a corpus ids, in byte order, and writes both ways, word to id and "
                      "id to word, with how "
                      "often each occurs, as one file that is used where it lies. The same corpus and "
                      "options give the same bytes, "
                      "whatever the threads and the memory. quern info shows what a dictionary holds, quern "
                      "verify checks it.");
    declare(line, request);
    line.parse(arguments);

    session run(self, request.common);
    run.choose_device("dictionary", offered_places::cpu_only);
    dictionary_options& asked = request.asked;
    asked.inputs.assign(request.inputs.begin(), request.inputs.end());
    asked.input_format = request.corpus.input_format;
    asked.max_errors = request.corpus.max_errors;
    asked.text = request.text.over({});
    asked.force = request.common.force;
    std::vector<std::filesystem::path> files = asked.inputs;
    files.push_back(request.text.stop_word_file());
    if (is_compressed_name(asked.file)) {
        throw usage_error(
            fmt::format("{}: a dictionary is used where it lies, and never compressed", asked.file.string()));
    }
    run.check_destinations({{asked.file}}, std::move(files));

    dictionary_result made = make_dictionary(asked, run.run);
    run.messages.finish();
    const dictionary_info& info = made.info;
    const double bits = info.words == 0 ? 0 : static_cast<double>(info.word_bytes) * 8 / info.words;
    tell_reading(run.messages, made.counts, made.issues,
                 fmt::format("{}, {}, {} distinct, {} in the dictionary, {:.1f} bits each",
                             counted(info.documents, "document"), counted(info.occurrences, "word"),
                             grouped(info.distinct), grouped(info.words), bits));
    run.statistics = std::move(made.statistics);
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
