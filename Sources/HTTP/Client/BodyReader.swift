/// Reads the body of a response and keeps its beginning, or the part that the caller has not removed yet.
///
/// It is done when the body is complete or longer than `maximumBytes`. Bytes over the limit are dropped, and ``isTruncated``
/// reports it. No buffer gets its size from a length that the peer names.
package struct BodyReader: Sendable {
    private enum State {
        case length(remaining: Int)
        case untilClose
        case chunkSize(value: Int, digits: Int)
        case chunkExtension(value: Int)
        case chunkSizeEnd(value: Int)
        case chunk(remaining: Int)
        case chunkEnd
        case chunkLineFeed
        /// Trailer fields, which are dropped; the number of bytes on this line so far.
        case trailer(lineBytes: Int)
        case done
    }

    /// Chunk extensions and trailers are dropped, up to this many bytes each. In practice no server sends them.
    private static let maximumDroppedBytes = 4096

    private var state: State
    private let maximumBytes: Int
    private var droppedBytes = 0

    /// The body so far.
    package private(set) var bytes: [UInt8] = []
    package private(set) var isTruncated = false

    package init(_ framing: BodyFraming, maximumBytes: Int) {
        self.maximumBytes = maximumBytes
        state =
            switch framing {
            case .none, .length(0): .done
            case .length(let count): .length(remaining: count)
            case .chunked: .chunkSize(value: 0, digits: 0)
            case .untilClose: .untilClose
            }
    }

    package var isDone: Bool {
        if case .done = state { true } else { isTruncated }
    }

    /// Reads bytes of the body. Does not read bytes after its end.
    package mutating func consume(_ input: Span<UInt8>) throws(ResponseFault) {
        var index = 0
        while index < input.count, !isDone {
            switch state {
            case .length(let remaining):
                keep(input[index])
                state = remaining == 1 ? .done : .length(remaining: remaining - 1)
            case .untilClose: keep(input[index])
            case .chunk(let remaining):
                keep(input[index])
                state = remaining == 1 ? .chunkEnd : .chunk(remaining: remaining - 1)
            default: state = try next(input[index])
            }
            index += 1
        }
    }

    /// Returns the bytes so far and removes them. A body without end is read in pieces: only waiting bytes count for the limit.
    package mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// The connection has ended. That ends a body without a length; it is a fault for any other body that is incomplete.
    package mutating func end() throws(ResponseFault) {
        if case .untilClose = state { state = .done }
        guard isDone else { throw .truncated }
    }

    private mutating func keep(_ byte: UInt8) {
        guard bytes.count < maximumBytes else {
            isTruncated = true
            return
        }
        bytes.append(byte)
    }

    /// One byte of the chunked coding outside of a chunk (RFC 9112 §7.1).
    private mutating func next(_ byte: UInt8) throws(ResponseFault) -> State {
        switch state {
        case .chunkSize(let value, let digits):
            if let digit = byte.hexadecimalValue {
                // 15 digits are far over any body and below the largest Int.
                guard digits < 15 else { throw .badChunk }
                return .chunkSize(value: value << 4 | Int(digit), digits: digits + 1)
            }
            guard digits > 0 else { throw .badChunk }
            if byte == ASCII.semicolon || byte.isBlank { return .chunkExtension(value: value) }
            guard byte == ASCII.carriageReturn else { throw .badChunk }
            return .chunkSizeEnd(value: value)
        case .chunkExtension(let value):
            if byte == ASCII.carriageReturn { return .chunkSizeEnd(value: value) }
            guard !byte.isControl || byte == ASCII.horizontalTab else { throw .badChunk }
            try drop()
            return state
        case .chunkSizeEnd(let value):
            guard byte == ASCII.lineFeed else { throw .badChunk }
            return value == 0 ? .trailer(lineBytes: 0) : .chunk(remaining: value)
        case .chunkEnd:
            guard byte == ASCII.carriageReturn else { throw .badChunk }
            return .chunkLineFeed
        case .chunkLineFeed:
            guard byte == ASCII.lineFeed else { throw .badChunk }
            return .chunkSize(value: 0, digits: 0)
        case .trailer(let lineBytes):
            try drop()
            if byte == ASCII.lineFeed { return lineBytes == 0 ? .done : .trailer(lineBytes: 0) }
            let counted = byte == ASCII.carriageReturn ? lineBytes : lineBytes + 1
            return .trailer(lineBytes: counted)
        case .length, .untilClose, .chunk, .done:
            preconditionFailure("bytes of a body are kept, not parsed")
        }
    }

    private mutating func drop() throws(ResponseFault) {
        droppedBytes += 1
        guard droppedBytes <= Self.maximumDroppedBytes else { throw .badChunk }
    }
}
