import Testing

/// Comments and documents use the field's words in their ordinary meaning (STYLE, "Names").
struct ProseTests {
    /// What is said in place of each word that an earlier style of this repository used for many things.
    static let banned: [String: String] = {
        let rows: [(words: String, better: String)] = [
            ("look looks looked looking glance glances sight scout scouts", "check, read, probe or refresh"),
            ("hush", "stalled"), ("pulse pulses", "heartbeat"), ("anew grown", "recreated, again or added"),
            ("tell tells telling told", "report, notify or deliver"), ("hear hears heard hearing", "receive"),
            ("say says said saying", "read, state, report or name"),
            ("take takes taken took taking", "the precise verb"),
            ("stand stands stood standing", "is, contains or is shown"),
            ("judge judges judged judging desk desks reckon", "check or decide"),
            ("closeNotice farewells", "close notice"),
            ("finger fingers", "cursor"), ("ladder way ways", "transport, fallback, path or method"),
            ("place places room rooms", "position, offset, permit, quota or space"),
            ("mend mends mended mending", "repair, fix or restore"), ("whoever everybody", "the caller or all clients"),
        ]
        return rows.reduce(into: [:]) { banned, row in
            for word in row.words.split(separator: " ") { banned[String(word)] = row.better }
        }
    }()

    static let bannedPhrases = ["who is", "come back", "comes back", "came back", "coming back", "kept apart"]

    private static let all = Array(banned.keys) + bannedPhrases

    /// The ordinary word in its ordinary meaning.
    static let ordinary = [
        "in place of", "in place", "take part", "takes part", "take place", "takes place", "stands for", "stand for",
        "standing for", "look up", "looks up", "looked up", "looking up", "take effect", "takes effect", "this way",
        "the same way", "both ways", "one way", "half-way",
    ]

    /// The comment of a line of Swift or JavaScript; nil where it has none. `//` within a string begins none.
    static func comment(_ line: String) -> Substring? {
        guard line.mentions("//") else { return nil }
        var isQuoted = false
        var before: Character = " "
        for index in line.indices {
            if line[index] == "\"", before != "\\" { isQuoted.toggle() }
            if !isQuoted, line[index...].hasPrefix("//") { return line[index...].dropFirst(2) }
            before = line[index]
        }
        return nil
    }

    /// The sentences of a file, line by line: comments, or what of a document is neither code nor a quotation of code.
    static func prose(_ file: SourceTree.File) -> [(number: Int, text: String)] {
        var found: [(Int, String)] = []
        let isDocument = file.path.hasSuffix(".md")
        var isCode = false
        for (index, line) in file.lines.enumerated() {
            if isDocument {
                if line.trimmingPrefix(while: { $0 == " " }).hasPrefix("```") {
                    isCode.toggle()
                } else if !isCode, !line.hasPrefix("    ") || line.contains(#/^ +([-*]|\d+\.) /#) {
                    found.append((index + 1, line))
                }
            } else if let comment = comment(line) {
                found.append((index + 1, String(comment)))
            }
        }
        return found
    }

    /// The banned words of a sentence, each with what is said instead.
    static func faults(_ text: String) -> [(word: String, better: String)] {
        // Nearly all lines have none, which is found fast.
        let lowercased = text.lowercased()
        guard all.contains(where: { lowercased.mentions($0) }) else { return [] }
        // Names of code are none of it: quoted ones, links, and parameters.
        var plain = text.replacing(/``[^`]*``|`[^`]*`|- Parameter \w+:/, with: "").lowercased()
        func words() -> [String] {
            plain.split { !$0.isLetter && $0 != "-" }.map(String.init)
        }
        guard words().contains(where: { banned[$0] != nil }) || bannedPhrases.contains(where: plain.contains) else {
            return []
        }
        for phrase in ordinary where plain.contains(phrase) { plain = plain.replacing(phrase, with: "") }
        let found = words().compactMap { word in banned[word].map { (word, $0) } }
        return found
            + bannedPhrases.filter { " \(words().joined(separator: " ")) ".contains(" \($0) ") }.map {
                ($0, "the client, reconnect or separate")
            }
    }

    @Test func `comments and documents have no word of the dialect`() {
        let files = SourceTree.files.filter { file in
            let isDocument = file.path.hasSuffix("README.md") && !file.path.contains("/Records/")
            return isDocument || file.isSource && [".swift", ".js", ".md"].contains(where: file.path.hasSuffix)
        }
        #expect(files.count > 400)
        for file in files {
            for (number, text) in Self.prose(file) {
                for (word, better) in Self.faults(text) {
                    Issue.record("\(file):\(number) \"\(word)\": say \(better)")
                }
            }
        }
    }

    /// The string literals of a file of Swift, line by line, without what is interpolated.
    static func literals(_ file: SourceTree.File) -> [(number: Int, text: String)] {
        var found: [(Int, String)] = []
        var isWithin = false
        for (index, line) in file.lines.enumerated() {
            let marks = line.split(separator: "\"\"\"", omittingEmptySubsequences: false).count - 1
            if isWithin || marks > 0 {
                if isWithin { found.append((index + 1, line)) }
                if marks % 2 == 1 { isWithin.toggle() }
            } else if line.mentions("\"") {
                found += line.matches(of: /"((?:\\.|[^"\\])*)"/).map { (index + 1, String($0.1)) }
            }
        }
        return found.map { ($0.0, $0.1.replacing(/\\\([^)]*\)/, with: "")) }
    }

    /// What a database reads is no text for people.
    private static func isQuery(_ text: String) -> Bool {
        ["SELECT ", "INSERT ", "DELETE ", "UPDATE ", "CREATE ", " TEXT"].contains(where: text.contains)
    }

    @Test func `texts for operators and users have no word of the dialect`() {
        var count = 0
        for file in SourceTree.swiftFiles where file.isSource {
            for (number, text) in Self.literals(file) where !Self.isQuery(text) {
                count += 1
                for (word, better) in Self.faults(text) {
                    Issue.record("\(file):\(number) \"\(word)\": say \(better)")
                }
            }
        }
        #expect(count > 3_000)
    }

    @Test(
        arguments: [
            ("The broker tells its offset.", ["tells"]), ("A way to read `take` and ``Place``.", ["way"]),
            ("A value in place of another one stands for it.", []),
            ("Who is there comes back.", ["who is", "comes back"]),
            ("Looks up a look-up by look.", ["look"]), ("Understands standard takeover places.", ["places"]), ("", []),
        ] as [(String, [String])])
    func `a banned word is found, and no other`(row: (text: String, words: [String])) {
        #expect(Self.faults(row.text).map(\.word) == row.words)
    }

    @Test func `a comment begins outside of strings`() {
        #expect(Self.comment(#"let url = "http://a.example" // here"#) == " here")
        #expect(Self.comment(#"let url = "http://a.example""#) == nil)
        #expect(Self.comment(#"let quote = "\"//" // there"#) == " there")
        #expect(Self.comment("/// A summary.") == "/ A summary.")
    }
}
