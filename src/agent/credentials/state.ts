/**
 * The credentials of the providers, merged from `auth.json`, the environment and the configuration. What happens to them is kept in
 * memory until it is written.
 */
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { type AuthFile, type StoredEntry, toStored } from './auth-file.ts'
import { type Credential, fingerprintOf, healthy, isReference } from './credential.ts'

/** A key that the environment or the configuration gives. It has no entry in the file until something happens to it. */
export interface ReferencedKey {
  readonly source: `env:${string}` | `config:${string}`
  readonly secret: string
}

export interface CredentialStateDeps {
  /** The content of the file: the same object until the file changes. Throws `auth/unusable`. */
  read(): AuthFile
  /**
   * Changes the file under the lock that other processes use, too. Rejects `auth/unusable`.
   * @param change receives the content of that moment
   */
  update(change: (file: AuthFile) => AuthFile): Promise<void>
  /** The keys that the provider has outside of the file, in the order of their precedence. The same array until one changes. */
  referencedKeys(provider: string): readonly ReferencedKey[]
  readonly log: Logger
}

export interface CredentialState {
  /** All usable and resting credentials of a provider, sorted by priority. */
  list(provider: string): readonly Credential[]
  /** Takes effect at once. */
  change(provider: string, credential: Credential): void
  /** Writes what has changed. Never rejects: a failure is logged, and the next call writes the same. */
  flush(): Promise<void>
}

/** What this process knows and the file does not know yet. */
type Change = Pick<Credential, 'health' | 'requestCount'>

interface Merged {
  readonly file: AuthFile
  readonly referenced: readonly ReferencedKey[]
  readonly credentials: readonly Credential[]
}

const emptyFile: AuthFile = { providers: new Map(), raw: {} }

export function createCredentialState(deps: CredentialStateDeps): CredentialState {
  const { log } = deps
  const merged = new Map<string, Merged>()
  const changes = new Map<string, Map<string, Change>>()

  function readFile(): AuthFile {
    try {
      return deps.read()
    } catch (error) {
      log.error({ event: 'credentials.unreadable', err: error }, `stored keys are not used: ${messageOf(error)}`)
      return emptyFile
    }
  }

  function list(provider: string): readonly Credential[] {
    const file = readFile()
    const referenced = deps.referencedKeys(provider)
    let known = merged.get(provider)
    if (known?.file !== file || known.referenced !== referenced) {
      known = { file, referenced, credentials: mergeCredentials(file.providers.get(provider) ?? [], referenced) }
      merged.set(provider, known)
    }
    const changed = changes.get(provider)
    if (changed === undefined) return known.credentials
    return known.credentials.map((one) => ({ ...one, ...changed.get(one.id) }))
  }

  /** What has changed again meanwhile is still to be written. */
  function forget(provider: string, written: ReadonlyMap<string, Change>): void {
    const changed = changes.get(provider)
    for (const [id, one] of written) if (changed?.get(id) === one) changed.delete(id)
    if (changed?.size === 0) changes.delete(provider)
  }

  return {
    list,
    change(provider, { id, health, requestCount }) {
      const changed = changes.get(provider) ?? new Map<string, Change>()
      changes.set(provider, changed.set(id, { health, requestCount }))
    },
    async flush() {
      const written = [...changes].map(([provider, changed]) => ({
        provider,
        changed: new Map(changed),
        credentials: list(provider).filter(({ id }) => changed.has(id)),
      }))
      if (written.length === 0) return
      const change = (file: AuthFile) =>
        written.reduce(
          (next, { provider, credentials }) =>
            credentials.reduce((one, credential) => withCredential(one, provider, credential), next),
          file,
        )
      try {
        await deps.update(change)
      } catch (error) {
        log.error(
          { event: 'credentials.not_stored', err: error },
          `the state of keys is not stored: ${messageOf(error)}`,
        )
        return
      }
      for (const { provider, changed } of written) forget(provider, changed)
    },
  }
}

/** What the file stores and what the environment gives, sorted by priority. A reference without a value is left out. */
function mergeCredentials(entries: readonly StoredEntry[], referenced: readonly ReferencedKey[]): Credential[] {
  const stored = entries.flatMap(({ credential }): Credential[] => {
    if (credential === undefined) return []
    if (!isReference(credential.source)) return [credential]
    const key = referenced.find(({ source }) => source === credential.source)
    if (key === undefined || key.secret === '') return []
    // Another value under the same name has no past.
    const health = credential.fingerprint === fingerprintOf(key.secret) ? credential.health : healthy
    return [{ ...credential, secret: key.secret, health }]
  })
  const sources = new Set<string>(stored.map(({ source }) => source))
  const unstored = referenced
    .filter(({ source, secret }) => secret !== '' && !sources.has(source))
    .map(({ source, secret }) => toCredential(source, secret))
  return withoutDuplicates([...unstored, ...stored]).toSorted((one, other) => one.priority - other.priority)
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

/** A key that is in the environment and in the file is one credential. */
function withoutDuplicates(credentials: readonly Credential[]): Credential[] {
  const bySecret = new Map<string, Credential>()
  for (const one of credentials) if (!bySecret.has(one.secret)) bySecret.set(one.secret, one)
  return [...bySecret.values()]
}

/** The file with the state of one credential, which gets an entry if it had none. */
export function withCredential(file: AuthFile, provider: string, credential: Credential): AuthFile {
  const entries = file.providers.get(provider) ?? []
  const fingerprint = isReference(credential.source) ? fingerprintOf(credential.secret) : ''
  const at = entries.findIndex((entry) => entry.credential?.id === credential.id)
  const entry = toStored(credential, fingerprint, entries[at]?.raw)
  const changed = at === -1 ? [...entries, entry] : entries.with(at, entry)
  return { ...file, providers: new Map([...file.providers, [provider, changed]]) }
}
