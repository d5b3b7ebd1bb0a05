// SPDX-License-Identifier: Apache-2.0
// Learned weights of words (SPLADE, uniCOIL, DeepImpact and others, as Pyserini exchanges them): JSON lines with an id
// and a vector, which is {"vector": {"word": weight, …}}, or {"indices": ["word", …], "values": [weight, …]} with words or
// integers. A title is kept; of other members those that are asked for (kept_fields.hpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/corpus/record_reader.hpp"

namespace quern::io {

/// Weights are below this.
inline constexpr float weight_limit = 1 << 17;

/// Documents with word_listing::weights: the words in the order of the line, without those of weight 0; weights are
/// rounded to the nearest float. Lines without a vector, with a weight that is negative or not below weight_limit, with a
/// word that is empty, has a line end or occurs twice are rejected.
std::shared_ptr<const record_form> weights_form(const document_fields& fields = {});

/// Whether the first line is such an object.
bool opens_as_weights(std::string_view head, bool whole);

/// A list of weights from elsewhere: words without those of weight 0. Sets `problem` if there is one.
std::string checked_weights(std::string_view listed, std::string& problem);

}  // namespace quern::io
