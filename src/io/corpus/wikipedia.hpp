// SPDX-License-Identifier: Apache-2.0
// Wikipedia's XML dumps (pages-articles, full histories, parts of either, of any wiki) as a corpus.
#pragma once

#include <memory>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Reads a dump in any encoding. A document per article: the last revision's prose (even an empty one), links to
/// articles as ids; a redirect per redirect page. Counted as skipped: "page of another namespace" (not an article),
/// "page of another content model" (not wikitext).
///
/// A page with characters that XML forbids is repaired; a page truncated in its text is kept up to that point; both are
/// issues and count as damaged. A page without a title or text because of damage is rejected. Other content between
/// pages, and an end before </mediawiki>, are issues too. After any of them the next page is read as usual. Several
/// concatenated dumps are one corpus, each with its own settings.
std::unique_ptr<corpus_reader> read_wikipedia(std::unique_ptr<byte_source> source,
                                              const corpus_options& options, const context& ctx);

}  // namespace quern::io
