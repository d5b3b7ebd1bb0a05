// SPDX-License-Identifier: Apache-2.0
// The program `quern`: finds the command, runs it, and turns whatever happens into an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "commands.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "signals.hpp"

namespace quern::cli {
namespace {

constexpr command commands[] = {
    {"build", "turn a raw collection into a store", run_build},
    {"search", "find documents by words, in a store or straight in a corpus", run_search},
    {"dedup", "find near-duplicate documents, and write a corpus without them", run_dedup},
    {"signature", "show the fuzzy-hash signatures of documents", run_signature},
    {"words", "find which words of a corpus are used alike", run_words},
    {"similar", "show the words that are used like a word", run_similar},
    {"contexts", "show what a word stands near to, or what two words share", run_contexts},
    {"export", "write a store or a space for other tools", run_export},
    {"ngrams", "write how likely each document generates its n-grams", run_ngrams},
    {"count", "count words that stand one behind the other", run_count},
    {"dictionary", "give the words of a corpus ids, in one file", run_dictionary},
    {"pagerank", "rank the nodes of a graph, or the documents of a store, by their links", run_pagerank},
    {"spmv", "multiply a sparse matrix by a vector", run_spmv},
    {"nearest", "find the vectors nearest to others, exactly, in complete order", run_nearest},
    {"topk", "find the best objects over several ranked lists", run_topk},
    {"fuse", "fuse runs into one, topic by topic", run_fuse},
    {"evaluate", "measure a run against judgements", run_evaluate},
    {"serve", "serve a store: a page to search it, and a JSON API", run_serve},
    {"info", "show what a store or a dictionary holds", run_info},
    {"verify", "check every checksum of a store or a dictionary", run_verify},
    {"doctor", "show what Quern sees of this machine", run_doctor},
};

}  // namespace

std::span<const command> all_commands() {
    return commands;
}

namespace {

std::string program_help() {
    std::string text =
        "quern - grinds raw text into a search engine, the same bits everywhere\n\n"
        "Usage: quern COMMAND ARGUMENTS OPTIONS\n\nCommands:\n";
    for (const command& c : commands) text += fmt::format("  {:<10} {}\n", c.name, c.summary);
    text +=
        "\nOptions:\n"
        "  -h, --help  this page; quern COMMAND --help for a command's\n"
        "  --version   the version\n\n"
        "Results go to standard output, everything else to standard error.\n\n"
        "Examples:\n"
        "  quern build enwiki.xml.bz2 -o wiki\n"
        "  quern search wiki \"theory of relativity\"\n\n";
    return text + exit_code_table();
}

void print(const std::string& text) {
    output to;
    to.write(text);
    to.commit();
}

/// A program may be started with standard input, output or error closed. The next file opened would take
/// that number, and messages would go into a result. What stands in refuses what the real one is for, so that
/// results meant for a closed standard output are a failure and not lost.
void open_standard_files() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // open() takes the lowest number that is free: this one, for those below it are open by now.
        const int mode = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", mode) != descriptor) std::abort();
    }
}

/// The command named, or null after having said what is wrong.
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
        // With nothing to do there is no result: the page goes where messages go.
        std::fputs(program_help().c_str(), stderr);
        return 2;
    }
    if (arguments[0] == "help") {  // quern help build = quern build --help
        arguments.erase(arguments.begin());
        arguments.emplace_back("--help");
    }
    if (arguments[0] == "--help" || arguments[0] == "-h") {
        print(program_help());
        return 0;
    }
    if (arguments[0] == "--version") {
        print("quern " QUERN_VERSION "\n");
        return 0;
    }
    const command* const chosen = find(arguments[0]);
    speaker = fmt::format("quern {}", chosen->name);
    arguments.erase(arguments.begin());
    try {
        return chosen->run(*chosen, arguments);
    } catch (const help_asked& page) {
        print(page.text);
        return 0;
    }
}

}  // namespace
}  // namespace quern::cli

int main(int count, char** values) {
    using namespace quern::cli;
    open_standard_files();  // before anything else opens a file
    // Large blocks go back to the system when freed. Left alone, glibc soon keeps them in its heaps, in pieces:
    // a build under --memory 1G then held half as much again.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    catch_signals();
    std::string speaker = "quern";
    try {
        return run({values + (count > 0 ? 1 : 0), values + count}, speaker);
    } catch (...) {
        const ending end = ending_for(std::current_exception());
        console messages(speaker, false, progress_mode::never);
        for (const std::string& warning : end.warnings) messages.warning(warning);
        if (!end.message.empty()) messages.error(end.message);
        return end.code;
    }
}
