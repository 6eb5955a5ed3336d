/**
 * `auth.json` in the form of Hermes (contract agent.md S6): `{ version, credential_pool: { <provider>: [entry] } }`. What this
 * gateway does not know in it is kept: other keys of the file, of an entry, and entries that it cannot use.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, realpathSync, statSync } from 'node:fs'
import { z } from 'zod'
import { HermesError, messageOf } from '../../../lib/errors.ts'
import { readTextIfExists, writeFileAtomic } from '../../../lib/files.ts'
import { asArray, asRecord, asString, isRecord, parseJson } from '../../../lib/json.ts'
import { cooldownMs } from './cooldown.ts'
import { type Credential, type CredentialSource, fingerprintOf, isReference } from './credential.ts'

export interface AuthFile {
  /** By the name of the provider, in the order of the file. */
  readonly providers: ReadonlyMap<string, readonly StoredEntry[]>
  /** The whole file. */
  readonly raw: Readonly<Record<string, unknown>>
  /** The file has values of variables, as old versions of Hermes store them. The entries have only references. */
  readonly holdsValues: boolean
}

/** `credential` is undefined for an entry that cannot be used; `reason` says why. */
export interface StoredEntry {
  readonly raw: unknown
  readonly credential?: StoredCredential
  readonly reason?: string
}

/** A reference has no secret here, but the fingerprint of the value to which its state belongs. */
export interface StoredCredential extends Credential {
  readonly fingerprint: string
}

export const emptyFile: AuthFile = { providers: new Map(), raw: {}, holdsValues: false }

const maxBytes = 4 * 1024 * 1024
const maxEntries = 1_000

/** A time in Hermes' files: seconds since 1970, milliseconds, or ISO 8601. Anything else counts as none. */
const time = z
  .unknown()
  .optional()
  .transform((value) => {
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value > 1e12 ? value : value * 1_000
    const parsed = typeof value === 'string' ? Date.parse(value) : Number.NaN
    return Number.isNaN(parsed) ? 0 : parsed
  })

const text = (most: number) =>
  z
    .unknown()
    .optional()
    .transform((value) => (typeof value === 'string' ? value.slice(0, most).toWellFormed() : ''))

const sourceName = /^(?:(?:env|config):[\w.:-]{1,200}|manual(?::[\w-]{1,100})?)$/

const storedEntry = z.object({
  id: z.string().min(1).max(100),
  label: text(200),
  auth_type: z.enum(['api_key', 'oauth']).catch('api_key'),
  priority: z.number().catch(0),
  source: z.custom<CredentialSource>((value) => typeof value === 'string' && sourceName.test(value)).catch('manual'),
  access_token: text(20_000),
  base_url: text(2_000),
  secret_fingerprint: text(100),
  last_status: z.enum(['ok', 'exhausted', 'dead']).catch('ok'),
  last_error_code: z.number().catch(0),
  last_error_message: text(500),
  last_error_reset_at: time,
  last_status_at: time,
  cooldown_until: time,
  request_count: z.int().min(0).catch(0),
})

/**
 * The content of the file; an empty one when it does not exist. Throws `auth/unusable` for a file that is not readable or not in
 * this form; it stays as it is.
 */
export function readAuthFile(path: string): AuthFile {
  let content: string | undefined
  try {
    content = readTextIfExists(path, maxBytes)
  } catch (error) {
    throw unusable(path, messageOf(error), error)
  }
  if (content === undefined) return emptyFile
  const raw = parseJson(content.replace(/^\uFEFF/, ''))
  if (raw === undefined) throw unusable(path, 'it is not JSON; its end may be missing')
  if (!isRecord(raw)) throw unusable(path, 'it is not a JSON object')
  const pool = raw['credential_pool'] ?? {}
  if (!isRecord(pool)) throw unusable(path, '`credential_pool` is not an object')
  const providers = Object.entries(pool).flatMap(([name, entries]): [string, StoredEntry[]][] =>
    Array.isArray(entries) ? [[name, readEntries(entries)]] : [],
  )
  const values = Object.values(pool).flatMap((entries) => asArray(entries).map(valueIn))
  return { raw, providers: new Map(providers), holdsValues: values.some((value) => value !== '') }
}

/** The value of the variable or setting to which an entry refers, if it is stored; otherwise ''. */
function valueIn(entry: unknown): string {
  const { source, access_token: value } = asRecord(entry)
  return isReference(asString(source)) ? asString(value) : ''
}

/** The entry without the value of its variable, in whichever fields it is. Its state belongs to the value. */
function withoutValue(entry: unknown): unknown {
  const value = valueIn(entry)
  if (value === '') return entry
  const fields = Object.entries(asRecord(entry)).filter(([, field]) => field !== value)
  return { secret_fingerprint: fingerprintOf(value.trim()), ...Object.fromEntries(fields) }
}

export function unusable(path: string, reason: string, cause?: unknown): HermesError {
  return new HermesError('auth/unusable', `(${path}: ${reason})`, cause === undefined ? {} : { cause })
}

function readEntries(entries: readonly unknown[]): StoredEntry[] {
  const seen = new Set<string>()
  return entries.map(withoutValue).map((raw, index) => {
    if (index >= maxEntries) return { raw, reason: `a provider has at most ${maxEntries} entries` }
    const parsed = storedEntry.safeParse(raw)
    if (!parsed.success) return { raw, reason: 'it has no `id`' }
    if (seen.has(parsed.data.id)) return { raw, reason: `the id ${parsed.data.id} occurs twice` }
    seen.add(parsed.data.id)
    const credential = toCredential(parsed.data)
    if (credential.secret === '' && !isReference(credential.source)) return { raw, reason: 'it has no `access_token`' }
    return { raw, credential }
  })
}

function toCredential(entry: z.output<typeof storedEntry>): StoredCredential {
  return {
    id: entry.id,
    label: entry.label || entry.source,
    authType: entry.auth_type,
    priority: entry.priority,
    source: entry.source,
    secret: isReference(entry.source) ? '' : entry.access_token.trim(),
    baseUrl: entry.base_url,
    fingerprint: entry.secret_fingerprint,
    requestCount: entry.request_count,
    health: {
      status: entry.last_status,
      cooldownUntil: cooldownIn(entry),
      errorCode: entry.last_error_code,
      errorMessage: entry.last_error_message,
    },
  }
}

/** Hermes stores only when a key failed if the provider sent no reset time. */
function cooldownIn(entry: z.output<typeof storedEntry>): number {
  const known = Math.max(entry.cooldown_until, entry.last_error_reset_at)
  if (known > 0 || entry.last_status !== 'exhausted' || entry.last_status_at === 0) return known
  const kind = entry.last_error_code === 401 ? 'auth' : 'rate-limit'
  return entry.last_status_at + cooldownMs({ kind }, false)
}

/**
 * The form in which an entry is stored. A reference gets no secret. What a previous form has besides the state stays: Hermes has
 * sources and fields that are unknown here.
 */
export function toStored(credential: Credential, fingerprint: string, previous?: unknown): StoredEntry {
  const { health, source } = credential
  const { access_token: secret, ...otherFields } = asRecord(previous)
  const seconds = (ms: number) => (ms === 0 ? null : ms / 1_000)
  const raw = {
    id: credential.id,
    label: credential.label,
    auth_type: credential.authType,
    priority: credential.priority,
    source,
    ...(credential.baseUrl === '' ? {} : { base_url: credential.baseUrl }),
    ...otherFields,
    ...(isReference(source) ? { secret_fingerprint: fingerprint } : { access_token: secret ?? credential.secret }),
    last_status: health.status,
    last_error_code: health.errorCode === 0 ? null : health.errorCode,
    last_error_message: health.errorMessage === '' ? null : health.errorMessage,
    last_error_reset_at: seconds(health.cooldownUntil),
    cooldown_until: seconds(health.cooldownUntil),
    request_count: credential.requestCount,
  }
  return { raw, credential: { ...credential, fingerprint } }
}

/** Replaces the file; only the owner may read it. Throws `auth/unusable`. */
export function writeAuthFile(path: string, { raw, providers }: AuthFile): void {
  const pool = Object.fromEntries([...providers].map(([name, entries]) => [name, entries.map((entry) => entry.raw)]))
  const content = {
    version: 1,
    ...raw,
    credential_pool: { ...asRecord(raw['credential_pool']), ...pool },
    updated_at: new Date().toISOString(),
  }
  try {
    // The target of a symbolic link, so that the link stays.
    const target = existsSync(path) ? realpathSync(path) : path
    writeFileAtomic(target, `${JSON.stringify(content, null, 2)}\n`)
  } catch (error) {
    throw unusable(path, messageOf(error), error)
  }
}

/** Takes the rights of others away. Returns whether they had any. Throws the system's error. */
export function makePrivate(path: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o077) === 0) return false
  chmodSync(path, 0o600)
  return true
}

export function newCredentialId(): string {
  return randomBytes(3).toString('hex')
}
