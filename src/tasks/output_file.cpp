// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/output_file.hpp"

#include "io/files/atomic_file.hpp"

namespace quern {

struct output_file::state {
    io::atomic_file file;
};

output_file::output_file(const std::filesystem::path& path, bool replace)
    : state_(new state{io::atomic_file(path, replace ? io::existing::replace : io::existing::refuse)}) {}
output_file::~output_file() = default;
output_file::output_file(output_file&&) noexcept = default;
output_file& output_file::operator=(output_file&&) noexcept = default;

void output_file::write(std::string_view bytes) {
    state_->file.append(bytes);
}
void output_file::flush() {
    state_->file.writer().flush();
}
void output_file::commit() {
    state_->file.commit();
}

}  // namespace quern
