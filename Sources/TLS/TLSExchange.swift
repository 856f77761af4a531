import COpenSSL

/// The buffers that all TLS sessions of one loop share, and the BIO through which OpenSSL reaches them.
///
/// A session is a pure transform. During a call, the given ciphertext is the input, and the bytes to send gather in the
/// output. The caller removes the output right after the call. So no connection owns a buffer, and an idle one costs
/// only OpenSSL's own objects. Confined to the loop whose sessions use it.
@safe package final class TLSExchange {
    /// RFC 8446 §5.1: a record carries at most 2^14 bytes of plaintext.
    package static let maximumRecordBytes = 1 << 14

    /// At most this much plaintext may be encrypted before the output is removed.
    package static let maximumPlaintextBytes = 8 * maximumRecordBytes

    /// 256 KiB: eight full records with their overhead fill half of it, the longest flight of a handshake (ten certificates)
    /// a fraction. A page is resident only after bytes were written to it.
    fileprivate static let outputCapacity = 256 << 10

    /// The data for the BIO's callbacks.
    @unsafe struct Wire {
        var input: UnsafePointer<UInt8>?
        var inputCount: Int
        var output: UnsafeMutablePointer<UInt8>
        var outputCount: Int
    }

    let wire: UnsafeMutablePointer<Wire>
    let plain: UnsafeMutableBufferPointer<UInt8>
    let method: OpaquePointer
    /// The session whose output is in the buffer. No other session may be called before the output was removed.
    private var writer: ObjectIdentifier?
    /// Tests set it to false to simulate that OpenSSL has no memory for a session.
    package var mayMakeSession = true
    /// A session is delivering plaintext. No session may be called from there, since the input is in use.
    var isDelivering = false

    package init() {
        unsafe wire = .allocate(capacity: 1)
        let output = UnsafeMutablePointer<UInt8>.allocate(capacity: TLSExchange.outputCapacity)
        unsafe wire.initialize(to: Wire(input: nil, inputCount: 0, output: output, outputCount: 0))
        unsafe plain = .allocate(capacity: TLSExchange.maximumRecordBytes)
        guard let method = unsafe BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "livegate loop") else {
            preconditionFailure("BIO_meth_new found no memory")
        }
        unsafe BIO_meth_set_create(method) { bio in
            unsafe BIO_set_init(bio, 1)
            return 1
        }
        unsafe BIO_meth_set_read(method, readWire)
        unsafe BIO_meth_set_write(method, writeWire)
        unsafe BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        unsafe self.method = method
    }

    deinit {
        unsafe wire.pointee.output.deallocate()
        unsafe wire.deallocate()
        unsafe plain.deallocate()
        unsafe BIO_meth_free(method)
    }

    /// Bytes of output that are waiting.
    package var outputCount: Int { unsafe wire.pointee.outputCount }

    /// Passes the output of the last session called to `body`, if there is any, and empties the buffer.
    /// The span is valid only during `body`.
    package func takeOutput(_ body: (Span<UInt8>) -> Void) {
        let count = outputCount
        guard count > 0 else { return }
        // The output is kept until `body` is done: a session called in between would overwrite the bytes.
        body(unsafe UnsafeBufferPointer(start: wire.pointee.output, count: count).span)
        unsafe wire.pointee.outputCount = 0
    }

    /// When a session ends before its output was removed, the output is dropped.
    func forget(_ session: TLSSession) {
        guard writer == ObjectIdentifier(session) else { return }
        unsafe wire.pointee.outputCount = 0
        writer = nil
    }

    /// Reserves the buffers for a session's call.
    func begin(_ session: TLSSession) {
        precondition(!isDelivering, "a session was called while one of the same loop hands out plaintext")
        let id = ObjectIdentifier(session)
        precondition(outputCount == 0 || writer == id, "the output of another session is still in the buffer")
        writer = id
    }
}

@available(*, unavailable) extension TLSExchange: Sendable {}

private func readWire(_ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ wanted: Int32) -> Int32 {
    guard let target = unsafe target, let data = unsafe BIO_get_data(bio), wanted > 0 else { return 0 }
    let wire = unsafe data.assumingMemoryBound(to: TLSExchange.Wire.self)
    let count = unsafe min(Int(wanted), wire.pointee.inputCount)
    guard count > 0, let input = unsafe wire.pointee.input else {
        unsafe livegate_bio_ask_again(bio)
        return -1
    }
    unsafe livegate_bio_settle(bio)
    unsafe UnsafeMutableRawPointer(target).copyMemory(from: input, byteCount: count)
    unsafe wire.pointee.input = input + count
    unsafe wire.pointee.inputCount -= count
    return Int32(count)
}

private func writeWire(_ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
    guard let source = unsafe source, let data = unsafe BIO_get_data(bio), count > 0 else { return 0 }
    let wire = unsafe data.assumingMemoryBound(to: TLSExchange.Wire.self)
    unsafe livegate_bio_settle(bio)
    // A flight that does not fit makes the session fail. No flow of ours comes near the capacity.
    guard unsafe wire.pointee.outputCount + Int(count) <= TLSExchange.outputCapacity else { return -1 }
    let end = unsafe wire.pointee.output + wire.pointee.outputCount
    unsafe UnsafeMutableRawPointer(end).copyMemory(from: source, byteCount: Int(count))
    unsafe wire.pointee.outputCount += Int(count)
    return count
}

/// What both sides agreed on in the handshake, for logs and tests.
package struct TLSAgreement: Equatable, Sendable {
    /// `TLSv1.2` or `TLSv1.3`.
    package let version: String
    /// The suite by its OpenSSL name.
    package let cipher: String
    /// A ticket resumed the session: no certificate was sent or verified again.
    package let isResumed: Bool
    /// The protocol that ALPN chose; nil when ALPN was not used.
    package let applicationProtocol: String?

    init(_ ssl: OpaquePointer) {
        version = unsafe String(cString: SSL_get_version(ssl))
        let name = unsafe SSL_CIPHER_get_name(SSL_get_current_cipher(ssl))
        cipher = if let name = unsafe name { unsafe String(cString: name) } else { "" }
        isResumed = unsafe SSL_session_reused(ssl) == 1
        var chosen: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &chosen, &length)
        applicationProtocol =
            if let chosen = unsafe chosen {
                unsafe String(decoding: UnsafeBufferPointer(start: chosen, count: Int(length)), as: UTF8.self)
            } else {
                nil
            }
    }
}
