import CLinux
import Glibc
import Synchronization

/// The options that a listener sets on its socket.
package struct ListenerSettings: Sendable {
    /// Connections that the kernel keeps ready for accept. A storm after a deploy arrives faster than a loop with TLS
    /// accepts it. The kernel limits this to `net.core.somaxconn`, which is 4096 too.
    package var backlog: Int32 = 4096
    /// The most that a queue holds: the kernel accepts one more than its backlog.
    static let queueLimit = 4097
    /// Idle time after which the kernel checks whether the peer is still there, so that vanished peers are not kept for ever.
    /// Rare enough for a phone's battery. Nil means never. ``userTimeoutSeconds`` is how long the kernel waits (tcp(7)).
    package var keepAliveIdleSeconds: Int32? = 300
    /// A peer that acknowledges no data for this long is gone (RFC 5482). Without the option the kernel retransmits for a
    /// quarter of an hour. Nil leaves it so.
    package var userTimeoutSeconds: Int32? = 60

    package init() {}
}

/// A socket that listens. It is created before there is a loop to accept on it, so that a program can report a bad address
/// before it does anything else. A ``Listener`` accepts on it.
package final class ListeningSocket: Sendable {
    /// The address where it listens, with the port that the kernel chose for port 0.
    package let address: SocketAddress
    private let held: Mutex<FileDescriptor?>
    /// For a Unix socket with several loops, which share one socket.
    let handout: DescriptorHandout?
    /// The index of this socket in the handout; 0 accepts.
    let seat: Int
    let file: UnixSocketFile?
    /// All sockets of the address share them.
    let spares: SpareDescriptors

    private init(
        _ address: SocketAddress, _ descriptor: consuming FileDescriptor?, spares: SpareDescriptors,
        file: UnixSocketFile? = nil, handout: DescriptorHandout? = nil, seat: Int = 0
    ) {
        self.address = address
        held = Mutex(descriptor)
        self.spares = spares
        self.file = file
        self.handout = handout
        self.seat = seat
    }

    /// Gives the descriptor to the listener, which closes it. Nil for the further seats of a Unix socket, and for the
    /// second call.
    func takeDescriptor() -> FileDescriptor? { held.withLock { $0.take() } }

    /// Listens on an address with `count` sockets, one for each loop. Port 0 is the same port for all of them.
    ///
    /// TCP: the kernel spreads connections over sockets with SO_REUSEPORT. But with that option, a second gateway of the same
    /// user could join and get half of the connections. So the first socket is bound *and listens* without the option. The
    /// kernel refuses that while any socket listens there, whatever its options; of two simultaneous attempts one succeeds.
    /// Only then the option is set, so that the other sockets may join. A probe that closes before the real bind would
    /// leave a gap in which both attempts succeed.
    ///
    /// Unix: the kernel does not spread connections. One socket listens, and its connections go to the loops in turn.
    /// A descriptor in several epoll sets mostly wakes the same one, and connections live long.
    ///
    /// - Throws: ``ReactorError/addressInUse(_:)``, ``ReactorError/addressNotLocal(_:)``,
    ///   ``ReactorError/permissionDenied(_:)``, ``ReactorError/notASocket(_:)`` or ``ReactorError/system(_:)``;
    ///   nothing stays open then.
    package static func open(
        _ address: SocketAddress, count: Int = 1, settings: ListenerSettings = ListenerSettings(),
        syscalls: Syscalls = .real
    ) throws(ReactorError) -> [ListeningSocket] {
        precondition(count > 0, "a listener has a socket at least")
        if case .unix(let path) = address { return try openUnix(address, path, count, settings, syscalls) }
        let first = try claim(address, settings, syscalls)
        let bound = first.address
        if count > 1 { try set(LINUX_OPTION_REUSE_PORT, 1, first.descriptor.raw, syscalls) }
        let spares = SpareDescriptors()
        var sockets = [ListeningSocket(bound, first.descriptor, spares: spares)]
        while sockets.count < count {
            let next = try make(bound, settings, syscalls)
            try set(LINUX_OPTION_REUSE_PORT, 1, next.raw, syscalls)
            try bind(next.raw, bound, syscalls)
            try listen(next.raw, bound, settings, syscalls)
            sockets.append(ListeningSocket(bound, next, spares: spares))
        }
        return sockets
    }

    /// A socket that listens, and the address with its port.
    private struct Claim: ~Copyable {
        let address: SocketAddress
        let descriptor: FileDescriptor
    }

    /// The first socket of an address, which is alone there. `:PORT` falls back to IPv4 where the kernel has no IPv6.
    private static func claim(
        _ address: SocketAddress, _ settings: ListenerSettings, _ syscalls: Syscalls
    ) throws(ReactorError) -> Claim {
        do {
            return try claimExactly(address, settings, syscalls)
        } catch .system(let failure) where failure.call == .socket && failure.code == EAFNOSUPPORT {
            guard case .any(let port) = address else { throw .addressNotLocal(address) }
            return try claimExactly(.ipv4(0, port: port), settings, syscalls)
        } catch .addressNotLocal(let refused) {
            guard case .any(let port) = address else { throw .addressNotLocal(refused) }
            return try claimExactly(.ipv4(0, port: port), settings, syscalls)
        }
    }

    private static func claimExactly(
        _ address: SocketAddress, _ settings: ListenerSettings, _ syscalls: Syscalls
    ) throws(ReactorError) -> Claim {
        let descriptor = try make(address, settings, syscalls)
        try bind(descriptor.raw, address, syscalls)
        try listen(descriptor.raw, address, settings, syscalls)
        var raw = linux_address()
        let answer = syscalls.localAddress(descriptor.raw, &raw)
        guard answer >= 0 else { throw .system(SystemFailure(.localAddress, -answer)) }
        return Claim(address: address.withPort(raw.port), descriptor: descriptor)
    }

    /// A socket with the options that its connections inherit: one system call at start instead of one for each connection.
    private static func make(
        _ address: SocketAddress, _ settings: ListenerSettings, _ syscalls: Syscalls
    ) throws(ReactorError) -> FileDescriptor {
        let raw = syscalls.socket(address.family)
        guard raw >= 0 else { throw .system(SystemFailure(.socket, -raw)) }
        let descriptor = FileDescriptor(owning: raw)
        // Without it, connections of an earlier run in TIME_WAIT block the bind of a restart for a minute. It does not allow
        // two sockets to listen.
        try set(LINUX_OPTION_REUSE_ADDRESS, 1, raw, syscalls)
        switch address {
        case .ipv6: try set(LINUX_OPTION_V6_ONLY, 1, raw, syscalls)
        case .any: try set(LINUX_OPTION_V6_ONLY, 0, raw, syscalls)
        case .ipv4: break
        case .unix: return descriptor
        }
        try set(LINUX_OPTION_NO_DELAY, 1, raw, syscalls)
        if let idle = settings.keepAliveIdleSeconds {
            try set(LINUX_OPTION_KEEP_ALIVE, 1, raw, syscalls)
            try set(LINUX_OPTION_KEEP_ALIVE_IDLE, idle, raw, syscalls)
            // The second probe comes no earlier than the time at which the peer counts as gone.
            try set(LINUX_OPTION_KEEP_ALIVE_INTERVAL, settings.userTimeoutSeconds ?? 30, raw, syscalls)
            try set(LINUX_OPTION_KEEP_ALIVE_COUNT, 4, raw, syscalls)
        }
        if let timeout = settings.userTimeoutSeconds {
            try set(LINUX_OPTION_USER_TIMEOUT, timeout * 1_000, raw, syscalls)
        }
        return descriptor
    }

    private static func set(_ option: Int, _ value: Int32, _ raw: Int32, _ syscalls: Syscalls) throws(ReactorError) {
        let answer = syscalls.setOption(raw, option, value)
        guard answer >= 0 else { throw .system(SystemFailure(.setOption, -answer)) }
    }

    private static func bind(_ raw: Int32, _ address: SocketAddress, _ syscalls: Syscalls) throws(ReactorError) {
        let answer = syscalls.bind(raw, address)
        guard answer >= 0 else { throw refusal(SystemFailure(.bind, -answer), address) }
    }

    private static func listen(
        _ raw: Int32, _ address: SocketAddress, _ settings: ListenerSettings, _ syscalls: Syscalls
    ) throws(ReactorError) {
        let answer = syscalls.listen(raw, backlog: settings.backlog)
        guard answer >= 0 else { throw refusal(SystemFailure(.listen, -answer), address) }
    }

    private static func refusal(_ failure: SystemFailure, _ address: SocketAddress) -> ReactorError {
        switch failure.code {
        case EADDRINUSE: .addressInUse(address)
        case EADDRNOTAVAIL: .addressNotLocal(address)
        case EACCES, EPERM: .permissionDenied(address)
        default: .system(failure)
        }
    }

    private static func openUnix(
        _ address: SocketAddress, _ path: [UInt8], _ count: Int, _ settings: ListenerSettings, _ syscalls: Syscalls
    ) throws(ReactorError) -> [ListeningSocket] {
        let lock = UnixSocketFile.lockDirectory(of: path)
        return try openUnix(address, path, count, settings, syscalls, within: lock)
    }

    /// Keeps the directory locked until we listen. Otherwise another gateway that starts at the same moment would find our file
    /// bound but not yet listening, would regard it as dead, and replace it.
    private static func openUnix(
        _ address: SocketAddress, _ path: [UInt8], _ count: Int, _ settings: ListenerSettings, _ syscalls: Syscalls,
        within lock: borrowing FileDescriptor?
    ) throws(ReactorError) -> [ListeningSocket] {
        try UnixSocketFile.removeStale(path, syscalls)
        let descriptor = try make(address, settings, syscalls)
        try bind(descriptor.raw, address, syscalls)
        let file = UnixSocketFile(path)
        try listen(descriptor.raw, address, settings, syscalls)
        let handout = count > 1 ? DescriptorHandout(seats: count) : nil
        let spares = SpareDescriptors()
        var sockets = [ListeningSocket(address, descriptor, spares: spares, file: file, handout: handout)]
        for seat in 1..<max(1, count) {
            sockets.append(ListeningSocket(address, nil, spares: spares, handout: handout, seat: seat))
        }
        return sockets
    }
}

/// Distributes the connections of one Unix socket in turn to the loops that share it.
final class DescriptorHandout: Sendable {
    /// A connection that is being sent to another loop. The holder of the message owns the number.
    struct Parcel: Sendable {
        let raw: Int32
        let peer: SocketAddress
    }

    private struct State {
        var boxes: [Mailbox<Parcel>?]
        var next = 0
    }

    private let state: Mutex<State>

    init(seats: Int) { state = Mutex(State(boxes: Array(repeating: nil, count: seats))) }

    /// Adds a loop that receives its share from now on.
    func join(_ seat: Int, _ box: Mailbox<Parcel>) { state.withLock { $0.boxes[seat] = box } }

    func leave(_ seat: Int) { state.withLock { $0.boxes[seat] = nil } }

    /// The next loop in turn. Nil means the accepting loop: it is seat 0, or there is no other loop.
    func nextBox() -> Mailbox<Parcel>? {
        state.withLock { state in
            for _ in state.boxes.indices {
                let seat = state.next
                state.next = (seat + 1) % state.boxes.count
                if seat == 0 { return nil }
                if let box = state.boxes[seat] { return box }
            }
            return nil
        }
    }
}
