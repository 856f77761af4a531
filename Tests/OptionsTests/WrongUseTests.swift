import Options
import Testing

@Suite struct WrongUseTests {
    static let rows: [(table: Command, words: [String], line: String)] = [
        (Cat.table, ["--conect", "u"], "cat: unknown option '--conect': did you mean '--connect'?"),
        (Cat.table, ["--colour=1"], "cat: unknown option '--colour': did you mean '--no-color'?"),
        (Cat.table, ["--w"], "cat: option '--wait' needs a value: --wait SECONDS"),
        (Cat.table, ["--c", "u"], "cat: option '--c' could be '--connect' or '--cert' or '--completion'"),
        (Cat.table, ["-X"], "cat: unknown option '-X': did you mean '-x'?"),
        (Cat.table, ["-nq"], "cat: unknown option '-q': did you mean '--help'?"),
        (Cat.table, ["-execut", "u"], "cat: unknown option '-e': did you mean '--execute'?"),
        (Cat.table, ["-x"], "cat: option '--execute' needs a value: --execute TEXT"),
        (Cat.table, ["--no-color=yes"], "cat: option '--no-color' does not allow a value"),
        (Cat.table, ["--ping", "5"], "cat: option '--ping': '5' is not a duration (250ms, 30s, 5m, 24h or 7d)"),
        (Cat.table, ["-w", "-2"], "cat: option '--wait': '-2' is not a whole number from -1 to 3600"),
        (Cat.table, ["-w", "3601"], "cat: option '--wait': '3601' is not a whole number from -1 to 3600"),
        (Cat.table, ["a", "b\n\u{1b}[31m"], "cat: unexpected word 'b\\n\\u{1b}[31m'"),
        (Gate.table, [], "gate: a command is missing: one of serve, check, completion"),
        (Gate.table, ["srve"], "gate: unknown command 'srve': did you mean 'serve'?"),
        (Gate.table, ["sevre"], "gate: unknown command 'sevre': did you mean 'serve'?"),
        (Gate.table, ["help"], "gate: unknown command 'help': did you mean '--help'?"),
        (Gate.table, ["--listen", ":1", "serve"], "gate: unknown option '--listen': did you mean '--version'?"),
        (Gate.table, ["serve"], "gate: option '--config FILE' is required"),
        (Gate.table, ["serve", "--confg", "f"], "gate: unknown option '--confg': did you mean '--config'?"),
        (
            Gate.table, ["serve", "--config", "f", "--log-level", "loud"],
            "gate: option '--log-level': 'loud' is not one of info, debug"
        ),
        (Gate.table, ["check", "--config", "f", "more"], "gate: unexpected word 'more'"),
        (Gate.table, ["completion"], "gate: SHELL is missing"),
        (
            Gate.table, ["completion", "zs"],
            "gate: 'zs' is not one of bash, zsh, fish: did you mean 'zsh'?"
        ),
    ]

    @Test(arguments: rows.indices)
    func `wrong use is told in one line that names the nearest right word`(row: Int) {
        let (table, words, line) = Self.rows[row]
        #expect(throws: CommandLineProblem.self) { try table.parse(words) }
        do { _ = try table.parse(words) } catch { #expect("\(error)" == line) }
    }

    @Test func `the value of a secret stands in no error`() {
        let secret = SingleOption("pin", .integer(in: 1...9), isSecret: true, help: "a pin")
        let table = Command("lock", summary: "lock", options: [secret])
        #expect(table.line("--pin", "sesame") == "lock: option '--pin': its value is not a whole number from 1 to 9")
    }

    @Test func `a word as long as a file is named by its beginning, on one line`() {
        let line = Gate.table.line(String(repeating: "serve\n", count: 100_000)) ?? ""
        #expect(line.utf8.count < 400 && !line.contains("\n"))
        #expect(line.hasSuffix("…': did you mean 'serve'?") || line.hasSuffix("did you mean 'completion'?"))
    }

    @Test func `the distance counts insertions, deletions, replacements and swaps`() {
        let rows: [(String, String, Int)] = [
            ("", "", 0), ("a", "", 1), ("", "ab", 2), ("abc", "abd", 1), ("abcd", "acbd", 1), ("LISTEN", "listen", 0),
            ("kitten", "sitting", 3), ("ca", "abc", 3),
        ]
        for (left, right, distance) in rows {
            #expect(NearestName.distance(left, right) == distance)
            #expect(NearestName.distance(right, left) == distance)
        }
    }
}
