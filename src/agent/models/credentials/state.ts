/**
 * The credentials of the providers, merged from `auth.json`, the environment and the configuration. What happens to them is kept in
 * memory until it is written.
 */
import { HermesError, messageOf } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import { findProvider } from '../catalogue.ts'
import { type AuthFile, emptyFile, type StoredCredential, type StoredEntry, toStored } from './auth-file.ts'
import { type Credential, type CredentialHealth, fingerprintOf, healthy, isReference } from './credential.ts'
import type { SharedAuthFile } from './shared-auth-file.ts'

/** A key that the environment or the configuration gives. It has no entry in the file until something happens to it. */
export interface ReferencedKey {
  readonly source: `env:${string}` | `config:${string}`
  readonly secret: string
}

export interface CredentialState {
  /** All usable and resting credentials of a provider, sorted by priority. */
  list(provider: string): readonly Credential[]
  /** Takes effect at once. */
  change(provider: string, id: string, change: CredentialChange): void
  /** Writes what has changed. Never rejects: a failure is logged, and the next call writes the same. */
  flush(): Promise<void>
}

/** What happened to a credential. What another process stores meanwhile stays. */
export interface CredentialChange {
  readonly health?: CredentialHealth | undefined
  /** Turns that began to use it. */
  readonly uses?: number
}

interface Merged {
  readonly file: AuthFile
  readonly referenced: readonly ReferencedKey[]
  readonly credentials: readonly Credential[]
}

/**
 * @param referencedKeys the keys that the provider has outside of the file, in the order of their precedence; the same array until
 *   one changes
 * @param failpoint named points for crash tests; does nothing in production
 */
export function createCredentialState(
  sharedFile: SharedAuthFile,
  referencedKeys: (provider: string) => readonly ReferencedKey[],
  log: Logger,
  failpoint?: (point: string) => void,
): CredentialState {
  const merged = new Map<string, Merged>()
  const changes = new Map<string, ReadonlyMap<string, CredentialChange>>()
  let reported: unknown
  let flushed = Promise.resolve()

  /** An unusable file is reported once for each of its states. */
  function isNew(error: unknown): boolean {
    const isKnown = error === reported
    reported = error
    return !isKnown
  }

  function readFile(): AuthFile {
    try {
      const file = sharedFile.read()
      reported = undefined
      return file
    } catch (error) {
      if (isNew(error))
        log.error({ event: 'credentials.unreadable', err: error }, `stored keys are not used: ${describe(error)}`)
      return emptyFile
    }
  }

  function list(provider: string): readonly Credential[] {
    const file = readFile()
    const referenced = referencedKeys(provider)
    let known = merged.get(provider)
    if (known?.file !== file || known.referenced !== referenced) {
      known = { file, referenced, credentials: mergeCredentials(entriesOf(file, provider), referenced) }
      merged.set(provider, known)
    }
    const changed = changes.get(provider)
    if (changed === undefined) return known.credentials
    return known.credentials.map((credential) => withChange(credential, changed.get(credential.id)))
  }

  /** What has changed again meanwhile is still to be written. */
  function forget(provider: string, written: ReadonlyMap<string, CredentialChange>): void {
    const left = [...(changes.get(provider) ?? [])].flatMap(([id, { health, uses = 0 }]) => {
      const stored = written.get(id)
      const change = {
        uses: uses - (stored?.uses ?? 0),
        ...(health === undefined || health === stored?.health ? {} : { health }),
      }
      return change.uses === 0 && change.health === undefined ? [] : [[id, change] as const]
    })
    if (left.length === 0) changes.delete(provider)
    else changes.set(provider, new Map(left))
  }

  async function writeChanges(): Promise<void> {
    const written = [...changes]
    if (written.length === 0) return
    try {
      await sharedFile.update((file) =>
        written.reduce(
          (next, [provider, changed]) => withChanges(next, provider, changed, referencedKeys(provider)),
          file,
        ),
      )
    } catch (error) {
      if (isNew(error))
        log.error(
          { event: 'credentials.not_stored', err: error },
          `the state of keys is not stored: ${describe(error)}`,
        )
      return
    }
    failpoint?.('credentials:stored')
    for (const [provider, changed] of written) forget(provider, changed)
  }

  return {
    list,
    change(provider, id, { health, uses = 0 }) {
      const changed = changes.get(provider)
      const known = changed?.get(id)
      const next = { ...known, uses: (known?.uses ?? 0) + uses, ...(health === undefined ? {} : { health }) }
      changes.set(provider, new Map([...(changed ?? []), [id, next]]))
    },
    flush() {
      // One after the other, so that no change is written twice.
      flushed = flushed.then(writeChanges)
      return flushed
    },
  }
}

function describe(error: unknown): string {
  return error instanceof HermesError ? `${error.message} ${error.hint}` : messageOf(error)
}

function withChange(credential: Credential, change: CredentialChange | undefined): Credential {
  if (change === undefined) return credential
  const { health = credential.health, uses = 0 } = change
  return { ...credential, health, requestCount: credential.requestCount + uses }
}

/**
 * What the environment and the configuration give, and what the file stores, sorted by priority. A reference without a value is left
 * out. A key that is in both is the reference, whether it has an entry or not: what happens to it is recorded under its name.
 */
function mergeCredentials(entries: readonly StoredEntry[], referenced: readonly ReferencedKey[]): Credential[] {
  const stored = entries.flatMap(({ credential }) => credential ?? [])
  const others = stored.filter(({ source }) => !isReference(source))
  const references = referenced.flatMap(({ source, secret }): Credential[] => {
    if (secret === '') return []
    const known = stored.find((credential) => credential.source === source)
    if (known === undefined) {
      const same = others.find((same) => same.secret === secret)
      return [{ ...toCredential(source, secret), health: same?.health ?? healthy }]
    }
    // Another value under the same name has no past.
    const health = known.fingerprint === fingerprintOf(secret) ? known.health : healthy
    return [{ ...known, secret, health }]
  })
  return withoutDuplicates([...references, ...others]).toSorted((a, b) => a.priority - b.priority)
}

/** What the configuration or the environment names comes before what was added with `hermes auth add`. */
function toCredential(source: ReferencedKey['source'], secret: string): Credential {
  const label = source.slice(source.indexOf(':') + 1)
  return {
    id: source,
    label,
    authType: 'api_key',
    priority: -1,
    source,
    secret,
    baseUrl: '',
    health: healthy,
    requestCount: 0,
  }
}

/** A key that is in the environment and in the file, or twice in the file, is one credential. It rests if one of them does. */
function withoutDuplicates(credentials: readonly Credential[]): Credential[] {
  const bySecret = new Map<string, Credential>()
  for (const credential of credentials) {
    const known = bySecret.get(credential.secret)
    bySecret.set(
      credential.secret,
      known === undefined ? credential : { ...known, health: worst(known.health, credential.health) },
    )
  }
  return [...bySecret.values()]
}

function worst(a: CredentialHealth, b: CredentialHealth): CredentialHealth {
  if (a.status === 'dead' || b.status === 'ok') return a
  return b.status === 'dead' || b.cooldownUntil > a.cooldownUntil ? b : a
}

/**
 * The file with what happened to some credentials. A key that another process has removed stays away, and so does the reference to
 * a variable that has no value any more.
 */
function withChanges(
  file: AuthFile,
  provider: string,
  changes: ReadonlyMap<string, CredentialChange>,
  referenced: readonly ReferencedKey[],
): AuthFile {
  const valueBehind = (source: string) => referenced.find((key) => key.source === source)?.secret ?? ''
  const entries = entriesOf(file, provider)
  const secretOf = ({ source, secret }: Credential) => (isReference(source) ? valueBehind(source) : secret)
  const healths = healthBySecret(entries, changes, referenced, secretOf)
  const update = (entry: StoredEntry) => {
    const { credential } = entry
    if (credential === undefined) return entry
    if (credential.source.startsWith('env:') && valueBehind(credential.source) === '') return undefined
    const health = healths.get(secretOf(credential))
    const change = changes.get(credential.id) ?? (health && { health })
    return change === undefined ? entry : withState(entry, credential, change, valueBehind(credential.source))
  }
  const known = new Set<string>(entries.flatMap(({ credential }) => credential?.source ?? []))
  const added = referenced.flatMap(({ source, secret }) => {
    const change = changes.get(source)
    if (change === undefined || secret === '' || known.has(source)) return []
    return [toStored(withChange(toCredential(source, secret), change), fingerprintOf(secret))]
  })
  return withEntries(file, provider, update, added)
}

/** What has happened to keys, so that each entry of a key learns of it. */
function healthBySecret(
  entries: readonly StoredEntry[],
  changes: ReadonlyMap<string, CredentialChange>,
  referenced: readonly ReferencedKey[],
  secretOf: (credential: Credential) => string,
): ReadonlyMap<string, CredentialHealth> {
  const keys = [
    ...referenced.map(({ source, secret }) => ({ id: source, secret })),
    ...entries.flatMap(({ credential }) =>
      credential === undefined ? [] : [{ id: credential.id, secret: secretOf(credential) }],
    ),
  ]
  return new Map(
    keys.flatMap(({ id, secret }) => {
      const health = changes.get(id)?.health
      return health === undefined || secret === '' ? [] : [[secret, health] as const]
    }),
  )
}

/** Another value under the same name has no past. */
function withState(
  entry: StoredEntry,
  stored: StoredCredential,
  change: CredentialChange,
  secret: string,
): StoredEntry {
  if (!isReference(stored.source)) return toStored(withChange(stored, change), '', entry.raw)
  const fingerprint = fingerprintOf(secret)
  const credential = stored.fingerprint === fingerprint ? stored : { ...stored, health: healthy }
  return toStored(withChange(credential, change), fingerprint, entry.raw)
}

/** The lists of a provider in the file: under its name here, and under its names in Hermes. No two entries have the same id. */
function listsOf({ providers }: AuthFile, provider: string): readonly (readonly [string, readonly StoredEntry[]])[] {
  // The tokens of `openai-codex` of Hermes are for another server.
  const isAlias = (name: string) =>
    name !== provider && name !== 'openai-codex' && findProvider(name)?.name === provider
  const names = [...(providers.has(provider) ? [provider] : []), ...[...providers.keys()].filter(isAlias)]
  const taken = new Set<string>()
  return names.map((name) => {
    const entries = (providers.get(name) ?? []).map((entry): StoredEntry => {
      const { credential } = entry
      if (credential === undefined || !taken.has(credential.id)) return entry
      return { ...entry, credential: { ...credential, id: `${credential.id.slice(0, 50)}@${name}` } }
    })
    for (const { credential } of entries) if (credential !== undefined) taken.add(credential.id)
    return [name, entries] as const
  })
}

/** What the file has for a provider, by all its names. */
export function entriesOf(file: AuthFile, provider: string): readonly StoredEntry[] {
  return listsOf(file, provider).flatMap(([, entries]) => entries)
}

/** The file with changed entries, each in its list. `change` returns undefined for an entry that is removed. */
export function withEntries(
  file: AuthFile,
  provider: string,
  change: (entry: StoredEntry) => StoredEntry | undefined,
  added: readonly StoredEntry[] = [],
): AuthFile {
  const changed = listsOf(file, provider).map(
    ([name, entries]) => [name, entries.flatMap((entry) => change(entry) ?? [])] as const,
  )
  const [[first, entries] = [provider, []]] = changed
  return { ...file, providers: new Map([...file.providers, ...changed, [first, [...entries, ...added]]]) }
}

/** The file with one credential, which gets an entry if it had none. */
export function withCredential(file: AuthFile, provider: string, credential: Credential): AuthFile {
  const fingerprint = isReference(credential.source) ? fingerprintOf(credential.secret) : ''
  const isSame = (entry: StoredEntry) => entry.credential?.id === credential.id
  if (!entriesOf(file, provider).some(isSame))
    return withEntries(file, provider, (entry) => entry, [toStored(credential, fingerprint)])
  return withEntries(file, provider, (entry) => (isSame(entry) ? toStored(credential, fingerprint, entry.raw) : entry))
}
