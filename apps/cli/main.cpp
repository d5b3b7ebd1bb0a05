// SPDX-License-Identifier: Apache-2.0
// The program `quern`: finds the command, runs it, and turns the outcome into an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "help_page.hpp"
#include "nearest_name.hpp"
#include "output.hpp"
#include "quern/base/error.hpp"
#include "quern/base/pdf_program.hpp"
#include "refused_memory.hpp"
#include "session.hpp"
#include "signals.hpp"

namespace quern::cli {
namespace {

constexpr command commands[] = {
    {"build", "turn a raw collection into a store", run_build},
    {"merge", "merge stores into one, as if it were built from all their documents", run_merge},
    {"search", "find documents by words, in a store or directly in a corpus", run_search},
    {"complete", "complete a word from the words of a store", run_complete},
    {"dedup", "find near-duplicate documents and write a corpus without them", run_dedup},
    {"decontaminate", "remove training documents that contain evaluation items", run_decontaminate},
    {"filter", "remove documents of low quality or of other languages", run_filter},
    {"signature", "show the fuzzy-hash signatures of documents", run_signature},
    {"words", "find words of a corpus that are used alike", run_words},
    {"similar", "show the words used like a given word", run_similar},
    {"contexts", "show the contexts of a word, or those that two words share", run_contexts},
    {"collocations", "find the words that occur together more often than by chance", run_collocations},
    {"export", "write the data of a store or a space for other tools", run_export},
    {"ngrams", "write the n-grams of each document with their likelihoods", run_ngrams},
    {"perplexity", "score texts with a language model", run_perplexity},
    {"model", "make a language model compact", run_model},
    {"count", "count occurrences of an n-gram in a store", run_count},
    {"dictionary", "assign ids to the words of a corpus, in one file", run_dictionary},
    {"pagerank", "rank the nodes of a graph, or the documents of a store, by their links", run_pagerank},
    {"spmv", "multiply a sparse matrix by a vector", run_spmv},
    {"nearest", "find the nearest neighbours of vectors, exactly", run_nearest},
    {"topk", "find the best objects of several ranked lists", run_topk},
    {"fuse", "fuse runs into one, topic by topic", run_fuse},
    {"evaluate", "evaluate a run against judgements", run_evaluate},
    {"serve", "serve a store over HTTP: a search page and a JSON API", run_serve},
    {"mcp", "offer a store to agents: tools to search and read it (Model Context Protocol)", run_mcp},
    {"plan", "cut the work of a command into tasks for many machines", run_plan},
    {"task", "run one task of a plan", run_task_command},
    {"finish", "make the results of a command from those of its tasks", run_finish},
    {"status", "show which tasks of a plan are done, running, waiting and failed", run_status},
    {"resume", "run the remaining tasks of a plan, and finish it", run_resume},
    {"info", "show the contents of a store, a dictionary or a model", run_info},
    {"verify", "check every checksum of a store, a dictionary or a model", run_verify},
    {"doctor", "show what Quern detects on this machine", run_doctor},
    {"man", "write the manual page of a command", run_man},
    {"completion", "write a script that completes commands in a shell", run_completion},
};

}  // namespace

std::span<const command> all_commands() {
    return commands;
}

std::string version_line() {
    return "quern " QUERN_VERSION "\n";
}

help_page program_page() {
    help_page page;
    page.summary = "turns raw text into a search engine, with the same bits everywhere";
    page.usage = "COMMAND ARGUMENTS OPTIONS";
    page.description = "Results go to standard output, everything else to standard error.";
    for (const command& c : commands) page.lines.push_back({"Commands", c.name, c.summary});
    page.lines.push_back(
        {"Options", "-h, --help", "this page; quern COMMAND --help for the options of a command"});
    page.lines.push_back(
        {"Options", "--help-all", "after a COMMAND: also the options that all commands share"});
    page.lines.push_back({"Options", "-V, --version", "the version; also quern version and quern -v"});
    page.examples = {{"quern build enwiki.xml.bz2 -o wiki", "A store of a Wikipedia dump."},
                     {"quern search wiki \"theory of relativity\"", "The ten best articles for a phrase."}};
    return page;
}

namespace {

std::string program_help() {
    const help_page page = program_page();
    std::string text = fmt::format("quern - {}\n\nUsage: quern {}\n", page.summary, page.usage);
    std::string heading;
    for (const help_line& line : page.lines) {
        if (line.heading != heading) text += fmt::format("\n{}:\n", heading = line.heading);
        text += fmt::format("  {:<14} {}\n", line.left, line.help);
    }
    text += fmt::format("\n{}\n\nExamples:\n", page.description);
    for (const auto& [example, _] : page.examples) text += fmt::format("  {}\n", example);
    return text + '\n' + exit_code_table();
}

void print(const std::string& text) {
    output to;
    to.write(text);
    to.commit();
}

/// A program may be started with standard input, output or error closed. The next opened file would get that
/// descriptor, and messages would end up in a result. The substitute refuses the operation of the real one, so
/// that results for a closed standard output cause an error instead of being lost.
void open_standard_files() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // open() takes the lowest free number: this one, because those below are open by now.
        const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", mode) != descriptor) std::abort();
    }
}

/// The named command; throws usage_error with a suggestion if there is none.
const command* find(const std::string& name) {
    for (const command& c : commands) {
        if (name == c.name) return &c;
    }
    std::vector<std::string> names;
    for (const command& c : commands) names.emplace_back(c.name);
    const std::string near = nearest_name(name, names);
    throw usage_error(fmt::format(
        "unknown {} '{}'{}", name.starts_with('-') ? "option" : "command", name,
        near.empty() ? "; quern --help lists the commands" : fmt::format("; did you mean {}?", near)));
}

int run(std::vector<std::string> arguments, std::string& speaker) {
    if (arguments.empty()) {
        // A missing command is a usage error: standard output stays empty.
        std::fputs(program_help().c_str(), stderr);
        return 2;
    }
    if (arguments[0] == "help") {  // quern help build = quern build --help
        arguments.erase(arguments.begin());
        arguments.emplace_back("--help");
    }
    const auto asks_for = [&arguments](std::initializer_list<std::string_view> names) {
        return std::ranges::find(names, arguments[0]) != names.end();
    };
    if (asks_for({"--help", "-h", "--help-all"})) {
        print(program_help());
        return 0;
    }
    if (asks_for({"--version", "-V", "-v", "version"})) {
        print(version_line());
        return 0;
    }
    const command* const chosen = find(arguments[0]);
    speaker = fmt::format("quern {}", chosen->name);
    arguments.erase(arguments.begin());
    try {
        return chosen->run(*chosen, arguments);
    } catch (const help_requested& page) {
        print(page.text);
        return 0;
    }
}

}  // namespace
}  // namespace quern::cli

int main(int count, char** values) {
    using namespace quern::cli;
    open_standard_files();  // before anything else opens a file
    // Return large blocks to the system when freed. By default glibc soon keeps them in its heaps, fragmented:
    // a build under --memory 1G then held half as much again.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    // But not the memory of each unit of documents that is read, which the next one needs again: a fault for every page. So
    // much may stay with each thread.
    mallopt(M_TRIM_THRESHOLD, 8 << 20);
    std::set_terminate(end_for_uncaught);
    watch_for_refused_memory();
    catch_signals();
    if (const char* const path = std::getenv("PATH"); path != nullptr)
        quern::use_pdf_program(quern::find_program("pdftotext", path));
    std::string speaker = "quern";
    try {
        return run({values + (count > 0 ? 1 : 0), values + count}, speaker);
    } catch (...) {
        const ending end = ending_for(cause_of(std::current_exception()));
        console messages(speaker, false, progress_mode::never);
        for (const std::string& warning : end.warnings) messages.warning(warning);
        constexpr std::size_t max = 8192;  // quoted paths have at most 4 KiB
        if (!end.message.empty()) messages.error(std::string_view(end.message).substr(0, max));
        for (const std::string& line : end.below) messages.line_below(line);
        return end.code;
    }
}
