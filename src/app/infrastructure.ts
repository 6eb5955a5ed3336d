/**
 * Opens what all modules need: the log, the configuration, the installed platforms and the database.
 */
import { existsSync, statfsSync } from 'node:fs'
import { readEnvironment } from '../config/environment.ts'
import { formatIssues } from '../config/issue.ts'
import { findEnvironmentSecrets } from '../config/secrets.ts'
import { createGatewayProblems } from '../flows/lifecycle/problems.ts'
import type { ErrorCode } from '../lib/error-catalogue.ts'
import { HermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { silentLog } from '../lib/log.ts'
import { createLog, type Log } from '../lib/log-writer.ts'
import { createSecretRegistry, type Redactor } from '../lib/redact.ts'
import type { PairedPeople } from '../pairing/pairing.ts'
import { discoverPlatforms } from '../platforms/registry.ts'
import { createSlowCommits, slowCommitMs } from '../store/slow-commits.ts'
import { createSqliteStore, detectReplacedFiles } from '../store/sqlite/store.ts'
import { createWriteHealth, describeWriteProblem } from '../store/write-health.ts'
import { openConfig } from './config.ts'
import type { GatewayOptions } from './options.ts'

export type Infrastructure = Awaited<ReturnType<typeof openInfrastructure>>

/** Rejects `config/...` or `store/...`. */
export async function openInfrastructure(options: GatewayOptions) {
  const { home } = options
  const clock = options.clock ?? Date.now
  const environment = () => readEnvironment(home.envFile, options.environment)
  const secrets = createSecretRegistry()
  secrets.set('environment', findEnvironmentSecrets({ ...environment(), file: {}, isPublic: () => true }))
  const log = openLog(options, secrets.redact)
  const catalogue = discoverPlatforms({ directories: options.platformDirectories, log })
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
    onPartError: (err) =>
      log.error({ event: 'store.effect_failed', err }, 'what follows a stored transaction has failed'),
  })

  const { people: paired, problems: pairingProblems } = await readPaired(options, clock, log)
  const replacedFile = detectReplacedFiles([home.databaseFile, home.lockFile])
  const problems = createGatewayProblems()
  problems.add(
    () => [...config.state().degraded, ...pairingProblems],
    () => replacedFileWarnings(replacedFile()),
    () => writeWarnings(writeHealth.problem()),
    () => (isDatabaseLost ? [lostDatabaseWarning(home)] : []),
    () => catalogue.invalid.map(({ directory, reason }) => `platform folder ${directory}: ${reason}`),
    () => (slowCommits.hasRecent() ? [`disk: commits take longer than ${slowCommitMs} ms`] : []),
  )

  async function close(): Promise<void> {
    await store.close()
    log.close()
  }

  return {
    clock,
    log,
    secrets,
    config,
    catalogue,
    store,
    /** The people whom an owner has approved; undefined if there are no files. */
    paired,
    problems,
    /** Closes the database and the log after a failed start. */
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

function replacedFileWarnings(path: string | undefined): readonly string[] {
  return path === undefined ? [] : [`${path} was removed or replaced: no message is accepted; restart the daemon`]
}

function writeWarnings(problem: ErrorCode | undefined): readonly string[] {
  return problem === undefined ? [] : [describeWriteProblem(problem)]
}

function lostDatabaseWarning({ databaseFile }: HomeLayout): string {
  return `${databaseFile} was missing at the start, and a new, empty one was created: stop the gateway and restore a backup, or restart it to continue without the old conversations`
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
    stream,
    file: { directory: home.logs },
  })
}
