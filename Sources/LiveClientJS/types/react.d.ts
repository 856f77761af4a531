// Hooks for React 18 and later, which an app brings itself.

import { DeferredAction, LiveActions } from "./actions.js"
import { Client, ConnectionState, Snapshots } from "./connection.js"
import { LiveMachine, MachineSnapshot } from "./machine.js"
import { DetailsState, ListDirection, ListEnd, ListState, ScreenList, ScreenThing, Screens } from "./screens.js"

/** What is shown of a machine, of screens, a list, details, actions or `client.connection`; renders again when it changes. */
export function useSnapshot<Snapshot>(shown: Snapshots<Snapshot>): Snapshot

/** Where a client's connection stands. */
export function useConnectionState(client: Client): ConnectionState

/** What can be seen of a machine: its entries, its sign, whether it is loaded. */
export function useMachine<Value>(machine: LiveMachine<Value>): MachineSnapshot<Value>

/** What users did that the server is not known to have. */
export function usePending(actions: LiveActions): readonly DeferredAction[]

/**
 * Shows a list for as long as the component is there, from its beginning 50 items, or from another place. One component shows
 * a list at a time.
 */
export function useLiveList<Value>(
    list: ScreenList<Value>, place?: { from: ListEnd, direction: ListDirection, count: number }
): ListState<Value>

/** Shows a thing's details for as long as the component is there; `refresh()` fetches it again. */
export function useThing<Value>(screens: Screens<Value>, thing: ScreenThing): DetailsState<Value> & { refresh(): void }
