// SPDX-License-Identifier: Apache-2.0
// Contamination as one HTML page: counts, what leaked of each evaluation set, the shares, and the largest leaks with the
// texts of item and document side by side. Self-contained, without scripts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/ops/contamination.hpp"

namespace quern::report {

struct contamination_report {
    std::vector<std::pair<std::string, std::string>> summary;  ///< rows of name and value

    struct evaluation_set {
        std::string name;
        std::uint64_t items = 0, empty_items = 0, short_items = 0, found_items = 0, matches = 0;
    };
    std::vector<evaluation_set> sets;

    decimal overlap;  ///< the least share
    std::vector<std::uint64_t>
        shares;  ///< items by their largest share: the bins from `overlap` to 1, and 1 itself

    struct example {
        contamination leak;
        std::string item_id, document_id, set;
        std::string item;  ///< its text, or the beginning of it
        bool item_is_cut = false;
        std::string before, leaked, after;  ///< of the document's text
        std::uint64_t cut = 0;              ///< bytes between `leaked` and `after` that are not shown
    };
    std::vector<example> examples;
};

/// The bin of contamination_report::shares that counts this share, among `bins`: the last is that of 1. Exact.
std::size_t bin_of_share(const contamination& leak, const decimal& overlap, std::size_t bins);

void write_contamination_report(const contamination_report& page,
                                const std::function<void(std::string_view)>& out);

}  // namespace quern::report
