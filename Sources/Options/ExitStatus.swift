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
    /// EX_SOFTWARE: an error after which the process cannot go on.
    package static let software = ExitStatus(70)
    /// EX_OSERR: the system refuses, for example an address.
    package static let system = ExitStatus(71)
    /// EX_IOERR: standard output cannot be written.
    package static let output = ExitStatus(74)
    /// EX_CONFIG: the settings are wrong.
    package static let settings = ExitStatus(78)
}
