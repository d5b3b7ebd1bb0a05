// SPDX-License-Identifier: Apache-2.0
// The documents of a caller's source as units, like those of a file.
#pragma once

#include <memory>

#include "io/corpus/corpus.hpp"
#include "quern/base/document_source.hpp"

namespace quern::io {

/// `source` must outlive the reader. The same documents as from JSON lines with these ids, titles, texts and links. One
/// with an id that is not UTF-8, or larger than the limits of `options`, is rejected.
std::unique_ptr<corpus_reader> read_documents(document_source& source, const corpus_options& options);

}  // namespace quern::io
