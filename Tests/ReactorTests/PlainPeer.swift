import CLinux
import Glibc

@testable import Reactor

/// A client of the simplest kind: one blocking socket, without the reactor.
final class PlainPeer {
    private(set) var raw: Int32

    init(owning raw: Int32) {
        self.raw = raw
        limitReceiving()
    }

    init?(_ address: SocketAddress, receiveBufferBytes: Int32? = nil) {
        let target: SocketAddress = if case .any(let port) = address { .loopback(port: port) } else { address }
        raw = Syscalls.real.socket(target.family)
        guard raw >= 0 else { return nil }
        if let receiveBufferBytes {
            _ = Syscalls.real.setOption(raw, LINUX_OPTION_RECEIVE_BUFFER, receiveBufferBytes)
        }
        let answer = Syscalls.real.connect(raw, target)
        guard answer == 0 || answer == -EINPROGRESS else {
            linux_close(raw)
            return nil
        }
        _ = fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) & ~O_NONBLOCK)
        limitReceiving()
    }

    /// A read that lasts so long ends a test that has failed.
    private func limitReceiving() {
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Gives the socket away.
    func release() -> Int32 {
        defer { raw = -1 }
        return raw
    }

    deinit { close() }

    func send(_ bytes: [UInt8]) {
        _ = unsafe bytes.withUnsafeBytes { unsafe linux_send(raw, $0.baseAddress, UInt64($0.count)) }
    }

    /// How many bytes the kernel took.
    func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        return unsafe bytes.withUnsafeBytes { max(0, unsafe Glibc.send(raw, $0.baseAddress, $0.count, flags)) }
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

    /// The next close resets the connection.
    func resetOnClose() { _ = linux_reset_on_close(raw) }

    func finishSending() { linux_shutdown_writing(raw) }

    func close() {
        if raw >= 0 { linux_close(raw) }
        raw = -1
    }
}
