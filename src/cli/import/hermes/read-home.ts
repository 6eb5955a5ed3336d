/**
 * Reads a home of Hermes Agent (seed 004, contract agent.md S20).
 */

import { findProvider } from '../../../agent/models/catalogue.ts'
import { readAuthFile } from '../../../agent/models/credentials/auth-file.ts'
import { isReference } from '../../../agent/models/credentials/credential.ts'
import { messageOf } from '../../../lib/errors.ts'
import { asArray, asRecord, asString, isRecord } from '../../../lib/json.ts'
import type { PlatformManifest } from '../../../platforms/manifest.ts'
import type { Findings, FoundFile, FoundJob, FoundKey, FoundPerson, ImportEntry } from '../contract.ts'
import { findFile, findFolders } from '../folders.ts'
import { toServerName } from '../known-servers.ts'
import { failed, left, readJsonFile, readText, type SourceHome } from '../source-home.ts'
import { type ConversationOptions, readHermesConversations } from './conversations.ts'
import { takePrefill } from './prefill.ts'
import { readHermesSettings } from './settings.ts'

export interface HermesOptions extends ConversationOptions {
  readonly platforms: readonly PlatformManifest[]
}

/** Never throws for what is in the home. */
export function readHermesHome(source: SourceHome, options: HermesOptions): Findings {
  const { settings: translated, entries: noted } = readHermesSettings(source, options.platforms)
  const entries = [...noted]
  const { settings, files: prefill } = takePrefill(source, translated, entries)
  const files = [
    ...findFile(source, 'persona', 'SOUL.md', entries),
    ...findFile(source, 'persona', 'BOOT.md', entries),
    ...prefill,
    ...['MEMORY.md', 'USER.md', 'ARCHIVE.jsonl'].flatMap((name) =>
      findFile(source, 'memory', `memories/${name}`, entries),
    ),
    ...findScripts(source, entries),
  ]
  const folders = [
    { area: 'skills', from: 'skills', to: 'skills', marks: ['SKILL.md'], depth: 3 },
    { area: 'hooks', from: 'hooks', to: 'hooks', marks: ['HOOK.yaml'], depth: 1 },
    { area: 'plugins', from: 'plugins', to: 'plugins', marks: ['plugin.yaml', 'plugin.yml', 'plugin.json'], depth: 2 },
  ] as const
  const conversations = readHermesConversations(source, options)
  if (conversations !== undefined && 'result' in conversations) entries.push(conversations)
  const result: Findings = {
    settings,
    files,
    folders: folders.flatMap((search) => findFolders(source, search, entries)),
    people: readPeople(source, options.platforms, entries),
    keys: readKeys(source, entries),
    jobs: readJobs(source, entries),
    ...(conversations === undefined || 'result' in conversations ? {} : { conversations }),
    entries,
  }
  entries.push(...describeRest(source, new Set(files.map(({ name }) => name.split('/')[0] ?? name))))
  return result
}

/** Scheduled jobs run them. */
function findScripts(source: SourceHome, entries: ImportEntry[]): FoundFile[] {
  return source.names('scripts').flatMap((name) => {
    const path = `scripts/${name}`
    return name.startsWith('.') || source.kindOf(path) === 'folder'
      ? []
      : findFile(source, 'jobs', path, entries, { isText: false })
  })
}

/** Hermes has used both directories; the newer one comes first. */
const pairingDirectories = ['platforms/pairing', 'pairing']

function readPeople(source: SourceHome, platforms: readonly PlatformManifest[], entries: ImportEntry[]): FoundPerson[] {
  const known = new Set(platforms.map(({ name }) => name))
  const people = new Map<string, FoundPerson>()
  for (const path of pairingDirectories.flatMap((folder) => source.names(folder).map((name) => `${folder}/${name}`))) {
    const platform = /\/(?<platform>[a-z0-9][a-z0-9_-]*)-approved\.json$/.exec(path)?.groups?.['platform']
    const file = platform === undefined ? undefined : readJsonFile(source, path)
    if (platform === undefined || file === undefined) continue
    if ('problem' in file || !isRecord(file.value)) {
      const problem = 'problem' in file ? file.problem : 'it is damaged'
      entries.push(failed('people', path, `${problem}; no person of it was taken`))
    } else if (!known.has(platform)) entries.push(left('people', path, `there is no platform ${platform} here`))
    else
      for (const [userId, entry] of Object.entries(file.value)) {
        const id = `${platform}\n${userId}`
        if (userId !== '' && !people.has(id)) people.set(id, { platform, userId, entry: asRecord(entry) })
      }
  }
  return [...people.values()]
}

function readKeys(source: SourceHome, entries: ImportEntry[]): FoundKey[] {
  if (readText(source, 'keys', 'auth.json', entries) === undefined) return []
  try {
    const { providers, raw } = readAuthFile(source.pathOf('auth.json'))
    for (const name of ['providers', 'active_provider'])
      if (Object.keys(asRecord(raw[name])).length > 0)
        entries.push(left('keys', `auth.json: ${name}`, 'sign in again: two programs cannot share one sign-in'))
    return [...providers].flatMap(([name, stored]) => {
      const provider = findProvider(name)?.name ?? toServerName(name)
      return stored.flatMap((entry): FoundKey[] => {
        const { credential, reason } = entry
        const label = `${name}: ${credential?.label ?? credential?.id ?? 'an entry'}`
        if (credential === undefined) entries.push(left('keys', label, reason ?? 'it cannot be used'))
        else if (credential.authType === 'oauth')
          entries.push(left('keys', label, 'sign in again: two programs cannot share one sign-in'))
        else if (isReference(credential.source))
          entries.push(left('keys', label, `the key is in ${credential.source.replace(/^env:/, 'the variable ')}`))
        else return [{ provider, entry }]
        return []
      })
    })
  } catch (error) {
    entries.push(failed('keys', 'auth.json', messageOf(error)))
    return []
  }
}

function readJobs(source: SourceHome, entries: ImportEntry[]): FoundJob[] {
  const file = readJsonFile(source, 'cron/jobs.json', maxJobsBytes)
  if (file === undefined) return []
  // The oldest versions wrote the list itself.
  const jobs = 'value' in file && isRecord(file.value) ? file.value['jobs'] : 'value' in file ? file.value : undefined
  if (!Array.isArray(jobs)) {
    entries.push(failed('jobs', 'cron/jobs.json', 'problem' in file ? file.problem : 'it has no list of jobs'))
    return []
  }
  return asArray(jobs).flatMap((job, index): FoundJob[] => {
    const id = asString(asRecord(job)['id'])
    if (isRecord(job) && /^[\w-]{1,64}$/.test(id)) return [{ id, job, change: '' }]
    entries.push(failed('jobs', `cron/jobs.json, job ${index + 1}`, 'it has no usable id'))
    return []
  })
}

const maxJobsBytes = 16 * 1024 * 1024

const imported = new Set([
  ...['config.yaml', '.env', 'auth.json', 'SOUL.md', 'BOOT.md', 'memories', 'skills', 'hooks', 'plugins', 'cron'],
  ...['scripts', 'pairing', 'state.db', 'state.db-wal', 'state.db-shm', 'state.db-journal', 'platforms'],
])
const reasons: Readonly<Record<string, string>> = {
  'shell-hooks-allowlist.json': 'allow the programs again with `hermes hooks accept`',
  sessions: 'the same conversations are in state.db',
  workspace: 'copy what you need; commands of the agent work in another folder here',
  'kanban.db': 'there is no board here',
  'mcp-tokens': 'sign in again: two programs cannot share one sign-in',
}

/** Logs, caches and locks are not worth a line. */
const unnamed =
  /^(?:\..*|logs?|.*cache.*|.*\.(?:lock|log|pid|bak|tmp)|.*_cache|checkpoints|sandboxes|pastes|hermes-agent|gateway.*|node|bin|auth\.lock)$/

function describeRest(source: SourceHome, used: ReadonlySet<string>): ImportEntry[] {
  const profiles = source.names('profiles').filter((name) => source.kindOf(`profiles/${name}`) === 'folder')
  return [
    ...source
      .names('.')
      .filter((name) => !imported.has(name) && !used.has(name) && name !== 'profiles' && !unnamed.test(name))
      .map((name) => left('files', name, reasons[name] ?? 'this gateway has no use for it')),
    ...profiles.map((name) =>
      left(
        'files',
        `profiles/${name}`,
        `a home of its own: hermes profile create ${name} && hermes --profile ${name} import hermes ${source.pathOf(`profiles/${name}`)}`,
      ),
    ),
  ]
}
