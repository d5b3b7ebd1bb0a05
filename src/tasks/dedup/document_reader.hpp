// SPDX-License-Identifier: Apache-2.0
// A corpus as its documents, parsed by all threads and handed over in order; and, where asked for, their words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/dedup/word_table.hpp"

namespace quern {

struct corpus_request {
    std::vector<std::filesystem::path> inputs;
    std::string input_format;
    error_limit max_errors;
    bool keep_records = false;
};

class document_reader {
  public:
    /// Opens the inputs. `words` may be null; `stage` names the progress.
    document_reader(const corpus_request& request, word_table* words, std::string stage, const context& run);
    /// The same of a corpus that is open, whose inputs `request` names in messages.
    document_reader(const corpus_request& request, std::unique_ptr<io::corpus_reader> corpus,
                    std::string stage, const context& run);

    enum class verdict {
        taken,
        passed_over,  ///< known already; its words are not wanted again
        repeated,     ///< its id is another one's: told and counted as rejected
    };
    /// One document at a time, in order, from any thread.
    using admission = std::function<verdict(document&)>;
    /// The same for redirects, each after the documents of its unit.
    using redirection = std::function<void(const redirect&)>;

    /// Reads on until about `bytes` of plain input have gone through; false at the end of the input. Throws
    /// invalid_input as soon as it is clear (at the end, for a share) that too much was rejected.
    bool read(std::uint64_t bytes, const admission& admit, const redirection& redirected = {});

    const reading_record& record() const { return record_; }
    std::uint64_t consumed_bytes() const { return corpus_->consumed_bytes(); }

  private:
    struct unit_in_work {
        std::unique_ptr<io::corpus_unit> raw;
        io::parsed_unit parsed;
        word_table::piece words;
    };
    void admit_unit(unit_in_work& unit, const admission& admit, const redirection& redirected);

    const corpus_request& request_;
    word_table* words_;
    std::string stage_;
    const context& run_;
    std::unique_ptr<io::corpus_reader> corpus_;
    reading_record record_;
};

}  // namespace quern
