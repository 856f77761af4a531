import CLinux
import Glibc

@testable import Reactor

/// A client of the simplest kind: one blocking socket, without the reactor.
final class PlainPeer {
    private(set) var raw: Int32

    init?(_ address: SocketAddress) {
        let target: SocketAddress = if case .any(let port) = address { .loopback(port: port) } else { address }
        raw = Syscalls.real.socket(target.family)
        guard raw >= 0 else { return nil }
        let answer = Syscalls.real.connect(raw, target)
        guard answer == 0 || answer == -EINPROGRESS else {
            linux_close(raw)
            return nil
        }
        _ = fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) & ~O_NONBLOCK)
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func send(_ bytes: [UInt8]) {
        _ = unsafe bytes.withUnsafeBytes { unsafe linux_send(raw, $0.baseAddress, UInt64($0.count)) }
    }

    /// Up to `count` bytes; fewer at the end of the stream, or when it breaks.
    func receive(_ count: Int) -> [UInt8] {
        var result: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 65_536)
        while result.count < count {
            let wanted = min(room.count, count - result.count)
            let taken = unsafe room.withUnsafeMutableBytes { unsafe linux_receive(raw, $0.baseAddress, UInt64(wanted)) }
            guard taken > 0 else { break }
            result += room[..<Int(taken)]
        }
        return result
    }

    /// What the next read says: 0 for the end, below zero an errno.
    func receiveEnd() -> Int {
        var byte: UInt8 = 0
        return Int(unsafe linux_receive(raw, &byte, 1))
    }

    func finishSending() { linux_shutdown_writing(raw) }

    func close() {
        if raw >= 0 { linux_close(raw) }
        raw = -1
    }
}
