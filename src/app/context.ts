/**
 * What the parts of the wiring share, from the start of a gateway to its stop.
 */
import type { ConfigOf } from '../config/section.ts'
import type { AccountDirectory } from '../flows/account-directory.ts'
import type { Target } from '../message/source.ts'
import type { Supervisor } from '../platforms/supervisor.ts'
import type { GatewayShapes } from './config.ts'
import type { Infrastructure } from './infrastructure.ts'
import type { GatewayOptions, GatewayStatusReport } from './options.ts'

export type GatewayPhase = GatewayStatusReport['status']

/** The supervisor as the rooms reach it. It is built of them, after them: while they are built, nobody may call this. */
export interface ConnectedPlatforms extends Pick<Supervisor, 'health' | 'failAccount'> {
  /** Undefined while the account is not connected. */
  adapter(target: Pick<Target, 'platform' | 'account'>): ReturnType<Supervisor['adapter']>
}

export interface AppContext extends Infrastructure {
  readonly options: GatewayOptions
  readonly settings: () => ConfigOf<GatewayShapes>
  readonly accountDirectory: AccountDirectory
  readonly platforms: ConnectedPlatforms
  readonly phase: () => GatewayPhase
  /** When the start began. */
  readonly startedAt: number
  /** Aborts when the stop begins. */
  readonly stopping: AbortSignal
  readonly random: () => number
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint: (point: string) => void
}
