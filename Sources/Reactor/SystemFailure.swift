import CLinux

/// The system calls that the reactor makes, as tests and errors name them.
package enum SystemCall: String, Sendable, CaseIterable {
    case accept, bind, close, connect, duplicate, epollControl, epollCreate, epollWait, getOption, listen, localAddress
    case lock, open, pipe, read, receive, send, setOption, shutdown, socket, unlink
}

/// A system call that failed: which one, and the errno it left.
package struct SystemFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package let call: SystemCall
    package let code: Int32

    package init(_ call: SystemCall, _ code: Int32) {
        self.call = call
        self.code = code
    }

    /// "bind: Address already in use (errno 98)".
    package var description: String { "\(call.rawValue): \(SystemFailure.text(of: code)) (errno \(code))" }

    /// The C library's sentence for an errno.
    package static func text(of code: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { room in
            unsafe linux_error_text(code, room.baseAddress!, UInt64(room.count))
            return unsafe String(cString: room.baseAddress!)
        }
    }
}
