// SPDX-License-Identifier: Apache-2.0
// The slow and obvious forms of primitives/dictionary: a list coded word by word, look-ups in a sorted vector, and texts
// cut line by line and byte by byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::reference {

/// The arrays of primitives::word_list.
struct coded_list {
    std::vector<std::uint64_t> keys, wide_offsets;
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint8_t> blocks;
};

inline void append_number(std::vector<std::uint8_t>& out, std::uint64_t number) {
    for (; number >= 128; number /= 128) out.push_back(static_cast<std::uint8_t>(number % 128 + 128));
    out.push_back(static_cast<std::uint8_t>(number));
}

/// `words`: sorted by bytes, distinct.
inline coded_list code(const std::vector<std::string>& words) {
    coded_list out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        std::size_t shared = 0;
        if (i % 16 == 0) {
            std::uint64_t key = 0;
            for (std::size_t b = 0; b < 8; ++b)
                key = key * 256 + static_cast<std::uint8_t>((word + std::string(8, '\0'))[b]);
            out.keys.push_back(key);
            out.offsets.push_back(static_cast<std::uint32_t>(out.blocks.size()));
            append_number(out.blocks, word.size());
        } else {
            const std::string& before = words[i - 1];
            while (shared < before.size() && shared < word.size() && before[shared] == word[shared]) ++shared;
            const std::size_t more = word.size() - shared - 1;
            out.blocks.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(shared, 15) * 16 +
                                                           std::min<std::size_t>(more, 15)));
            if (shared >= 15) append_number(out.blocks, shared - 15);
            if (more >= 15) append_number(out.blocks, more - 15);
        }
        for (const char c : word.substr(shared)) out.blocks.push_back(static_cast<std::uint8_t>(c));
    }
    out.offsets.push_back(static_cast<std::uint32_t>(out.blocks.size()));
    out.wide_offsets.assign(out.offsets.begin(), out.offsets.end());
    return out;
}

inline std::uint32_t rank_or_size(const std::vector<std::string>& words, const std::string& word) {
    const auto at = std::lower_bound(words.begin(), words.end(), word);
    return static_cast<std::uint32_t>((at != words.end() && *at == word ? at : words.end()) - words.begin());
}

struct tokenized {
    std::vector<std::pair<std::uint32_t, std::string>> words;  ///< where each begins, and its letters
    std::vector<std::uint64_t> document_offsets{0};
    friend bool operator==(const tokenized&, const tokenized&) = default;
};

inline tokenized tokenize_lines(const std::string& text) {
    tokenized out;
    bool after_empty = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) {
            if (after_empty) out.document_offsets.back() = out.words.size();
            if (after_empty) out.document_offsets.push_back(0);
            out.words.emplace_back(static_cast<std::uint32_t>(at), line);
        }
        after_empty = line.empty();
        at = end + 1;
    }
    out.document_offsets.back() = out.words.size();
    return out;
}

inline tokenized tokenize_runs(const std::string& text, const std::vector<std::uint64_t>& documents,
                               bool digits) {
    tokenized out;
    out.document_offsets.clear();
    for (std::size_t d = 0; d + 1 < documents.size(); ++d) {
        out.document_offsets.push_back(out.words.size());
        std::string word;
        for (std::uint64_t i = documents[d]; i <= documents[d + 1]; ++i) {
            char c = i < documents[d + 1] ? text[i] : ' ';
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
            if ((c >= 'a' && c <= 'z') || (digits && c >= '0' && c <= '9')) {
                word += c;
            } else if (!word.empty()) {
                out.words.emplace_back(static_cast<std::uint32_t>(i - word.size()), word);
                word.clear();
            }
        }
    }
    out.document_offsets.push_back(out.words.size());
    return out;
}

}  // namespace quern::reference
