// Tests: CatSettings+Archive.swift, CatSettings+Network.swift, CatSettings+Protocol.swift, CatSettings.swift,
//   LivecatCommand.swift

import HTTP
import LiveState
import Options
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor
@testable import livecat

@Suite struct `A wrong command line` {
    static let aid = "-OeGYzQ8" + String(repeating: "-", count: 31) + "z"

    /// Words, and what the line names.
    static let rows: [([String], String)] = [
        ([], "URL"), (["-c", "ws://a", "ws://b"], "--connect"), (["ws://a", "ws://b"], "ws://b"), (["ftp://a"], "ftp"),
        (["ws://a:0"], "port"), (["ws://a#b"], "#"), (["--colour", "ws://a"], "--no-color"), (["-l", "80"], "-L"),
        (["-p", "12", "ws://a"], "12"), (["-p", "x", "ws://a"], "--protocol"),
        (["-H", "nothing", "ws://a"], "--header"),
        (["-H", "A B: c", "ws://a"], "--header"), (["-H", "A: b\nC: d", "ws://a"], "--header"),
        (["--count", "0", "ws://a"], "--count"), (["--duration", "5", "ws://a"], "30s"),
        (["--ping", "-1s", "ws://a"], "30s"),
        (["--token-file", "x", "-H", "authorization: y", "ws://a"], "--token-file"),
        (["--token-file", "x", "--auth", "u:p", "ws://a"], "--token-file"), (["-s", "a b", "ws://a"], "token"),
        (["-w", "x", "ws://a"], "seconds"), (["--max-redirects", "x", "ws://a"], "--max-redirects"),
        (["--key", "x", "wss://a"], "--cert"), (["--proxy", "socks://a", "ws://a"], "socks"),
        (["--json=x", "ws://a"], "--json"), (["--passphrase", "--cert", "x", "wss://a"], "--passphrase"),
        (["--mode", "all", "ws://a"], "changed"),
    ]

    /// What excludes one another, and what is no part of what is asked for.
    static let forms: [([String], String)] =
        [
            (["--sse", "--sync"], "--sse and --sync exclude one another"),
            (["--archive", "--inbox"], "--archive and --inbox exclude one another"),
            (["--sync", "--archive"], "--sync and --archive exclude one another"),
            (["--inbox", "--mark-read", aid], "--inbox and --mark-read exclude one another"),
            (["--upto", "1"], "'--upto' has no meaning without --sync"),
            (["--archive", "--upto", "1"], "'--upto' has no meaning without --sync"),
            (["--sync", "--mode", "changed"], "'--mode' has no meaning with --sync"),
            (["--before", aid], "'--before' has no meaning without --archive or --inbox"),
            (["--mark-read", aid, "--limit", "3"], "'--limit' has no meaning without --archive or --inbox"),
            (["--inbox", "--ent", "a", "--id", "b"], "'--id' has no meaning without --archive or --mark-read"),
            (["--archive", "--id", "b"], "--id needs --ent"),
            (["--archive", "--ent", "a,b", "--id", "b"], "--id needs one name in --ent"),
            (["--mark-read", aid, "--ent", "a"], "--ent needs --id"),
            (["--archive", "--before", String(repeating: "x", count: 41)], "is not an event's aid"),
            (["--archive", "--before", "a+b"], "is not an event's aid"),
            (["--mark-read", ""], "is not an event's aid"),
            (["--archive", "--limit", "0"], "is not a whole number"),
        ]
        + [
            ["--since", "x"], ["--with", "at"], ["--count", "1"], ["--cursor-file", "f"], ["--wait", "1"], ["--verify"],
            ["--mode", "changed"], ["--beat", "5"], ["--execute", "x"], ["--ping", "1s"],
        ].map { (["--archive"] + $0, "'\($0[0])' has no meaning with --archive") }
        + ["--sse", "--sync"].flatMap { form in
            ["-xa", "-sa", "--deflate", "--ping=5s", "--binary", "--slash", "-p13"].map { option in
                ([form, option], "has no meaning with \(form)")
            }
        }

    @Test(arguments: rows + forms.map { ($0.0 + ["ws://127.0.0.1:1"], $0.1) })
    func `is told in one line that names what is wrong`(_ words: [String], _ told: String) throws {
        let (status, line) = try #require(Words(words).refusal())
        #expect(status == .wrongUse && line.contains(told), "\(line)")
        #expect(line.hasPrefix("livecat: ") && !line.contains("\n"), "\(line)")
    }

    @Test(arguments: [
        ["-H", "Authorization Bearer hush", "ws://a"], ["-H", "Authorization:", "Bearer", "hush", "ws://a"],
        ["ws://a", "ws://u:hush@b/?ticket=hush"], ["-c", "ws://a", "hush"], ["-c", "ws://a", "ws://b/?ticket=hush"],
        ["-s", "bearer.hush,more", "ws://a"], ["-s", "bearer.hush", "-s", "bearer.hush", "ws://a"],
        ["-H", "Sec-WebSocket-Protocol: bearer.hush, bearer.hush", "ws://a"], ["ws://u:hush/s@a"], ["ws://u:hush?@a/x"],
        ["ws://a", "ws://u:1/hush@b"], ["hush:p@a"], ["--proxy", "u:hush/s@a:1", "ws://a"],
        ["--proxy", "u:hush://s@a:1", "ws://a"],
    ]) func `shows no secret`(_ words: [String]) throws {
        let (_, line) = try #require(Words(words).refusal())
        #expect(!line.contains("hush"))
    }

    /// Words, and those of them that are wiped from the process title beside the secrets of the table.
    static let secretURLs: [([String], [String])] = [
        (["ws://a/live/v1"], []), (["ws://u:p@a"], ["ws://u:p@a"]), (["-c", "ws://a/?ticket=t"], ["ws://a/?ticket=t"]),
        (["ws://a/?x=1&t%69cket=t"], ["ws://a/?x=1&t%69cket=t"]), (["ftp://u:p@a"], ["ftp://u:p@a"]),
        (["ws://u:1/s@a"], ["ws://u:1/s@a"]), (["ws://u:p/s@a"], ["ws://u:p/s@a"]),
    ]

    @Test(arguments: secretURLs)
    func `or a right one has addresses that are wiped`(_ words: [String], _ wiped: [String]) throws {
        guard case .run(let arguments) = try LivecatCommand.table.parse(words) else {
            Issue.record("it printed")
            return
        }
        #expect(arguments.secretURLs == wiped)
    }

    @Test(arguments: ["--ca", "--cert"]) func `names a file that cannot be read`(_ option: String) throws {
        let (status, line) = try #require(Words(option, "/nowhere/none", "ws://a").refusal())
        #expect(status == .noInput && line.hasPrefix("livecat: ") && line.contains("/nowhere/none"), "\(line)")
        #expect(!line.contains("\n"))
    }

    @Test(arguments: ["--help", "-h", "--version", "-V"]) func `is none where it asks for help`(_ word: String) throws {
        guard case .print(let text) = try LivecatCommand.table.parse([word]) else {
            Issue.record("it runs")
            return
        }
        let told =
            word.lowercased().hasSuffix("h") || word == "--help" ? ["--token-file FILE", "Exit status"] : ["livecat 0"]
        for part in told { #expect(text.contains(part)) }
    }
}

@Suite struct `A request of livecat` {
    private let folder = TemporaryFolder()

    private func file(_ text: String) throws -> String {
        let path = folder.path("file")
        #expect(OutputFile.write(text, to: path) == nil)
        return path
    }

    @Test func `is what a server expects`() throws {
        let request = try Words("ws://a:81/live/v1?a=b%20c").request()
        #expect(request.line == "GET /live/v1?a=b%20c HTTP/1.1" && request["Host"] == ["a:81"])
        #expect(request["Upgrade"] == ["websocket"] && request["Connection"] == ["Upgrade"])
        #expect(request["Sec-WebSocket-Version"] == ["13"] && request["Sec-WebSocket-Key"].map(\.count) == [24])
        #expect(request["Authorization"] == [] && request["Sec-WebSocket-Extensions"] == [])
    }

    @Test(arguments: [["ws://a/x"], ["http://a/x"], ["HTTP://a/x"], ["a/x"], ["-c", "a/x"], ["--connect=ws://a/x"]])
    func `goes to the address however it is written`(_ words: [String]) throws {
        #expect(try Words(words).settings().connection.url.description == "ws://a/x")
    }

    @Test func `has the headers of the command line, the last of a name`() throws {
        let request = try Words(
            "-H", "X-A: 1", "--header=x-a:  2 ", "-H", "Authorization: Bearer t", "-H", "Upgrade: h2c", "-o",
            "http://origin", "--host", "example", "-s", "a", "-s", "b", "-p", "13", "--deflate", "ws://a"
        ).request()
        #expect(request["X-A"] == ["2"] && request["Authorization"] == ["Bearer t"])
        #expect(request["Upgrade"] == ["websocket"] && request["Origin"] == ["http://origin"])
        #expect(request["Host"] == ["example"] && request["Sec-WebSocket-Protocol"] == ["a, b"])
        #expect(request["Sec-WebSocket-Extensions"] == ["permessage-deflate; client_max_window_bits"])
    }

    @Test func `of version 8 has another name for the origin`() throws {
        let request = try Words("-p", "8", "-o", "http://origin", "ws://a").request()
        #expect(request["Sec-WebSocket-Version"] == ["8"] && request["Sec-WebSocket-Origin"] == ["http://origin"])
        #expect(request["Origin"] == [])
    }

    @Test(arguments: [
        ["--auth", "user:p\u{E4}ss", "ws://a"], ["ws://user:p%C3%A4ss@a/"],
        ["-H", "Authorization: Bearer t", "--auth", "user:p\u{E4}ss", "ws://a"],
    ]) func `has basic authentication`(_ words: [String]) throws {
        #expect(try Words(words).request()["Authorization"] == ["Basic dXNlcjpww6Rzcw=="])
    }

    @Test func `has the token of the file, without what stands around it`() throws {
        let path = try file("  two  \n")
        #expect(try Words("--token-file", path, "ws://a").request()["Authorization"] == ["Bearer two"])
        #expect(OutputFile.write("three", to: path) == nil)
        #expect(try Words("--token-file", path, "ws://a").request()["Authorization"] == ["Bearer three"])
    }

    @Test(arguments: ["", "two words", "\u{1B}"]) func `is not made with a file that holds no token`(_ text: String)
        throws
    {
        let words = Words("--token-file", try file(text), "ws://a")
        let problem = #expect(throws: StartProblem.self) { try words.request() }
        #expect(problem?.status == .noInput && problem?.text.contains("holds no token") == true)
        #expect(throws: StartProblem.self) { try Words("--token-file", "/nowhere/none", "ws://a").request() }
    }

    @Test func `shows its credentials to the server that is named, and to no other`() throws {
        let token = try file("secret")
        for options in [
            ["-H", "Authorization: Bearer t", "-H", "Cookie: c"], ["--auth", "u:p"], ["--token-file", token],
            ["--auth", "u:p", "-H", "X-Api-Key: k", "-H", "X-Auth-Token: k", "-s", "bearer.t"],
            ["--auth", "u:p", "-H", "Sec-WebSocket-Protocol: a, bearer.t"],
        ] {
            let words = Words(["-L", "-H", "X-A: 1", "--host", "example"] + options + ["ws://a/"])
            let (first, same) = (try words.request(), try words.request(to: "ws://a/new"))
            #expect(same["Authorization"] == first["Authorization"] && first["Authorization"].count == 1, "\(options)")
            #expect(same["Cookie"] == first["Cookie"] && same["Host"] == ["example"], "\(options)")
            let offered = first["Sec-WebSocket-Protocol"]
            #expect(same["Sec-WebSocket-Protocol"] == offered && offered.allSatisfy { $0.hasSuffix("bearer.t") })
            #expect(offered.isEmpty == !options.contains { $0.contains("bearer.t") }, "\(options)")
            for other in ["ws://b/x", "wss://a/", "ws://a:81/"] {
                let (away, host) = (try words.request(to: other), try WebSocketURL(other).host)
                #expect(away["Authorization"] == [] && away["Cookie"] == [], "\(options) \(other)")
                #expect(away["X-A"] == ["1"] && away["Host"] == [host], "\(options) \(other)")
                #expect(away["X-Api-Key"] + away["X-Auth-Token"] == [], "\(options) \(other)")
                #expect(away["Sec-WebSocket-Protocol"].allSatisfy { $0 == "a" }, "\(options) \(other)")
            }
        }
    }

    /// Words, and the target that they make.
    static let targets: [([String], String)] = [
        (["ws://a/live/v1?a=%zz&a="], "/live/v1?a=%zz&a="),
        (
            [
                "--since", "a-_b", "--with", "at,ts", "--ent", "incident,note", "--mode", "changed", "--beat", "5",
                "ws://a/live/v1?since=old&x=1",
            ], "/live/v1?x=1&with=at,ts&ent=incident,note&mode=changed&beat=5&since=a-_b"
        ),
        (["--sse", "--ent", "incident", "http://a/live/v1"], "/live/v1?ent=incident"),
        (["--sync", "--since", "0", "http://a/live/v1?ent=incident"], "/sync/v1?ent=incident&since=0"),
        (["--sync", "ws://a/sync/v1"], "/sync/v1"), (["--sync", "--wait", "20", "ws://a"], "/?wait=20"),
        (["--sync", "--since", "1", "--upto", "a-_", "ws://a/live/v1"], "/sync/v1?upto=a-_&since=1"),
        (["--sync", "--wait", "-1", "ws://a"], "/?wait=55"), (["--sync", "--wait", "0.5", "ws://a"], "/?wait=1"),
        (["--sync", "--wait", "0", "ws://a"], "/"),
        (
            [
                "--archive", "--before", `A wrong command line`.aid, "--limit", "2", "--ent", "incident", "--id", "a b",
                "ws://a/live/v1?ticket=t",
            ], "/archive/v1?ticket=t&before=\(`A wrong command line`.aid)&limit=2&ent=incident&id=a%20b"
        ),
        (["--inbox", "--limit", "2", "ws://a/live/v1"], "/inbox/v1?limit=2"),
        (["--inbox", "http://a:81"], "/inbox/v1"), (["--archive", "a:81/?ent=x"], "/archive/v1?ent=x"),
        (["--archive", "http://a?ent=x"], "/archive/v1?ent=x"),
        (["--mark-read", `A wrong command line`.aid, "a"], "/inbox/v1/read"),
        (["--archive", "ws://a/archive/v1"], "/archive/v1"), (["--archive", "ws://a/x"], "/x"),
        (["--archive", "ws://a/x/live/v1"], "/x/archive/v1"), (["ws://a"], "/"),
        (["--cursor-file", "/nowhere/none", "--with", "ts", "ws://a"], "/?with=at,ts"),
        (["--cursor-file", "/nowhere/none", "--with", "ts,at", "ws://a"], "/?with=ts,at"),
        (["--cursor-file", "/nowhere/none", "--since", "here", "ws://a"], "/?with=at&since=here"),
        (["--cursor-file", "/nowhere/none", "--sse", "ws://a"], "/"),
    ]

    @Test(arguments: targets) func `asks for what the options say`(_ words: [String], _ target: String) throws {
        #expect(try Words(words).request().target == target)
    }

    @Test func `goes on where the connection before it was`() throws {
        let words = Words("--with", "at", "--since", "1", "ws://a/?since=0")
        #expect(try words.request().target == "/?with=at&since=1")
        #expect(try words.request(since: "2").target == "/?with=at&since=2")
    }

    @Test(arguments: [("2\n", "2"), ("\n", "here"), ("", "here")])
    func `begins at the cursor of the file, where it holds one`(_ text: String, _ cursor: String) throws {
        let words = Words("--cursor-file", try file(text), "--since", "here", "ws://a")
        #expect(try words.request().target == "/?with=at&since=\(cursor)")
    }

    @Test func `is not made with a file that holds no cursor`() throws {
        let (status, line) = try #require(Words("--cursor-file", try file("two words\n"), "ws://a").refusal())
        #expect(status == .noInput && line.contains("holds no cursor"))
    }

    @Test(arguments: [
        ([], #"{"aid":"\#(`A wrong command line`.aid)"}"#),
        (
            ["--ent", "incident", "--id", "a\"\u{E9}"],
            #"{"ent":"incident","id":"a\"é","aid":"\#(`A wrong command line`.aid)"}"#
        ),
    ]) func `posts a mark`(_ options: [String], _ body: String) throws {
        let words = Words(["--mark-read", `A wrong command line`.aid] + options + ["ws://a/live/v1"])
        let request = try words.request()
        #expect(request.line == "POST /inbox/v1/read HTTP/1.1" && request.body == body)
        #expect(request["Content-Type"] == ["application/json"])
        #expect(request["Content-Length"] == [String(body.utf8.count)])
    }

    @Test(arguments: [
        (["--sse"], "text/event-stream"), (["--sync"], "application/json"), (["--archive"], "application/json"),
    ])
    func `that is no WebSocket's asks for no upgrade`(_ options: [String], _ type: String) throws {
        let request = try Words(options + ["ws://a"]).request()
        #expect(request["Accept"] == [type] && request["Upgrade"] == [] && request["Sec-WebSocket-Key"] == [])
    }
}

@Suite struct `Settings of livecat` {
    @Test(arguments: [
        (["--sync"], true), (["--archive"], false), (["--inbox"], false),
        (["--mark-read", `A wrong command line`.aid], false),
        (["--sse"], false), ([], false),
    ]) func `ask again for what is put off only with --sync`(_ options: [String], _ asksAgain: Bool) throws {
        #expect(try Words(options + ["ws://a"]).settings().asksAgain == asksAgain)
    }

    @Test(arguments: [
        ([], nil), (["-L"], 10), (["-L", "--max-redirects", "3"], 3), (["--max-redirects", "3"], nil),
    ]) func `follow redirects only when asked`(_ options: [String], _ maximum: Int?) throws {
        #expect(try Words(options + ["ws://a"]).settings().maximumRedirects == maximum)
    }

    /// What ends it after `-x`, and how long it waits before.
    static let waits: [([String], UInt64?)] = [
        (["-x", "a"], 2000), (["-x", "a", "-w", "0"], 0), (["-x", "a", "-w", "1.5"], 1500),
        (["-x", "a", "-w", "-1"], nil),
        (["-w", "1"], nil), (["-x", "a", "--count", "1"], nil), (["-x", "a", "--duration", "1s"], nil),
        (["-x", "a", "--reconnect"], nil), (["-x", "a", "--reconnect", "-w", "1"], 1000),
    ]

    @Test(arguments: waits) func `wait after what is executed as wscat does`(
        _ options: [String], _ milliseconds: UInt64?
    ) throws {
        #expect(try Words(options + ["ws://a"]).settings().waitMilliseconds == milliseconds)
    }

    @Test(arguments: [
        ([], false), (["-x", "a"], true), (["--count", "1"], true), (["--duration", "1s"], true),
        (["--reconnect"], true),
    ]) func `end with their input unless something else ends them`(_ options: [String], _ outlives: Bool) throws {
        let settings = try Words(options + ["ws://a"]).settings()
        #expect(settings.outlivesInput(hadInput: true) == outlives && settings.outlivesInput(hadInput: false))
    }

    @Test(arguments: [
        (["-H", "authorization: Bearer old", "ws://a"], true), (["--auth", "u:p", "ws://a"], true),
        (["ws://u:p@a"], true), (["-s", "bearer.t", "ws://a"], true), (["-s", "a", "ws://a"], false),
        (["--token-file", "x", "ws://a"], false), (["ws://a"], false),
    ]) func `know a token that nothing renews`(_ words: [String], _ isFixed: Bool) throws {
        #expect(try Words(words).settings().hasFixedToken == isFixed)
    }

    @Test(arguments: [
        (["ws://a/?with=ts"], false), (["ws://a"], false), (["--with", "at", "ws://a"], true),
        (["ws://a/?with=ts,at"], true),
        (["--since", "0", "ws://a"], true), (["--mode", "changed", "ws://a"], true), (["--beat", "5", "ws://a"], true),
        (["--cursor-file", "/nowhere/none", "ws://a"], true), (["--sse", "ws://a"], true),
    ]) func `read a Livegate's protocol where cursors are asked for`(_ words: [String], _ hasCursors: Bool) throws {
        #expect(try Words(words).settings().hasCursors == hasCursors)
    }

    @Test func `have the limits that the manual names`() {
        let limits = ClientLimits()
        #expect(limits.maximumMessageBytes == 64 << 20 && limits.maximumRefusalBytes == 4 << 10)
        #expect(limits.connectMilliseconds == 10_000 && limits.closeMilliseconds == 5_000)
        #expect(limits.pongMilliseconds == 10_000)
    }

    @Test(
        arguments: [([], nil), (["--ping", "20ms"], UInt64(20)), (["--ping", "1s"], 1000)] as [([String], UInt64?)])
    func `ping so often`(_ options: [String], _ milliseconds: UInt64?) throws {
        #expect(try Words(options + ["ws://a"]).settings().connection.pingMilliseconds == milliseconds)
    }
}
