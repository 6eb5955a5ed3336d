/**
 * Reads the configuration for commands: from the files, without a daemon and without writing anything.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { type GatewayShapes, openConfig } from '../../app/config.ts'
import { readEnvironment } from '../../config/environment.ts'
import type { Config } from '../../config/load.ts'
import { findEnvironmentSecrets } from '../../config/secrets.ts'
import { readGatewayToken } from '../../http/gateway-token.ts'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { silentLog } from '../../lib/log.ts'
import { createSecretRegistry, type SecretRegistry } from '../../lib/redact.ts'
import { discoverPlatforms, type PlatformCatalogue } from '../../platforms/registry.ts'
import type { CliContext } from './context.ts'

export interface Settings {
  readonly catalogue: PlatformCatalogue
  readonly config: Config<GatewayShapes>
  /** The values that must not be shown. */
  readonly secrets: SecretRegistry
  /** The token of a daemon that is started now. Throws `http/token-unusable`. */
  token(): string
}

type SettingsContext = Pick<CliContext, 'home' | 'environment' | 'platformDirectories'>

/** Throws `home/unusable`. Invalid files do not throw; `config.state()` has their problems. */
export async function readSettings(context: SettingsContext): Promise<Settings> {
  const { home } = context
  assertHomeUsable(context)
  const catalogue = discoverPlatforms({ directories: context.platformDirectories, log: silentLog })
  const environment = () => readEnvironment(home.envFile, context.environment)
  const secrets = createSecretRegistry()
  secrets.set('environment', findEnvironmentSecrets({ ...environment(), file: {}, isPublic: () => true }))
  const { platforms } = catalogue
  const config = openConfig({ home, environment, platforms, secrets, saveLastGood: false, log: silentLog })
  return { catalogue, config, secrets, token: () => config.current().http.token ?? readGatewayToken(home.root) }
}

/** Throws `home/unusable` when the home exists but cannot be read. */
export function assertHomeUsable({ home }: Pick<CliContext, 'home'>): void {
  try {
    const stats = statSync(home.root, { throwIfNoEntry: false })
    if (stats === undefined) return
    if (!stats.isDirectory()) throw new Error('it is not a folder')
    accessSync(home.root, constants.R_OK | constants.X_OK)
  } catch (error) {
    throw new HermesError('home/unusable', `${home.root}: ${messageOf(error)}`, { cause: error })
  }
}
