import HTTP
import LiveClientReactor
import Options
import TLS
import WebSocket

/// What livecat has to do, by its command line.
struct CatSettings {
    var connection: ConnectionSettings
    /// The credentials for the server that the user named, and for no other; the token of `tokenFile` is not among them.
    var credentials = OriginCredentials()
    var tokenFile: String?
    /// Files that other users should not be able to read.
    var secretFiles: [String] = []
    /// Whether there is a token that never changes.
    var hasFixedToken: Bool { hasAuthorization || !credentials.protocols.isEmpty }
    private var hasAuthorization: Bool { credentials.headers.contains { $0.name.lowercased() == "authorization" } }
    /// Nil: redirects are not followed.
    var maximumRedirects: Int?
    var execute: [String]
    /// Nil: nothing ends after `execute`.
    var waitMilliseconds: UInt64?
    var count: Int?
    var durationMilliseconds: UInt64?
    var isBinary: Bool
    var isJSON: Bool
    var showsPingPong: Bool
    var readsSlashCommands: Bool
    var reconnects: Bool
    var allowsColor: Bool
    /// Whether livecat reads Livegate's protocol: it follows cursors and shows control messages.
    var hasCursors = false
    /// The cursor to begin at.
    var cursor: LiveCursor?
    var cursorFile: CursorFile?
    var verifies = false
    /// The document that is asked for, if any.
    var document = CatDocument.sync
    /// Nil: `--sync` ends when it has caught up.
    var syncWaitSeconds: Int?
    /// Whether a page that the server postpones is requested again without `--reconnect`: `--sync` makes many requests, the other
    /// options make one.
    var asksAgain: Bool { connection.form == .document && document == .sync }
}

extension CatSettings {
    /// The credentials for one attempt. They are only for the server that the user named: another one gets none.
    ///
    /// - Throws: if the token's file contains no token.
    func shown(isSameOrigin: Bool) throws(StartProblem) -> OriginCredentials {
        guard isSameOrigin else { return OriginCredentials() }
        guard let tokenFile else { return credentials }
        var shown = credentials
        shown.headers.append(("Authorization", "Bearer " + (try TokenFile.token(tokenFile))))
        return shown
    }

    /// Whether livecat still receives after the end of standard input.
    ///
    /// - Parameter hadInput: whether there was input before.
    func outlivesInput(hadInput: Bool) -> Bool {
        !hadInput || !execute.isEmpty || count != nil || durationMilliseconds != nil || reconnects
    }
}

/// Why livecat cannot begin.
enum StartProblem: Error, Equatable {
    /// Status 64.
    case wrongUse(String)
    /// Status 66.
    case unreadable(String)

    var text: String {
        switch self {
        case .wrongUse(let text), .unreadable(let text): text
        }
    }

    /// The line on standard error.
    var line: String {
        let program = LivecatCommand.table.name
        return switch self {
        case .wrongUse(let text): "\(CommandLineProblem(program: program, wrongUse: .other(text)))"
        case .unreadable(let text): "\(program): \(text)"
        }
    }

    var status: ExitStatus {
        switch self {
        case .wrongUse: .wrongUse
        case .unreadable: .noInput
        }
    }
}

extension CatSettings {
    /// How long wscat waits after the messages of `-x`.
    private static let defaultWaitMilliseconds: UInt64 = 2000
    private static let defaultMaximumRedirects = 10

    /// - Parameter askPassphrase: asks the user for the passphrase; returns nil if there is no terminal.
    init(_ arguments: Arguments, askPassphrase: () -> String?) throws(StartProblem) {
        let table = LivecatCommand.self
        connection = ConnectionSettings(url: try Self.url(arguments))
        connection.deflate = arguments[table.deflate] ? DeflateOffer() : nil
        connection.pingMilliseconds = arguments[table.ping]?.milliseconds
        execute = arguments[table.execute]
        count = arguments[table.count]
        durationMilliseconds = arguments[table.duration]?.milliseconds
        isBinary = arguments[table.binary]
        isJSON = arguments[table.json]
        showsPingPong = arguments[table.showPingPong]
        readsSlashCommands = arguments[table.slash]
        reconnects = arguments[table.reconnect]
        allowsColor = !arguments[table.noColor]
        tokenFile = arguments[table.tokenFile]
        secretFiles = [tokenFile, arguments[table.key]].compactMap { $0 }
        credentials.host = arguments[table.host]
        if arguments[table.location] {
            maximumRedirects = arguments[table.maximumRedirects] ?? Self.defaultMaximumRedirects
        }
        switch arguments[table.wait] {
        case .milliseconds(let milliseconds): waitMilliseconds = milliseconds
        case .forever: waitMilliseconds = nil
        case nil:
            let endsOtherwise = count != nil || durationMilliseconds != nil || reconnects
            waitMilliseconds = endsOtherwise ? nil : Self.defaultWaitMilliseconds
        }
        if execute.isEmpty { waitMilliseconds = nil }
        for name in arguments[table.subprotocol] { addProtocol(name) }
        try setVersion(arguments)
        try setProtocol(arguments)
        try setHeaders(arguments)
        try setProxy(arguments)
        try setTLS(arguments, askPassphrase)
        try check()
    }

    private static func url(_ arguments: Arguments) throws(StartProblem) -> WebSocketURL {
        let option = arguments[LivecatCommand.connect]
        guard option == nil || arguments.operands.isEmpty else {
            throw .wrongUse("unexpected argument: --connect names the URL already")
        }
        guard let text = option ?? arguments.operands.first else {
            throw .wrongUse("URL is missing: did you mean 'livecat --connect URL'?")
        }
        do throws(URLFault) {
            return try WebSocketURL(text)
        } catch {
            throw .wrongUse("not a URL to connect to: \(error.explanation.printable)")
        }
    }

    private mutating func setVersion(_ arguments: Arguments) throws(StartProblem) {
        let version = arguments[LivecatCommand.version] ?? 13
        guard version == 13 || version == 8 else {
            throw .wrongUse("unsupported protocol version \(version): 13 and 8 are known")
        }
        connection.version = version
        guard let origin = arguments[LivecatCommand.origin] else { return }
        // Drafts up to version 8 had another name for it.
        connection.headers.append((version == 8 ? "Sec-WebSocket-Origin" : "Origin", origin))
    }

    /// Adds a subprotocol. One that carries a token is only for the server that the user named.
    private mutating func addProtocol(_ name: String) {
        if OriginCredentials.isCredential(protocolNamed: name) {
            credentials.protocols.append(name)
        } else {
            connection.protocols.append(name)
        }
    }

    private mutating func setHeaders(_ arguments: Arguments) throws(StartProblem) {
        var fields: [(name: String, value: String)] = []
        for text in arguments[LivecatCommand.header] {
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                throw .wrongUse("option '--header': its value has no colon: NAME:VALUE")
            }
            let name = String(text[..<colon]).trimmingBlanks
            let value = String(text[text.index(after: colon)...]).trimmingBlanks
            do throws(RequestFault) {
                try ClientRequest.check(name: name, value: value)
            } catch {
                throw .wrongUse("option '--header': \(error.explanation.printable)")
            }
            fields.removeAll { $0.name.lowercased() == name.lowercased() }
            fields.append((name, value))
        }
        for (name, value) in fields {
            switch name.lowercased() {
            case "host": credentials.host = credentials.host ?? value
            case "sec-websocket-protocol":
                for one in value.split(separator: ",") { addProtocol(String(one).trimmingBlanks) }
            case "origin" where connection.headers.contains { $0.name == "Origin" }: break
            case _ where OriginCredentials.isCredential(headerNamed: name): credentials.headers.append((name, value))
            default: connection.headers.append((name, value))
            }
        }
        let hasHeader = hasAuthorization
        if tokenFile != nil, hasHeader || arguments[LivecatCommand.auth] != nil {
            throw .wrongUse("--token-file and another Authorization given: use only one of them")
        }
        if let basic = arguments[LivecatCommand.auth].map({ Array($0.utf8) }) {
            credentials.headers.removeAll { $0.name.lowercased() == "authorization" }
            credentials.headers.append(("Authorization", "Basic " + Base64.encode(basic)))
        } else if let basic = connection.url.userInformation, tokenFile == nil, !hasHeader {
            credentials.headers.append(("Authorization", "Basic " + Base64.encode(basic)))
        }
    }
}
