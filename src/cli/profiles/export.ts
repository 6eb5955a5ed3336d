/**
 * `hermes profile export`: one compressed tar archive of a profile. Without `--with-secrets` it can be given to others: it has
 * neither secrets nor what belongs to the people of the profile.
 */
import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { HermesError } from '../../lib/errors.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { createRedactor } from '../../lib/redact.ts'
import type { TarEntry } from '../../lib/tar.ts'
import type { CliContext } from '../kit/context.ts'
import { readSettings } from '../kit/settings.ts'
import { readPairingList } from '../shared/access-report.ts'
import {
  type ArchivedHome,
  configWithoutSecrets,
  databaseEntry,
  directoryEntry,
  entriesBelow,
  textEntry,
  writeArchive,
} from '../shared/home-archive.ts'
import { findProfile, isTaken } from './profile-homes.ts'

export interface ProfileExportOptions {
  readonly withSecrets: boolean
}

/** Settings and extensions. */
const sharedNames = [
  ...['config.yaml', 'profile.json', 'SOUL.md', 'BOOT.md'],
  ...['hooks', 'plugins', 'platforms', 'skills', 'cron'],
]
/** What belongs to the people of the profile. The database is copied apart. */
const secretNames = [
  ...['.env', 'gateway.token', 'auth.json', 'shell-hooks-allowlist.json', 'plugin-state', 'media'],
  ...['memories', 'pairing', 'mcp-tokens'],
]
/** The same, inside of a shared folder. */
const secretFolders = new Set(['platforms/pairing', 'cron/output'])
const listKeys: ReadonlySet<string> = new Set(['allow_from', 'group_allow_from', 'allowed_users'])

/** Throws `cli/not-found`, `cli/usage` for an existing file, `cli/failed` when it cannot be written. */
export async function profileExport(
  context: CliContext,
  name: string,
  file: string | undefined,
  { withSecrets }: ProfileExportOptions,
): Promise<void> {
  const home = findProfile(context.rootHome, name)
  const target = resolve(file ?? `${name}.tar.gz`)
  if (statSync(target, { throwIfNoEntry: false }) !== undefined)
    throw new HermesError('cli/usage', `${target} already exists.`, { hint: 'Name another file, or delete it first.' })
  const config = withSecrets ? undefined : await configForOthers(context, home)
  const skipped: string[] = []
  const included: string[] = []
  await writeArchive(
    target,
    entriesOf({ home, name, withSecrets, config: config?.text, skipped, included }),
    async () => undefined,
  )
  const { output, errors } = context
  output.write(`Wrote ${target}. Unpack it in the folder profiles of a root home: tar -xzf <file>\n`)
  output.write(`It contains ${included.join(', ')}.\n`)
  if (withSecrets) errors.write('hermes: the archive contains keys, tokens and conversations. Keep it private.\n')
  else output.write(`Left out of config.yaml: ${['comments', ...(config?.removed ?? [])].join(', ')}.\n`)
  if (skipped.length > 0) output.write(`Left out, because they are no regular files: ${skipped.join(', ')}.\n`)
}

interface ExportedProfile {
  readonly home: HomeLayout
  readonly name: string
  readonly withSecrets: boolean
  /** The text of config.yaml; undefined: as it is. */
  readonly config: string | undefined
  /** Filled with the links and other entries that are no files. */
  readonly skipped: string[]
  /** Filled with the names at the top of the home that the archive contains. */
  readonly included: string[]
}

function* entriesOf(profile: ExportedProfile): Generator<TarEntry> {
  const { home, name, withSecrets, config, skipped, included } = profile
  const archived: ArchivedHome = {
    root: home.root,
    prefix: `${name}/`,
    leavesOut: (path) => !withSecrets && (/^\.env\b/.test(basename(path)) || secretFolders.has(path)),
    skipped,
  }
  yield directoryEntry(name)
  for (const top of withSecrets ? [...sharedNames, ...secretNames] : sharedNames) {
    if (isTaken(join(home.root, top))) included.push(top)
    if (top === 'config.yaml' && config !== undefined) yield textEntry(`${name}/${top}`, config)
    else yield* entriesBelow(archived, top)
  }
  if (!withSecrets) return
  for (const database of databaseEntry(home, `${name}/state.db`)) {
    included.push('state.db')
    yield database
  }
}

/** Without people who have an approval, too: they could be owners without it. */
async function configForOthers(context: CliContext, home: HomeLayout) {
  const { secrets } = await readSettings({ ...context, home })
  const { approved } = readPairingList({ home })
  const isPaired = (path: readonly string[], value: unknown) =>
    path.some((key) => listKeys.has(key)) &&
    approved.some(
      ({ platform, userId }) =>
        (path.includes(platform) || path.includes('allowed_users')) &&
        String(value)
          .split(/[\s,]+/)
          .includes(userId),
    )
  const redact = createRedactor({ secrets: secrets.all })
  return configWithoutSecrets(home, { redact, removes: isPaired, removesComments: true })
}
