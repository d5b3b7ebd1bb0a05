// SPDX-License-Identifier: Apache-2.0
// One page of a column: found by its header, decompressed when it is first needed, and shared by whoever reads from it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/parquet/metadata.hpp"
#include "io/parquet/page_values.hpp"
#include "io/pooled_bytes.hpp"

namespace quern::io::parquet {

/// Bytes as they lie in the file until they are decompressed. Any threads.
class page {
  public:
    /// What it decompresses lies in memory of the pool.
    page(const page_header& header, std::string_view body, const leaf_column& leaf, codec compression,
         std::shared_ptr<buffer_pool> pool)
        : header_(header), body_(body), leaf_(leaf), codec_(compression), pool_(std::move(pool)) {}

    const page_header& header() const { return header_; }
    /// The memory that load() needs, or has taken.
    std::uint64_t memory_bytes() const {
        return codec_ == codec::none && header_.plain_bytes == body_.size() ? 0 : header_.plain_bytes;
    }
    /// Decompresses and checks it, once. `entries`: the dictionary, loaded, of a page with keys. Throws fault if it is
    /// damaged, and out_of_memory if it needs more than `max_bytes`; a later call may have more.
    void load(std::uint64_t max_bytes, const dictionary* entries);
    bool has_keys() const {
        return header_.encoded == encoding::rle_dictionary || header_.encoded == encoding::plain_dictionary;
    }

    // After load():
    hybrid_decoder repetition_levels() const { return {repetition_, bits(leaf_.max_repetition)}; }
    hybrid_decoder definition_levels() const { return {definition_, bits(leaf_.max_definition)}; }
    page_values values(const dictionary* entries) const { return {values_, header_.encoded, leaf_, entries}; }

  private:
    friend class dictionary;

    static unsigned bits(std::uint16_t max) { return static_cast<unsigned>(std::bit_width(max)); }
    void unpack();
    void split_version_1();
    void check_sum() const;
    void check_levels_and_values(const dictionary* entries) const;

    page_header header_;
    std::string_view body_;
    leaf_column leaf_;
    codec codec_;
    std::shared_ptr<buffer_pool> pool_;
    std::mutex loading_;  ///< guards the rest until it is loaded
    bool loaded_ = false;
    std::string damage_;  ///< found by an earlier call
    pooled_bytes plain_;
    std::string_view repetition_, definition_, values_;
};

/// The entries of a dictionary page, which its data pages name by number. Any threads.
class dictionary {
  public:
    dictionary(const page_header& header, std::string_view body, const leaf_column& leaf, codec compression,
               std::shared_ptr<buffer_pool> pool)
        : page_(header, body, leaf, compression, std::move(pool)), width_(leaf.width) {}

    std::uint64_t memory_bytes() const {
        return page_.memory_bytes() + (width_ == 0 ? sizeof(std::uint32_t) * page_.header().values : 0);
    }
    /// As page::load().
    void load(std::uint64_t max_bytes);

    // After load():
    std::size_t size() const { return page_.header().values; }
    /// `number` < size().
    std::string_view at(std::size_t number) const {
        if (width_ != 0) return page_.values_.substr(number * width_, width_);
        const char* const begin = page_.values_.data() + begins_[number];
        std::uint32_t length;
        std::memcpy(&length, begin - sizeof length, sizeof length);
        return {begin, length};
    }

  private:
    page page_;
    std::uint32_t width_;
    std::mutex loading_;
    bool loaded_ = false;
    std::vector<std::uint32_t> begins_;  ///< of entries of different lengths, in the page
};

}  // namespace quern::io::parquet
