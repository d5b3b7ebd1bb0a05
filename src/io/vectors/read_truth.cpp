// SPDX-License-Identifier: Apache-2.0
// Row ids from files: the nearest neighbours of each query, and allowed rows.
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "io/lines/numbers.hpp"
#include "io/vectors/vector_file_state.hpp"

namespace quern::io {
namespace {

/// Counts the memory of standard-library vectors while they are needed.
class requested {
  public:
    requested(memory_budget& budget, std::uint64_t bytes) : budget_(budget), bytes_(bytes) {
        budget_.take(bytes, "the ids of a file");
    }
    requested(const requested&) = delete;  // the bytes are returned once
    requested& operator=(const requested&) = delete;
    ~requested() { budget_.give_back(bytes_); }

  private:
    memory_budget& budget_;
    std::uint64_t bytes_;
};

class id_reader {
  public:
    id_reader(vector_reading& reading, std::uint64_t rows) : reading_(reading), rows_(rows) {}

    /// The integer at `offset`, below rows. `where`: "query 3".
    std::uint32_t id_at(std::uint64_t offset, number_type type, const std::string& where,
                        std::uint64_t i) const {
        using enum number_type;
        std::uint64_t bits = 0;
        std::memcpy(&bits, reading_.bytes().data() + offset, size_of(type));
        const unsigned unused = 64 - 8 * size_of(type);
        const bool is_signed = type == i8 || type == i16 || type == i32 || type == i64;
        const auto extended = static_cast<std::int64_t>(bits << unused) >> unused;
        const bool negative = is_signed && extended < 0;
        if (!negative && bits < rows_) return static_cast<std::uint32_t>(bits);
        reading_.refuse(std::string(where) + std::to_string(i) + " has the id " +
                        (negative ? std::to_string(extended) : std::to_string(bits)) + " at offset " +
                        std::to_string(offset) + "; there are " + std::to_string(rows_) + " vectors");
    }

    static bool is_integer(number_type type) {
        using enum number_type;
        return type != f16 && type != bf16 && type != f32 && type != f64 && type != boolean;
    }

    /// Non-empty lines, with their numbers: work(line, number).
    template <class Work>
    void each_line(const Work& work) const {
        std::string_view text = reading_.text();
        if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
        for (std::uint64_t number = 1; !text.empty(); ++number) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string_view line = trimmed(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
            if (!line.empty() && line[0] != '#' && line[0] != '%') work(line, number);
        }
    }

    /// Removes an id from the front of a line.
    std::uint32_t take_id(std::string_view& line, std::uint64_t number) const {
        std::uint64_t id = 0;
        const auto read = std::from_chars(line.data(), line.data() + line.size(), id);
        const auto used = static_cast<std::size_t>(read.ptr - line.data());
        const bool ends = used == line.size() || is_space(line[used]) || line[used] == ',';
        if (read.ptr == line.data() || !ends) {
            const std::string_view field = line.substr(0, line.find_first_of(" \t,"));
            reading_.refuse_line(number, io::quoted(field) + " is not the number of a vector");
        }
        if (read.ec != std::errc{} || id >= rows_) {
            reading_.refuse_line(number, "the id " + std::string(line.substr(0, used)) + "; there are " +
                                             std::to_string(rows_) + " vectors");
        }
        line.remove_prefix(used);
        return static_cast<std::uint32_t>(id);
    }

  private:
    const vector_reading& reading_;
    std::uint64_t rows_;
};

// ---- Neighbours ----

class truth_reader {
  public:
    truth_reader(vector_reading& reading, std::uint64_t rows) : reading_(reading), ids_(reading, rows) {}

    neighbour_truth read(std::string_view name) {
        made_ = {};
        if (reading_.text().starts_with(npy_magic))
            take(npy_rows(reading_));
        else if (name.ends_with(".ivecs"))
            take(vecs_rows(reading_, number_type::u32));
        else if (name.ends_with(".ibin") || name.ends_with(".bin"))
            take_bin();
        else
            take_text();
        return std::move(made_);
    }

  private:
    void take(const number_rows& rows) {
        if (!id_reader::is_integer(rows.type))
            reading_.refuse("numbers of type " + std::string(name_of(rows.type)) + "; ids are integers");
        if (rows.rows == 0 || rows.columns == 0) reading_.refuse("the file holds no ids");
        const requested memory(reading_.place.memory(), rows.rows * rows.columns * sizeof(std::uint32_t));
        made_.queries = rows.rows;
        made_.k = rows.columns;
        made_.ids.resize(rows.rows * rows.columns);
        for (std::uint64_t i = 0; i < rows.rows; ++i) {
            for (std::uint64_t j = 0; j < rows.columns; ++j) {
                made_.ids[i * rows.columns + j] =
                    ids_.id_at(rows.begin + i * rows.stride + j * size_of(rows.type), rows.type, "query ", i);
            }
        }
    }

    /// Ids, or ids followed by as many distances: decided by the file size.
    void take_bin() {
        constexpr std::uint64_t header = 8;
        const auto bytes = reading_.bytes();
        if (bytes.size() < header)
            reading_.refuse("the file ends within the header at offset " + std::to_string(bytes.size()));
        std::uint32_t sizes[2];
        std::memcpy(sizes, bytes.data(), sizeof sizes);
        const std::uint64_t count = std::uint64_t{sizes[0]} * sizes[1], bytes_present = bytes.size() - header;
        const bool with_distances = bytes_present % 8 == 0 && bytes_present / 8 == count && count != 0;
        if (!with_distances && (bytes_present % 4 != 0 || bytes_present / 4 != count)) {
            reading_.refuse("says " + std::to_string(sizes[0]) + " queries of " + std::to_string(sizes[1]) +
                            " ids from offset 8: " + std::to_string(count) +
                            " numbers, or twice as many with distances, but " +
                            std::to_string(bytes_present) + " bytes follow");
        }
        take({number_type::u32, false, sizes[0], sizes[1], header, 4 * std::uint64_t{sizes[1]}});
        if (!with_distances) return;
        const requested memory(reading_.place.memory(), count * sizeof(float));
        made_.distances.resize(count);
        std::memcpy(made_.distances.data(), bytes.data() + header + 4 * count, 4 * count);
    }

    void take_text() {
        ids_.each_line([&](std::string_view line, std::uint64_t number) {
            std::uint64_t count = 0;
            while (!line.empty()) {
                made_.ids.push_back(ids_.take_id(line, number));
                ++count;
                line.remove_prefix(std::min(line.find_first_not_of(" \t,"), line.size()));
            }
            if (made_.queries != 0 && count != made_.k) {
                reading_.refuse_line(
                    number, std::to_string(count) + " ids; the lines before have " + std::to_string(made_.k));
            }
            made_.k = count;
            ++made_.queries;
        });
        if (made_.queries == 0) reading_.refuse("the file holds no ids");
    }

    vector_reading& reading_;
    id_reader ids_;
    neighbour_truth made_;
};

// ---- Allowed rows ----

std::vector<std::uint64_t> allowed_of(vector_reading& reading, std::uint64_t rows) {
    const id_reader ids(reading, rows);
    const requested memory(reading.place.memory(), (rows + 63) / 64 * sizeof(std::uint64_t));
    std::vector<std::uint64_t> bits((rows + 63) / 64);
    const auto allow = [&](std::uint64_t id) { bits[id / 64] |= std::uint64_t{1} << id % 64; };
    if (!reading.text().starts_with(npy_magic)) {
        ids.each_line([&](std::string_view line, std::uint64_t number) {
            allow(ids.take_id(line, number));
            if (!line.empty()) reading.refuse_line(number, "more than one number");
        });
        return bits;
    }
    const number_rows all = npy_rows(reading);
    const std::uint64_t count = all.rows * all.columns;
    if (all.type == number_type::boolean) {
        if (count != rows)
            reading.refuse(std::to_string(count) + " booleans; there are " + std::to_string(rows) +
                           " vectors");
        for (std::uint64_t i = 0; i < count; ++i)
            if (reading.bytes()[all.begin + i] != std::byte{0}) allow(i);
        return bits;
    }
    if (!id_reader::is_integer(all.type))
        reading.refuse("numbers of type " + std::string(name_of(all.type)) + "; ids are integers");
    for (std::uint64_t i = 0; i < count; ++i)
        allow(ids.id_at(all.begin + i * size_of(all.type), all.type, "place ", i));
    return bits;
}

/// The result of `read` for the plain bytes of a file.
template <class Read>
auto made_of(const std::filesystem::path& path, const context& ctx, bool as_they_are, const Read& read) {
    cpu_place place(ctx);
    vector_file::state state;
    state.file = whole_file(path, ctx, place.memory());
    const vector_file_options none;
    vector_reading reading{state, none, place};
    decltype(read(reading)) result;
    read_plain(reading, as_they_are, [&] { result = read(reading); });
    return result;
}

}  // namespace

neighbour_truth read_truth(const std::filesystem::path& path, std::uint64_t rows, const context& ctx) {
    const plain_name name(path.string());
    const bool binary = name.text.ends_with(".ivecs") || name.text.ends_with("bin");
    return made_of(path, ctx, binary && !name.says_compressed,
                   [&](vector_reading& reading) { return truth_reader(reading, rows).read(name.text); });
}

std::vector<std::uint64_t> read_allowed(const std::filesystem::path& path, std::uint64_t rows,
                                        const context& ctx) {
    return made_of(path, ctx, false, [&](vector_reading& reading) { return allowed_of(reading, rows); });
}

}  // namespace quern::io
