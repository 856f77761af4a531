/// A record of the broker, as far as a mapping reads it. What is not asked for is not copied.
///
/// Each `copy` replaces the contents of `bytes`, keeping its memory.
package protocol RecordReading: ~Copyable {
    var topic: String { get }

    /// False, with `bytes` empty, when the value is null.
    func copyValue(into bytes: inout [UInt8]) -> Bool

    /// False when the key is null.
    func copyKey(into bytes: inout [UInt8]) -> Bool

    /// The first header of that name (compared by bytes); false when there is none or its value is null.
    func copyHeader(_ name: String, into bytes: inout [UInt8]) -> Bool
}
