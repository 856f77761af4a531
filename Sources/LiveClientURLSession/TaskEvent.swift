import Foundation
import HTTP
import LiveClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What URLSession reports of a task.
enum TaskEvent: Sendable {
    /// The head of an answer arrived.
    case answered(AnswerHead)
    /// Bytes of its body.
    case received([UInt8])
    /// A WebSocket was accepted.
    case opened
    /// A WebSocket's close frame arrived; 1005 for an empty one.
    case closed(code: Int, reason: [UInt8])
    /// Nothing follows. Nil: the whole answer has arrived; otherwise the reason why it has not.
    case completed(TaskFailure?)
}

/// The head of an answer: its status, and its fields from URLSession, which joins fields of the same name with commas.
struct AnswerHead: Sendable {
    let status: Int
    let headers: HeaderFields

    init(status: Int, headers: HeaderFields) { (self.status, self.headers) = (status, headers) }

    init(_ response: HTTPURLResponse) {
        var headers = HeaderFields()
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            headers.append(name, value)
        }
        self.init(status: response.statusCode, headers: headers)
    }

    /// RFC 9110 §8.3.1: parameters may follow the type.
    var isEventStream: Bool {
        let type = headers.text("content-type") ?? ""
        return status == 200 && type.prefix { $0 != ";" && $0 != " " }.lowercased() == EventStream.contentType
    }

    /// The answer, with the part of its body that has arrived.
    func answer(_ body: [UInt8], isTruncated: Bool) -> ServerAnswer {
        ServerAnswer(status: status, reason: [], headers: headers, body: body, isTruncated: isTruncated)
    }
}

/// Why a task has failed.
struct TaskFailure: Error, Equatable {
    /// For an app's own log, without the address, which may contain a ticket.
    let text: String
    let code: URLError.Code?

    init(_ error: any Error) {
        code = (error as? URLError)?.code ?? Self.code(of: error)
        text =
            code.map { "URLSession: error \($0.rawValue), \(error.localizedDescription)" } ?? error.localizedDescription
    }

    /// WebSocket tasks report a cut connection by the number of the system.
    private static func code(of error: any Error) -> URLError.Code? {
        guard let error = error as? POSIXError else { return nil }
        return [.ECONNRESET, .ECONNABORTED, .ENOTCONN, .EPIPE].contains(error.code) ? .networkConnectionLost : nil
    }

    init(_ code: URLError.Code, text: String) { (self.code, self.text) = (code, text) }

    /// How a stream or a request ended with this failure.
    ///
    /// - Parameter wasAnswered: whether the head of an answer had arrived.
    func ending(wasAnswered: Bool) -> ChannelEnding {
        switch code {
        // The app does not allow plain HTTP.
        case .badURL?, .unsupportedURL?, .appTransportSecurityRequiresSecureConnection?: .invalid(text)
        case .networkConnectionLost?: .lost(.cut, text)
        case .timedOut?: .lost(.silent, text)
        case .badServerResponse?, .cannotParseResponse?, .cannotDecodeContentData?, .cannotDecodeRawData?:
            .lost(.broken, text)
        default: .lost(wasAnswered ? .cut : .unreachable, text)
        }
    }
}
