import CLinux
import Glibc
import Synchronization

/// Reads one command line with libc's `getopt_long`, whose state is global: one at a time in the process.
@safe
struct OptionParser: ~Copyable {
    private static let oneAtATime = Mutex(())

    /// Long options have codes above every character, so that `optopt` identifies the option.
    private static let firstCode: Int32 = 0x1000

    private let rows: [OptionRow]
    private let count: Int
    private let words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let longs: UnsafeMutablePointer<option>
    private let shorts: String

    /// - Parameter stopsAtOperand: whether the words from the first operand on stay unparsed: they belong to a command.
    init(rows: [OptionRow], arguments: [String], stopsAtOperand: Bool) {
        self.rows = rows
        // The first word is the program's name, which getopt skips.
        count = arguments.count + 1
        unsafe words = .allocate(capacity: count + 1)
        for (index, word) in ([""] + arguments).enumerated() { unsafe words[index] = strdup(word) }
        unsafe words[count] = nil
        unsafe longs = .allocate(capacity: rows.count + 1)
        for (index, row) in rows.enumerated() {
            let takes =
                switch row.value {
                case .none: no_argument
                case .required: required_argument
                case .optional: optional_argument
                }
            unsafe longs[index] = option(
                name: strdup(row.name), has_arg: takes, flag: nil, val: Self.firstCode + Int32(index))
        }
        unsafe longs[rows.count] = option(name: nil, has_arg: 0, flag: nil, val: 0)
        shorts = (stopsAtOperand ? "+:" : ":") + rows.map(Self.shortForm).joined()
    }

    deinit {
        for index in 0..<count { unsafe free(words[index]) }
        for index in rows.indices { unsafe free(UnsafeMutableRawPointer(mutating: longs[index].name)) }
        unsafe words.deallocate()
        unsafe longs.deallocate()
    }

    /// The options and the operands in their order. Ends early, without checking what follows, at an option for which `stops` is
    /// true.
    func read(stops: (OptionRow) -> Bool) throws(WrongUse) -> Arguments {
        let result = Self.oneAtATime.withLock { _ in
            do throws(WrongUse) {
                return Result<Arguments, WrongUse>.success(try readLocked(stops))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func readLocked(_ stops: (OptionRow) -> Bool) throws(WrongUse) -> Arguments {
        var arguments = Arguments()
        var restart: Int32 = 1
        while true {
            let step = unsafe get_option(Int32(count), words, shorts, longs, restart)
            restart = 0
            guard unsafe step.code != -1 else {
                arguments.operands = unsafe (Int(step.next)..<count).map { word($0) }
                return arguments
            }
            guard let row = unsafe row(code: step.code) else { throw unsafe problem(step) }
            var value = unsafe step.argument.map { unsafe String(cString: $0) }
            if case .optional = row.value, value == nil, unsafe step.next < count {
                // As wscat's parser reads it: a word that is no option is the value.
                let next = word(unsafe Int(step.next))
                if next.utf8.first != UInt8(ascii: "-") {
                    value = next
                    get_option_take_word()
                }
            }
            if let value, let problem = row.problem(value) {
                throw .badValue(option: "--" + row.name, value: row.isSecret ? nil : value, problem: problem.text)
            }
            arguments.occurrences.append(Arguments.Occurrence(name: row.name, value: value))
            if row.isSecret, let value { arguments.secrets.append(value) }
            if stops(row) { return arguments }
        }
    }

    private func problem(_ step: get_option_step) -> WrongUse {
        let about = unsafe row(code: step.about)
        if unsafe step.code == Int32(UInt8(ascii: ":")), let row = about {
            return .missingValue(option: "--" + row.name, placeholder: row.placeholder)
        }
        if let row = about { return .unexpectedValue(option: "--" + row.name) }
        let last = word(unsafe Int(step.next) - 1)
        if unsafe step.about == 0 { return unknownLong(last) }
        let letter = Character(Unicode.Scalar(UInt8(truncatingIfNeeded: unsafe step.about)))
        // Inside a cluster such as -nq the index still points at the cluster.
        let current = unsafe Int(step.next) < count ? word(unsafe Int(step.next)) : ""
        return unknownShort(letter, in: current.hasPrefix("-") && current.contains(letter) ? current : last)
    }

    private func unknownLong(_ word: String) -> WrongUse {
        let given = word.drop { $0 == "-" }.prefix { $0 != "=" }
        let names = rows.map(\.name)
        let begun = names.filter { $0.hasPrefix(given) }
        if begun.count > 1, !given.isEmpty { return .ambiguousOption("--" + given, among: begun.map { "--" + $0 }) }
        return .unknownOption(
            "--" + given, nearest: "--" + (NearestName.nearest(to: String(given), among: names) ?? "help"))
    }

    private func unknownShort(_ letter: Character, in word: String) -> WrongUse {
        let name = word.drop { $0 == "-" }
        let nearest: String
        if name.count > 2 {
            // A long name behind a single dash.
            nearest = "--" + (NearestName.nearest(to: String(name), among: rows.map(\.name)) ?? "help")
        } else if let other = rows.compactMap(\.short).first(where: { $0.lowercased() == letter.lowercased() }) {
            nearest = "-\(other)"
        } else {
            nearest = "--" + (rows.first { $0.name.hasPrefix(letter.lowercased()) }?.name ?? "help")
        }
        return .unknownOption("-\(letter)", nearest: nearest)
    }

    private func row(code: Int32) -> OptionRow? {
        if code >= Self.firstCode { return rows[Int(code - Self.firstCode)] }
        guard code > 0, let scalar = Unicode.Scalar(UInt32(code)) else { return nil }
        return rows.first { $0.short == Character(scalar) }
    }

    private func word(_ index: Int) -> String {
        unsafe words[index].map { unsafe String(cString: $0) } ?? ""
    }

    private static func shortForm(_ row: OptionRow) -> String {
        guard let short = row.short else { return "" }
        return switch row.value {
        case .none: "\(short)"
        case .required: "\(short):"
        case .optional: "\(short)::"
        }
    }
}
