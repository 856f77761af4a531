import Reactor
import TLS

/// What only a transport with TLS needs, so that the many plain ones do not pay for it. Confined to the transport's loop.
final class Encryption {
    /// Nil where there was no memory for it, and after the end.
    var session: TLSSession?
    /// Why TLS ended the transport; the owner gets it with the end.
    var failure: TLSFailure?
    /// Written bytes that are not encrypted yet.
    var plaintext = PlaintextQueue()
    /// The owner wrote something, and ``TransportOwner/transportDrained()`` is still due for it.
    var owesDrained = false
    /// The peer has finished, and the owner continues to write: our half stays open.
    var answersPeerFinish = false

    /// Set during the handshake.
    var handshakeTimer: Timer?
    /// Handshake bytes of the peer that wait for their turn.
    var handshakeBytes: [UInt8] = []
    /// The bytes that the peer has sent instead of a handshake.
    var plainRequest: [UInt8] = []
    /// This transport is in the loop's queue of handshakes.
    var isWaiting = false
    /// The socket has delivered its last byte, but some bytes still wait for their turn in the handshake.
    var inputHasEnded = false

    init(_ session: TLSSession?) { self.session = session }
}

@available(*, unavailable) extension Encryption: Sendable {}

/// The bytes to encrypt: slices of arrays that are shared, and not copied until they go into a record.
struct PlaintextQueue {
    private struct Slice {
        var bytes: [UInt8]
        var start: Int
        var end: Int
        var count: Int { end - start }
    }

    // The usual transport has one slice or none, and allocates nothing for it.
    private var first: Slice?
    private var rest: [Slice] = []
    private var restStart = 0
    /// The bytes of all slices.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: [UInt8], _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        count += range.count
        let slice = Slice(bytes: bytes, start: range.lowerBound, end: range.upperBound)
        if first == nil { first = slice } else { rest.append(slice) }
    }

    mutating func removeAll() { self = PlaintextQueue() }

    /// Removes the bytes of the next record, as full as it can be, and passes them to `body`.
    ///
    /// - Parameter room: the buffer in which several slices are joined. It is not used when the first slice fills the record
    ///   or is the only one.
    mutating func takeRecord(_ room: inout [UInt8], _ body: (Span<UInt8>) -> Bool) -> Bool {
        guard let slice = first else { return true }
        let limit = TLSExchange.maximumRecordBytes
        if slice.count >= limit || restStart == rest.count {
            let length = min(slice.count, limit)
            drop(length)
            return body(slice.bytes.span.extracting(slice.start..<(slice.start + length)))
        }
        room.removeAll(keepingCapacity: true)
        while let slice = first, room.count < limit {
            let length = min(slice.count, limit - room.count)
            room.append(contentsOf: slice.bytes[slice.start..<(slice.start + length)])
            drop(length)
        }
        return body(room.span)
    }

    /// Removes bytes from the first slice, and the slice if it is used up.
    private mutating func drop(_ length: Int) {
        count -= length
        first!.start += length
        guard first!.count == 0 else { return }
        first = nil
        if restStart < rest.count {
            first = rest[restStart]
            restStart += 1
        }
        // The slices before `restStart` keep their arrays. The list is short-lived and releases them at its end.
        if restStart == rest.count {
            rest = []
            restStart = 0
        }
    }
}
