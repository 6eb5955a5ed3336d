/**
 * `hermes import`: takes the settings, people and conversations of another program over. The other home is only read.
 */
import { existsSync, lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { HermesError, messageOf } from '../../lib/errors.ts'
import { exitCodes } from '../../lib/exit-codes.ts'
import { writeFileAtomic } from '../../lib/files.ts'
import { prepareHome } from '../../lib/home.ts'
import { readProfileFacts } from '../../lib/profile-facts.ts'
import { lockHome } from '../../store/sqlite/lock.ts'
import type { CliContext } from '../kit/context.ts'
import { createDisplay } from '../kit/display.ts'
import { explainDaemonLock } from '../kit/home-lock.ts'
import { readSettings, type Settings } from '../kit/settings.ts'
import { openKeys } from '../shared/known-keys.ts'
import type { Findings, ImportEntry } from './contract.ts'
import { findHome, type ImportKind, importKinds, isHome, relationOf, usualPlaces } from './find-homes.ts'
import { countResults, type ImportReport, printReport } from './report.ts'
import { planSettings, type SettingsPlan } from './settings.ts'
import { failed, openSourceHome, type SourceHome } from './source-home.ts'
import { writeConversations } from './write-conversations.ts'
import { type WriteOptions, writeFile, writeFolder } from './write-files.ts'
import { writeJobs, writeKeys, writePeople } from './write-records.ts'

export interface ImportOptions {
  readonly dryRun: boolean
  readonly overwrite: boolean
  readonly json: boolean
}

/** Throws `cli/usage`, `cli/not-found`, `home/…`. Exit code 1 when something could not be read or written. */
export async function importCommand(
  context: CliContext,
  kindName: string,
  path: string | undefined,
  { json, ...options }: ImportOptions,
): Promise<void> {
  const kind = importKinds.find((known) => known === kindName)
  if (kind === undefined)
    throw new HermesError('cli/usage', `Expected ${importKinds.join(' or ')}, found ${JSON.stringify(kindName)}.`)
  const report = await importHome(context, kind, path, options)
  const display = createDisplay(context.output, context.environment)
  if (json) display.json({ ...report, counts: countResults(report.entries) })
  else printReport(display, report)
  if (report.entries.some(({ result }) => result === 'failed')) context.exitCode = exitCodes.failed
}

/** Imports like `importCommand`, without printing. */
export async function importHome(
  context: CliContext,
  kind: ImportKind,
  path: string | undefined,
  { dryRun, overwrite }: Pick<ImportOptions, 'dryRun' | 'overwrite'>,
): Promise<ImportReport> {
  const source = openSource(context, kind, path)
  if (!dryRun) prepareHome(context.home)
  const lock = dryRun ? undefined : lockOf(context)
  // Nothing is written to this home without an import.
  if (dryRun) removeLeftCopies()
  const scratch = dryRun ? mkdtempSync(join(tmpdir(), copyPrefix)) : join(context.home.cache, 'import', 'scratch')
  try {
    const settings = await readSettings(context)
    const findings = await readFindings(context, kind, source, { ...settings, scratch })
    const entries = await write(findings, settings, { context, dryRun, overwrite })
    return { kind, source: source.root, home: context.home.root, dryRun, entries }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
    lock?.release()
  }
}

const copyPrefix = 'hermes-import-'
const maxCopyAgeMs = 60 * 60_000

/** A kill has left the conversations of another program in the folder of temporary files. */
function removeLeftCopies(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(copyPrefix)) continue
    const path = join(tmpdir(), name)
    const stats = lstatSync(path, { throwIfNoEntry: false })
    const isOwn = stats?.isDirectory() === true && (process.getuid === undefined || stats.uid === process.getuid())
    if (isOwn && stats.mtimeMs < Date.now() - maxCopyAgeMs) rmSync(path, { recursive: true, force: true })
  }
}

function lockOf({ home }: CliContext) {
  try {
    return lockHome(home.lockFile)
  } catch (error) {
    throw explainDaemonLock(error, home)
  }
}

function openSource(context: CliContext, kind: ImportKind, path: string | undefined): SourceHome {
  const root = path === undefined ? findHome(kind, context) : resolve(path)
  const home = context.home.root
  const [usual = ''] = usualPlaces(kind, context)
  const chosen = root ?? usual
  const relation = relationOf(chosen, home)
  if (relation !== 'apart')
    throw new HermesError(
      'cli/usage',
      relation === 'same' ? `${chosen} is this home itself.` : `This home, ${home}, is inside of ${chosen}.`,
      {
        hint: `An import writes nothing to the other home. Choose another home for this gateway: HERMES_HOME=~/.hermes-gateway hermes import ${kind} ${chosen}`,
      },
    )
  if (root === undefined || !isHome(kind, root))
    throw new HermesError(
      'cli/not-found',
      root === undefined
        ? `There is no home at ${usualPlaces(kind, context).join(', ')}.`
        : `${root} is no home of ${kind}.`,
      { hint: `Name the folder: hermes import ${kind} <path>` },
    )
  try {
    return openSourceHome(root)
  } catch (error) {
    throw new HermesError('cli/not-found', `${root}: ${messageOf(error)}`, { cause: error })
  }
}

async function readFindings(
  context: CliContext,
  kind: ImportKind,
  source: SourceHome,
  { catalogue, scratch }: Settings & { readonly scratch: string },
): Promise<Findings> {
  const { home } = context
  const platforms = catalogue.platforms
  if (kind === 'openclaw') {
    const { readOpenclawHome } = await import('./openclaw/read-home.ts')
    return readOpenclawHome(source, { platforms, environment: context.environment })
  }
  const { readHermesHome } = await import('./hermes/read-home.ts')
  const profile = readProfileFacts(home).sessionNamespace
  return readHermesHome(source, { platforms, profile, scratch, clock: Date.now })
}

interface WriteContext extends Pick<WriteOptions, 'dryRun' | 'overwrite'> {
  readonly context: CliContext
}

/** Files and people come before the settings, so that a bot does not run without what restricts it. */
async function write(
  findings: Findings,
  settings: Settings,
  { context, dryRun, overwrite }: WriteContext,
): Promise<ImportEntry[]> {
  const { home, environment } = context
  const options: WriteOptions = { home, dryRun, overwrite }
  const planned = planSettings(findings.settings, { home, environment, catalogue: settings.catalogue }, overwrite)
  const { update } = findings.keys.length === 0 || dryRun ? noKeys : openKeys(settings, home.authFile)
  const entries = [
    ...findings.files.map((file) => writeFile(file, options)),
    ...findings.folders.map((folder) => writeFolder(folder, options)),
    ...writePeople(findings.people, options),
    ...(await writeKeys(findings.keys, options, update)),
    ...writeJobs(findings.jobs, options, new Date()),
    ...(findings.conversations === undefined ? [] : await writeConversations(findings.conversations, options)),
  ]
  return withoutRepeated([...writeSettings(planned, options), ...entries, ...findings.entries])
}

/** A file that is used twice is reported once. */
function withoutRepeated(entries: readonly ImportEntry[]): ImportEntry[] {
  return [
    ...new Map(entries.map((entry) => [JSON.stringify([entry.name, entry.result, entry.reason]), entry])).values(),
  ]
}

const noKeys = { update: async () => undefined }

function writeSettings(
  { entries, config, variables }: SettingsPlan,
  { home, dryRun }: WriteOptions,
): readonly ImportEntry[] {
  if (dryRun) return entries
  try {
    // Both files may hold secrets.
    if (variables !== undefined) writeFileAtomic(targetOf(home.envFile), variables)
    if (config !== undefined) writeFileAtomic(targetOf(home.configFile), config)
    return entries
  } catch (error) {
    const written = new Set(['taken', 'changed'])
    return [
      ...entries.filter(({ result }) => !written.has(result)),
      failed('settings', 'config.yaml', messageOf(error)),
    ]
  }
}

/** A link stays, and what it points to is replaced. */
function targetOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path
}
