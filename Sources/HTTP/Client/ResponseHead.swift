/// Why the bytes of a server are not an HTTP/1.1 response that we can use.
package enum ResponseFault: Error, Equatable, Sendable {
    /// The first line is not a status line: the peer does not speak HTTP.
    case notHTTP
    case line(LineFault)
    case field(FieldFault)
    case headerTooLarge(limitBytes: Int)
    case tooManyHeaders(limit: Int)
    /// More interim responses than ``ResponseLimits/maximumInterimResponses``.
    case tooManyInterimResponses(limit: Int)
    case badLength
    case badTransferEncoding
    case badChunk
    /// The connection ended within a head or a body.
    case truncated
}

/// How much of a response is read.
package struct ResponseLimits: Sendable, Equatable {
    /// The status line without its CRLF.
    package var maximumLineBytes: Int
    /// All field lines with their CRLFs. More than a server accepts, because proxies and single sign-on add a lot.
    package var maximumHeaderBytes: Int
    package var maximumHeaders: Int

    package init(
        maximumLineBytes: Int = 8 * 1024, maximumHeaderBytes: Int = 64 * 1024, maximumHeaders: Int = 200
    ) {
        self.maximumLineBytes = maximumLineBytes
        self.maximumHeaderBytes = maximumHeaderBytes
        self.maximumHeaders = maximumHeaders
    }

    /// 1xx responses before the final one. 100 and 103 are common; an endless series of them is a fault.
    package static let maximumInterimResponses = 8
}

/// A status line with its header fields.
package struct ResponseHead: Sendable, Equatable {
    package let status: Int
    /// The bytes of the reason phrase. They have no meaning and come from the peer.
    package let reason: [UInt8]
    package let version: HTTPVersion
    package let headers: HeaderFields
}

extension ResponseHead {
    /// Reads a status line (RFC 9112 §4).
    static func statusLine(_ line: ArraySlice<UInt8>) -> (status: Int, reason: [UInt8], version: HTTPVersion)? {
        let bytes = Array(line)
        guard bytes.count >= 12, bytes[..<7].equals("HTTP/1."), bytes[7].isDigit, bytes[8] == ASCII.space,
            let status = bytes[9..<12].decimal, status >= 100
        else { return nil }
        // Some servers leave out the last SP together with the phrase.
        guard bytes.count == 12 || bytes[12] == ASCII.space else { return nil }
        return (status, Array(bytes.dropFirst(13)), bytes[7] == ASCII.zero ? .http10 : .http11)
    }

    /// How the body is delimited, for an answer to a request that was not `HEAD` (RFC 9112 §6.3).
    package func framing() throws(ResponseFault) -> BodyFraming {
        if status < 200 || status == 204 || status == 304 { return .none }
        let encodings = headers.all("transfer-encoding")
        let lengths = headers.all("content-length")
        if !encodings.isEmpty {
            guard encodings.count == 1, encodings[0].equalsIgnoringCase("chunked"), lengths.isEmpty else {
                throw .badTransferEncoding
            }
            return .chunked
        }
        guard let length = lengths.first else { return .untilClose }
        guard lengths.count == 1, let value = length.decimal else { throw .badLength }
        return .length(value)
    }
}
