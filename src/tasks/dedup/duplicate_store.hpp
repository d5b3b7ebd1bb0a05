// SPDX-License-Identifier: Apache-2.0
// A store of documents for the search for near-duplicates: what was read before, so that new documents are compared
// with it and added. A folder of shards, each a stretch of documents with the pairs found when it was added, and a
// manifest that names them: what the manifest does not name is not there. docs/dedup.md describes the format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/descriptor.hpp"
#include "io/files/atomic_folder.hpp"
#include "io/store/section.hpp"
#include "io/store/string_column.hpp"
#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/text_sketches.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/dedup/document_table.hpp"

namespace quern {

/// A stretch of documents while it is written; removed again unless it is kept.
class shard_writer {
  public:
    /// Files `folder`/NUMBER.SECTION.section. `overlap` comes before the first text (io::joined_files).
    shard_writer(const std::filesystem::path& folder, std::uint32_t number, std::string_view overlap,
                 const std::filesystem::path& scratch);
    shard_writer(const shard_writer&) = delete;  // one owner removes the files
    shard_writer& operator=(const shard_writer&) = delete;
    ~shard_writer();

    void add(std::string_view id, std::string_view text);
    std::uint64_t documents() const { return documents_; }
    /// Nothing more is added; the file with the texts, to be mapped.
    std::filesystem::path finish_texts();

    struct written {
        std::uint64_t documents = 0, text_bytes = 0, pairs = 0;
        std::vector<store_section> sections;
    };
    /// Adds the pairs to keep, whose later document is of this shard, and the sketches of its texts where they are kept, and waits
    /// for the disk.
    written finish(std::span<const duplicate_pair> pairs, std::span<const text_sketch> sketches);
    void keep() { kept_ = true; }

  private:
    std::filesystem::path file(std::string_view section) const;

    std::filesystem::path folder_;
    std::uint32_t number_;
    io::section_writer texts_, text_ends_;
    io::string_column_writer ids_;
    written written_;
    std::uint64_t documents_ = 0, text_bytes_ = 0;
    bool kept_ = false;
};

class duplicate_store {
  public:
    /// What a store answers: the options that its pairs depend on, by name.
    using question = std::map<std::string, std::string>;
    static question question_of(const duplicate_options& options, const text_options& text);

    static bool is_one(const std::filesystem::path& path);

    enum class access { read, add };
    /// Opens a store; to add to, also one that is not there yet, and then no other run can. Throws usage_error where it
    /// was made for another question (`asked` null: any), where another run adds to it, or where something else lies
    /// there; damaged_store.
    duplicate_store(const std::filesystem::path& path, access wanted, const question* asked,
                    const context& run);

    std::uint64_t documents() const { return documents_; }
    duplicate_store_info info() const;
    /// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store.
    std::uint64_t verify(const context& run) const;
    /// Takes all documents into an empty table. Texts with sketches are checked as they are read, all other bytes here.
    /// Throws damaged_store.
    void load(document_table& table, const context& run) const;
    /// The pairs that are kept, shard by shard; every byte checked. Of texts, those of the first ones of equal texts
    /// (keep_first_equals()); of words, all.
    std::vector<duplicate_pair> pairs() const;
    /// Those whose later document is `wanted`, in rising order.
    std::vector<duplicate_pair> pairs_with(const std::vector<bool>& wanted) const;

    /// A shard to be filled, behind the documents that are in `table`.
    std::unique_ptr<shard_writer> new_shard(const document_table& table,
                                            const std::filesystem::path& scratch) const;
    /// Makes a shard part of the store, in one step. `sketches`: of its texts, linked; none with methods of words.
    void commit(shard_writer& shard, std::span<const duplicate_pair> pairs,
                std::span<const text_sketch> sketches);
    /// Makes a store of one that is not there yet, though nothing was committed.
    void finish();

  private:
    void write_manifest();
    void read_manifest();
    std::string manifest_text() const;
    void refuse_another_question(const question& asked) const;
    void lock();
    void remove_unlisted() const;
    io::section_view section(std::uint32_t shard, std::string_view name) const;

    std::filesystem::path path_, folder_;  ///< its final name, and where its files are now
    question question_;
    std::vector<shard_writer::written> shards_;
    std::uint64_t documents_ = 0;
    std::unique_ptr<io::atomic_folder> fresh_;  ///< until the first shard is in
    descriptor lock_;
};

}  // namespace quern
