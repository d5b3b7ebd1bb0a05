// SPDX-License-Identifier: Apache-2.0
// Contamination of training documents by evaluation items: how many of an item's word n-grams a document contains.
//
// An item of w words has w - n + 1 positions, one for each n-gram of successive words. An item of fewer than n words, but
// at least one, has a single position: the n-gram of all its words. A position is found in a document if its n-gram
// occurs anywhere in the document, in successive words. The share of an item in a document is the number of its
// positions that are found, divided by the number of its positions; where in the document they are found makes no
// difference. Contract class: exact; n-grams are found by hashes and then compared word by word.
#pragma once

#include <cstdint>

#include "quern/base/decimal.hpp"

namespace quern {

struct contamination_options {
    unsigned ngram = 13;     ///< words of an n-gram
    decimal overlap{5, 10};  ///< the smallest share of an item that counts; compared exactly, above 0
};

/// An item and a document that contains at least the share `overlap` of it.
struct contamination {
    std::uint32_t item = 0, document = 0;
    std::uint32_t found = 0;  ///< positions of the item whose n-gram occurs in the document
    std::uint32_t of = 0;     ///< positions of the item
    /// Bytes of the document's text, from the first to the last occurrence of one of the item's n-grams.
    std::uint32_t begin = 0, end = 0;

    double share() const { return static_cast<double>(found) / static_cast<double>(of); }
    friend bool operator==(const contamination&, const contamination&) = default;
};

}  // namespace quern
