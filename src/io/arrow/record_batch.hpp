// SPDX-License-Identifier: Apache-2.0
// The columns of a record batch: its buffers, decompressed if need be, and checked as a whole. Loaded values can be
// read without further checks: either a batch is damaged, or all of its values can be read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/arrow/ipc_file.hpp"
#include "io/arrow/schema.hpp"
#include "io/pooled_bytes.hpp"

namespace quern::io::arrow {

class dictionary;

/// The values of a field in a batch, or a part of a dictionary.
struct array {
    std::uint64_t length = 0;
    std::string_view validity;  ///< a bit each; empty: none is null
    std::string_view offsets;   ///< of texts and lists
    std::string_view values;    ///< of fixed width, bits, bytes of texts, views; of encoded values the keys
    std::vector<std::string_view> view_bytes;
    std::vector<pooled_bytes> owned;  ///< what was decompressed
    std::uint64_t owned_bytes = 0;
    std::shared_ptr<const dictionary> entries;  ///< of encoded values

    bool is_valid(std::uint64_t at) const {
        return validity.empty() || (static_cast<unsigned char>(validity[at >> 3]) >> (at & 7) & 1U) != 0;
    }
    /// Begin and end of a text or a list.
    std::pair<std::uint64_t, std::uint64_t> range(const field& its, std::uint64_t at) const;
    /// Of texts and views. A null may have any.
    std::string_view text(const field& its, std::uint64_t at) const;
    /// Of encoded values.
    std::uint64_t key(const field& its, std::uint64_t at) const;
};

/// The entries of a dictionary at a position of the file: its first part and later additions.
class dictionary {
  public:
    /// With another part; `before` may be null.
    dictionary(const dictionary* before, std::shared_ptr<const array> part);

    std::uint64_t size() const { return ends_.back(); }
    /// The part with entry `key`, and its number there.
    std::pair<const array*, std::uint64_t> at(std::uint64_t key) const;
    /// The mean bytes of an entry.
    std::uint64_t mean_bytes() const;
    /// Of what was decompressed.
    std::uint64_t memory_bytes() const;

  private:
    std::vector<std::shared_ptr<const array>> parts_;
    std::vector<std::uint64_t> ends_;
};

/// By the number of their field.
using dictionaries = std::map<std::uint32_t, std::shared_ptr<const dictionary>>;

/// The fields that are needed for some leaves of `schema.columns`, in their order and once each.
std::vector<std::uint32_t> fields_of(const arrow_schema& schema, std::span<const std::size_t> leaves);

/// The bytes that load() decompresses for these fields: 0 if nothing is compressed. Throws fault.
std::uint64_t unpacked_bytes(const arrow_schema& schema, std::span<const std::uint32_t> fields,
                             const message& from);

/// One array for each of schema.fields, those of `fields` loaded. Throws fault if they are damaged, out_of_memory if more
/// than `max_bytes` would have to be decompressed.
std::vector<array> load(const arrow_schema& schema, std::span<const std::uint32_t> fields,
                        const message& from, const dictionaries& known, std::uint64_t max_bytes);

/// The entries in a message with a dictionary of such a field. Throws as load() does.
std::shared_ptr<const array> load_entries(const field& its, const message& from, std::uint64_t max_bytes);

}  // namespace quern::io::arrow
