import Glibc

extension Command {
    /// Parses the process's own command line. Prints help, version and the like and ends with status 0. Ends with one line and
    /// status 64 if the command line is wrong. Secrets are wiped from the process title.
    /// - Parameter words: the words of the process, if some were parsed before.
    package func parseOrExit(_ words: [String] = Array(CommandLine.arguments.dropFirst())) -> Arguments {
        StandardOutput.ignoreBrokenPipes()
        do throws(CommandLineProblem) {
            switch try parse(words) {
            case .run(let arguments):
                ProcessTitle.wipe(arguments.secrets)
                return arguments
            case .print(let text):
                StandardOutput.write(text)
                exit(ExitStatus.success.code)
            }
        } catch {
            StandardError.line("\(error)")
            exit(ExitStatus.wrongUse.code)
        }
    }

    /// Ends the program with the line and status of a wrong command line, for mistakes that its table cannot detect.
    package func exitWrongUse(_ text: String) -> Never {
        StandardError.line("\(CommandLineProblem(program: name, wrongUse: .other(text)))")
        exit(ExitStatus.wrongUse.code)
    }
}

/// The words of the command line as `ps` shows them.
package enum ProcessTitle {
    /// Overwrites the words that are secrets, and the options that end with one, because every user can read them.
    package static func wipe(_ secrets: [String]) {
        let secrets = secrets.filter { !$0.isEmpty }.map { Array($0.utf8) }
        guard !secrets.isEmpty else { return }
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = unsafe CommandLine.unsafeArgv[index] else { continue }
            let length = unsafe strlen(word)
            for secret in secrets where secret.count <= length {
                let start = length - secret.count
                let first = unsafe UInt8(bitPattern: word[0])
                guard start == 0 || first == UInt8(ascii: "-") else { continue }
                let isSecret = (0..<secret.count).allSatisfy {
                    unsafe UInt8(bitPattern: word[start + $0]) == secret[$0]
                }
                guard isSecret else { continue }
                for position in start..<length { unsafe word[position] = CChar(UInt8(ascii: "x")) }
            }
        }
    }
}

/// The statuses with which the programs end, after `sysexits.h`.
package struct ExitStatus: Hashable, Sendable {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    package static let success = ExitStatus(0)
    /// EX_USAGE: the command line is wrong.
    package static let wrongUse = ExitStatus(64)
    /// EX_DATAERR: a file was read and is not what it should be.
    package static let badInput = ExitStatus(65)
    /// EX_NOINPUT: a file cannot be read.
    package static let noInput = ExitStatus(66)
    /// EX_UNAVAILABLE: another program did not do what it was asked for.
    package static let unavailable = ExitStatus(69)
    /// EX_SOFTWARE: an error after which the process cannot go on.
    package static let software = ExitStatus(70)
    /// EX_OSERR: the system refuses, for example an address.
    package static let system = ExitStatus(71)
    /// EX_IOERR: standard output cannot be written.
    package static let output = ExitStatus(74)
    /// EX_CONFIG: the settings are wrong.
    package static let settings = ExitStatus(78)
}
