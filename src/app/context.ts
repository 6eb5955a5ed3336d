/**
 * What all parts of the composition share, from the start of a gateway to its stop.
 */
import type { Config } from '../config/load.ts'
import type { ConfigOf } from '../config/section.ts'
import type { AccountDirectory } from '../flows/access/account-directory.ts'
import type { GatewayProblems } from '../flows/lifecycle/problems.ts'
import type { Log } from '../lib/log-writer.ts'
import type { SecretRegistry } from '../lib/redact.ts'
import type { PlatformCatalogue } from '../platforms/registry.ts'
import type { Supervisor } from '../platforms/supervisor.ts'
import type { Runtime } from '../store/runtime.ts'
import type { GatewayShapes } from './config.ts'
import type { GatewayLifecycle, GatewayMode } from './gateway-state.ts'
import type { GatewayOptions } from './options.ts'

/** The installed platforms, and the supervisor for the modules that are built before it. */
export interface GatewayPlatforms
  extends Pick<Supervisor, 'health' | 'failAccount'>,
    Pick<AccountDirectory, 'adapter'> {
  readonly catalogue: PlatformCatalogue
}

export interface AppContext extends Runtime {
  readonly options: GatewayOptions
  readonly mode: GatewayMode
  readonly config: Config<GatewayShapes>
  readonly settings: () => ConfigOf<GatewayShapes>
  readonly secrets: SecretRegistry
  readonly accountDirectory: AccountDirectory
  /** The health may be asked for when the supervisor exists. */
  readonly platforms: GatewayPlatforms
  readonly lifecycle: GatewayLifecycle
  readonly problems: GatewayProblems
  readonly random: () => number
  readonly log: Log
}
