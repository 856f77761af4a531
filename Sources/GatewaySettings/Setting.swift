import Synchronization
import YAML

/// A setting: its key, its kind, its default and its explanation.
///
/// Declared once, as a property of a ``SettingTable``; its value is read by the same name,
/// `settings.limits.maximumLag`.
package struct Setting<Value: Equatable & Sendable>: SettingDeclaration {
    package let row: SettingRow
    let kind: SettingKind<Value>
    let effect: SettingEffect?

    /// - Parameters:
    ///   - path: its key with the sections before it, such as `limits.max_headers`.
    ///   - defaultText: the default, as YAML in one line.
    ///   - flag: the flag of `serve` that sets it, and the placeholder for its value.
    ///   - effect: when a change of it takes effect, if that differs from its section.
    ///   - explanation: sentences for people who run a gateway.
    init(
        _ path: String, _ kind: SettingKind<Value>, default defaultText: String, flag: SettingRow.Flag? = nil,
        effect: SettingEffect? = nil, _ explanation: String
    ) {
        self.kind = kind
        self.effect = effect
        row = SettingRow(
            path: path, expected: kind.expected, defaultText: defaultText, flag: flag, explanation: explanation,
            shape: kind.shape)
    }

    /// The default.
    var defaultValue: Value {
        let element = DefaultTexts.element(row.defaultText)
        var reading = SettingReading(row.path, from: .file(""), folder: "")
        guard let value = kind.read(element, &reading), reading.problems.isEmpty else {
            preconditionFailure("the default of \(row.path) is no value of its kind: \(reading.problems)")
        }
        return value
    }

    func read(from layers: inout SettingsResolution, into values: inout HeldValues) {
        values[self] = layers.value(self)
    }

    func read(from entries: [YAMLEntry], _ reading: inout SettingReading, into values: inout HeldValues) {
        guard let entry = entries.first(where: { $0.key == row.path }) else { return }
        if let value = reading.part(".\(row.path)", entry.value, kind.read) { values[self] = value }
    }

    func isEqual(_ a: HeldValues, _ b: HeldValues) -> Bool { a[self] == b[self] }

    func take(from other: HeldValues, into values: inout HeldValues) { values[self] = other[self] }

    func files(in values: HeldValues) -> [NamedFile] {
        kind.files(values[self]).map { NamedFile(setting: row.path + $0.suffix, path: $0.path) }
    }
}

/// The parsed defaults, each parsed once: a reload that has no memory for one refuses the file, and could not refuse these.
private enum DefaultTexts {
    private static let elements = Mutex<[String: YAMLElement]>([:])

    static func element(_ text: String) -> YAMLElement {
        elements.withLock { elements in
            if let known = elements[text] { return known }
            let element = YAMLDocument.read(Array(text.utf8)).root ?? YAMLElement(line: 1, .text("", .plain))
            elements[text] = element
            return element
        }
    }
}

/// A setting of any type.
protocol SettingDeclaration: Sendable {
    var row: SettingRow { get }
    /// When a change of it takes effect. Nil: as in its section.
    var effect: SettingEffect? { get }
    /// Finds the value in the layers and keeps it.
    func read(from layers: inout SettingsResolution, into values: inout HeldValues)
    /// Finds the value among the entries of a map and keeps it. The default remains when there is none, or an invalid one.
    func read(from entries: [YAMLEntry], _ reading: inout SettingReading, into values: inout HeldValues)
    /// Whether its value is the same in both.
    func isEqual(_ a: HeldValues, _ b: HeldValues) -> Bool
    /// Keeps the value that `other` has.
    func take(from other: HeldValues, into values: inout HeldValues)
    /// The files that its value names.
    func files(in values: HeldValues) -> [NamedFile]
}

/// The description of a setting, without its type.
package struct SettingRow: Sendable {
    package struct Flag: Sendable {
        /// Without its dashes.
        package let name: String
        package let placeholder: String

        init(_ name: String, _ placeholder: String) {
            self.name = name
            self.placeholder = placeholder
        }
    }

    package let path: String
    package let expected: String
    package let defaultText: String
    package let flag: Flag?
    package let explanation: String
    let shape: SettingShape

    /// Whether a flag for it can be given several times.
    package var isList: Bool { shape == .list }

    /// `LIVEGATE_LIMITS_MAX_HEADERS`
    package var variable: String { SettingsTable.variable(path) }
}

/// A struct whose properties are settings, or further tables: one for each section of the settings.
package protocol SettingTable: Sendable {
    /// When a change of its settings counts in a gateway that runs; nil: as in the table that it is a section of.
    static var effect: SettingEffect? { get }

    init()
}

extension SettingTable {
    /// Its settings, and those of its tables, each with the name of its property, in the order of their declaration.
    static var declarations: [(name: String, setting: any SettingDeclaration)] {
        Mirror(reflecting: Self()).children.flatMap { child -> [(name: String, setting: any SettingDeclaration)] in
            switch child.value {
            case let setting as any SettingDeclaration: [(child.label ?? "", setting)]
            case let table as any SettingTable: type(of: table).declarations
            default: preconditionFailure("\(child.label ?? "a property") of \(Self.self) is no setting")
            }
        }
    }

    /// The key of a setting with the sections before it.
    package static func path<Value>(of key: KeyPath<Self, Setting<Value>>) -> String { Self()[keyPath: key].row.path }
}

/// Values by the paths of their settings.
struct HeldValues: Sendable {
    private struct Held<Value: Equatable & Sendable>: Sendable {
        let value: Value
    }

    private var values: [String: any Sendable] = [:]

    /// The value of a setting, or its default when no value is kept.
    subscript<Value>(setting: Setting<Value>) -> Value {
        get { (values[setting.row.path] as? Held<Value>)?.value ?? setting.defaultValue }
        set { values[setting.row.path] = Held(value: newValue) }
    }
}

/// The values: one for each setting of a table, by the name of its property.
///
/// Slow (a look-up and a cast). Code that needs a value often must keep it, in the unit in which it uses it.
@dynamicMemberLookup
package struct SettingValues<Table: SettingTable>: Sendable {
    var held = HeldValues()

    /// The defaults.
    package init() {}

    init(held: HeldValues) {
        self.held = held
    }

    package subscript<Value>(dynamicMember key: KeyPath<Table, Setting<Value>>) -> Value {
        get { held[Table()[keyPath: key]] }
        set { held[Table()[keyPath: key]] = newValue }
    }

    /// The values of a section.
    package subscript<Section: SettingTable>(dynamicMember key: KeyPath<Table, Section>) -> SettingValues<Section> {
        get { SettingValues<Section>(held: held) }
        set { held = newValue.held }
    }
}
