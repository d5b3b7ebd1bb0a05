// SPDX-License-Identifier: Apache-2.0
// Every way an operation can fail. Library code throws one of these and nothing else; each door maps the type
// once: the command line to an exit code, the server to a status, Python to an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quern {

/// The root of Quern's exceptions. `what()` is one complete sentence for the user, without a final stop.
class error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The request itself is refused before any work: a bad argument, a missing input, an output that exists.
class usage_error : public error {
  public:
    using error::error;
};

/// The input's content is bad. `line` counts from 1; 0 where the input has no lines.
class invalid_input : public error {
  public:
    invalid_input(std::string_view path, std::uint64_t line, std::string_view reason);
    const std::string& path() const noexcept { return path_; }
    std::uint64_t line() const noexcept { return line_; }
    const std::string& reason() const noexcept { return reason_; }

  private:
    std::string path_;
    std::uint64_t line_;
    std::string reason_;
};

/// A value of an array is refused. `position` counts from 0.
class invalid_value : public error {
  public:
    invalid_value(std::string_view reason, std::uint64_t position)
        : error(std::string(reason)), position_(position) {}
    std::uint64_t position() const noexcept { return position_; }

  private:
    std::uint64_t position_;
};

/// Something is wrong in one of several lists. `list` and `position` count from 0.
class list_fault : public invalid_value {
  public:
    list_fault(std::size_t list, std::uint64_t position, std::string_view reason)
        : invalid_value(reason, position), list_(list) {}
    std::size_t list() const noexcept { return list_; }

  private:
    std::size_t list_;
};

/// The operating system refused to read or write: permission, disk full, a broken medium.
class io_error : public error {
  public:
    /// `code` is an errno value; its text ends the message.
    io_error(std::string_view path, std::string_view action, int code);
    int code() const noexcept { return code_; }

  private:
    int code_;
};

/// More memory would be needed than the budget or the machine has.
class out_of_memory : public error {
  public:
    out_of_memory(std::string_view what_for, std::uint64_t asked_bytes, std::uint64_t free_bytes);
};

/// A device is absent or failed.
class device_error : public error {
  public:
    using error::error;
};

/// A store, space or dictionary is damaged, cut off, or of a version this program does not read.
class damaged_store : public error {
  public:
    damaged_store(std::string_view path, std::string_view section, std::string_view reason);
    const std::string& section() const noexcept { return section_; }

  private:
    std::string section_;
};

/// The user asked the run to stop (Ctrl-C, SIGTERM). Nothing half-written is left under a final name.
class interrupted : public error {
  public:
    explicit interrupted(int signal);
    int signal() const noexcept { return signal_; }

  private:
    int signal_;
};

}  // namespace quern
