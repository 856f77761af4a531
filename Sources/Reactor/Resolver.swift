import CLinux
import Dispatch
import Synchronization

/// Resolves names off the loops: `getaddrinfo` blocks as long as the name servers need.
enum Resolver {
    /// Lookups at the same time. Each blocks a thread, and a dead name server must not block all threads of Dispatch.
    private static let maximumLookups = 4
    /// The number of addresses of one name that are tried; a deadline of seconds is not enough for more.
    static let maximumAddresses = 16
    /// RFC 1035 §2.3.4, as text.
    private static let maximumNameBytes = 253

    private static let queues = (0..<maximumLookups).map { DispatchQueue(label: "livegate.resolver.\($0)") }
    private static let turn = Atomic<Int>(0)

    /// Calls `found` on the loop, later, with at least one address in the order to try them (RFC 6724), or an error.
    static func resolve(
        _ host: String, port: UInt16, loop: EventLoop, found: @escaping (Result<[SocketAddress], ReactorError>) -> Void
    ) {
        let bound = LoopBound(found, loop: loop)
        let turn = turn.wrappingAdd(1, ordering: .relaxed).newValue
        queues[Int(UInt(bitPattern: turn) % UInt(maximumLookups))].async {
            let result = addresses(of: host, port: port)
            loop.execute { bound.value(result) }
        }
    }

    private static func addresses(of host: String, port: UInt16) -> Result<[SocketAddress], ReactorError> {
        guard (1...maximumNameBytes).contains(host.utf8.count), !host.utf8.contains(0) else {
            return .failure(.nameNotFound(host, why: "a name has 1 to \(maximumNameBytes) bytes and no NUL"))
        }
        return unsafe withUnsafeTemporaryAllocation(of: linux_address.self, capacity: maximumAddresses) { room in
            var code = Int32(0)
            let count = unsafe linux_resolve(host, port, room.baseAddress, Int32(maximumAddresses), &code)
            guard count > 0 else {
                let why = code != 0 ? SystemFailure.text(of: code) : unsafe String(cString: linux_resolve_reason(count))
                return .failure(.nameNotFound(host, why: why))
            }
            return .success(unsafe room[..<Int(count)].map { SocketAddress($0) })
        }
    }
}
