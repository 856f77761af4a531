import HTTP
import LiveState
import Options

@testable import LiveClient
@testable import LiveClientReactor
@testable import livecat

/// A command line of livecat, and what comes of it before anything is connected.
struct Words {
    let words: [String]

    init(_ words: String...) { self.words = words }

    init(_ words: [String]) { self.words = words }

    /// The settings. Nobody can be asked for a passphrase.
    func settings() throws -> CatSettings {
        guard case .run(let arguments) = try LivecatCommand.table.parse(words) else { throw Printed() }
        return try CatSettings(arguments) { nil }
    }

    /// The status and the line with which livecat does not even begin; nil: it begins.
    func refusal() -> (status: ExitStatus, line: String)? {
        do {
            _ = try settings()
            return nil
        } catch let problem as CommandLineProblem {
            return (.wrongUse, "\(problem)")
        } catch let problem as StartProblem {
            return (problem.status, problem.line)
        } catch {
            return nil
        }
    }

    /// The request to the server that is named, or to another one where a redirect led.
    func request(to other: String? = nil, since: String? = nil) throws -> Request {
        let settings = try settings()
        let url = try other.map { try WebSocketURL($0) } ?? settings.connection.url
        let shown = try settings.shown(isSameOrigin: true)
        let cursor = since.map { LiveCursor($0) } ?? settings.cursor
        let attempt = settings.connection.attempt(at: url, credentials: shown, since: cursor)
        return Request(String(decoding: try attempt.handshake().request(), as: UTF8.self))
    }

    /// It asks for help, not for a run.
    private struct Printed: Error {}
}

/// A request as it stands on the wire.
struct Request {
    let line: String
    private let fields: [String]
    let body: String

    init(_ text: String) {
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let lines = parts[0].split(separator: "\r\n").map(String.init)
        (line, fields, body) = (lines[0], Array(lines.dropFirst()), parts[1])
    }

    /// The path and the query.
    var target: String { String(line.split(separator: " ")[1]) }

    /// The values of a field.
    subscript(_ name: String) -> [String] {
        fields.filter { $0.lowercased().hasPrefix(name.lowercased() + ": ") }.map {
            String($0.dropFirst(name.count + 2))
        }
    }
}
