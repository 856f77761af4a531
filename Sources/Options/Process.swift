import CLinux
import Glibc

/// Standard output: the requested output, byte by byte.
package enum StandardOutput {
    /// Writes all of it, at once. A pipe whose reader has gone ends the program quietly with status 0, because the rest is not
    /// wanted. Any other error ends it with a line and status 74.
    package static func write(_ text: String) {
        write(Array(text.utf8))
    }

    package static func write(_ bytes: [UInt8]) {
        let failure = WholeWrite.write(bytes, to: STDOUT_FILENO)
        if failure == EPIPE { exit(ExitStatus.success.code) }
        guard failure != 0 else { return }
        StandardError.line("cannot write to standard output: \(WholeWrite.reason(failure))")
        exit(ExitStatus.output.code)
    }

    /// Makes a closed pipe an error that `write` sees, instead of a signal. Called once, first of all.
    package static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}

/// Standard input, for programs that read it to its end and wait for nothing else.
package enum StandardInput {
    /// The system's message for an input that is not readable.
    package struct Unreadable: Error, Equatable {
        package let reason: String
    }

    /// Waits for the next bytes and puts them at the beginning of `buffer`.
    /// - Returns: how many there are; 0 at the end of the input.
    package static func read(into buffer: inout [UInt8]) throws(Unreadable) -> Int {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count)
            }
            let failure = errno
            if count >= 0 { return count }
            if failure != EINTR { throw Unreadable(reason: WholeWrite.reason(failure)) }
        }
    }
}

/// Standard error: notices, a line each.
package enum StandardError {
    /// Writes a line. Failing is ignored: there is nowhere left to report it.
    package static func line(_ text: String) {
        _ = WholeWrite.write(Array((text + "\n").utf8), to: STDERR_FILENO)
    }
}

/// A write that does not stop halfway.
package enum WholeWrite {
    /// Writes until nothing is left; waits where the descriptor is non-blocking (a terminal shared with a program that
    /// made it so). Returns 0 or the error number.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var taken: UInt64 = 0
        return unsafe bytes.withUnsafeBytes {
            unsafe -linux_write_all(descriptor, $0.baseAddress, UInt64($0.count), &taken)
        }
    }

    /// The system's message for an error number.
    package static func reason(_ number: Int32) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }
}

/// The variables of this process. Nothing here ever changes them.
package enum ProcessEnvironment {
    /// Names and values in their order; an entry without `=` is left out.
    package static var variables: [(name: String, value: String)] {
        var variables: [(name: String, value: String)] = []
        var next = unsafe process_environment()
        while let entry = unsafe next?.pointee {
            let words = unsafe String(cString: entry).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if words.count == 2 { variables.append((String(words[0]), String(words[1]))) }
            unsafe next = next?.advanced(by: 1)
        }
        return variables
    }
}

extension String {
    /// The text on one line, with escapes for everything that could control a terminal or forge a line: control characters (C0,
    /// DEL, C1), the line and paragraph separators, and characters that change the direction of writing.
    package var printable: String {
        guard unicodeScalars.contains(where: Self.isUnprintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where Self.isUnprintable(scalar): text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
