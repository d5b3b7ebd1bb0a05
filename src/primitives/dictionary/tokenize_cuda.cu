// SPDX-License-Identifier: Apache-2.0
// Marks every byte of the text: a word begins here, a word's last byte is here. The positions of the marks are compacted,
// twice as many as there are words, and the i-th of each kind is word i's.
#include "device/cuda/check.cuh"
#include "primitives/argument_checks.hpp"
#include "primitives/dictionary/byte_classes.hpp"
#include "primitives/dictionary/text_to_ids.hpp"
#include "primitives/segments.cuh"
#include "primitives/select/select.hpp"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned bytes_per_thread = 4;  // one store each to marks and letters

/// Marks of every byte.
struct marks {
    marks(cuda_place& place, std::size_t size)
        : begins(place, size, "marks of words"), lasts(place, size, "marks of words") {}
    cuda_array<std::uint8_t> begins, lasts;
};

struct marked_byte {
    std::uint8_t begins, last, lowered;
};

/// Stores four bytes to an array at a multiple of four; one by one if the array ends among them.
__device__ void store_four(std::uint8_t* to, std::uint64_t first, std::uint64_t size,
                           const std::uint8_t (&four)[4]) {
    if (first + 4 <= size) {
        *reinterpret_cast<uchar4*>(to + first) = make_uchar4(four[0], four[1], four[2], four[3]);
        return;
    }
    for (unsigned k = 0; first + k < size; ++k) to[first + k] = four[k];
}

/// Thread t marks the bytes [4t, 4t + 4) below `size`: any grid that covers them. mark(i) returns the value for byte i;
/// `letters` may be null. No shared memory.
template <class Mark>
__global__ void mark_bytes_kernel(Mark mark, std::uint64_t size, std::uint8_t* begins, std::uint8_t* lasts,
                                  std::uint8_t* letters) {
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::uint64_t first = thread * bytes_per_thread;
    if (first >= size) return;
    std::uint8_t begin[bytes_per_thread] = {}, last[bytes_per_thread] = {}, lowered[bytes_per_thread] = {};
#pragma unroll
    for (unsigned k = 0; k < bytes_per_thread; ++k) {
        if (first + k >= size) break;
        const marked_byte marked = mark(first + k);
        begin[k] = marked.begins;
        last[k] = marked.last;
        lowered[k] = marked.lowered;
    }
    store_four(begins, first, size, begin);
    store_four(lasts, first, size, last);
    if (letters != nullptr) store_four(letters, first, size, lowered);
}

struct mark_of_line {
    const std::uint8_t* text;
    std::uint64_t size;
    __device__ marked_byte operator()(std::uint64_t i) const {
        if (text_bytes::line_ends(text, size, i)) return {};  // LF, or the CR before it
        const bool begins = i == 0 || text[i - 1] == '\n';
        return {begins, text_bytes::line_ends(text, size, i + 1), text[i]};
    }
};

struct mark_of_run {
    const std::uint8_t* text;
    std::uint64_t size;
    bool digits;
    __device__ marked_byte operator()(std::uint64_t i) const {
        const std::uint8_t byte = text[i];
        const bool inside = text_bytes::in_run(byte, digits);
        const bool before = i > 0 && text_bytes::in_run(text[i - 1], digits);
        const bool after = i + 1 < size && text_bytes::in_run(text[i + 1], digits);
        return {inside && !before, inside && !after, text_bytes::lowered(byte)};
    }
};

/// One thread per document: words begin and end at its bounds. Documents that begin at the same byte store the same.
__global__ void mark_documents_kernel(segments_view documents, mark_of_run rule, std::uint8_t* begins,
                                      std::uint8_t* lasts) {
    const std::uint64_t d = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (documents.broken() || d >= documents.count) return;
    const std::uint64_t at = documents.offsets[d];
    if (at == 0 || at >= rule.size) return;
    if (text_bytes::in_run(rule.text[at], rule.digits)) begins[at] = 1;
    if (text_bytes::in_run(rule.text[at - 1], rule.digits)) lasts[at - 1] = 1;
}

/// One thread per offset: the number of words that begin before document d.
__global__ void count_words_before_kernel(segments_view documents, const std::uint32_t* begins,
                                          std::uint64_t words, std::uint64_t* offsets) {
    const std::uint64_t d = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (d > documents.count || documents.broken()) return;
    const std::uint64_t at = documents.offsets[d];
    std::uint64_t before = 0;
    for (std::uint64_t left = words; left > 0;) {
        const std::uint64_t half = (left + 1) / 2;
        if (begins[before + half - 1] < at) before += half;
        left -= half;
    }
    offsets[d] = before;
}

/// One thread per word: copies its begin and its end, one past its last byte.
__global__ void take_words_kernel(const std::uint32_t* begins, const std::uint32_t* lasts,
                                  std::uint64_t count, std::uint32_t* begins_out, std::uint32_t* ends_out) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    begins_out[i] = begins[i];
    ends_out[i] = lasts[i] + 1;
}

/// One thread per word of a text of lines: whether it begins a document.
__global__ void mark_first_words_kernel(const std::uint8_t* text, const std::uint32_t* begins,
                                        std::uint64_t count, std::uint8_t* first) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) first[i] = text_bytes::after_empty_line(text, begins[i]) ? 1 : 0;
}

cuda::launch_shape shape_for(std::size_t items) {
    return {cuda::blocks_for(items, block_threads), block_threads};
}

template <class Mark>
void mark_bytes(cuda_place& place, const Mark& mark, const marks& to, std::uint8_t* letters) {
    const std::size_t groups = (mark.size + bytes_per_thread - 1) / bytes_per_thread;
    QUERN_LAUNCH(place, shape_for(groups), (mark_bytes_kernel<Mark>), mark, mark.size, to.begins.data(),
                 to.lasts.data(), letters);
}

/// The words between marks of `size` bytes.
void take_words(cuda_place& place, const marks& marked, std::size_t size, tokenized_text<cuda_place>& out) {
    const cuda_array<std::uint32_t> begins(place, size, "the words of a text"),
        lasts(place, size, "the words of a text");
    const device_span<const std::uint8_t> begin_marks = marked.begins.span(),
                                          last_marks = marked.lasts.span();
    const std::size_t words = compact_positions<std::uint32_t>(place, begin_marks.first(size), begins.span());
    compact_positions<std::uint32_t>(place, last_marks.first(size), lasts.span());
    out.begins = make_array<std::uint32_t>(place, words, "the words of a text");
    out.ends = make_array<std::uint32_t>(place, words, "the words of a text");
    QUERN_LAUNCH(place, shape_for(words), take_words_kernel, begins.data(), lasts.data(), words,
                 out.begins.data(), out.ends.data());
}

}  // namespace

tokenized_text<cuda_place> tokenize_lines(cuda_place& place, device_span<const std::uint8_t> text) {
    check_32_bits("cut_lines", text.size(), "bytes", "positions");
    tokenized_text<cuda_place> out;
    {
        const marks marked(place, text.size());
        mark_bytes(place, mark_of_line{text.data(), text.size()}, marked, nullptr);
        take_words(place, marked, text.size(), out);
    }
    const std::size_t words = out.begins.size();
    const cuda_array<std::uint8_t> first(place, words, "marks of documents");
    QUERN_LAUNCH(place, shape_for(words), mark_first_words_kernel, text.data(), out.begins.data(), words,
                 first.data());
    const cuda_array<std::uint64_t> positions(place, words, "the documents of a text");
    const device_span<const std::uint8_t> first_marks = first.span();
    const std::size_t documents = compact_positions<std::uint64_t>(place, first_marks, positions.span());
    out.document_offsets = make_array<std::uint64_t>(place, documents + 1, "the documents of a text");
    place.copy_within(out.document_offsets.data(), positions.data(), documents * sizeof(std::uint64_t));
    const std::uint64_t end = words;
    place.copy_in(out.document_offsets.data() + documents, &end, sizeof end);
    return out;
}

tokenized_text<cuda_place> tokenize_runs(cuda_place& place, device_span<const std::uint8_t> text,
                                         device_span<const std::uint64_t> documents, run_of what) {
    check_32_bits("cut_runs", text.size(), "bytes", "positions");
    const checked_segments checked(place, documents, text.size());
    const std::size_t count = segments_in(documents.size());
    const mark_of_run rule{text.data(), text.size(), what == run_of::letters_and_digits};
    tokenized_text<cuda_place> out;
    out.letters = make_array<std::uint8_t>(place, text.size(), "a text in lower case");
    const marks marked(place, text.size());
    mark_bytes(place, rule, marked, out.letters.data());
    QUERN_LAUNCH(place, shape_for(count), mark_documents_kernel, checked.view(), rule, marked.begins.data(),
                 marked.lasts.data());
    take_words(place, marked, text.size(), out);
    out.document_offsets = make_array<std::uint64_t>(place, count + 1, "the documents of a text");
    if (documents.empty()) {
        const std::uint64_t none = 0;
        place.copy_in(out.document_offsets.data(), &none, sizeof none);
    } else {
        QUERN_LAUNCH(place, shape_for(count + 1), count_words_before_kernel, checked.view(),
                     out.begins.data(), out.begins.size(), out.document_offsets.data());
    }
    place.synchronise();  // throws the faults of the documents
    return out;
}

}  // namespace quern::primitives
