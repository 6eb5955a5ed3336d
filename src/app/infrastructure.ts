/**
 * Opens what all modules need: the log, the configuration, the installed platforms and the database.
 */
import { existsSync, statfsSync } from 'node:fs'
import { readEnvironment } from '../config/environment.ts'
import { formatIssues } from '../config/issue.ts'
import type { Config } from '../config/load.ts'
import { findEnvironmentSecrets } from '../config/secrets.ts'
import { createDegradedReasons } from '../flows/lifecycle/status.ts'
import { HermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { createLog, type Log, silentLog } from '../lib/log.ts'
import { createRedactor, createSecretRegistry, type Redactor, type SecretRegistry } from '../lib/redact.ts'
import type { PairedPeople } from '../pairing/pairing.ts'
import { discoverPlatforms, type PlatformCatalogue } from '../platforms/registry.ts'
import { createSlowCommits, slowCommitMs } from '../store/slow-commits.ts'
import { createSqliteStore, detectReplacedFiles } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import { createWriteHealth } from '../store/write-health.ts'
import { type GatewayShapes, openConfig } from './config.ts'
import type { GatewayOptions } from './options.ts'

export interface Infrastructure {
  readonly clock: () => number
  readonly log: Log
  readonly secrets: SecretRegistry
  /** Takes known secrets, and what looks like one, out of a text. */
  readonly redact: Redactor
  readonly config: Config<GatewayShapes>
  readonly catalogue: PlatformCatalogue
  readonly store: Store
  /** The people whom an owner has approved; undefined if there are no files. */
  readonly paired: PairedPeople | undefined
  /** Why commands have no sandbox; '' when they have one, when none is wanted, and until one was tried. */
  readonly sandboxReport: { reason: string; place: string }
  /** Files of the system prompt that look like a prompt injection: path and ids of the scan. */
  readonly suspiciousFiles: Map<string, readonly string[]>
  readonly promptFileProblems: Map<string, string>
  /** Why the daemon runs degraded; empty when all is well. */
  readonly degraded: () => string[]
  /** Closes the database and the log after a failed start. */
  close(): Promise<void>
}

/** Rejects `config/...` or `store/...`. */
export async function openInfrastructure(options: GatewayOptions): Promise<Infrastructure> {
  const { home } = options
  const clock = options.clock ?? Date.now
  const environment = () => readEnvironment(home.envFile, options.environment)
  const secrets = createSecretRegistry()
  secrets.set('environment', findEnvironmentSecrets({ ...environment(), file: {}, isPublic: () => true }))
  const redact = createRedactor({ secrets: secrets.all })
  const log = openLog(options, redact)
  const catalogue = await discoverPlatforms({ directories: options.platformDirectories, log })
  if (options.strict === true) assertValidConfig({ home, environment, platforms: catalogue.platforms, secrets })
  const config = openConfig({ home, environment, platforms: catalogue.platforms, secrets, saveLastGood: true, log })
  if (options.log.level === undefined) log.setLevel(config.current().log.level)

  const slowCommits = createSlowCommits({ clock, log })
  const writeHealth = createWriteHealth(() => freeBytesOf(home.root))
  const isDatabaseLost = detectLostDatabase(home)
  if (isDatabaseLost) {
    log.error(
      { event: 'store.missing', path: home.databaseFile },
      'the database of this home is missing; a new, empty one is created',
    )
  }
  const store = createSqliteStore({
    path: home.databaseFile,
    guardFiles: [home.lockFile],
    onSlowCommit: slowCommits.record,
    slowCommitMs,
    onFailure: writeHealth.failed,
    onRecovery: writeHealth.succeeded,
    onMigrated: ({ fromVersion, toVersion, backup }) =>
      log.info(
        { event: 'store.migrated', fromVersion, toVersion, backup },
        'the database was upgraded; a copy of the old one was kept',
      ),
  })

  const { people: paired, problems: pairingProblems } = await readPaired(options, clock, log)
  const sandboxReport = { reason: '', place: '' }
  const suspiciousFiles = new Map<string, readonly string[]>()
  const promptFileProblems = new Map<string, string>()
  const degraded = createDegradedReasons({
    configuration: () => [...config.state().degraded, ...pairingProblems],
    replacedFile: detectReplacedFiles([home.databaseFile, home.lockFile]),
    invalidPlatforms: catalogue.invalid,
    placeProblem: () => sandboxReport.place,
    suspiciousFiles,
    promptFileProblems,
    sandboxProblem: () => sandboxReport.reason,
    slowCommits,
    writeHealth,
    lostDatabase: isDatabaseLost ? home.databaseFile : undefined,
  })

  async function close(): Promise<void> {
    await store.close()
    log.close()
  }

  return {
    clock,
    log,
    secrets,
    redact,
    config,
    catalogue,
    store,
    paired,
    sandboxReport,
    suspiciousFiles,
    promptFileProblems,
    degraded,
    close,
  }
}

/** Without files nothing is loaded. Never rejects: with unusable files no user is paired. */
async function readPaired(
  { home }: GatewayOptions,
  clock: () => number,
  log: Log,
): Promise<{ readonly people: PairedPeople | undefined; readonly problems: readonly string[] }> {
  if (!existsSync(home.pairing) && !existsSync(home.formerPairing)) return { people: undefined, problems: [] }
  const { readPairedPeople } = await import('../flows/access/pairing-admin.ts')
  return readPairedPeople({ home, clock, log })
}

/** Throws `config/invalid`. Logs nothing, because the error has all issues. */
function assertValidConfig(options: Omit<Parameters<typeof openConfig>[0], 'saveLastGood' | 'log'>): void {
  const { home, environment, platforms, secrets } = options
  const config = openConfig({ home, environment, platforms, secrets, saveLastGood: false, log: silentLog })
  const { problems } = config.state()
  if (problems.length > 0) throw new HermesError('config/invalid', `\n${formatIssues(problems)}`)
}

/** The token is created after the database, so a home with a token had one. */
export function detectLostDatabase({ databaseFile, tokenFile }: HomeLayout): boolean {
  return !existsSync(databaseFile) && [tokenFile, `${databaseFile}.bak`].some((file) => existsSync(file))
}

/** `undefined` if the system does not say. */
function freeBytesOf(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(directory)
    return bavail * bsize
  } catch {
    // A home that was removed is reported by `detectReplacedFiles`.
    return undefined
  }
}

function openLog({ home, log: { stream, pretty, level } }: GatewayOptions, redactor: Redactor): Log {
  return createLog({
    level: level ?? 'info',
    pretty,
    redactor,
    ...(stream === undefined ? {} : { stream }),
    file: { directory: home.logs },
  })
}
