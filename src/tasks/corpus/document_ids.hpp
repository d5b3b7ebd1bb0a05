// SPDX-License-Identifier: Apache-2.0
// Assigns the ids of a corpus, document by document in corpus order, so that they depend only on what comes before: not
// on threads, memory or how the corpus is cut into units. docs/decisions/0016-ids-count-within-their-file.md gives the
// reasons.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "quern/tasks/corpus_input.hpp"
#include "tasks/corpus/document_id_table.hpp"

namespace quern {

class document_ids {
  public:
    explicit document_ids(id_rule rule) : rule_(rule) {}

    enum class outcome {
        fresh,     ///< no earlier document has d.id
        known,     ///< the document existed before this run
        repeated,  ///< repeats an earlier one; reason() says where
    };

    /// Assigns the id of the next document. find(id) returns the number of the document that has it, if any; the
    /// numbers of fresh documents are those of `next`, which rise. same(number) says whether that document, from before
    /// this run, is this one; d.id is then the id in question. If another document has the id, d.id is prefixed with
    /// the file (id_rule::scoped), and d.given keeps the original.
    template <std::invocable<std::string_view> Find, std::invocable<std::uint32_t> Same>
    outcome settle(document& d, std::uint32_t next, const Find& find, const Same& same) {
        begin(d, next);
        if (repeats_known(d)) return outcome::repeated;
        for (unsigned attempt = 0;; ++attempt) {
            if (attempt == 1) d.given = d.id;
            if (attempt != 0) d.id = name_of(d, attempt);
            const std::optional<std::uint32_t> holder = find(std::string_view(d.id));
            if (!holder) {
                enter(d);
                return outcome::fresh;
            }
            if (is_of_this_file(d, *holder)) {
                // A literal id and a prefixed one may be equal by accident; two of one kind were equal from the start.
                if (entries_[*holder - first_].made == (attempt != 0)) return repeated(d, *holder);
            } else if (same(*holder)) {
                enter_known(d);
                return outcome::known;
            } else if (rule_ == id_rule::global) {
                return repeated(d, std::nullopt);
            }
        }
    }
    template <std::invocable<std::string_view> Find>
    outcome settle(document& d, std::uint32_t next, const Find& find) {
        return settle(d, next, find, [](std::uint32_t) { return false; });
    }

    const std::string& reason() const { return reason_; }  ///< after outcome::repeated
    /// Logs the number of documents whose id was prefixed with their file, if any.
    void tell(const context& ctx) const;
    std::uint64_t memory_bytes() const { return entries_.capacity() * sizeof(entry) + known_.memory_bytes(); }

  private:
    /// A fresh document of the current file.
    struct entry {
        std::uint32_t line : 31;
        std::uint32_t made : 1;  ///< its id is prefixed with the file
    };

    void begin(document& d, std::uint32_t next);
    bool repeats_known(const document& d);
    void enter(const document& d);
    void enter_known(const document& d);
    outcome repeated(document& d, std::optional<std::uint32_t> holder);
    /// Files that are single documents differ, even if their ids become equal.
    bool is_of_this_file(const document& d, std::uint32_t holder) const {
        return d.line != 0 && holder >= first_ && holder - first_ < entries_.size();
    }
    static std::string name_of(const document& d, unsigned attempt);

    id_rule rule_;
    std::uint32_t scope_ = 0, first_ = 0;
    std::vector<entry> entries_;  ///< of the documents from `first_` on
    id_table known_;              ///< ids of this file's documents that existed before this run
    std::uint64_t scoped_ = 0;
    std::string first_scoped_;
    std::string reason_;
};

/// The key of a document in the scope whose original id, with hash `given`, was taken by another.
hash128_value hash_within(std::uint32_t scope, const hash128_value& given);

}  // namespace quern
