/// The result of the bytes so far.
package enum RequestProgress: Sendable, Equatable {
    case needMore
    /// A complete head. The first `consumed` bytes of the input belong to it; body or the next request follows.
    case head(RequestHead, consumed: Int)
    /// A request that only gets a refusal: send it and close.
    case refused(Refusal)
}

/// Reads request heads from bytes, strictly (RFC 9112). A request is refused where two readers could disagree about its
/// end.
///
/// Work is linear in the bytes, however they are cut; the same bytes give the same answer for every cut. After a
/// head the parser is ready for the next one; after a refusal it repeats it. It does not read the body.
package struct RequestParser: Sendable {
    private enum State {
        case leading(emptyLines: Int)
        case fields(RequestLine, [HeaderFields.Field], usedBytes: Int)
        case refused(Refusal)
    }

    private let limits: RequestLimits
    private var scanner = HeadScanner()
    private var state = State.leading(emptyLines: 0)
    private var parsedBytes = 0

    package init(limits: RequestLimits = RequestLimits()) { self.limits = limits }

    /// Whether a request has begun. It is the difference between an idle connection and one that times out in the middle of
    /// a request.
    package var isInsideHead: Bool {
        if case .leading = state { return scanner.examinedBytes > 0 }
        return true
    }

    /// Bytes scanned so far. The bytes of a line are counted again when the line is complete. It depends only on the input.
    package var examinedBytes: Int { scanner.examinedBytes + parsedBytes }

    package mutating func consume(_ input: Span<UInt8>) -> RequestProgress {
        if case .refused(let refusal) = state { return .refused(refusal) }
        var position = 0
        do {
            while true {
                guard let line = try nextLine(in: input, from: &position) else { return .needMore }
                parsedBytes += line.count
                if let head = try take(line) {
                    self = RequestParser(limits: limits)
                    return .head(head, consumed: position)
                }
            }
        } catch {
            scanner = HeadScanner()
            state = .refused(error)
            return .refused(error)
        }
    }

    private mutating func nextLine(in input: Span<UInt8>, from position: inout Int) throws(Refusal) -> Range<Int>? {
        let alphabet: HeadScanner.Alphabet
        let maximumBytes: Int
        switch state {
        case .leading: (alphabet, maximumBytes) = (.visible, limits.maximumLineBytes)
        case .fields(_, _, let usedBytes): (alphabet, maximumBytes) = (.text, limits.maximumHeaderBytes - usedBytes - 2)
        case .refused(let refusal): throw refusal
        }
        switch scanner.nextLine(in: input, from: &position, alphabet: alphabet, maximumBytes: maximumBytes) {
        case .needMore: return nil
        case .line(let line): return line
        case .fault(let fault): throw refusal(fault)
        }
    }

    /// Reads one line. Returns the head when it was the last line.
    private mutating func take(_ line: Range<Int>) throws(Refusal) -> RequestHead? {
        switch state {
        case .leading(let emptyLines):
            if line.isEmpty {
                guard emptyLines < RequestLimits.maximumLeadingEmptyLines else {
                    throw Refusal(.badRequest, "Too many empty lines before the request line.")
                }
                state = .leading(emptyLines: emptyLines + 1)
            } else {
                state = .fields(try RequestLine(scanner.bytes[line]), [], usedBytes: 0)
            }
            return nil
        case .fields(let request, var fields, let usedBytes):
            if line.isEmpty { return try head(request, fields) }
            // The old state is released before the append, so that the array grows in place.
            state = .leading(emptyLines: 0)
            guard fields.count < limits.maximumHeaders else {
                throw Refusal(.headerTooLarge, "There are more than \(limits.maximumHeaders) header fields.")
            }
            do throws(FieldFault) {
                fields.append(try FieldLine.parse(line, in: scanner.bytes))
            } catch {
                throw Refusal(.badRequest, error.explanation)
            }
            state = .fields(request, fields, usedBytes: usedBytes + line.count + 2)
            return nil
        case .refused(let refusal):
            throw refusal
        }
    }

    private func head(_ request: RequestLine, _ fields: [HeaderFields.Field]) throws(Refusal) -> RequestHead {
        let headers = HeaderFields(bytes: scanner.bytes, fields: fields)
        try RequestFraming.checkHost(headers, version: request.version)
        let body = try RequestFraming.body(headers, version: request.version)
        return RequestHead(
            method: request.method, form: request.form, path: request.path, query: request.query,
            authority: request.authority, version: request.version, headers: headers, body: body)
    }

    private func refusal(_ fault: LineFault) -> Refusal {
        if fault == .tooLong {
            if case .leading = state {
                return Refusal(.targetTooLong, "The request line is over \(limits.maximumLineBytes) bytes.")
            }
            return Refusal(.headerTooLarge, "The header is over \(limits.maximumHeaderBytes) bytes.")
        }
        return Refusal(.badRequest, fault.explanation)
    }
}

extension LineFault {
    var explanation: String {
        switch self {
        case .bareLineFeed: "A line ends with a bare LF."
        case .bareCarriageReturn: "A line has a CR without its LF."
        case .controlByte: "The head contains a control byte."
        case .nonASCII: "The request line is not ASCII."
        case .tooLong: "A line is too long."
        }
    }
}

extension FieldFault {
    var explanation: String {
        switch self {
        case .folded: "A header line begins with a blank."
        case .noColon: "A header line has no colon."
        case .emptyName: "A header field has no name."
        case .blankBeforeColon: "A header field has a blank before its colon."
        case .nameNotToken: "The name of a header field is not a token."
        }
    }
}

/// How much of a request head is read before it is refused.
package struct RequestLimits: Sendable, Equatable {
    /// The request line without its CRLF. RFC 9112 §3 recommends at least 8,000 bytes.
    package var maximumLineBytes: Int
    /// All field lines with their CRLFs, `limits.max_header_bytes`. More gives 431.
    package var maximumHeaderBytes: Int
    /// The number of field lines, `limits.max_headers`. More gives 431.
    package var maximumHeaders: Int

    package init(
        maximumLineBytes: Int = 8 * 1024, maximumHeaderBytes: Int = 16 * 1024, maximumHeaders: Int = 100
    ) {
        self.maximumLineBytes = maximumLineBytes
        self.maximumHeaderBytes = maximumHeaderBytes
        self.maximumHeaders = maximumHeaders
    }

    /// RFC 9112 §2.2: a server ignores at least one empty line before the request line, which old clients sent after
    /// a body. A peer that sends more of them than this is not sending a request.
    static let maximumLeadingEmptyLines = 2
}
