import Balancer
import HTTP

/// One request on the administration address, whole.
struct AdminRequest: Sendable {
    let head: RequestHead
    let body: [UInt8]
    /// The rest of the path after that of a row that ends with a slash, decoded; empty for other rows.
    var name = ""
    /// Who asks, for the log.
    var peer = ClientAddress.unix

    init(_ head: RequestHead, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }

    /// `HEAD` asks for what `GET` would answer, without its body (RFC 9110 §9.3.2).
    var method: String { isHead ? "GET" : head.method }
    var isHead: Bool { head.method == "HEAD" }
    var parameters: QueryParameters { QueryParameters(head.query) }

    /// Whether the connection may serve another request. A client of HTTP/1.0 gets the end that it expects.
    var keepsAlive: Bool { head.version == .http11 && head.keepsAlive }

    // MARK: - Parameters, of which others than those asked for are ignored

    /// A parameter that is needed, or may be left out; throws where it is empty, given more than once or cannot be decoded.
    func text(_ name: String) throws(AdminRefusal) -> String? {
        switch parameters[name] {
        case .absent: return nil
        case .repeated: throw .badParameter("Parameter \(name) given more than once.")
        case .malformed: throw .badParameter("\(name) is not percent-encoded UTF-8.")
        case .one(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
                throw .badParameter("\(name) is empty, or not percent-encoded UTF-8.")
            }
            return text
        }
    }

    func needed(_ name: String) throws(AdminRefusal) -> String {
        guard let text = try text(name) else { throw .badParameter("\(name) is missing.") }
        return text
    }

    /// A whole number of a range, without sign or blank.
    func number(_ name: String, in range: ClosedRange<Int>) throws(AdminRefusal) -> Int? {
        guard let text = try text(name) else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), range.contains(number)
        else {
            throw .badParameter("\(name) is not a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}

/// Reads requests from bytes, each with its body. The bytes after one belong to the next.
struct AdminRequestReader {
    /// A body of this address is a word. More is refused before it is stored.
    static let maximumBodyBytes = 4096

    enum Progress {
        case needMore
        /// The first `consumed` bytes of the input belong to it, or to what came before.
        case request(AdminRequest, consumed: Int)
        /// Answered, and the connection closed: the start of the next request is unknown.
        case refused(AdminRefusal)
    }

    private var parser: RequestParser
    private var head: RequestHead?
    private var body: BodyReader?
    /// The client holds its body back until it is asked for it (RFC 9110 §10.1.1). Reset by the connection that answers.
    var owesContinue = false

    init(limits: RequestLimits = RequestLimits()) { parser = RequestParser(limits: limits) }

    /// Whether a request has begun and is not whole.
    var hasBegun: Bool { head != nil || parser.isInsideHead }

    mutating func consume(_ input: Span<UInt8>) -> Progress {
        var used = 0
        if head == nil {
            switch parser.consume(input) {
            case .needMore: return .needMore
            case .refused(let refusal): return .refused(.malformed(refusal))
            case .head(let head, let consumed):
                used = consumed
                if case .length(let count) = head.body, count > Self.maximumBodyBytes { return .refused(.bodyTooLarge) }
                self.head = head
                body = BodyReader(head.body, maximumBytes: Self.maximumBodyBytes)
                owesContinue =
                    !head.body.isEmpty && used == input.count && head.version == .http11
                    && head.headers.containsToken("100-continue", in: "expect")
            }
        }
        return readBody(input, from: used)
    }

    private mutating func readBody(_ input: Span<UInt8>, from start: Int) -> Progress {
        guard let head, var body = body.take() else { preconditionFailure("a body is read behind its head") }
        var used = start
        do throws(ResponseFault) {
            // Byte by byte, because the reader does not report where it ended; a body is short.
            while !body.isDone, used < input.count {
                try body.consume(input.extracting(used..<(used + 1)))
                used += 1
            }
        } catch {
            return .refused(.malformed(Refusal(.badRequest, "The body is not in a valid chunked encoding.")))
        }
        guard !body.isTruncated else { return .refused(.bodyTooLarge) }
        guard body.isDone else {
            self.body = body
            return .needMore
        }
        self.head = nil
        return .request(AdminRequest(head, body: body.take()), consumed: used)
    }
}
