// SPDX-License-Identifier: Apache-2.0
// The encodings of values (parquet-format, Encodings.md).
#include "io/parquet/page_values.hpp"

#include <array>
#include <cstring>

#include "io/parquet/page.hpp"

namespace quern::io::parquet {
namespace {

/// Values that are built are given out in portions of about this size.
constexpr std::size_t max_built_bytes = 1 << 20;

bool is_keys(encoding encoded) {
    return encoded == encoding::rle_dictionary || encoded == encoding::plain_dictionary;
}

std::uint64_t length_of(std::int64_t number) {
    if (number < 0) throw fault("a value of negative length");
    return static_cast<std::uint64_t>(number);
}

[[noreturn]] void throw_unknown(encoding encoded) {
    throw fault("an encoding that its type does not have, or that is not known: number " +
                std::to_string(static_cast<int>(encoded)));
}

template <class Integer>
void append(std::vector<char>& out, Integer value) {
    const auto bytes = std::bit_cast<std::array<char, sizeof value>>(value);
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

page_values::page_values(std::string_view bytes, encoding encoded, const leaf_column& leaf,
                         const dictionary* entries)
    : encoded_(encoded), leaf_(leaf), entries_(entries), in_(bytes), all_(bytes) {
    const bool is_text = leaf.type == physical_type::byte_array;
    const bool is_integer = leaf.type == physical_type::int32 || leaf.type == physical_type::int64;
    // A page of nulls has no values, and may have no bytes.
    if (bytes.empty()) return;
    if (is_keys(encoded)) {
        const unsigned width = in_.byte();
        keys_ = hybrid_decoder(in_.rest(), width);
    } else if (encoded == encoding::rle && leaf.type == physical_type::boolean) {
        keys_ = hybrid_decoder(in_.take(in_.number<std::uint32_t>()), 1);
    } else if (encoded == encoding::delta_binary_packed && is_integer) {
        numbers_ = delta_decoder(bytes);
    } else if (encoded == encoding::delta_length_byte_array && is_text) {
        lengths_ = delta_decoder(bytes);
        in_ = byte_cursor(delta_decoder::bytes_after(bytes));
    } else if (encoded == encoding::delta_byte_array &&
               (is_text || leaf.type == physical_type::fixed_bytes)) {
        fronts_ = delta_decoder(bytes);
        const std::string_view rest = delta_decoder::bytes_after(bytes);
        lengths_ = delta_decoder(rest);
        in_ = byte_cursor(delta_decoder::bytes_after(rest));
    } else if (encoded == encoding::byte_stream_split && leaf.width != 0 &&
               leaf.type != physical_type::boolean) {
        if (bytes.size() % leaf.width != 0) throw fault("a page of split values of unequal numbers");
    } else if (encoded != encoding::plain) {
        throw_unknown(encoded);
    }
}

std::size_t page_values::read(column_batch& out, std::size_t count) {
    if (count == 0) return 0;
    if (all_.empty()) throw fault("a page has fewer values than its levels say");
    if (is_keys(encoded_) || encoded_ == encoding::rle) {
        read_keys(out, count);
    } else if (encoded_ == encoding::delta_binary_packed) {
        read_differences(out, count);
    } else if (encoded_ == encoding::delta_byte_array) {
        return read_fronts(out, count);
    } else if (leaf_.width != 0) {
        read_fixed(out, count);
    } else if (encoded_ == encoding::plain) {
        read_plain(out, count);
    } else {
        read_lengths(out, count);
    }
    return count;
}

void page_values::read_plain(column_batch& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out.texts.push_back(in_.take(in_.number<std::uint32_t>()));
}

std::string_view page_values::next_of_lengths() {
    return in_.take(length_of(lengths_.next()));
}

void page_values::read_lengths(column_batch& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out.texts.push_back(next_of_lengths());
}

void page_values::next_of_fronts() {
    const std::uint64_t front = length_of(fronts_.next());
    if (front > before_.size()) throw fault("a value begins with more of the one before than that has");
    before_.resize(front);
    before_ += next_of_lengths();
}

std::size_t page_values::read_fronts(column_batch& out, std::size_t count) {
    out.built_.clear();
    out.built_bytes_ = 0;
    std::size_t room = 0;
    char* at = nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        if (out.built_bytes_ > max_built_bytes) return i;
        next_of_fronts();
        out.built_bytes_ += before_.size();
        if (leaf_.width != 0) {
            if (before_.size() != leaf_.width) throw fault("a value of another length than its type");
            out.fixed.insert(out.fixed.end(), before_.begin(), before_.end());
            continue;
        }
        if (before_.size() > room) {
            room = std::max<std::size_t>(before_.size(), 64 << 10);
            at = out.built_.emplace_back(std::make_unique_for_overwrite<char[]>(room)).get();
        }
        if (!before_.empty()) std::memcpy(at, before_.data(), before_.size());
        out.texts.emplace_back(at, before_.size());
        at += before_.size();
        room -= before_.size();
    }
    return count;
}

void page_values::read_differences(column_batch& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t value = numbers_.next();
        if (leaf_.width == 4) {
            append(out.fixed, static_cast<std::uint32_t>(value));
        } else {
            append(out.fixed, value);
        }
    }
}

void page_values::read_keys(column_batch& out, std::size_t count) {
    std::array<std::uint32_t, 256> keys{};
    while (count != 0) {
        const auto part = std::span(keys).first(std::min(count, keys.size()));
        keys_.read(part);
        count -= part.size();
        if (encoded_ == encoding::rle) {
            for (const std::uint32_t key : part) out.fixed.push_back(static_cast<char>(key));
            continue;
        }
        for (const std::uint32_t key : part) {
            if (key >= entries_->size()) throw fault("a page names an entry beyond its dictionary");
            const std::string_view value = entries_->at(key);
            if (leaf_.width == 0) {
                out.texts.push_back(value);
            } else {
                out.fixed.insert(out.fixed.end(), value.begin(), value.end());
            }
        }
    }
}

void page_values::read_fixed(column_batch& out, std::size_t count) {
    const std::size_t width = leaf_.width;
    if (leaf_.type == physical_type::boolean) {
        const bit_string bits(all_, 1);
        bits.require(taken_, count);
        for (std::size_t i = 0; i < count; ++i) out.fixed.push_back(static_cast<char>(bits.at(taken_ + i)));
        taken_ += count;
        return;
    }
    const std::size_t all = all_.size() / width;
    if (taken_ > all || all - taken_ < count) throw fault("a page has fewer values than its levels say");
    if (encoded_ == encoding::plain) {
        const std::string_view bytes = all_.substr(taken_ * width, count * width);
        out.fixed.insert(out.fixed.end(), bytes.begin(), bytes.end());
    } else {  // the first bytes of all values, then the second ones
        const std::size_t before = out.fixed.size();
        out.fixed.resize(before + count * width);
        for (std::size_t byte = 0; byte < width; ++byte)
            for (std::size_t i = 0; i < count; ++i)
                out.fixed[before + i * width + byte] = all_[byte * all + taken_ + i];
    }
    taken_ += count;
}

void page_values::skip(std::uint64_t count) {
    if (count == 0) return;
    if (all_.empty()) throw fault("a page has fewer values than its levels say");
    if (is_keys(encoded_) || encoded_ == encoding::rle) {
        keys_.skip(count);
    } else if (encoded_ == encoding::delta_binary_packed) {
        for (; count != 0; --count) numbers_.next();
    } else if (encoded_ == encoding::delta_byte_array) {
        for (; count != 0; --count) next_of_fronts();
    } else if (leaf_.width != 0) {
        taken_ += count;
    } else if (encoded_ == encoding::plain) {
        for (; count != 0; --count) in_.take(in_.number<std::uint32_t>());
    } else {
        for (; count != 0; --count) next_of_lengths();
    }
}

void page_values::check(std::uint64_t count) {
    const bool keys = is_keys(encoded_);
    if (count == 0 || all_.empty() ||
        (!keys && (leaf_.width == 0 || encoded_ == encoding::delta_binary_packed)))
        return skip(count);
    column_batch some;  // of a few hundred values
    while (count != 0) {
        some.texts.clear();
        some.fixed.clear();
        count -= read(some, static_cast<std::size_t>(std::min<std::uint64_t>(count, 256)));
    }
}

}  // namespace quern::io::parquet
