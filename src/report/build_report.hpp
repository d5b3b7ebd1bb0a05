// SPDX-License-Identifier: Apache-2.0
// A build as one HTML page: what was read and what was not, what the store holds, where the time and the disk went,
// which documents are copies, which words and pages stand out. Self-contained, without scripts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/plots.hpp"

namespace quern::report {

/// Texts are any bytes. A part whose list is empty is left out of the page.
struct build_report {
    using facts = std::vector<std::pair<std::string, std::string>>;  ///< name and value
    struct issue {
        std::string where, what, reason;
    };
    struct copy {
        std::string id, title;
        std::uint64_t distance;  ///< in bytes of edits
    };
    struct group {
        std::string id, title;       ///< of the document that was kept
        std::uint64_t copies_count;  ///< of all
        std::vector<copy> copies;    ///< the first of them
    };
    struct word {
        std::string word;
        std::uint64_t documents, occurrences;
        std::vector<std::pair<std::string, double>> neighbours;  ///< in the thesaurus
    };
    struct page {
        std::string id, title;
        double rank;
        std::uint64_t links;  ///< to it
    };

    std::string store;  ///< its name
    /// What else tells this page from that of another run: date, program, inputs.
    facts run;
    facts sizes, reading, question;
    std::vector<issue> issues;        ///< the first ones
    std::uint64_t issues_count = 0;   ///< of all
    std::vector<shown_stage> stages;  ///< of the clock
    std::vector<shown_stage> steps;   ///< within stages, added up over threads
    facts resources;                  ///< threads, memory: what may differ from run to run
    std::vector<bar> sections;        ///< bytes on disk, sections of a kind together
    std::vector<group> groups;        ///< the largest first
    std::uint64_t groups_count = 0, copies_count = 0;
    std::vector<word> words;
    bool has_thesaurus = false;         ///< whether words have neighbours
    std::vector<page> pages;            ///< by falling rank
    std::vector<bar> document_lengths;  ///< a histogram
    std::vector<plot_point> word_frequencies;
};

void write_build_report(const build_report& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
