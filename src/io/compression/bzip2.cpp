// SPDX-License-Identifier: Apache-2.0
// bzip2 files, with blocks decoded in parallel. Threads cut the input where a block seems to begin and decode the
// pieces ahead of the reader. The reader follows the file's true structure (stream header, contiguous blocks, end of
// stream with its checksum) and takes the blocks on this path from the pieces. A magic number that occurs inside a
// block by chance costs time, never correctness: the block is cut off in its piece, and is decoded again from its piece
// joined with the following ones.
#include <algorithm>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "io/compression/bzip2_pieces.hpp"
#include "io/compression/decoder.hpp"

namespace quern::io {
namespace bzip2 {
namespace {

/// Pieces in order, read and decoded ahead by worker threads; without workers, on demand.
class piece_queue {
  public:
    explicit piece_queue(raw_input& input) : input_(input), reader_(input) {
        constexpr std::uint64_t bytes_per_worker = std::uint64_t{16} << 20;  // workspace and three pieces
        const std::uint64_t fitting = input.ctx().memory_limit() / 4 / bytes_per_worker;
        max_workers_ = static_cast<unsigned>(
            std::clamp<std::uint64_t>(input.ctx().thread_count(), 1, std::max<std::uint64_t>(fitting, 1)));
        if (input.ctx().thread_count() == 1) max_workers_ = 0;
    }
    ~piece_queue() {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        input_.cancel();
        changed_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    piece_queue(const piece_queue&) = delete;  // its threads point to it
    piece_queue& operator=(const piece_queue&) = delete;

    /// The piece that holds bit `position`, null past the end of the input. Drops pieces that end at or before `done`.
    std::shared_ptr<piece> holding(std::uint64_t position, std::uint64_t done);
    /// Waits until the piece is decoded.
    void finish(piece& wanted);
    /// Removes the piece after `last` from the queue, null at the end of the input.
    std::shared_ptr<piece> take_after(const piece& last);
    /// A workspace for the reader's thread.
    block_decoder& workspace() {
        if (!workspace_) workspace_ = std::make_unique<block_decoder>();
        return *workspace_;
    }
    /// Returns a buffer for reuse.
    void recycle(std::vector<std::uint8_t>&& buffer) {
        const std::lock_guard lock(mutex_);
        if (buffer.capacity() != 0 && spare_.size() < max_workers_ + 2U) spare_.push_back(std::move(buffer));
    }

  private:
    bool wait_or_read(std::unique_lock<std::mutex>& lock);
    void read_one(std::unique_lock<std::mutex>& lock);
    void decode_one(std::unique_lock<std::mutex>& lock, piece& taken, block_decoder& workspace);
    void add_worker();
    void work() noexcept;
    void work_until_stopped(std::unique_lock<std::mutex>& lock);
    bool may_read() const { return !reading_ && !ended_ && pieces_.size() < 2U * max_workers_ + 2U; }
    /// The first piece that no thread decodes yet, or null.
    std::shared_ptr<piece> undecoded() const {
        const auto found =
            std::ranges::find(pieces_, piece::progress::waiting, [](const auto& p) { return p->state; });
        return found == pieces_.end() ? nullptr : *found;
    }

    raw_input& input_;
    piece_reader reader_;  ///< used by the thread that set reading_
    unsigned max_workers_ = 0;
    std::unique_ptr<block_decoder> workspace_;

    std::mutex mutex_;  ///< guards everything below, and every piece's state
    std::condition_variable changed_;
    std::deque<std::shared_ptr<piece>> pieces_;
    std::vector<std::vector<std::uint8_t>> spare_;
    std::vector<std::thread> workers_;
    std::uint64_t pieces_read_ = 0;
    unsigned waiting_pieces_ = 0;
    bool reading_ = false;
    bool ended_ = false;
    bool stopped_ = false;
    std::exception_ptr read_failure_;  ///< thrown at the end of the pieces
};

std::shared_ptr<piece> piece_queue::holding(std::uint64_t position, std::uint64_t done) {
    std::unique_lock lock(mutex_);
    while (true) {
        while (!pieces_.empty() && pieces_.front()->end_bit <= done) {
            if (pieces_.front()->state == piece::progress::waiting) --waiting_pieces_;
            pieces_.pop_front();
            changed_.notify_all();
        }
        for (const auto& candidate : pieces_) {
            if (candidate->start_bit <= position && position < candidate->end_bit) return candidate;
        }
        if (!wait_or_read(lock)) return nullptr;
    }
}

std::shared_ptr<piece> piece_queue::take_after(const piece& last) {
    std::unique_lock lock(mutex_);
    while (true) {
        for (auto at = pieces_.begin(); at != pieces_.end(); ++at) {
            if ((*at)->start_bit != last.end_bit) continue;
            auto taken = *at;
            if (taken->state == piece::progress::waiting) --waiting_pieces_;
            pieces_.erase(at);
            changed_.notify_all();
            return taken;
        }
        if (!wait_or_read(lock)) return nullptr;
    }
}

/// Waits until the queue has changed; false if no further piece will come.
bool piece_queue::wait_or_read(std::unique_lock<std::mutex>& lock) {
    if (ended_) {
        if (read_failure_) std::rethrow_exception(read_failure_);
        return false;
    }
    if (max_workers_ != 0 && workers_.empty()) add_worker();
    if (max_workers_ == 0) {
        read_one(lock);
    } else {
        const std::uint64_t seen = pieces_read_;
        changed_.wait(lock, [&] { return pieces_read_ != seen || ended_; });
    }
    return true;
}

void piece_queue::read_one(std::unique_lock<std::mutex>& lock) {
    reading_ = true;
    lock.unlock();
    std::shared_ptr<piece> made;
    std::exception_ptr failure;
    try {
        made = reader_.next();
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    reading_ = false;
    if (made) {
        pieces_.push_back(std::move(made));
        ++pieces_read_;
        if (pieces_.back()->begins_block) ++waiting_pieces_;
        if (waiting_pieces_ > 1 && workers_.size() < max_workers_ && !stopped_) add_worker();
    } else {
        ended_ = true;
        read_failure_ = failure;
    }
    changed_.notify_all();
}

void piece_queue::decode_one(std::unique_lock<std::mutex>& lock, piece& taken, block_decoder& workspace) {
    taken.state = piece::progress::running;
    --waiting_pieces_;
    if (!spare_.empty()) {
        taken.result.bytes = std::move(spare_.back());
        spare_.pop_back();
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
        taken.decode(workspace);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    taken.failure = failure;
    taken.state = piece::progress::done;
    changed_.notify_all();
}

void piece_queue::finish(piece& wanted) {
    std::unique_lock lock(mutex_);
    // The only worker may be waiting for a slow pipe.
    if (wanted.state == piece::progress::waiting && workers_.size() < max_workers_) add_worker();
    const unsigned at_the_pipe = reading_ ? 1 : 0;
    if (wanted.state == piece::progress::waiting && workers_.size() == at_the_pipe)
        decode_one(lock, wanted, workspace());
    changed_.wait(lock, [&] { return wanted.state == piece::progress::done; });
    if (wanted.failure) std::rethrow_exception(wanted.failure);
}

/// Adds a worker. If the system refuses, the existing workers suffice, or else the reader's thread.
void piece_queue::add_worker() {
    try {
        workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        max_workers_ = static_cast<unsigned>(workers_.size());
    }
}

void piece_queue::work() noexcept {
    std::unique_lock lock(mutex_);
    try {
        work_until_stopped(lock);
    } catch (...) {  // out of memory for the queue itself: reported to the reader at the end of the pieces
        if (!lock.owns_lock()) lock.lock();
        read_failure_ = std::current_exception();
        ended_ = true;
        changed_.notify_all();
    }
}

void piece_queue::work_until_stopped(std::unique_lock<std::mutex>& lock) {
    std::unique_ptr<block_decoder> workspace;
    while (true) {
        const auto reads = [this] { return may_read() && waiting_pieces_ <= max_workers_; };
        std::shared_ptr<piece> taken;  // keeps it while the reader may drop it
        changed_.wait(lock, [&] { return stopped_ || reads() || (taken = undecoded()); });
        if (stopped_) return;
        if (reads()) {
            read_one(lock);
            if (waiting_pieces_ < 2 && max_workers_ > 1) continue;  // work for another worker too
            taken = undecoded();
        }
        if (!taken) continue;
        try {
            if (!workspace) workspace = std::make_unique<block_decoder>();
        } catch (...) {
            taken->failure = std::current_exception();
            taken->state = piece::progress::done;
            --waiting_pieces_;
            changed_.notify_all();
            continue;
        }
        decode_one(lock, *taken, *workspace);
    }
}

/// Follows the file's structure.
class bzip2_decoder final : public decoder {
  public:
    explicit bzip2_decoder(raw_input& input) : input_(input), pieces_(input) {}

    std::size_t decode(std::span<char> out) override {
        input_.ctx().check_stop();
        while (true) {
            if (const std::size_t count = expander_.expand(out)) return count;
            if (!next_block()) return 0;
        }
    }

  private:
    bool next_block();
    bool begin_stream();
    void end_stream();
    void take_block(const std::shared_ptr<piece>& which);
    void join_and_decode(piece& front);
    void cut(piece& front);
    std::optional<std::uint64_t> bits(std::uint64_t position, unsigned count);
    [[noreturn]] void fail(const char* problem) { throw_damaged(input_, "bzip2", position_ / 8, problem); }

    raw_input& input_;
    piece_queue pieces_;
    std::vector<std::uint8_t> current_;  ///< the input of expander_
    run_expander expander_;
    std::uint64_t position_ = 0;     ///< the file is parsed up to this bit
    std::uint32_t checksum_ = 0;     ///< of the stream's blocks so far
    std::uint32_t block_limit_ = 0;  ///< of the stream; 0: between streams
    bool first_stream_ = true;
};

/// False at the end of the file.
bool bzip2_decoder::next_block() {
    while (true) {
        if (block_limit_ == 0 && !begin_stream()) return false;
        const auto magic = bits(position_, magic_bits);
        if (!magic) throw_cut_off(input_, "bzip2", input_.consumed());
        if (*magic == end_magic) {
            end_stream();
        } else if (*magic == block_magic) {
            take_block(pieces_.holding(position_, position_));
            return true;
        } else {
            fail("neither a block nor the end of the stream");
        }
    }
}

bool bzip2_decoder::begin_stream() {
    if (!first_stream_ && !bits(position_, 1)) return false;
    const auto header = bits(position_, 32);
    const auto level = header ? static_cast<std::uint32_t>(*header & 0xff) - '0' : 0U;
    if (header && *header >> 8 == 0x425a68U && level >= 1 && level <= 9) {
        position_ += 32;
        block_limit_ = level * 100'000;
        checksum_ = 0;
        first_stream_ = false;
        return true;
    }
    // A file truncated inside a header still shows the header's first bytes.
    unsigned present = 0;
    while (present < 3 && bits(position_, 8 * (present + 1)) == 0x425a68U >> 8 * (2 - present)) ++present;
    if (!header && !bits(position_, 8 * (present + 1))) throw_cut_off(input_, "bzip2", input_.consumed());
    if (first_stream_) fail("invalid header");
    throw_trailing(input_, "bzip2", position_ / 8);
}

void bzip2_decoder::end_stream() {
    const auto stored = bits(position_ + magic_bits, 32);
    if (!stored) throw_cut_off(input_, "bzip2", input_.consumed());
    const bool sound = *stored == checksum_;
    const std::uint64_t at = position_ / 8;
    position_ = (position_ + magic_bits + 32 + 7) / 8 * 8;
    if (!sound) {
        throw_damaged(input_, "bzip2", at, "checksum mismatch of the whole stream",
                      bits(position_, 1) ? after_damage::unread : after_damage::nothing);
    }
    block_limit_ = 0;
}

void bzip2_decoder::take_block(const std::shared_ptr<piece>& which) {
    if (which->start_bit == position_ && which->begins_block) {
        pieces_.finish(*which);
    } else {  // inside joined pieces
        cut(*which);
        which->decode(pieces_.workspace());
    }
    if (which->result.state == block_state::cut_off) join_and_decode(*which);
    block& decoded = which->result;
    if (decoded.state == block_state::cut_off) throw_cut_off(input_, "bzip2", input_.consumed());
    if (decoded.state == block_state::damaged) fail(decoded.problem);
    if (decoded.bytes.size() > block_limit_) fail("a block is larger than its stream allows");
    checksum_ = std::rotl(checksum_, 1) ^ decoded.checksum;
    position_ = which->end_of_block();
    pieces_.recycle(std::move(current_));
    current_ = std::move(decoded.bytes);
    expander_ = run_expander(current_);
}

/// A false magic cut the true block: adds pieces until it is whole. Each attempt has twice the bytes of the last one,
/// so that many false magics do not make it slow.
void bzip2_decoder::join_and_decode(piece& front) {
    bool more = true;
    while (more && front.result.state == block_state::cut_off &&
           front.packed.size() < 2 * largest_packed_block) {
        const std::size_t wanted = 2 * front.packed.size();
        while (front.packed.size() < wanted) {
            const auto next = pieces_.take_after(front);
            more = next != nullptr;
            if (!more) break;
            // Both hold the byte in which they meet, unless they meet at a byte boundary.
            front.packed.resize(front.packed.size() - padding - (front.end_bit % 8 != 0 ? 1 : 0));
            front.packed.insert(front.packed.end(), next->packed.begin(), next->packed.end());
            front.end_bit = next->end_bit;
        }
        front.decode(pieces_.workspace());
    }
}

/// Makes the piece begin at position_.
void bzip2_decoder::cut(piece& front) {
    const auto before = static_cast<std::ptrdiff_t>(position_ / 8 - front.first_byte());
    front.packed.erase(front.packed.begin(), front.packed.begin() + before);
    front.start_bit = position_;
    front.begins_block = true;
}

/// Nothing if the input ends before.
std::optional<std::uint64_t> bzip2_decoder::bits(std::uint64_t position, unsigned count) {
    std::uint64_t value = 0;
    std::shared_ptr<piece> from;
    for (const std::uint64_t end = position + count; position < end; ++position) {
        if (!from || position >= from->end_bit) from = pieces_.holding(position, position_);
        if (!from) return std::nullopt;
        value = value << 1 | (from->bit(position) ? 1U : 0U);
    }
    return value;
}

}  // namespace
}  // namespace bzip2

std::unique_ptr<decoder> make_bzip2_decoder(raw_input& input) {
    return std::make_unique<bzip2::bzip2_decoder>(input);
}

}  // namespace quern::io
