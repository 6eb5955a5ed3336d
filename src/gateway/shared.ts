/**
 * What the parts of the wiring share, from the start of a gateway to its stop.
 */
import type { ConfigOf } from '../config/section.ts'
import type { Target } from '../message/source.ts'
import type { Supervisor } from '../platforms/supervisor.ts'
import type { GatewayShapes } from './config.ts'
import type { Ground } from './ground.ts'
import type { GatewayOptions, GatewayStatusReport } from './options.ts'
import type { People } from './people.ts'

export type Phase = GatewayStatusReport['status']

/** The supervisor as the rooms reach it. It is built of them, after them: while they are built, nobody may call this. */
export interface Platforms extends Pick<Supervisor, 'health' | 'refuse'> {
  /** Undefined while the account is not connected. */
  adapter(target: Pick<Target, 'platform' | 'account'>): ReturnType<Supervisor['adapter']>
}

export interface Shared extends Ground {
  readonly options: GatewayOptions
  readonly settings: () => ConfigOf<GatewayShapes>
  readonly people: People
  readonly platforms: Platforms
  readonly phase: () => Phase
  /** When the start began. */
  readonly startedAt: number
  /** Aborts when the stop begins. */
  readonly ended: AbortSignal
  readonly random: () => number
  /** Named points for crash tests; does nothing in production. */
  readonly probe: (point: string) => void
}
