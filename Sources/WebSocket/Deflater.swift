import CZlib

/// Compresses messages (RFC 7692 §7.2.1).
///
/// Without context takeover the compressed form depends only on the message, so a message to many clients is compressed
/// once. Needs 2^(windowBits + 2) + 128 KiB: there is one for each loop, not one for each connection.
@safe package struct Deflater: ~Copyable {
    /// How many bytes zlib returns at a time.
    private static let chunkBytes = 4096

    private let stream: UnsafeMutablePointer<z_stream>
    private let keepsWindow: Bool

    /// - Parameters:
    ///   - windowBits: the agreed value, 8 to 15. zlib compresses raw data only with 9 or more. But with 9 it never refers back
    ///     further than 2^9 − 262 = 250 bytes (`MAX_DIST` in its deflate.h), so 9 is used for 8 too.
    ///   - contextTakeover: whether a message may refer to the message before it.
    ///   - level: zlib's level, 1 to 9; −1 is its own choice.
    /// - Throws: `.zlib` when there is no memory.
    package init(windowBits: Int, contextTakeover: Bool, level: Int = -1) throws(WebSocketError) {
        precondition((8...15).contains(windowBits))
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe zlib_deflate_init_raw(stream, Int32(level), Int32(max(windowBits, 9)), 8)
        guard status == Z_OK else {
            unsafe stream.deallocate()
            throw .zlib(status)
        }
        unsafe self.stream = stream
        keepsWindow = contextTakeover
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// The compressed form of a message, for a frame with RSV1.
    package mutating func message(_ payload: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        append(payload, to: &output)
        return output
    }

    /// Appends the compressed form of a message.
    package mutating func append(_ payload: Span<UInt8>, to output: inout [UInt8]) {
        // RFC 7692 §7.2.3.6: an empty message is one byte. zlib returns nothing for a second flush in a row.
        guard !payload.isEmpty else {
            output.append(0)
            return
        }
        if !keepsWindow { unsafe deflateReset(stream) }
        unsafe payload.withUnsafeBufferPointer { source in
            unsafe stream.pointee.next_in = source.baseAddress
            unsafe stream.pointee.avail_in = UInt32(source.count)
            flush(to: &output)
        }
        // Z_SYNC_FLUSH ends with an empty stored block, whose last four bytes are not sent (RFC 7692 §7.2.1).
        precondition(output.count >= 4 && Array(output.suffix(4)) == Inflater.tail, "zlib gave no sync flush")
        output.removeLast(4)
    }

    private mutating func flush(to output: inout [UInt8]) {
        var chunk = [UInt8](repeating: 0, count: Self.chunkBytes)
        var left = 0
        repeat {
            let status = unsafe chunk.withUnsafeMutableBufferPointer { target in
                unsafe stream.pointee.next_out = target.baseAddress
                unsafe stream.pointee.avail_out = UInt32(target.count)
                return unsafe deflate(stream, Z_SYNC_FLUSH)
            }
            // A buffer error only means that the flush ended exactly with the chunk before.
            precondition(status == Z_OK || status == Z_BUF_ERROR, "deflate() failed: \(status)")
            left = unsafe Int(stream.pointee.avail_out)
            output.append(chunk.span.extracting(0..<(chunk.count - left)))
        } while left == 0
    }
}
