/**
 * Where a gateway is between its start and its stop, for modules that act differently meanwhile.
 */

export type GatewayPhase = 'starting' | 'ready' | 'draining'

export interface GatewayLifecycle {
  phase(): GatewayPhase
  /** Messages are accepted. */
  isOpen(): boolean
  isDraining(): boolean
  /** The gateway stops, and still stores messages of chats. */
  storesForNextStart(): boolean
  /** When the start began. */
  readonly startedAt: number
  /** Aborts when the stop begins. */
  readonly stopping: AbortSignal
}

export interface LifecycleControl extends GatewayLifecycle {
  ready(): void
  drain(): void
  /** Plugins that decide which messages are taken have stopped. */
  refuseMessages(): void
}

export function createLifecycle(clock: () => number): LifecycleControl {
  const stopping = new AbortController()
  let phase: GatewayPhase = 'starting'
  let refuses = false
  return {
    phase: () => phase,
    isOpen: () => phase === 'ready',
    isDraining: () => phase === 'draining',
    storesForNextStart: () => phase === 'draining' && !refuses,
    startedAt: clock(),
    stopping: stopping.signal,
    ready() {
      phase = 'ready'
    },
    drain() {
      phase = 'draining'
      stopping.abort()
    },
    refuseMessages() {
      refuses = true
    },
  }
}
