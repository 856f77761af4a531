import CloseCodes
import HTTP
import LiveClient

@testable import LiveClientURLSession

/// What a channel reports, as short texts.
final class Reports {
    private(set) var all: [String] = []

    func take(_ event: ChannelEvent) { all.append(Self.text(event)) }

    static func text(_ event: ChannelEvent) -> String {
        switch event {
        case .opened: "opened"
        case .alive: "alive"
        case .message(let bytes): String(decoding: bytes, as: UTF8.self)
        case .ended(let ending): text(ending)
        }
    }

    static func text(_ ending: ChannelEnding) -> String {
        switch ending {
        case .answered(let answer): "answered \(answer.status) \(body(answer))"
        case .refused(let answer): "refused \(answer.status) \(body(answer))"
        case .closed(let code, let reason): "closed \(code.rawValue) \(reason)"
        case .lost(let how, _): "lost \(how)"
        case .invalid: "invalid"
        }
    }

    private static func body(_ answer: ServerAnswer) -> String {
        answer.body.count > 100 ? "\(answer.body.count)" : String(decoding: answer.body, as: UTF8.self)
    }

    /// A request of this form; a document's own wait is a second.
    static func request(_ form: StreamForm) throws -> StreamRequest {
        var request = StreamRequest(url: try WebSocketURL("wss://live.example/live/v1?with=at"))
        request.form = form
        request.maximumMessageBytes = 64
        if form == .document { request.patienceMilliseconds = 1_000 }
        return request
    }

    static func head(_ status: Int, _ fields: (String, String)...) -> TaskEvent {
        var headers = HeaderFields()
        for (name, value) in fields { headers.append(name, value) }
        return .answered(AnswerHead(status: status, headers: headers))
    }

    static func bytes(_ text: String) -> TaskEvent { .received(Array(text.utf8)) }
}
