// SPDX-License-Identifier: Apache-2.0
// A result of rows: named columns of equal length, which Python reads as NumPy arrays, as rows, or as an Arrow stream.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quern::python {

/// A NumPy array that owns the values; read-only if they are shared.
template <class Value>
nanobind::ndarray<nanobind::numpy, const Value> array_of(std::shared_ptr<const std::vector<Value>> values,
                                                         std::initializer_list<std::size_t> shape = {}) {
    auto* const owner = new std::shared_ptr<const std::vector<Value>>(values);
    const nanobind::capsule kept(owner, [](void* given) noexcept {
        delete static_cast<std::shared_ptr<const std::vector<Value>>*>(given);
    });
    const std::size_t all[] = {values->size()};
    if (shape.size() == 0) return {values->data(), 1, all, kept};
    return {values->data(), shape.size(), shape.begin(), kept};
}
template <class Value>
nanobind::ndarray<nanobind::numpy, const Value> array_of(std::vector<Value>&& values,
                                                         std::initializer_list<std::size_t> shape = {}) {
    return array_of(std::make_shared<const std::vector<Value>>(std::move(values)), shape);
}

/// A NumPy array of bool, from bytes 0 and 1; owns them.
nanobind::object flags_of(std::shared_ptr<const std::vector<std::uint8_t>> values);

/// Texts one after the other; text i is bytes [offsets[i], offsets[i + 1]). Arrow's large_string.
struct text_column {
    std::vector<std::int64_t> offsets{0};
    std::string bytes;

    void add(std::string_view text) {
        bytes.append(text);
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    }
    std::size_t size() const { return offsets.size() - 1; }
    std::string_view at(std::size_t row) const {
        const auto begin = static_cast<std::size_t>(offsets[row]);
        return std::string_view(bytes).substr(begin, static_cast<std::size_t>(offsets[row + 1]) - begin);
    }
};

/// Values by type; bool as bytes 0 and 1.
struct bool_column {
    std::vector<std::uint8_t> values;
    std::size_t size() const { return values.size(); }
};
template <class Number>
using number_column = std::vector<Number>;

class table {
  public:
    using column = std::variant<std::shared_ptr<const text_column>, std::shared_ptr<const bool_column>,
                                std::shared_ptr<const number_column<std::uint32_t>>,
                                std::shared_ptr<const number_column<std::uint64_t>>,
                                std::shared_ptr<const number_column<std::int64_t>>,
                                std::shared_ptr<const number_column<double>>,
                                std::shared_ptr<const number_column<float>>>;

    /// `what`: of a row, in the plural, for repr: "pairs".
    explicit table(std::string what) : what_(std::move(what)) {}

    /// A column as long as the others.
    template <class Column>
    table& add(std::string name, Column values) {
        rows_ = values.size();
        columns_.emplace_back(std::move(name), std::make_shared<const Column>(std::move(values)));
        return *this;
    }

    std::size_t rows() const { return rows_; }
    const std::vector<std::pair<std::string, column>>& columns() const { return columns_; }
    const std::string& what() const { return what_; }

  private:
    std::string what_;
    std::size_t rows_ = 0;
    std::vector<std::pair<std::string, column>> columns_;
};

/// Makes the class quern.Table.
void declare_table(nanobind::module_& module);

}  // namespace quern::python
