/**
 * Adds people, keys and scheduled jobs of an import to the files of this home. What is there stays.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AuthFile } from '../../agent/models/credentials/auth-file.ts'
import { readAuthFile } from '../../agent/models/credentials/auth-file.ts'
import { entriesOf, withEntries } from '../../agent/models/credentials/state.ts'
import { isHermesError, messageOf } from '../../lib/errors.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../../lib/files.ts'
import { asArray, asRecord, asString, isRecord, parseJson } from '../../lib/json.ts'
import { createPairingFiles, fileOf, isPlatformName } from '../../pairing/pairing-files.ts'
import type { FoundJob, FoundKey, FoundPerson, ImportArea, ImportEntry } from './contract.ts'
import { failed } from './source-home.ts'
import type { WriteOptions } from './write-files.ts'

/** Approved people. A person who is approved here already stays as approved. */
export function writePeople(people: readonly FoundPerson[], { home, dryRun }: WriteOptions): ImportEntry[] {
  const files = createPairingFiles(home)
  const platforms = [...new Set(people.map(({ platform }) => platform))].filter(isPlatformName)
  return platforms.flatMap((platform) =>
    attempt('people', platform, () => {
      const approved = files.read(fileOf(platform, 'approved'))
      const platformPeople = people.filter((person) => person.platform === platform)
      const added = platformPeople.filter(({ userId }) => !approved.has(userId))
      for (const { userId, entry } of added) approved.set(userId, entry)
      if (added.length > 0 && !dryRun) files.write(fileOf(platform, 'approved'), approved)
      return platformPeople.map(
        ({ userId }): ImportEntry => ({
          area: 'people',
          name: `${platform}:${userId}`,
          result: added.some((person) => person.userId === userId) ? 'taken' : 'same',
          reason: '',
        }),
      )
    }),
  )
}

/** @param update changes auth.json under its lock */
export async function writeKeys(
  keys: readonly FoundKey[],
  { home, dryRun }: WriteOptions,
  update: (change: (file: AuthFile) => AuthFile) => Promise<void>,
): Promise<ImportEntry[]> {
  if (keys.length === 0) return []
  try {
    const results: ImportEntry[] = []
    const change = (file: AuthFile): AuthFile => {
      results.length = 0
      return keys.reduce((current, key) => {
        const added = addKey(current, key)
        results.push(added.entry)
        return added.file
      }, file)
    }
    change(readAuthFile(home.authFile))
    const isNew = results.some(({ result }) => result === 'taken')
    if (isNew && !dryRun) await update(change)
    return results
  } catch (error) {
    const reason = isHermesError(error) ? error.message : messageOf(error)
    return [failed('keys', 'auth.json', reason)]
  }
}

function addKey(
  file: AuthFile,
  { provider, entry }: FoundKey,
): { readonly file: AuthFile; readonly entry: ImportEntry } {
  const { credential } = entry
  const area: ImportArea = 'keys'
  const name = `${provider}: ${credential?.label || credential?.id}`
  const here = entriesOf(file, provider)
  const same = here.find(
    (stored) => stored.credential?.secret !== '' && stored.credential?.secret === credential?.secret,
  )
  if (same !== undefined) return { file, entry: { area, name, result: 'same', reason: '' } }
  if (here.some((stored) => stored.credential?.id === credential?.id))
    return { file, entry: { area, name, result: 'conflict', reason: `another key here has the id ${credential?.id}` } }
  return {
    file: withEntries(file, provider, (entry) => entry, [entry]),
    entry: { area, name, result: 'taken', reason: sentTo(credential?.baseUrl ?? '') },
  }
}

function sentTo(address: string): string {
  return address === '' ? '' : `conversations that use it are sent to ${address}`
}

const jobsFile = 'cron/jobs.json'

export function writeJobs(
  jobs: readonly FoundJob[],
  { home, dryRun, overwrite }: WriteOptions,
  now: Date,
): ImportEntry[] {
  if (jobs.length === 0) return []
  return attempt('jobs', jobsFile, () => {
    const path = `${home.cron}/jobs.json`
    const text = readTextIfExists(path)
    const stored = text === undefined ? { jobs: [] } : parseJson(text)
    const list = isRecord(stored) ? stored['jobs'] : undefined
    if (!isRecord(stored) || !Array.isArray(list))
      return [failed('jobs', jobsFile, `the ${jobsFile} of this home is damaged`)]
    const merged = new Map<string, unknown>(asArray(list).map((job) => [asString(asRecord(job)['id']), job]))
    const withoutId = asArray(list).filter((job) => asString(asRecord(job)['id']) === '')
    let isChanged = false
    const entries = jobs.map(({ id, job, change }): ImportEntry => {
      const name = asString(job['name']) || id
      const here = merged.get(id)
      if (here !== undefined && isDeepStrictEqual(here, plain(job)))
        return { area: 'jobs', name, result: 'same', reason: '' }
      if (here !== undefined && !overwrite)
        return { area: 'jobs', name, result: 'conflict', reason: `this home has another job with the id ${id}` }
      merged.set(id, plain(job))
      isChanged = true
      return { area: 'jobs', name, result: change === '' ? 'taken' : 'changed', reason: change }
    })
    if (isChanged && !dryRun) {
      ensureDirectory(home.cron)
      merged.delete('')
      const content = { ...stored, jobs: [...merged.values(), ...withoutId], updated_at: now.toISOString() }
      writeFileAtomic(path, `${JSON.stringify(content, null, 2)}\n`)
    }
    return entries
  })
}

/** Returns the job as it will be read from the file. */
function plain(job: Readonly<Record<string, unknown>>): unknown {
  return JSON.parse(JSON.stringify(job))
}

function attempt(area: ImportArea, name: string, write: () => ImportEntry[]): ImportEntry[] {
  try {
    return write()
  } catch (error) {
    return [failed(area, name, messageOf(error))]
  }
}
