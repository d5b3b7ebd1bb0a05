// SPDX-License-Identifier: Apache-2.0
// A build as one HTML page: what was read and what was skipped, the contents of the store, time and disk use,
// near-duplicates removed, notable words and pages. Self-contained, without scripts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/plots.hpp"

namespace quern::report {

/// Texts may be any bytes. A section whose list is empty is omitted from the page.
struct build_report {
    using summary = std::vector<std::pair<std::string, std::string>>;  ///< name and value
    struct issue {
        std::string where, what, reason;
    };
    struct copy {
        std::string id, title;
        std::uint64_t distance;  ///< in bytes of edits
    };
    struct group {
        std::string id, title;           ///< of the kept document
        std::uint64_t duplicates_count;  ///< total
        std::vector<copy> duplicates;    ///< the first of them
    };
    struct word {
        std::string word;
        std::uint64_t documents, occurrences;
        std::vector<std::pair<std::string, double>> neighbours;  ///< in the thesaurus
    };
    struct page {
        std::string id, title;
        double rank;
        std::uint64_t links;  ///< links to it
    };

    std::string store;  ///< its name
    /// What else distinguishes this page from another run's: date, program, inputs.
    summary run;
    summary sizes, reading, params;
    std::vector<issue> issues;        ///< the first ones
    std::uint64_t issues_count = 0;   ///< total
    std::vector<shown_stage> stages;  ///< wall-clock time
    std::vector<shown_stage> steps;   ///< within stages, summed over threads
    summary resources;                ///< threads, memory: may differ from run to run
    std::vector<bar> sections;        ///< bytes on disk, sections of one kind together
    std::vector<group> groups;        ///< largest first
    std::uint64_t groups_count = 0, duplicates_count = 0;
    std::vector<word> words;
    bool has_thesaurus = false;         ///< whether words have neighbours
    std::vector<page> pages;            ///< by descending rank
    std::vector<bar> document_lengths;  ///< a histogram
    std::vector<plot_point> word_frequencies;
};

void write_build_report(const build_report& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
