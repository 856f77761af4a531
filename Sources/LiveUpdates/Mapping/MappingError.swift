/// A setting under `events:` that cannot be.
package enum MappingError: Error, Equatable, Sendable {
    case unknownPreset(String)
    /// There is no preset that would give it.
    case missing(key: String)
    case badValue(key: String, value: String, expected: String)
    case doubled(key: String, value: String)
    case tooMany(key: String, count: Int, limit: Int)
}

extension MappingError {
    /// The setting to change.
    package var key: String {
        switch self {
        case .unknownPreset: "events.preset"
        case .missing(let key), .badValue(let key, _, _), .doubled(let key, _), .tooMany(let key, _, _): key
        }
    }
}

extension MappingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownPreset(let name):
            "events.preset: \"\(name)\" is none of "
                + Preset.allCases.map(\.rawValue).joined(separator: ", ")
        case .missing(let key): "\(key): missing; without events.preset each of account, entity, id and type is needed"
        case .badValue(let key, let value, let expected): "\(key): \"\(value)\" is not \(expected)"
        case .doubled(let key, let value): "\(key): \"\(value)\" stands more than once"
        case .tooMany(let key, let count, let limit): "\(key): \(count) entries, over \(limit)"
        }
    }
}
