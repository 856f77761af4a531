/// The limits of the settings, in the units in which they are used.
package struct GatewayLimits: Sendable {
    package var maximumHeaderBytes = 16 * 1024
    package var maximumHeaders = 100
    package var handshakeTimeoutMilliseconds: UInt64 = 10_000
    package var maximumMessageBytes = 4 * 1024
    package var maximumFragments = 512
    package var maximumControlFramesPerSecond = 100
    package var maximumPendingBytes = 64 * 1024
    /// Nil: an unreachable broker never turns `/readyz` false.
    package var brokerGraceMilliseconds: UInt64? = 30_000
    package var maximumLagMilliseconds: UInt64 = 30_000
    package var pingIntervalMilliseconds: UInt64 = 25_000
    package var pongTimeoutMilliseconds: UInt64 = 10_000
    package var maximumWaitMilliseconds: UInt64 = 55_000
    package var maximumSyncEvents = 500
    package var changedIntervalMilliseconds: UInt64 = 1_000

    package init() {}
}
