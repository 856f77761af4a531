// Tests: YAMLBuilder.swift, YAMLElement.swift, YAMLEvents.swift

import Testing

@testable import YAML

extension YAMLElement {
    /// The element in a form that tests can compare: `{a: 'x', b: [1]}` with quoted texts in quotes.
    var text: String {
        switch content {
        case .text(let text, .quoted): "'\(text)'"
        case .text(let text, _): text
        case .list(let elements): "[" + elements.map(\.text).joined(separator: ", ") + "]"
        case .map(let entries): "{" + entries.map { "\($0.key): \($0.value.text)" }.joined(separator: ", ") + "}"
        case .refused: "!"
        }
    }
}

@Suite struct YAMLDocumentTests {
    @Test func `maps, lists and scalars are read in block and flow style`() {
        let rows: [(String, String?)] = [
            ("", nil), ("# nothing\n\n", nil), ("---\n", nil), ("\u{FEFF}a: 1\n", "{a: 1}"),
            ("a: 1\nb: 'x'\nc: \"y\\n\"\n", "{a: 1, b: 'x', c: 'y\n'}"),
            ("a:\n  - 1\n  - {b: c}\n", "{a: [1, {b: c}]}"), ("[a, 'b']", "[a, 'b']"),
            ("a: |\n  one\n  two\n", "{a: 'one\ntwo\n'}"), ("a: one\n  two\n", "{a: one two}"),
            ("a:\nb: ~\n", "{a: , b: ~}"), ("a: 127.0.0.1:8080 # comment\n", "{a: 127.0.0.1:8080}"),
            ("a: 1\r\nb: 2\r\n", "{a: 1, b: 2}"), ("---\na: 1\n...\n", "{a: 1}"), ("x\n", "x"),
            ("[':9080', '[::1]:1', a]\n", "[':9080', '[::1]:1', a]"), ("- :9080", "[:9080]"),
        ]
        for (text, expected) in rows {
            let (root, problems) = YAMLDocument.read(Array(text.utf8))
            #expect(root?.text == expected && problems.isEmpty, "\(text)")
        }
    }

    @Test func `what is refused is told with line and key`() {
        let rows: [(String, [YAMLProblem])] = [
            ("a: 1\nb: 2\na: 3\n", [.init(line: 3, key: "a", text: "duplicate key, first in line 1")]),
            ("a: {b: 1, \"b\": 2}\n", [.init(line: 1, key: "a.b", text: "duplicate key, first in line 1")]),
            (
                "a:\n  b: &x 1\nc: *x\n",
                [
                    .init(
                        line: 2, key: "a.b", text: "an anchor (&): anchors and aliases are not read, write it out"),
                    .init(line: 3, key: "c", text: "an alias (*): anchors and aliases are not read, write it out"),
                ]
            ),
            (
                "a:\n  - 1\n  - !!str 2\n",
                [.init(line: 3, key: "a[1]", text: "a tag (!): tags are not read, put text into quotes")]
            ),
            (
                "kafka:\n\tbrokers: x\n",
                [.init(line: 2, key: "kafka.brokers", text: "a tab as indentation: YAML allows only spaces")]
            ),
            (
                "a:\n  b: 1\n \tc: 1\n\t- d: 1\n",
                [
                    .init(line: 3, key: "a.c", text: "a tab as indentation: YAML allows only spaces"),
                    .init(line: 4, key: "a.d", text: "a tab as indentation: YAML allows only spaces"),
                ]
            ),
            ("a: 1\n---\nb: 2\n", [.init(line: 2, key: "", text: "a second document: settings are one document")]),
            ("a: 1\n? [x]\n: 2\n", [.init(line: 2, key: "", text: "a key that is no text")]),
        ]
        for (text, expected) in rows {
            #expect(YAMLDocument.read(Array(text.utf8)).problems == expected, "\(text)")
        }
    }

    @Test func `a tab behind a key is no indentation`() {
        let (root, problems) = YAMLDocument.read(Array("a:\n  b:\t1\n".utf8))
        #expect(root?.text == "{a: {b: 1}}" && problems.isEmpty)
    }

    @Test func `a syntax error has a line, and the key that stands there`() {
        for (text, line, key) in [
            ("a: 1\nb: [1, 2\nc: 3\n", 3, "b[2]"), ("a: 'x\n", 2, "a"), ("a:\n  b: 1\n c: 2\n", 3, "a.c"),
            ("a: b: c\n", 1, "a"), ("a: \u{1}\n", 1, "a"), ("@\n", 1, ""),
        ] {
            let (root, problems) = YAMLDocument.read(Array(text.utf8))
            #expect(root == nil && problems.count == 1, "\(text)")
            #expect(problems.first?.line == line, "\(text) \(problems)")
            #expect(problems.first?.key == key, "\(text) \(problems)")
            #expect(problems.first?.text.hasPrefix("not YAML: ") == true)
        }
    }

    @Test func `a line in a column of no key is told with the columns`() {
        let rows: [(text: String, text2: String)] = [
            (
                "a:\n    b: 1\n  c: 2\n",
                "the line begins in column 3, and the keys above it are a in column 1, b in column 5"
            ),
            (
                "a:\n  b: 1\n   c: 2\n",
                "the line begins in column 4, and the keys above it are a in column 1, b in column 3"
            ),
            (
                "a:\n  - b: 1\n     c: 2\n",
                "the line begins in column 6, and the keys above it are a in column 1, b in column 5"
            ),
        ]
        for (text, expected) in rows {
            let problems = YAMLDocument.read(Array(text.utf8)).problems
            #expect(problems.map(\.line) == [3] && problems[0].text.hasSuffix(expected), "\(problems)")
        }
        // Of what is wrong with a line itself, no columns are told.
        let other = YAMLDocument.read(Array("a: 1\nb: [1, 2\nc: 3\n".utf8)).problems
        #expect(other.count == 1 && !other[0].text.contains("column"))
    }

    @Test func `a byte order mark is no part of a document, and UTF-16 is called so`() {
        #expect(YAMLDocument.read([0xEF, 0xBB, 0xBF] + Array("a: 1\nb: 2\n".utf8)).root?.text == "{a: 1, b: 2}")
        for mark: [UInt8] in [[0xFF, 0xFE], [0xFE, 0xFF]] {
            #expect(
                YAMLDocument.read(mark + [0x61, 0]).problems == [
                    .init(line: 1, key: "", text: "UTF-16: save the file as UTF-8")
                ])
        }
    }

    @Test func `a bare address that begins with a colon in a flow list is told how to write it`() {
        #expect(
            YAMLDocument.read(Array("listen: [:8080]\n".utf8)).problems == [
                .init(
                    line: 1, key: "listen[0]",
                    text: "not YAML: did not find expected node content (put text such as ':8080' into quotes)")
            ])
    }

    @Test func `bytes that are not UTF-8 are refused with their line`() {
        let (root, problems) = YAMLDocument.read(Array("a: 1\nb: ".utf8) + [0xFF, 0x0A])
        #expect(root == nil && problems == [.init(line: 2, key: "b", text: "bytes that are not UTF-8")])
        // UTF-16 with its mark is no UTF-8 either.
        #expect(YAMLDocument.read([0xFF, 0xFE, 0x61, 0x00]).problems.count == 1)
    }

    @Test func `a document is as deep and as long as its limits at most`() {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        #expect(YAMLDocument.read(nested(YAMLDocument.maximumDepth)).problems.isEmpty)
        #expect(YAMLDocument.read(nested(YAMLDocument.maximumDepth + 1)).problems.count == 1)
        #expect(YAMLDocument.read(nested(500_000)).problems.count == 1)
        let longest = Array("#".utf8) + [UInt8](repeating: 0x61, count: YAMLDocument.maximumBytes - 1)
        #expect(YAMLDocument.read(longest).problems.isEmpty)
        #expect(YAMLDocument.read(longest + [0x61]).problems.count == 1)
    }

    @Test func `a file that is wrong everywhere has a bounded number of problems`() {
        let tabs = String(repeating: "\tx: 1\n", count: 10_000)
        #expect(YAMLDocument.read(Array(tabs.utf8)).problems.count == YAMLDocument.maximumProblems)
        let doubled = String(repeating: "x: 1\n", count: 10_000)
        #expect(YAMLDocument.read(Array(doubled.utf8)).problems.count == YAMLDocument.maximumProblems)
    }

    @Test func `bare scalars are told apart as the core schema does`() {
        let rows: [(String, YAMLElement.PlainKind)] = [
            ("", .null), ("~", .null), ("null", .null), ("true", .boolean), ("FALSE", .boolean), ("yes", .text),
            ("no", .text), ("0", .number), ("-12", .number), ("+1", .number), ("1.5", .number), (".5", .number),
            ("1.", .number), ("1e3", .number), ("1e", .text), ("0x1F", .number), ("0xG", .text), ("0o17", .number),
            (".inf", .number), (".NaN", .number), ("16KiB", .text), ("10s", .text), ("127.0.0.1", .text), (".", .text),
            ("-", .text), ("1_000", .text), ("12:30", .text),
        ]
        for (text, kind) in rows { #expect(YAMLElement.plainKind(text) == kind, "\(text)") }
    }
}
