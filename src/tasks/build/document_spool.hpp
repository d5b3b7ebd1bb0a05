// SPDX-License-Identifier: Apache-2.0
// A corpus between the search for near-duplicates and the index: read once, and held on disk in its order. Texts lie
// mapped, for they are compared; titles, links and redirects behind one another, for the index alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "tasks/build/store_to_update.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/document_table.hpp"

namespace quern {

class document_spool {
  public:
    /// Reads a corpus, opened with `options`, that begins with the documents of `old`, where there is one; those that it
    /// holds already are passed over. Throws as build does. Memory: document_table's, and 8 bytes a document. Its files in
    /// `scratch` have no names, so that their room is free when it goes.
    document_spool(const build_options& options, std::unique_ptr<io::corpus_reader> corpus,
                   const store_to_update* old, const scratch_folder& scratch, const context& run);

    /// Every document that was read, by position: ids and texts.
    const document_table& documents() const { return table_; }
    std::string title(std::uint32_t document) const;

    /// The documents once more, in order, then the redirects: units of about `unit_bytes`. The spool must outlive it.
    std::unique_ptr<io::corpus_reader> read_again(std::uint64_t unit_bytes) const;

    reading_record& record() { return record_; }
    std::uint64_t input_bytes() const { return input_bytes_; }
    std::uint64_t memory_bytes() const {
        return table_.memory_bytes() +
               (entry_ends_.capacity() + redirect_ends_.capacity()) * sizeof(std::uint64_t);
    }

  private:
    class reader;
    class unit;
    class redirect_unit;

    void add(const document& d);
    void add(const redirect& r);
    void end_redirects();
    std::uint64_t entry_begin(std::uint32_t document) const {
        return document == 0 ? 0 : entry_ends_[document - 1];
    }
    document read(std::uint32_t document) const;

    document_table table_;
    spill_file entries_, redirects_;  // of documents: flags, title, links; of redirects: both names
    std::vector<std::uint64_t> entry_ends_;
    std::string open_redirects_;                // not yet in the file
    std::vector<std::uint64_t> redirect_ends_;  // of stretches of whole redirects
    reading_record record_;
    std::uint64_t input_bytes_ = 0;
};

}  // namespace quern
