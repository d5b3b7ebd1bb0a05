// SPDX-License-Identifier: Apache-2.0
// A store of documents for the search for near-duplicates: keeps earlier documents, so that new ones are compared with
// them and added. A folder of shards, each a batch of documents with the pairs found when it was added, and a manifest
// that lists them: anything unlisted does not exist. docs/dedup.md describes the format.
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
#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"
#include "quern/ops/text_sketches.hpp"
#include "quern/tasks/dedup.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/dedup/document_table.hpp"

namespace quern {

/// The decision of the last run about a document.
enum class document_decision : std::uint8_t { none, stays, removed };

/// A batch of documents while it is written; removed again unless it is kept.
class shard_writer {
  public:
    /// Files `folder`/NUMBER.SECTION.section. `overlap` precedes the first text (io::joined_files).
    shard_writer(const std::filesystem::path& folder, std::uint32_t number, std::string_view overlap,
                 const std::filesystem::path& scratch);
    void add(std::string_view id, std::string_view text);
    std::uint64_t documents() const { return documents_; }
    /// Ends the texts; returns their file, to be mapped.
    std::filesystem::path finish_texts();

    struct written {
        std::uint64_t documents = 0, text_bytes = 0, pairs = 0;
        std::vector<store_section> sections;
    };
    /// Adds the pairs to keep, whose later document is in this shard, and the sketches of its texts if they are kept,
    /// and waits for the disk.
    written finish(std::span<const duplicate_pair> pairs, std::span<const text_sketch> sketches);
    void keep() { files_.kept = true; }

  private:
    /// Removes them, even if the writer's constructor fails.
    struct shard_files {
        std::filesystem::path folder;
        std::uint32_t number;
        bool kept = false;

        shard_files(std::filesystem::path in, std::uint32_t which) : folder(std::move(in)), number(which) {}
        shard_files(const shard_files&) = delete;  // one owner removes the files
        shard_files& operator=(const shard_files&) = delete;
        ~shard_files();
    };
    std::filesystem::path file(std::string_view section) const;

    shard_files files_;
    io::section_writer texts_, text_ends_;
    io::string_column_writer ids_;
    written written_;
    std::uint64_t documents_ = 0, text_bytes_ = 0;
};

class duplicate_store {
  public:
    /// The parameters of a store: the options that its pairs depend on, by name.
    using params = std::map<std::string, std::string>;
    static params params_of(const duplicate_options& options, const text_options& text);

    static bool is_one(const std::filesystem::path& path);

    enum class access { read, add };
    /// Opens a store; to add to it, also one that does not exist yet, which excludes other runs. Throws usage_error if
    /// it was made with other parameters (`requested` null: any), if another run adds to it, or if something else is there;
    /// damaged_store.
    duplicate_store(const std::filesystem::path& path, access wanted, const params* requested,
                    const context& ctx);

    std::uint64_t documents() const { return documents_; }
    duplicate_store_info info() const;
    /// Reads every byte and checks every checksum; returns the bytes read. Throws damaged_store.
    std::uint64_t verify(const context& ctx) const;
    /// Adds all documents to an empty table. Texts with sketches are checked when they are read, all other bytes here.
    /// Throws damaged_store.
    void load(document_table& table, const context& ctx) const;
    /// The stored pairs, shard by shard; every byte is checked. For texts, those of the first of equal texts
    /// (keep_first_equals()); for words, all.
    std::vector<duplicate_pair> pairs() const;
    /// Those whose later document is `wanted`, in rising order.
    std::vector<duplicate_pair> pairs_with(const std::vector<bool>& wanted) const;

    /// A shard to be filled, after the documents in `table`.
    std::unique_ptr<shard_writer> new_shard(const document_table& table,
                                            const std::filesystem::path& scratch) const;
    /// Adds a shard to the store, in one step. `sketches`: of its texts, linked; none with methods of words.
    void commit(shard_writer& shard, std::span<const duplicate_pair> pairs,
                std::span<const text_sketch> sketches);
    /// Of every document. Throws damaged_store.
    std::vector<document_decision> decisions() const;
    /// Replaces them, for all documents, in one step; writes nothing if they are the same.
    void decide(std::span<const document_decision> decisions);
    /// Creates a store that does not exist yet, even if nothing was committed.
    void finish();

  private:
    void write_manifest(const std::function<void()>& published);
    void publish(const std::function<void()>& published);
    void read_manifest();
    std::string manifest_text() const;
    void refuse_other_params(const params& requested) const;
    void lock();
    void remove_unlisted() const;
    io::section_view section(std::uint32_t shard, std::string_view name) const;
    io::section_view decision_section() const;

    std::filesystem::path path_, folder_;  ///< its final name, and the current folder of its files
    params params_;
    std::vector<shard_writer::written> shards_;
    std::vector<store_section> decided_;  ///< the section of decisions, or none
    std::uint64_t documents_ = 0;
    std::unique_ptr<io::atomic_folder> fresh_;  ///< until the first shard is committed
    descriptor lock_;
};

}  // namespace quern
