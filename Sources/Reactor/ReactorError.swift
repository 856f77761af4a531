import CLinux

/// The errors that the reactor throws, or returns where an attempt needs time.
package enum ReactorError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Text that is not an address: the text, and the expected form.
    case invalidAddress(String, why: String)
    /// Another process, or another listener of this one, listens there.
    case addressInUse(SocketAddress)
    /// No interface of this machine has the address.
    case addressNotLocal(SocketAddress)
    /// The process may not listen there: a port below 1024, or a directory it may not write.
    case permissionDenied(SocketAddress)
    /// A file of another kind exists at the path of a Unix socket. It is not changed.
    case notASocket(SocketAddress)
    /// A name that the resolver did not find, with its reason.
    case nameNotFound(String, why: String)
    /// The deadline passed, during the lookup of the name or while the addresses were tried.
    case connectTimedOut(Endpoint, afterMilliseconds: UInt64)
    /// Every address of the endpoint refused or failed, in the order they were tried.
    case connectFailed(Endpoint, [ConnectAttempt])
    /// The caller gave up, or the loop has stopped.
    case cancelled
    /// Another system call failed.
    case system(SystemFailure)

    package var description: String {
        switch self {
        case .invalidAddress(let text, let why): "not an address: \"\(text)\": \(why)"
        case .addressInUse(let address): "address in use: \(address): another process listens there"
        case .addressNotLocal(let address): "address not ours: \(address): no interface of this machine has it"
        case .permissionDenied(let address): "may not listen on \(address): permission denied"
        case .notASocket(let address): "may not listen on \(address): the file there is not a socket"
        case .nameNotFound(let name, let why): "name not found: \(name): \(why)"
        case .connectTimedOut(let endpoint, let limit): "no connection to \(endpoint) within \(limit) ms"
        case .connectFailed(let endpoint, let attempts):
            "no connection to \(endpoint): "
                + attempts.map { "\($0.address): \(SystemFailure.text(of: $0.failure.code))" }.joined(separator: "; ")
        case .cancelled: "cancelled"
        case .system(let failure): failure.description
        }
    }
}

/// One address that was tried, and why it failed.
package struct ConnectAttempt: Equatable, Sendable {
    package let address: SocketAddress
    package let failure: SystemFailure
}

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
