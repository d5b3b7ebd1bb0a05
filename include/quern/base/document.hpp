// SPDX-License-Identifier: Apache-2.0
// A document as every corpus form yields it, and what is said of those that could not be read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.hpp"

namespace quern {

struct document {
    std::string id;                  ///< unique in its corpus; never empty
    std::string title;               ///< may be empty
    std::string text;                ///< UTF-8; paragraphs end with an empty line
    std::vector<std::string> links;  ///< ids of documents pointed to, in order of appearance, repeats kept
    std::string path;  ///< the file it was read from, and the line where it begins (from 1; 0: unknown):
    std::uint64_t line = 0;  ///< for messages, not part of the collection
    bool verbatim = false;   ///< `text` holds one word a line, to be taken as it is (corpus form `lines`)
    bool line_paragraphs = false;  ///< each line of `text` is a paragraph (wikiextractor)
    std::string record;  ///< the line it was read from, with its end; JSON lines and TSV, where asked for
};

/// Another name of a document: links to `from` mean `to` (which may be redirected again).
struct redirect {
    std::string from;
    std::string to;
};

/// Something wrong in an input. A rejected document is lost to the run; a cut one is kept in part, a mended one whole.
struct input_issue {
    std::string path;
    std::uint64_t line = 0;  ///< from 1; 0 where the input has no lines
    std::string reason;
    bool rejected = true;
    bool cut = false;  ///< kept in part because the rest is lost, not merely mended
    /// Of an input, not of a document: it ends early or holds wrong bytes, and nobody can say how many documents
    /// that costs. Cut or rejected as well.
    bool incomplete = false;
};

/// What a reader has seen. `skipped` counts, by reason, what is left out by rule and is no error
/// ("hidden file", "page of another namespace", "file of another kind: .csv", …).
struct reading_counts {
    std::uint64_t documents = 0;
    std::uint64_t redirects = 0;
    std::uint64_t rejected = 0;
    std::uint64_t damaged = 0;     ///< kept: mended or cut
    std::uint64_t cut = 0;         ///< of these, those of which the rest is lost
    std::uint64_t incomplete = 0;  ///< of these, inputs: how much is lost of them is not known
    std::map<std::string, std::uint64_t> skipped;

    reading_counts& operator+=(const reading_counts& other);
};

/// More of a corpus is rejected, cut or missing than the run was to forgive. As an invalid_input, it names the first.
class too_much_lost : public invalid_input {
  public:
    /// `why`: what is said behind the first one's reason.
    too_much_lost(const input_issue& first, std::string_view why, std::vector<input_issue> issues);
    const std::vector<input_issue>& issues() const noexcept { return issues_; }  ///< the first ten, in order

  private:
    std::vector<input_issue> issues_;
};

}  // namespace quern
