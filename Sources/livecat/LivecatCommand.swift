import HTTP
import LiveClientReactor
import Options

/// The table of livecat's options: those of wscat with the same meaning, and its own.
enum LivecatCommand {
    static let connect = SingleOption("connect", short: "c", .text("URL"), help: "connect to a server")
    static let header = RepeatedOption(
        "header", short: "H", .text("NAME:VALUE"), isSecret: true, help: "add a header; the last of a name counts")
    static let subprotocol = RepeatedOption(
        "subprotocol", short: "s", .text("NAME"), isSecret: true, help: "offer a subprotocol")
    static let origin = SingleOption("origin", short: "o", .text("ORIGIN"), help: "the value of Origin")
    static let version = SingleOption(
        "protocol", short: "p", .integer("VERSION", in: 8...13), help: "the WebSocket version to ask for: 13, or 8")
    static let showPingPong = Flag("show-ping-pong", short: "P", help: "show when a ping or a pong comes")
    static let execute = RepeatedOption(
        "execute", short: "x", .text(), isSecret: true,
        help: "send a message after connecting; the connection is closed after --wait")
    static let wait = SingleOption(
        "wait", short: "w", waitKind,
        help: "after --execute, wait so long before closing; -1 holds open. Without it 2 seconds, or for ever where "
            + "--count, --duration or --reconnect decide when to end")
    static let noCheck = Flag("no-check", short: "n", help: "accept any certificate")
    static let location = Flag("location", short: "L", help: "follow redirects")
    static let host = SingleOption("host", .text("HOST"), help: "the value of Host")
    static let auth = SingleOption(
        "auth", .text("USER:PASSWORD"), isSecret: true, help: "add basic HTTP authentication")
    static let authority = SingleOption("ca", .file(), help: "trust the certificate authorities of this PEM file alone")
    static let certificate = SingleOption("cert", .file(), help: "the client's certificate, PEM")
    static let key = SingleOption("key", .file(), help: "the key of --cert, PEM")
    static let passphrase = OptionalValueOption(
        "passphrase", .text("WORD"), isSecret: true, help: "opens an encrypted --key; without a value it is asked for")
    static let proxy = SingleOption(
        "proxy", .text("[http://]HOST[:PORT]"), isSecret: true, help: "connect through an HTTP proxy (CONNECT)")
    static let maximumRedirects = SingleOption(
        "max-redirects", .integer("N", in: 0...100), help: "how many redirects to follow at most, by default 10")
    static let slash = Flag(
        "slash", help: "read /ping [DATA], /pong [DATA] and /close [CODE [REASON]] as commands, not as messages")
    static let noColor = Flag("no-color", help: "no colours")

    static let tokenFile = SingleOption(
        "token-file", .file(),
        help: """
            send Authorization: Bearer with this file's token, read again at each connection and, on a stream with cursors, \
            before the token ends
            """)
    static let binary = Flag("binary", help: "send what comes from a pipe as binary messages")
    static let json = Flag("json", help: "print a JSON object a line, for messages and for what else happens")
    static let count = SingleOption("count", .integer("N", in: 1...Int.max), help: "end after so many messages")
    static let duration = SingleOption("duration", .duration(), help: "end after so long")
    static let ping = SingleOption("ping", .duration(), help: "send a ping so often and show the round trip")
    static let reconnect = Flag(
        "reconnect", help: "reconnect after a loss, when the server asks for it or with growing waits")
    static let deflate = Flag("deflate", help: "offer permessage-deflate")

    static let since = SingleOption(
        "since", .text("CURSOR"), help: "first show what came after this cursor of a Livegate")
    static let upTo = SingleOption(
        "upto", .text("CURSOR"),
        help: "with --sync: wait for the node to read as far as this cursor of another one, such as a changed's at")
    static let with = SingleOption(
        "with", .text("WORDS"), help: "ask for more in each message: at (cursors), ts, aid, or several: at,ts")
    static let entities = SingleOption("ent", .text("NAMES"), help: "ask for these entities alone, by comma")
    static let mode = SingleOption(
        "mode", .choice("MODE", of: ["changed"]),
        help: "changed: receive only that something has changed; what it was is asked for by --sync --since --upto AT")
    static let beat = SingleOption(
        "beat", .integer("SECONDS", in: 5...300), help: "ask for a sign of life with a cursor after so long")
    static let sse = Flag("sse", help: "read server-sent events instead of a WebSocket; nothing is sent")
    static let sync = Flag(
        "sync",
        help: "ask /sync/v1 (in place of /live/v1) for what came after --since, an event a line, and end when caught "
            + "up; with --wait go on, each request waiting so long (-1: 55 s)")
    static let archive = Flag(
        "archive",
        help:
            "ask /archive/v1 (in place of /live/v1) for a page of the past, the newest event first, and print an event a line"
    )
    static let inbox = Flag(
        "inbox",
        help:
            "ask /inbox/v1 (in place of /live/v1) for a page of the person's inbox, the most recent first, and print a thing a "
            + "line, with how many of its events are unread")
    static let markRead = SingleOption(
        "mark-read", eventIDKind,
        help:
            "mark as read what came up to the event with this aid: of the thing that --ent and --id name, else of everything"
    )
    static let before = SingleOption(
        "before", eventIDKind, help: "with --archive or --inbox: what is older than the event with this aid")
    static let limit = SingleOption(
        "limit", .integer("N", in: 1...Int.max),
        help: "with --archive or --inbox: so many lines at most, by default 50; a server gives no more than 500 at once"
    )
    static let thing = SingleOption(
        "id", .text("ID"), help: "with --archive or --mark-read: only this thing, of the one name in --ent")
    static let cursorFile = SingleOption(
        "cursor-file", .file(), help: "go on at the cursor in this file, if it is there, and keep the newest in it")
    static let verify = Flag(
        "verify", help: "count missing and duplicate messages, where ids end with numbers that grow by one")

    static let table = Command(
        "livecat", summary: "talk to a WebSocket server, as wscat does",
        details: [
            "In a terminal it prompts for messages and shows what comes behind '< '. In a pipe each message is a line "
                + "on standard output, everything else goes to standard error, and each line of standard input is sent "
                + "as a message.",
            "Of a Livegate, whose cursors are asked for by --since, --with at, --mode changed, --beat, --sse, --sync or "
                + "--cursor-file, the control messages (live, beat, resync, source, bye) are shown on standard error, and "
                + "with --json as messages; --reconnect goes on behind the last message. A server-sent event is printed "
                + "as its data; --json shows control events in the form that a WebSocket has.",
            "--archive, --inbox and --mark-read make one request of a Livegate's archive. Where a page ends, from where on to go "
                + "live behind it, and where the archive lacks something, is reported on standard error.",
            "livecat report FILE shows what apps counted of their refreshes (livecat report --help); a host of that name is "
                + "reached by -c report.",
        ],
        options: [
            connect, header, subprotocol, origin, version, showPingPong, execute, wait, noCheck, location,
            maximumRedirects, host, auth, tokenFile, authority, certificate, key, passphrase, proxy, slash, noColor,
            binary, json, count, duration, ping, reconnect, deflate, since, upTo, with, entities, mode, beat, sse, sync,
            cursorFile, verify, archive, inbox, markRead, before, limit, thing,
        ],
        operands: [
            Operand(
                "URL", isRequired: false,
                help: "ws, wss, http or https, which mean ws and wss; ws+unix:PATH:/TARGET; without a scheme ws")
        ],
        statuses: [
            (.success, "a clean close: 1000, 1001, or its own end"),
            (.refused, "the server answered with another status than 101, or than what was asked for has"),
            (.notConnected, "no connection: name, network, TLS, proxy, deadline, or not a WebSocket"),
            (.lost, "any other close, none, a cut or a broken frame; --verify found something missing"),
            (.wrongUse, "wrong use"), (.noInput, "a file cannot be read"),
            (.output, "standard output or the file of --cursor-file cannot be written"),
        ],
        sections: [
            ReportCommand.section,
            ManualSection(
                "Examples",
                [
                    .example("livecat -c http://localhost:8080/live/v1 -H \"Authorization: Bearer $TOKEN\""),
                    .example("livecat --token-file token --reconnect --json wss://live.example/live/v1 | jq .text"),
                    .example("livecat --token-file token --reconnect --cursor-file cursor wss://live.example/live/v1"),
                    .example(
                        "livecat --token-file token --sync --wait 55 --cursor-file cursor https://live.example/live/v1"),
                    .example("livecat --token-file token --archive --limit 100 https://live.example/live/v1"),
                    .example("echo hello | livecat wss://echo.example"),
                ]),
            ManualSection(
                "Environment",
                [
                    .entry("NO_COLOR", "not empty: no colours"),
                    .entry("TERM", "dumb: neither colours nor line editing"),
                ]),
        ],
        documentsItself: true, wordShown: Self.shown(word:))

    /// An unexpected word may be a token, as in `-H Authorization: Bearer TOKEN` without quotes. An address is shown without its
    /// secrets.
    @Sendable private static func shown(word: String) -> String {
        guard word.contains("://"), let url = try? WebSocketURL(word), !url.target.contains("@") else { return "…" }
        return url.withoutTicket.description
    }

    /// An event's id in the archive.
    private static let eventIDKind = ValueKind<EventID>("AID") { text throws(ValueProblem) in
        let id = EventID(text)
        guard id.isWellFormed else { throw ValueProblem("is not an event's aid") }
        return id
    }

    /// Whole or decimal seconds, or -1.
    private static let waitKind = ValueKind<Wait>("SECONDS") { text throws(ValueProblem) in
        if text.utf8.elementsEqual("-1".utf8) { return .forever }
        let isPlain = text.utf8.allSatisfy { ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2E }
        guard isPlain, let seconds = Double(text), seconds <= 1_000_000 else {
            throw ValueProblem("is not a number of seconds, nor -1")
        }
        return .milliseconds(UInt64(seconds * 1000))
    }
}

/// How long to wait after the messages of `--execute`.
enum Wait: Equatable, Sendable {
    case forever
    case milliseconds(UInt64)
}

extension ExitStatus {
    /// The server answered with another status than 101.
    static let refused = ExitStatus(1)
    static let notConnected = ExitStatus(2)
    /// A connection that ended without a clean close.
    static let lost = ExitStatus(3)
}
