// SPDX-License-Identifier: Apache-2.0
// Files of vectors, written the obvious way.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "device/files/files_fixture.hpp"
#include "io/vectors/vector_file.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

template <class T>
std::string little(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}
template <class T>
std::string big(T value) {
    std::string bytes = little(value);
    std::reverse(bytes.begin(), bytes.end());
    return bytes;
}
template <class T>
std::string little_all(const std::vector<T>& values) {
    std::string bytes;
    for (const T value : values) bytes += little(value);
    return bytes;
}

/// NumPy's, with a header of any text.
inline std::string npy_bytes(const std::string& header, const std::string& values, int version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += static_cast<char>(version);
    bytes += '\0';
    bytes += version == 1 ? little(static_cast<std::uint16_t>(header.size()))
                          : little(static_cast<std::uint32_t>(header.size()));
    return bytes + header + values;
}
inline std::string npy_of(const std::string& descr, const std::string& shape, const std::string& values,
                          int version = 1) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.append(63 - (header.size() + (version == 1 ? 10 : 12)) % 64, ' ');
    return npy_bytes(header + '\n', values, version);
}

/// .fvecs, .bvecs, .ivecs.
template <class T>
std::string vecs_of(const std::vector<std::vector<T>>& rows) {
    std::string bytes;
    for (const auto& row : rows) bytes += little(static_cast<std::int32_t>(row.size())) + little_all(row);
    return bytes;
}
/// .fbin and similar ones.
template <class T>
std::string bin_of(const std::vector<std::vector<T>>& rows, std::size_t columns) {
    std::string bytes =
        little(static_cast<std::uint32_t>(rows.size())) + little(static_cast<std::uint32_t>(columns));
    for (const auto& row : rows) bytes += little_all(row);
    return bytes;
}

template <class T>
std::vector<std::vector<T>> rows_of(const vector_file& file) {
    const vectors_view& view = file.dense();
    std::vector<std::vector<T>> rows(view.rows, std::vector<T>(view.row_bytes() / sizeof(T)));
    for (std::uint64_t i = 0; i < view.rows; ++i)
        std::memcpy(rows[i].data(), view.values.data() + i * view.stride, view.row_bytes());
    return rows;
}

class vector_files : public files {
  protected:
    vector_file opened(const std::string& name, std::string_view bytes,
                       const vector_file_options& options = {}, unsigned threads = 2) const {
        put(at(name), bytes);
        return open_vectors(at(name), options, context::cpu(threads));
    }
    /// The message for a refused file, without its name; "" if it is accepted.
    std::string said_of(const std::string& name, std::string_view bytes,
                        const vector_file_options& options = {}) const {
        return said_by(name, [&] { opened(name, bytes, options); });
    }
    template <class Work>
    std::string said_by(const std::string& name, const Work& work) const {
        try {
            work();
        } catch (const error& refused) {
            std::string text = refused.what();
            const std::string path = at(name).string();
            if (text.starts_with(path)) text.erase(0, path.size());
            return text.starts_with(": ") ? text.substr(2) : text;
        }
        return "";
    }
};

}  // namespace quern::io
