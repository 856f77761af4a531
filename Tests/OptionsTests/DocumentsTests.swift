// Tests: Completions.swift, HelpText.swift, ManualPage.swift

import Foundation
import Options
import Testing

/// Where a program lies, nil when it is not installed.
private func path(of tool: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    return folders.map { "\($0)/\(tool)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// Runs a tool with some text on its standard input.
private func run(_ tool: String, _ arguments: [String], input: String) throws -> (status: Int32, output: String) {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("livegate-\(UUID().uuidString)")
    try Data(input.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: try #require(path(of: tool)))
    process.arguments = arguments
    process.standardInput = try FileHandle(forReadingFrom: file)
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
}

@Suite struct DocumentsTests {
    @Test(.enabled(if: path(of: "groff") != nil), arguments: [Cat.table, Gate.table])
    func `groff has no warning about the manual page`(table: Command) throws {
        let page = table.manualPage()
        let result = try run("groff", ["-man", "-Tascii", "-ww", "-P-cbu"], input: page)
        #expect(result.status == 0)
        #expect(!result.output.contains("warning") && !result.output.contains("error:"), "\(result.output)")
        for row in table.rows { #expect(result.output.contains("--\(row.name)")) }
    }

    @Test(.enabled(if: path(of: "groff") != nil)) func `text that looks like roff stands in the manual page as it is`()
        throws
    {
        let result = try run("groff", ["-man", "-Tascii", "-P-cbu"], input: Cat.table.manualPage())
        for text in [".dots and 'quotes' begin no macro", ".second 'line'", "certificate\\chain"] {
            #expect(result.output.contains(text))
        }
    }

    @Test(arguments: [Cat.table, Gate.table]) func `every option stands in help, manual page and completions`(
        table: Command
    ) throws {
        let page = table.manualPage()
        let scripts = Shell.allCases.map { table.completions(for: $0) }
        for command in [table] + table.commands {
            for row in command.rows {
                #expect(page.contains("\\-\\-" + row.name.replacing("-", with: "\\-")))
                #expect(scripts[0].contains("--\(row.name)") && scripts[1].contains("--\(row.name)"))
                #expect(scripts[2].contains("-l \(row.name)"))
            }
        }
    }

    @Test(
        .enabled("bash, zsh and fish are needed") { Shell.allCases.allSatisfy { path(of: $0.rawValue) != nil } },
        arguments: [Cat.table, Gate.table], Shell.allCases)
    func `a shell reads its completions without complaint`(
        table: Command, shell: Shell
    ) throws {
        let option = shell == .fish ? "--no-execute" : "-n"
        let result = try run(shell.rawValue, [option, "/dev/stdin"], input: table.completions(for: shell))
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    @Test func `bash completes commands, options, words and files`() throws {
        let rows: [(table: Command, words: [String], offered: [String])] = [
            (Gate.table, ["gate", ""], ["serve", "check", "completion"]),
            (Gate.table, ["gate", "c"], ["check", "completion"]),
            (Gate.table, ["gate", "--v"], ["--version"]),
            (Gate.table, ["gate", "serve", "--l"], ["--listen", "--log-level"]),
            (Gate.table, ["gate", "serve", "--log-level", ""], ["info", "debug"]),
            (Gate.table, ["gate", "serve", "--log-level", "=", "d"], ["debug"]),
            (Gate.table, ["gate", "serve", "--log-level", "="], ["info", "debug"]),
            (Gate.table, ["gate", "serve", "--listen", "s"], []),
            (Gate.table, ["gate", "serve", "--config", "/etc/passw"], ["/etc/passwd"]),
            (Gate.table, ["gate", "completion", ""], ["bash", "zsh", "fish"]),
            (Cat.table, ["cat", "--cert", "/etc/passw"], ["/etc/passwd"]),
            (Cat.table, ["cat", "ws://a", "--show"], ["--show-ping-pong"]),
        ]
        for row in rows {
            let words = row.words.map { "'\($0)'" }.joined(separator: " ")
            let script =
                row.table.completions(for: .bash) + """
                    compopt() { :; }
                    COMP_WORDS=(\(words)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                    _\(row.table.name)
                    printf '%s\\n' "${COMPREPLY[@]}"
                    """
            let result = try run("bash", ["--norc", "/dev/stdin"], input: script)
            let offered = result.output.split(separator: "\n").map(String.init).filter { $0 != "/etc/passwd-" }
            #expect(offered == row.offered, "\(row.words)")
        }
    }

    @Test(.enabled(if: path(of: "fish") != nil)) func `fish completes commands, options, words and files`() throws {
        let rows: [(table: Command, line: String, offered: [String])] = [
            (Gate.table, "gate ", ["check", "completion", "serve"]),
            (Gate.table, "gate serve --l", ["--listen", "--log-level"]),
            (Gate.table, "gate serve --log-level ", ["debug", "info"]),
            (Gate.table, "gate serve --log-level=d", ["--log-level=debug"]),
            (Gate.table, "gate serve --config /etc/passw", ["/etc/passwd"]),
            (Gate.table, "gate serve ", []),
            (Gate.table, "gate completion ", ["bash", "fish", "zsh"]),
            (Cat.table, "cat --show", ["--show-ping-pong"]),
            (Cat.table, "cat --cert /etc/passw", ["/etc/passwd"]),
        ]
        for row in rows {
            let script = row.table.completions(for: .fish) + "complete -C '\(row.line)'\n"
            let result = try run("fish", ["--no-config", "/dev/stdin"], input: script)
            let offered = result.output.split(separator: "\n").compactMap {
                $0.split(separator: "\t").first.map(String.init)
            }
            #expect(offered.filter { $0 != "/etc/passwd-" }.sorted() == row.offered, "\(row.line): \(result.output)")
        }
    }

    @Test func `a program can print its own manual page and completions`() throws {
        #expect(try Cat.table.printed("--man") == Cat.table.manualPage())
        #expect(try Cat.table.printed("--completion", "fish") == Cat.table.completions(for: .fish))
        #expect(Gate.table.line("--man") == "gate: unknown option '--man': did you mean '--help'?")
    }

    @Test func `what could steer a terminal is escaped`() {
        #expect("plain äß 漢字".printable == "plain äß 漢字")
        #expect("a\r\n\t\u{7f}\u{9b}\u{2028}\u{202e}b".printable == "a\\r\\n\\t\\u{7f}\\u{9b}\\u{2028}\\u{202e}b")
    }
}
