// SPDX-License-Identifier: Apache-2.0
// word2vec's binary file: "WORDS DIMENSIONS\n", then for each word its bytes, a blank and its float32 numbers, with or
// without a following line feed. The position of a row depends on the words before it, so that one thread finds and
// copies them.
#include <cstring>
#include <string>

#include "io/lines/numbers.hpp"
#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

constexpr std::size_t longest_header = 64, longest_word = std::size_t{1} << 16;

class word2vec_reader {
  public:
    explicit word2vec_reader(vector_reading& reading) : reading_(reading), text_(reading.text()) {}

    void read() {
        take_header();
        const auto least = product_of(rows_, 4 * columns_ + 1);  // an empty word, a blank
        if (!least || *least > text_.size() - at_) {
            reading_.refuse("says " + std::to_string(rows_) + " words of " + std::to_string(columns_) +
                            " float32 from offset " + std::to_string(at_) + ", but the file ends at offset " +
                            std::to_string(text_.size()));
        }
        auto& values = reading_.made.values;
        values = large_array<std::byte>(reading_.place.memory(), "vectors", rows_ * columns_ * sizeof(float));
        for (std::uint64_t i = 0; i < rows_; ++i) {
            if (i % 4096 == 0) reading_.place.ctx().check_stop();
            take_row(i, values.data() + i * columns_ * sizeof(float));
        }
        values.settle();
        skip_line_feed();
        if (at_ != text_.size()) {
            reading_.refuse(std::to_string(text_.size() - at_) + " bytes follow the last of " +
                            std::to_string(rows_) + " words at offset " + std::to_string(at_));
        }
        reading_.made.dense = {vector_type::f32, rows_, static_cast<std::uint32_t>(columns_),
                               columns_ * sizeof(float), values.span()};
        keep_names();
    }

  private:
    void take_header() {
        const std::string_view line = text_.substr(0, std::min(text_.find('\n'), longest_header));
        const std::size_t blank = std::min(line.find(' '), line.size());
        std::string_view second = line.substr(std::min(blank + 1, line.size()));
        while (second.ends_with(' ') || second.ends_with('\r')) second.remove_suffix(1);
        const auto rows = integer_of(line.substr(0, blank)), columns = integer_of(second);
        if (!rows || !columns || line.size() == text_.size())
            reading_.refuse(
                "not a word2vec file (expected a first line of two numbers, words and dimensions)");
        constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
        if (*rows >= max || *columns == 0 || *columns > max) {
            reading_.refuse(
                "says " + std::to_string(*rows) + " words of " + std::to_string(*columns) +
                " numbers at offset 0; fewer than 2^32 - 1 words of 1 to 2^32 - 1 numbers are read");
        }
        rows_ = *rows;
        columns_ = *columns;
        at_ = line.size() + 1;
    }

    void skip_line_feed() {
        if (at_ < text_.size() && text_[at_] == '\n') ++at_;
    }

    void take_row(std::uint64_t i, std::byte* out) {
        skip_line_feed();
        const std::uint64_t begin = at_, bytes = columns_ * sizeof(float);
        const std::size_t size = text_.substr(at_, longest_word).find(' ');
        if (size == std::string_view::npos) {
            reading_.refuse("word " + std::to_string(i) + " at offset " + std::to_string(begin) +
                            " does not end with a blank before offset " +
                            std::to_string(std::min<std::uint64_t>(begin + longest_word, text_.size())));
        }
        at_ += size + 1;
        if (text_.size() - at_ < bytes) {
            reading_.refuse("word " + std::to_string(i) + " at offset " + std::to_string(begin) + " has " +
                            std::to_string(columns_) + " float32, but the file ends at offset " +
                            std::to_string(text_.size()));
        }
        std::memcpy(out, text_.data() + at_, bytes);
        at_ += bytes;
        words_ += text_.substr(begin, size);
        ends_.push_back(words_.size());
    }

    void keep_names() {
        vector_file::state& made = reading_.made;
        made.name_bytes = large_array<char>(reading_.place.memory(), "the words of vectors", words_.size());
        made.name_bytes.settle();
        if (!words_.empty()) std::memcpy(made.name_bytes.data(), words_.data(), words_.size());
        made.names.reserve(rows_);
        std::uint64_t begin = 0;
        for (const std::uint64_t end : ends_) {
            made.names.emplace_back(made.name_bytes.data() + begin, end - begin);
            begin = end;
        }
    }

    vector_reading& reading_;
    std::string_view text_;
    std::uint64_t rows_ = 0, columns_ = 0, at_ = 0;
    std::string words_;
    std::vector<std::uint64_t> ends_;
};

}  // namespace

void read_word2vec(vector_reading& reading) {
    word2vec_reader(reading).read();
    reading.made.file.let_go();
}

}  // namespace quern::io
