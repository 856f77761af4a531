import Glibc

/// The speed of the machine today: one send and one receive of 64 bytes over a TCP connection on loopback, in µs of wall time.
enum Calibration {
    private static let rounds = 50_000

    /// 0 if the machine has no loopback.
    static func measure() -> Double {
        guard let ends = connectedPair() else { return 0 }
        defer { for end in [ends.client, ends.server] { close(end) } }
        var bytes = [UInt8](repeating: 0x61, count: 64)
        let start = BenchEvent.now()
        for _ in 0..<rounds {
            _ = unsafe send(ends.client, bytes, bytes.count, 0)
            // Loopback delivers the sent bytes in one piece; to wait for all of them makes sure.
            _ = unsafe recv(ends.server, &bytes, bytes.count, Int32(MSG_WAITALL))
        }
        return Double(BenchEvent.now() - start) / Double(rounds)
    }

    private static func connectedPair() -> (client: Int32, server: Int32)? {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0 else { return nil }
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let isConnected = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                // Port 0: the kernel chooses one, and getsockname returns it.
                guard unsafe bind(listener, generic, length) == 0, listen(listener, 1) == 0 else { return false }
                guard unsafe getsockname(listener, generic, &length) == 0 else { return false }
                return unsafe connect(client, generic, length) == 0
            }
        }
        let server = isConnected ? accept(listener, nil, nil) : -1
        guard client >= 0, server >= 0 else {
            for end in [client, server] where end >= 0 { close(end) }
            return nil
        }
        // Frames are sent at once, as by the gateway.
        var yes: Int32 = 1
        _ = unsafe setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        return (client, server)
    }
}
