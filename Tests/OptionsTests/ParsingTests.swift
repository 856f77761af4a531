// Tests: Arguments.swift, Command+Parse.swift, Command.swift, Option.swift, OptionParser.swift, Release.swift,
//   ValueKind.swift

import Options
import Testing

@Suite struct ParsingTests {
    @Test func `a value stands behind its name, after an equals sign, or behind a short name with or without a blank`()
        throws
    {
        for words in [
            ["--connect", "ws://a"], ["--connect=ws://a"], ["-c", "ws://a"], ["-cws://a"], ["--conn=ws://a"],
        ] {
            guard case .run(let arguments) = try Cat.table.parse(words) else { continue }
            #expect(arguments[Cat.connect] == "ws://a", "\(words)")
        }
        #expect(try Cat.table.arguments("--connect=")[Cat.connect] == "")
        #expect(try Cat.table.arguments()[Cat.connect] == nil)
    }

    @Test func `options may stand behind operands, and a double dash ends them`() throws {
        let arguments = try Cat.table.arguments("ws://a", "-n", "-x", "one", "--execute", "-two", "--execute=three")
        #expect(arguments.operands == ["ws://a"])
        #expect(arguments[Cat.quiet] && !arguments[Cat.show])
        #expect(arguments[Cat.execute] == ["one", "-two", "three"])
        let ended = try Cat.table.arguments("-nP", "--", "-x")
        #expect(ended.operands == ["-x"])
        #expect(ended[Cat.quiet] && ended[Cat.show])
    }

    @Test func `of an option that cannot be repeated the last one counts`() throws {
        #expect(try Cat.table.arguments("-w", "1", "-w", "-1")[Cat.wait] == -1)
    }

    @Test func `an optional value is taken when the next word is no option`() throws {
        #expect(try Cat.table.arguments("--passphrase", "secret")[Cat.passphrase] == .some("secret"))
        #expect(try Cat.table.arguments("--passphrase=secret")[Cat.passphrase] == .some("secret"))
        #expect(try Cat.table.arguments("--passphrase", "-n")[Cat.passphrase] == .some(nil))
        #expect(try Cat.table.arguments("ws://a", "--passphrase")[Cat.passphrase] == .some(nil))
        #expect(try Cat.table.arguments()[Cat.passphrase] == .none)
        let between = try Cat.table.arguments("ws://a", "--passphrase", "secret", "--max-redirects", "3", "-P")
        #expect(between.operands == ["ws://a"])
        #expect(between[Cat.passphrase] == .some("secret") && between[Cat.redirects] == .some(3) && between[Cat.show])
        #expect(between.secrets == ["secret"])
    }

    @Test func `a command takes the words behind its name`() throws {
        let arguments = try Gate.table.arguments("serve", "--listen", ":1", "--config", "f", "--listen=:2")
        #expect(arguments.path == ["serve"])
        #expect(arguments.required(Gate.settings) == "f")
        #expect(arguments[Gate.listen] == [":1", ":2"])
        #expect(try Gate.table.arguments("completion", "zsh").operands == ["zsh"])
    }

    @Test func `help and version count even when something required is missing`() throws {
        #expect(try Gate.table.printed("serve", "--help").hasPrefix("Usage: gate serve --config FILE [OPTION]…\n"))
        #expect(try Gate.table.printed("-h").contains("\n  completion  print completions\n"))
        #expect(try Gate.table.printed("--version") == "gate \(Release.version)\n")
        #expect(try Gate.table.printed("serve", "-V") == "gate \(Release.version)\n")
        #expect(try Cat.table.printed("--help", "--nonsense").contains("-c, --connect URL"))
    }

    @Test func `no line of the help is wider than 80 columns`() throws {
        for text in [try Cat.table.printed("-h"), try Gate.table.printed("-h"), try Gate.table.printed("serve", "-h")] {
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
            #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"))
        }
    }

    @Test func `command lines are read correctly from many threads at once`() async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let arguments = try? Cat.table.arguments("u\(number)", "-w", "\(number)", "-x", "a\(number)")
                    return arguments?[Cat.wait] == number && arguments?[Cat.execute] == ["a\(number)"]
                        && arguments?.operands == ["u\(number)"]
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
