import Options
import Tokens

/// The file of `auth.tickets.secret_file`: one secret a line. The first one seals tickets, and all of them read tickets. So a
/// secret can be replaced while clients still hold tickets of the old one.
enum TicketSecretFile {
    /// Far more than secrets need: what is larger is another file by mistake.
    private static let maximumBytes = 16 * 1024

    /// The seal, or what is wrong with the file. A problem never contains a secret.
    static func load(_ path: String) -> (seal: TicketSeal?, problem: String?) {
        do throws(BoundedFile.Unreadable) {
            switch read(try BoundedFile.read(path, maximumBytes: maximumBytes)) {
            case .success(let seal): return (seal, nil)
            case .failure(let fault): return (nil, "\(path) \(fault)")
            }
        } catch {
            return (nil, "cannot read \(error.withoutPath)")
        }
    }

    enum Fault: Error, Equatable, CustomStringConvertible {
        case empty
        case tooShort(line: Int)
        case tooMany(Int)

        /// The end of a sentence that begins with the file.
        var description: String {
            let advice = "a line of 32 random bytes or more is expected: try openssl rand -hex 32"
            return switch self {
            case .empty: "holds no secret: \(advice)"
            case .tooShort(let line):
                "has a secret of less than \(TicketSeal.minimumSecretBytes) bytes in line \(line): \(advice)"
            case .tooMany(let count): "has \(count) secrets, over the limit of \(TicketSeal.maximumSecrets)"
            }
        }
    }

    /// Empty lines are passed over; blanks and a CR at the end of a line are no part of its secret.
    static func read(_ bytes: [UInt8]) -> Result<TicketSeal, Fault> {
        var secrets: [[UInt8]] = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            var secret = line
            while let last = secret.last, [0x20, 0x09, 0x0D].contains(last) { secret.removeLast() }
            if secret.isEmpty { continue }
            guard secret.count >= TicketSeal.minimumSecretBytes else { return .failure(.tooShort(line: index + 1)) }
            secrets.append(Array(secret))
        }
        guard !secrets.isEmpty else { return .failure(.empty) }
        guard secrets.count <= TicketSeal.maximumSecrets else { return .failure(.tooMany(secrets.count)) }
        return .success(TicketSeal(secrets: secrets))
    }
}
