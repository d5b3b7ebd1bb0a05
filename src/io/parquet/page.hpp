// SPDX-License-Identifier: Apache-2.0
// One page of a column: found by its header, decompressed when it is first needed, and shared by whoever reads from it.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "io/parquet/metadata.hpp"

namespace quern::io::parquet {

/// Bytes as they lie in the file until they are decompressed. Any threads.
class page {
  public:
    page(const page_header& header, std::string_view body, const leaf_column& leaf, codec compression)
        : header_(header), body_(body), leaf_(leaf), codec_(compression) {}

    const page_header& header() const { return header_; }
    /// The memory that load() needs, or has taken.
    std::uint64_t memory_bytes() const {
        return codec_ == codec::none && header_.plain_bytes == body_.size() ? 0 : header_.plain_bytes;
    }
    /// Decompresses it, once. Throws fault, and out_of_memory if it needs more than `max_bytes`; a later call may have
    /// more.
    void load(std::uint64_t max_bytes);

    // After load():
    std::string_view repetition_levels() const { return repetition_; }  ///< hybrid
    std::string_view definition_levels() const { return definition_; }  ///< hybrid
    std::string_view values() const { return values_; }

  private:
    void split_version_1();
    void check_sum() const;

    page_header header_;
    std::string_view body_;
    leaf_column leaf_;
    codec codec_;
    std::mutex loading_;  ///< guards the rest until it is loaded
    bool loaded_ = false;
    std::unique_ptr<char[]> plain_;
    std::string_view repetition_, definition_, values_;
};

/// The entries of a dictionary page, which its data pages name by number. Any threads.
class dictionary {
  public:
    dictionary(const page_header& header, std::string_view body, const leaf_column& leaf, codec compression)
        : page_(header, body, leaf, compression), width_(leaf.width) {}

    std::uint64_t memory_bytes() const {
        return page_.memory_bytes() + (width_ == 0 ? sizeof(std::uint32_t) * page_.header().values : 0);
    }
    /// As page::load().
    void load(std::uint64_t max_bytes);

    // After load():
    std::size_t size() const { return page_.header().values; }
    /// `number` < size().
    std::string_view at(std::size_t number) const {
        if (width_ != 0) return page_.values().substr(number * width_, width_);
        const char* const begin = page_.values().data() + begins_[number];
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
