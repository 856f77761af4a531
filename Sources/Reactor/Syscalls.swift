import CLinux
import Glibc

/// The only access to the kernel. Every call returns its result, or the negated errno, like the kernel itself.
///
/// `EINTR` is retried here, and no caller sees it. In programs a call costs one comparison more than the C function;
/// tests pass a ``FaultPlan`` and make the n-th call fail.
package struct Syscalls: Sendable {
    /// The kernel, with no fault added.
    package static let real = Syscalls(faults: nil)

    private let faults: FaultPlan?

    package init(faults: FaultPlan?) { self.faults = faults }

    @inline(__always)
    private func call<Answer: SignedInteger>(_ kind: SystemCall, _ body: () -> Answer) -> Answer {
        while true {
            let answer: Answer
            if let faults, let code = faults.next(kind) { answer = Answer(-code) } else { answer = body() }
            if answer != Answer(-EINTR) { return answer }
        }
    }

    private func opening(_ kind: SystemCall, _ body: () -> Int32) -> Int32 {
        let descriptor = call(kind, body)
        if let faults, descriptor >= 0 { faults.noteOpened(descriptor) }
        return descriptor
    }

    // MARK: Sockets

    func socket(_ family: Int32) -> Int32 { opening(.socket) { linux_socket(family) } }

    func bind(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
        call(.bind) { unsafe address.withRaw { raw, path, length in unsafe linux_bind(descriptor, raw, path, length) } }
    }

    func connect(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
        call(.connect) {
            unsafe address.withRaw { raw, path, length in unsafe linux_connect(descriptor, raw, path, length) }
        }
    }

    func listen(_ descriptor: Int32, backlog: Int32) -> Int32 { call(.listen) { linux_listen(descriptor, backlog) } }

    /// Also returns the address of the peer.
    func accept(_ descriptor: Int32, peer: inout linux_address) -> Int32 {
        opening(.accept) { unsafe linux_accept(descriptor, &peer) }
    }

    func localAddress(_ descriptor: Int32, _ address: inout linux_address) -> Int32 {
        call(.localAddress) { unsafe linux_local_address(descriptor, &address) }
    }

    @inline(__always)
    func receive(_ descriptor: Int32, into room: UnsafeMutableRawBufferPointer) -> Int {
        Int(call(.receive) { unsafe linux_receive(descriptor, room.baseAddress, UInt64(room.count)) })
    }

    @inline(__always)
    func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        Int(call(.send) { unsafe linux_send(descriptor, bytes.baseAddress, UInt64(bytes.count)) })
    }

    /// The C function is `sendmsg`; counted as a `send`.
    func send(_ descriptor: Int32, vector: UnsafeMutableBufferPointer<iovec>) -> Int {
        Int(call(.send) { unsafe linux_send_vector(descriptor, vector.baseAddress, Int32(vector.count)) })
    }

    func shutdownWriting(_ descriptor: Int32) -> Int32 { call(.shutdown) { linux_shutdown_writing(descriptor) } }

    func setOption(_ descriptor: Int32, _ option: Int, _ value: Int32) -> Int32 {
        call(.setOption) { linux_set_option(descriptor, Int32(option), value) }
    }

    func option(_ descriptor: Int32, _ option: Int, _ value: inout Int32) -> Int32 {
        call(.getOption) { unsafe linux_get_option(descriptor, Int32(option), &value) }
    }

    // MARK: Polling and other descriptors

    func epollCreate() -> Int32 { opening(.epollCreate) { linux_epoll_create() } }

    func epollControl(_ epoll: Int32, _ operation: Int, _ descriptor: Int32, _ interest: UInt32, _ token: UInt64)
        -> Int32
    {
        call(.epollControl) { linux_epoll_control(epoll, Int32(operation), descriptor, interest, token) }
    }

    /// The C function is `epoll_wait` with a time-out of 0.
    func epollWait(
        _ epoll: Int32, _ tokens: UnsafeMutablePointer<UInt64>, _ events: UnsafeMutablePointer<UInt32>, maximum: Int
    ) -> Int {
        Int(call(.epollWait) { unsafe linux_epoll_take(epoll, tokens, events, Int32(maximum)) })
    }

    func duplicate(_ descriptor: Int32) -> Int32 { opening(.duplicate) { linux_duplicate(descriptor) } }

    func openSpare() -> Int32 { opening(.open) { linux_open_spare() } }

    func pipe(_ reading: inout Int32, _ writing: inout Int32) -> Int32 {
        let answer = call(.pipe) { unsafe linux_pipe(&reading, &writing) }
        if let faults, answer >= 0 {
            faults.noteOpened(reading)
            faults.noteOpened(writing)
        }
        return answer
    }

    func read(_ descriptor: Int32, into room: UnsafeMutableRawBufferPointer) -> Int {
        Int(call(.read) { unsafe linux_read(descriptor, room.baseAddress, UInt64(room.count)) })
    }
}
