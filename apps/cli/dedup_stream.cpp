// SPDX-License-Identifier: Apache-2.0
// quern dedup --stream
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "dedup_request.hpp"
#include "kept_file.hpp"
#include "quern/base/error.hpp"

namespace quern::cli {
namespace {

/// Lines of standard input as they arrive. Keeps the first `max` bytes of a longer line.
class line_input {
  public:
    explicit line_input(std::size_t max) : max_(max) {}

    /// Whether there is input now, so that read() does not wait.
    static bool is_ready() {
        pollfd input{STDIN_FILENO, POLLIN, 0};
        return ::poll(&input, 1, 0) > 0;
    }

    /// Waits for input and calls take(line) for every complete line; false at the end of the input.
    template <class Take>
    bool read(const context& ctx, Take take) {
        char piece[1 << 16];
        const ssize_t bytes_read = ::read(STDIN_FILENO, piece, sizeof piece);
        ctx.check_stop();
        if (bytes_read < 0 && errno == EINTR) return true;
        if (bytes_read < 0) throw io_error("standard input", "cannot read", errno);
        for (std::string_view rest(piece, static_cast<std::size_t>(bytes_read)); !rest.empty();) {
            const std::size_t end = rest.find('\n');
            const std::string_view part = rest.substr(0, end);
            line_.append(part.substr(0, max_ - std::min(max_, line_.size())));
            if (end == std::string_view::npos) break;
            take(std::exchange(line_, {}));
            rest.remove_prefix(end + 1);
        }
        if (bytes_read == 0 && !line_.empty()) take(std::exchange(line_, {}));
        return bytes_read != 0;
    }

  private:
    std::size_t max_;
    std::string line_;
};

}  // namespace

int dedup_stream(dedup_request& request, session& job) {
    if (!request.dedup.inputs.empty() && request.dedup.inputs != std::vector<std::filesystem::path>{"-"}) {
        throw usage_error(
            "--stream reads standard input only; give earlier documents with --against or --store");
    }
    if (!request.groups.empty() || !request.kept.empty() || !request.report.empty()) {
        throw usage_error(
            "--groups, --output and --report cannot be combined with --stream; they need all documents");
    }
    if (!request.dedup.prefer.empty())
        throw usage_error("--prefer cannot be combined with --stream, where the first document is kept");
    if (request.pairs == "-")
        throw usage_error("--pairs cannot go to standard output with --stream (expected the name of a file)");
    if (!request.corpus.input_format.empty() && request.corpus.input_format != "jsonl")
        throw usage_error("--stream reads only JSON lines (expected --input-format jsonl)");
    if (request.common.format == row_format::table)
        throw usage_error(
            "--stream cannot write a table, which needs all rows (expected --format tsv or jsonl)");
    request.common.format = request.common.format.value_or(row_format::tsv);  // on a terminal, too
    constexpr std::uint64_t shard_bytes = 64 << 20;
    constexpr std::size_t max_batch_bytes = 64 << 20;
    constexpr std::size_t longest_line =
        (std::size_t{256} << 20) + 1;  // one more than the limit of a document
    request.dedup.shard_bytes = shard_bytes;
    request.dedup.list_pairs = !request.pairs.empty();
    auto pairs_file = open_if({request.pairs}, job);
    output to;
    auto rows = job.rows(to, {"id", "duplicates", "nearest", "distance", "rate"});
    std::vector<duplicate_pair> pairs;
    std::uint64_t with_duplicates = 0, found = 0, lines = 0;
    const cell nothing = std::monostate{};

    duplicate_stream stream(request.dedup, job.ctx);
    job.messages.finish();
    const auto write_result = [&](const duplicate_stream::stream_result& result) {
        ++lines;
        if (!result.is_document) {
            if (result.why.empty()) return;
            job.messages.warning(fmt::format("-:{}: {}", lines, result.why));
            rows.row({nothing, nothing, nothing, nothing, nothing});  // keeps one row per input line
            return;
        }
        found += result.pairs.size();
        with_duplicates += result.duplicates.empty() ? 0 : 1;
        if (pairs_file) pairs.insert(pairs.end(), result.pairs.begin(), result.pairs.end());
        if (result.duplicates.empty()) {
            rows.row({std::string_view(result.id), std::uint64_t{0}, nothing, nothing, nothing});
            return;
        }
        const duplicate_pair& nearest = result.duplicates.front();
        rows.row({std::string_view(result.id), std::uint64_t{result.duplicates.size()}, stream.id(nearest.a),
                  nearest.distance, nearest.rate()});
    };
    std::vector<std::string> waiting;
    const auto process = [&] {
        constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
        std::vector<std::string_view> batch(waiting.begin(), waiting.end());
        if (lines == 0 && !batch.empty() && batch.front().starts_with(byte_order_mark))
            batch.front().remove_prefix(byte_order_mark.size());
        stream.next(batch, write_result);
        waiting.clear();
        rows.finish();
        to.flush();
    };
    job.stage("stream", [&] {
        line_input input(longest_line);
        try {
            for (bool more = true; more;) {
                std::size_t bytes = 0;
                do {
                    more = input.read(job.ctx, [&](std::string&& line) {
                        bytes += line.size();
                        waiting.push_back(std::move(line));
                    });
                } while (more && waiting.size() < stream.batch() && bytes < max_batch_bytes &&
                         line_input::is_ready());
                process();
            }
        } catch (const interrupted&) {
            stream.commit();  // store the documents already answered
            throw;
        } catch (const closed_pipe&) {
            stream.commit();
            throw;
        } catch (const out_of_memory&) {
            stream.commit();
            throw;
        }
        stream.finish();
    });
    if (pairs_file) {
        std::ranges::sort(pairs, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
        auto pair_rows = job.rows(*pairs_file, pair_columns);
        for (const duplicate_pair& p : pairs) write_pair(pair_rows, stream.id(p.a), stream.id(p.b), p);
        pair_rows.finish();
        pairs_file->commit();
    }
    to.commit();
    job.messages.info(fmt::format("{}, {} with duplicates; {} in memory for them and {} earlier ones",
                                  counted(stream.counts().documents, "document"), grouped(with_duplicates),
                                  in_bytes(static_cast<double>(stream.memory_bytes())),
                                  grouped(stream.earlier())));
    job.statistics.device = stream.statistics().device;
    job.statistics.device_reason = stream.statistics().device_reason;
    auto& counts = job.statistics.counts;
    counts["documents"] = stream.counts().documents;
    counts["earlier"] = stream.earlier();
    if (pairs_file) counts["pairs"] = found;
    counts["rejected"] = stream.counts().rejected;
    counts["memory_bytes"] = stream.memory_bytes();
    if (stream.device_bytes() != 0) counts["gpu_memory_bytes"] = stream.device_bytes();
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
