import Gateway
import GatewaySettings
import Options
import Tokens

/// `livegate revoke`: refuses tokens, on every node.
enum RevokeCommand {
    static let account = SingleOption("account", .text("A"), help: "the account whose tokens are revoked")
    static let subject = SingleOption("subject", .text("S"), help: "with --account: only this person's (sub)")
    static let token = SingleOption("token", .text("JTI"), help: "only the token with this id (jti)")

    static let table = Command(
        "revoke", summary: "revoke the tokens of an account, of a person, or one token",
        details: [
            """
            Writes a record to the topic control.topic and waits for its acknowledgement. Within a second each node closes the \
            connections of tokens that were issued before it, with 4403, and refuses these tokens from then on; those that are \
            issued later are accepted. A fixed token is refused until control.retention has passed: remove it from its file.
            """
        ],
        options: [SettingsArguments.config, account, subject, token],
        statuses: [
            (.success, "the record was acknowledged"),
            (.unavailable, "it was not acknowledged within 10 s, and may have been written or not"),
            (.settings, "the settings are wrong, or control.topic is not set"),
        ])

    static func run(_ arguments: Arguments) -> ExitStatus {
        let (account, subject, token) = (arguments[account], arguments[subject], arguments[token])
        let value = ControlRecord.value(account: account, subject: subject, token: token)
        do throws(ControlRecord.Problem) {
            // Refuse a record that a node would not read.
            _ = try ControlRecord.read(value, timestamp: 0)
        } catch {
            let choice = "either '--account', with '--subject' or without, or '--token' is needed"
            Livegate.table.exitWrongUse(error == .target ? choice : "\(error)")
        }
        return write(
            key: ControlRecord.key(account: account, subject: subject, token: token), value: value, "revoke", arguments)
    }

    /// Writes a record to the topic of the settings. `command` is the command that reports problems.
    static func write(key: [UInt8], value: [UInt8], _ command: String, _ arguments: Arguments) -> ExitStatus {
        let outcome = SettingsArguments.load(arguments)
        guard let settings = outcome.settings else {
            SettingsArguments.report(outcome.problems)
            return .settings
        }
        guard let topic = settings.control.topic else {
            let setting = SettingsTable.path(of: \.control.topic)
            StandardError.line("livegate \(command): \(setting) is not set: no node reads the record")
            return .settings
        }
        do throws(ControlWriter.Failure) {
            try ControlWriter.write(key: key, value: value, to: topic, settings.kafka)
            return .success
        } catch {
            switch error {
            case .settings(let error):
                StandardError.line("livegate \(command): \(error)")
                return .settings
            case .notAcknowledged(let reason):
                StandardError.line("livegate \(command): not acknowledged by the topic \(topic): \(reason)")
                return .unavailable
            }
        }
    }
}

/// `livegate erase`: deletes what nodes keep of an account from before, on every node.
enum EraseCommand {
    static let account = SingleOption("account", .text("A"), help: "the account whose past is erased")

    static let table = Command(
        "erase", summary: "erase what nodes keep of an account",
        details: [
            """
            Writes a record to the topic control.topic and waits for its acknowledgement. Each node drops what it keeps of \
            the account from before the record's time, also what Kafka delivers again later, and its clients fetch everything \
            again. Records in Kafka are not deleted: the owner of the topics has to do that. The command may be repeated.
            """
        ],
        options: [SettingsArguments.config, account],
        statuses: RevokeCommand.table.statuses)

    static func run(_ arguments: Arguments) -> ExitStatus {
        guard let account = arguments[account] else { Livegate.table.exitWrongUse("'--account' is needed") }
        let value = ControlRecord.value(erasing: account)
        do throws(ControlRecord.Problem) {
            _ = try ControlRecord.read(value, timestamp: 0)
        } catch {
            Livegate.table.exitWrongUse("\(error)")
        }
        let key = ControlRecord.key(account: account, subject: nil, token: nil)
        return RevokeCommand.write(key: key, value: value, "erase", arguments)
    }
}
