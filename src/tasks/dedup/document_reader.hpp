// SPDX-License-Identifier: Apache-2.0
// A corpus as documents, parsed by all threads and delivered in order; on request, with their words.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/dedup.hpp"
#include "tasks/corpus/document_ids.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/corpus/unit_parser.hpp"
#include "tasks/dedup/document_table.hpp"
#include "tasks/dedup/word_table.hpp"

namespace quern {

struct corpus_request {
    corpus_input input;
    bool keep_records = false;
    work_on_document work = {};
    text_options text = {};       ///< for work that depends on words
    io::corpus_place start = {};  ///< where to begin
};

/// The memory for each document while it is read, if it is compared with these options.
work_on_document work_of(const dedup_options& options);

class document_reader {
  public:
    /// Opens the inputs. `words` may be null; `stage` names the progress.
    document_reader(const corpus_request& request, word_table* words, std::string stage, const context& ctx);
    /// The same for an open corpus, whose inputs `request` names in messages.
    document_reader(const corpus_request& request, std::unique_ptr<io::corpus_reader> corpus,
                    std::string stage, const context& ctx);

    enum class verdict {
        taken,
        passed_over,  ///< known already; its words are not needed again
        repeated,     ///< another document has its id, see ids(): reported and counted as rejected
    };
    /// Called for one document at a time, in order, from any thread; assigns its id.
    using admission = std::function<verdict(document&)>;
    /// The same for redirects, each after the documents of its unit.
    using redirection = std::function<void(const redirect&)>;
    /// Documents that were taken one after the other.
    struct taken_documents {
        std::uint64_t first;  ///< how many this reader took before them
        std::uint64_t begin;  ///< the bytes of the texts of those
        std::span<const document> documents;
    };
    /// Called once for each document that was taken, after its admission, in any order, by several threads.
    using work_on_taken = std::function<void(const taken_documents&)>;

    /// Continues reading for about `bytes` of plain input; false at the end of the input. Throws invalid_input as soon
    /// as it is certain (for a share, at the end) that too much was rejected. If files are kept whole, what was read ends
    /// with an input or with a file with records of a folder, place() says where to go on, and record() is of that.
    bool read(std::uint64_t bytes, const admission& admit, const redirection& redirected = {},
              const work_on_taken& work = {});

    document_ids& ids() { return ids_; }
    /// Assigns an id with a table of documents of this reader, or from before; not of an earlier set.
    verdict settle(document& d, const document_table& table);
    const reading_record& record() const { return record_; }
    void keep_files_whole() { keeps_files_whole_ = true; }
    const io::corpus_place& place() const { return place_; }
    /// Call before the first read(): the record of an earlier run, which ended where this one begins.
    void go_on_from(reading_record record) { record_ = std::move(record); }
    std::uint64_t consumed_bytes() const { return corpus_->consumed_bytes(); }

  private:
    struct unit_in_work {
        std::unique_ptr<io::corpus_unit> raw;
        io::parsed_unit parsed;
        word_table::piece words;
        std::uint64_t first = 0, begin = 0;  ///< of its taken documents
    };
    void admit_unit(unit_in_work& unit, const admission& admit, const redirection& redirected);

    const corpus_request& request_;
    word_table* words_;
    std::string stage_;
    const context& ctx_;
    unit_parser parser_;
    std::unique_ptr<io::corpus_reader> corpus_;
    document_ids ids_;
    reading_record record_;
    std::uint64_t taken_ = 0, taken_bytes_ = 0;  ///< documents, and their texts
    std::uint64_t consumed_before_ = 0;          ///< the unit that is cut next
    bool keeps_files_whole_ = false;
    io::corpus_place place_;
    std::unique_ptr<io::corpus_unit> waiting_;  ///< cut already: the first of the next file
};

}  // namespace quern
