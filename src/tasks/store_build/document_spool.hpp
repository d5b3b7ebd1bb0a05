// SPDX-License-Identifier: Apache-2.0
// A corpus between the search for near-duplicates and the index: read once, and kept on disk in order. Texts are
// mapped, because they are compared; titles, links and redirects are concatenated, for the index only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/store_build/store_to_update.hpp"

namespace quern {

class document_spool {
  public:
    /// Reads a corpus, opened with `options`; the documents of `old`, if any, come first, and those that it already has
    /// are skipped. Throws as build does. Memory: document_table's, and 8 bytes a document. Its files in `scratch` are
    /// unlinked, so that their space is freed with the object.
    document_spool(const build_options& options, std::unique_ptr<io::corpus_reader> corpus,
                   const store_to_update* old, const scratch_folder& scratch, const context& ctx);

    /// Every document read, by position: ids and texts.
    const document_table& documents() const { return table_; }
    /// A document with everything but its text. Cost: one read of its entry.
    document without_text(std::uint32_t document) const;

    /// The documents again, in order, then the redirects: units of about `unit_bytes`, or less, so that each of the threads
    /// gets some. The spool must outlive it.
    std::unique_ptr<io::corpus_reader> read_again(std::uint64_t unit_bytes, unsigned threads) const;
    /// Some of the documents again, without the redirects. `positions` rise, and outlive the reader.
    std::unique_ptr<io::corpus_reader> read_some(std::span<const std::uint32_t> positions,
                                                 std::uint64_t unit_bytes) const;
    void each_redirect(const std::function<void(redirect)>& sink) const;

    reading_record& record() { return record_; }
    std::uint64_t input_bytes() const { return input_bytes_; }
    std::uint64_t memory_bytes() const {
        return table_.memory_bytes() +
               (entry_ends_.capacity() + redirect_ends_.capacity()) * sizeof(std::uint64_t);
    }

  private:
    class reader;
    class some_reader;
    class unit;
    class redirect_unit;

    void add(const document& d);
    void add(const redirect& r);
    void end_redirects();
    std::uint64_t entry_begin(std::uint32_t document) const {
        return document == 0 ? 0 : entry_ends_[document - 1];
    }
    document read(std::uint32_t document) const;
    std::uint64_t bytes_of(std::uint32_t document) const {
        return table_.text_bytes(document) + entry_ends_[document] - entry_begin(document);
    }
    void each_redirect(std::uint64_t begin, std::uint64_t end,
                       const std::function<void(redirect)>& sink) const;

    document_table table_;
    spill_file entries_, redirects_;  // of documents: flags, title, fields, links; of redirects: both names
    std::vector<std::uint64_t> entry_ends_;
    std::string open_redirects_;                // not yet in the file
    std::vector<std::uint64_t> redirect_ends_;  // of ranges of whole redirects
    reading_record record_;
    std::uint64_t input_bytes_ = 0;
};

}  // namespace quern
