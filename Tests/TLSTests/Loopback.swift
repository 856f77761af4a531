import Glibc
import TLS

/// Sockets on 127.0.0.1, blocking unless said otherwise, for the side of a test that is no transport. None of their calls
/// waits for more than a minute, and no program that a test runs beside gets them.
enum Loopback {
    private static let streamKind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

    /// Long enough for a loaded machine, reached only on failure.
    private static func limitWaits(of descriptor: Int32) {
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            let length = socklen_t(MemoryLayout<timeval>.size)
            precondition(unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, length) == 0, "setsockopt: \(errno)")
        }
    }

    /// Both ends of one connection; the first does not block.
    static func pair() -> (transport: Int32, peer: Int32) {
        let (listener, port) = listen()
        defer { close(listener) }
        let peer = connect(port)
        let accepted = accept(listener, nil, nil)
        precondition(accepted >= 0, "accept: \(errno)")
        _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return (accepted, peer)
    }

    /// The same without a network between: what is on its way is little, and a full buffer is known at once.
    static func unixPair() -> (transport: Int32, peer: Int32) {
        var pair: [Int32] = [-1, -1]
        precondition(unsafe socketpair(AF_UNIX, streamKind, 0, &pair) == 0, "socketpair: \(errno)")
        _ = fcntl(pair[0], F_SETFL, O_NONBLOCK)
        limitWaits(of: pair[1])
        return (pair[0], pair[1])
    }

    static func listen() -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, streamKind, 0)
        // Of accept, too.
        limitWaits(of: descriptor)
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            let address = unsafe bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            return unsafe bind(descriptor, address, length) | Glibc.listen(descriptor, 4096)
                | getsockname(descriptor, address, &length)
        }
        precondition(result == 0, "listen: \(errno)")
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    static func connect(_ port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, streamKind, 0)
        limitWaits(of: descriptor)
        var address = loopback(port)
        let result = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe Glibc.connect(
                descriptor, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        precondition(result == 0, "connect: \(errno)")
        return descriptor
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    static func write(_ descriptor: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// What comes next, within a minute; empty at the end, or when nothing came.
    static func read(_ descriptor: Int32, atMost limit: Int = 65536) -> [UInt8] {
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&wait, 1, 60_000) == 1 else { return [] }
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = unsafe recv(descriptor, &buffer, limit, 0)
        return Array(buffer.prefix(max(0, count)))
    }

    static func readToEnd(_ descriptor: Int32) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = read(descriptor)
            if bytes.isEmpty { return all }
            all += bytes
        }
    }
}

/// A client that is nothing but a blocking socket and a session, so that a test sees the records on the wire.
final class WireClient {
    private(set) var descriptor: Int32
    private(set) var received: [UInt8] = []
    /// Ciphertext since the handshake was done.
    private(set) var wire: [UInt8] = []
    private let session: TLSSession
    private let exchange = TLSExchange()

    init(_ descriptor: Int32) throws {
        self.descriptor = descriptor
        let settings = TLSClientSettings(authorities: Authority.shared.root)
        session = try TLSSession(client: TLSContext.client(settings), exchange: exchange, name: "localhost")
    }

    deinit { leave() }

    /// Closes the connection without a word. Whose number the descriptor is afterwards, nobody knows.
    func leave() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    var state: TLSState { session.state }

    func sendHello() {
        session.start()
        flush()
    }

    func handshake() {
        sendHello()
        while session.state == .handshaking, read() {}
        wire = []
    }

    func send(_ bytes: [UInt8]) {
        _ = session.send(bytes.span)
        flush()
    }

    func sayClose() {
        session.close()
        flush()
    }

    /// False at the end of the connection.
    func read() -> Bool {
        let bytes = Loopback.read(descriptor)
        if bytes.isEmpty { return false }
        wire += bytes
        session.receive(bytes.span) {
            received += $0.array
            return true
        }
        flush()
        return true
    }

    /// The lengths of the records that came since the handshake.
    var records: [Int] {
        var lengths: [Int] = []
        var position = 0
        while position + 5 <= wire.count {
            let length = Int(wire[position + 3]) << 8 + Int(wire[position + 4])
            lengths.append(length)
            position += 5 + length
        }
        return lengths
    }

    private func flush() { exchange.takeOutput { Loopback.write(descriptor, $0.array) } }
}
