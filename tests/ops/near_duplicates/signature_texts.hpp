// SPDX-License-Identifier: Apache-2.0
// Texts for tests of signatures: hostile ones, and families of near copies.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "quern/ops/near_duplicates.hpp"

namespace quern {

/// Texts as a list; offsets do not start at 0, as in a part of a larger list.
struct texts_to_sign {
    std::string bytes = "before";
    std::vector<std::uint64_t> offsets;

    explicit texts_to_sign(const std::vector<std::string>& texts) {
        offsets.push_back(bytes.size());
        for (const std::string& t : texts) {
            bytes += t;
            offsets.push_back(bytes.size());
        }
        bytes += "behind";
    }
    text_list list() const { return {bytes, offsets}; }
};

inline std::string random_text(std::mt19937_64& random, std::size_t size, unsigned letters) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random() % letters + (letters < 200 ? 'a' : 0));
    return text;
}

/// A copy with some edits: single bytes, and sometimes a passage inserted or removed.
inline std::string edited(std::mt19937_64& random, std::string text, unsigned edits) {
    for (; edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        switch (random() % 4) {
            case 0:
                text.insert(at, 1, static_cast<char>(random()));
                break;
            case 1:
                text.erase(at, 1);
                break;
            case 2:
                text[at] = static_cast<char>(random());
                break;
            default:
                if (random() % 2 == 0)
                    text.erase(at, random() % 20);
                else
                    text.insert(at, text.substr(random() % text.size(), random() % 20));
        }
    }
    return text;
}

inline std::vector<std::string> hostile_texts() {
    std::mt19937_64 random(3);
    std::vector<std::string> texts = {"",
                                      "a",
                                      "b",
                                      "ab",
                                      std::string(1, '\0'),
                                      std::string(5, '\0'),
                                      std::string(3000, '\0'),
                                      "\xff\xfe\xfd"};
    for (const std::size_t size : {6u, 7u, 8u, 31u, 99u, 100u, 101u, 1000u, 5000u, 40'000u}) {
        texts.emplace_back(size, 'a');  // one letter: all cuts or none
        texts.emplace_back(size, '\xff');
        texts.push_back(random_text(random, size, 2));
        texts.push_back(random_text(random, size, 26));
        texts.push_back(random_text(random, size, 256));
        std::string periodic;
        while (periodic.size() < size) periodic += "the same words again ";
        texts.push_back(periodic.substr(0, size));
        // Its cuts are not uniform: none at first, or none at last.
        texts.push_back(std::string(size, 'a') + random_text(random, size / 4, 26));
        texts.push_back(random_text(random, size / 4, 26) + std::string(size, 'a'));
    }
    return texts;
}

/// Texts of very different lengths, and near copies of each, in no order.
inline std::vector<std::string> families(std::uint64_t seed, std::size_t count, std::size_t longest) {
    std::mt19937_64 random(seed);
    std::vector<std::string> texts;
    while (texts.size() < count) {
        const std::size_t size = random() % (random() % longest + 1);
        const std::string parent = random_text(random, size, random() % 3 == 0 ? 256 : 26);
        texts.push_back(parent);
        for (auto copies = random() % 5; copies > 0; --copies)
            texts.push_back(edited(random, parent, static_cast<unsigned>(random() % (2 + size / 60))));
    }
    texts.resize(count);
    std::shuffle(texts.begin(), texts.end(), random);
    return texts;
}

}  // namespace quern
