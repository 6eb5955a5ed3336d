/**
 * What kind of gateway runs, and where it is between its start and its stop. What differs in a gateway that a terminal embeds while
 * a command runs is decided here, and asked nowhere else.
 */
import type { GatewayPhase } from '../flows/lifecycle/status.ts'
import type { GatewayOptions } from './options.ts'

export interface GatewayMode {
  /** Whether this process works on the conversations of a platform. */
  serves(platform: string): boolean
  /** Work goes on after the turn that began it: jobs, sub-agents in the background, reports of commands, titles. */
  readonly staysUp: boolean
  /** An embedded gateway loads no gateway hooks (contract §1.2). */
  readonly loadsHooks: boolean
  /** Where HTTP listens instead of the configured address. */
  readonly address: { readonly host?: string; readonly port?: number }
  /** Restarts the process; absent where that is not possible. */
  readonly restart: (() => void) | undefined
}

export function gatewayMode({ onlyPlatforms, onRestartRequest }: GatewayOptions): GatewayMode {
  if (onlyPlatforms === undefined)
    return { serves: () => true, staysUp: true, loadsHooks: true, address: {}, restart: onRestartRequest }
  return {
    serves: (platform) => onlyPlatforms.includes(platform),
    staysUp: false,
    loadsHooks: false,
    address: { host: '127.0.0.1', port: 0 },
    restart: undefined,
  }
}

export interface GatewayLifecycle {
  /** Messages are accepted while it is `ready`. */
  readonly phase: GatewayPhase
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
  let refuses = false
  const lifecycle: { -readonly [Key in keyof LifecycleControl]: LifecycleControl[Key] } = {
    phase: 'starting',
    storesForNextStart: () => lifecycle.phase === 'draining' && !refuses,
    startedAt: clock(),
    stopping: stopping.signal,
    ready() {
      lifecycle.phase = 'ready'
    },
    drain() {
      lifecycle.phase = 'draining'
      stopping.abort()
    },
    refuseMessages() {
      refuses = true
    },
  }
  return lifecycle
}
