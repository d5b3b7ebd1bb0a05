// SPDX-License-Identifier: Apache-2.0
// The fingerprint of a result: XXH3, 64 bits, of the bytes that the program writes for it in TSV.
#pragma once

#include <xxhash.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/rows.hpp"

namespace quern::python {

class fingerprint {
  public:
    fingerprint() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }

    void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
    /// 16 hexadecimal digits, as `xxhsum -H3` prints them.
    std::string text() const;

  private:
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

/// Of rows as the program writes them.
template <class Rows>
std::string fingerprint_of_rows(std::vector<std::string> columns, Rows each) {
    fingerprint made;
    row_writer rows(row_format::tsv, std::move(columns), [&](std::string_view bytes) { made.add(bytes); });
    each(rows);
    rows.finish();
    return made.text();
}

}  // namespace quern::python
