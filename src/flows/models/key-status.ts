/**
 * What people see of the keys of model providers in `hermes status`, `/status` and `hermes doctor`: how many a provider has, which
 * rest, and which are missing. Never a key itself.
 */

import { findProvider } from '../../agent/models/catalogue.ts'
import type { ModelConfig } from '../../agent/models/config.ts'
import { type Credential, isValid, restsUntil } from '../../agent/models/credentials/credential.ts'
import { createSharedAuthFile } from '../../agent/models/credentials/shared-auth-file.ts'
import { createCredentialState } from '../../agent/models/credentials/state.ts'
import { type ProviderSelection, resolveProvider, selectionOfName } from '../../agent/models/resolve-provider.ts'
import { formatDuration } from '../../lib/duration.ts'
import { type HermesError, isHermesError } from '../../lib/errors.ts'
import { silentLog } from '../../lib/log.ts'
import { usesProviderKeys } from './other-model.ts'

export interface KeyStatus {
  readonly provider: string
  /** Keys that are not revoked. */
  readonly keys: number
  readonly resting: readonly RestingKey[]
  /** The labels of keys that the provider has revoked. */
  readonly revoked: readonly string[]
  /** The variable in which the provider's key is missing; absent while there is one, or none is needed. */
  readonly missing?: string
}

interface RestingKey {
  readonly label: string
  /** ISO 8601. */
  readonly until: string
  /** The answer of the provider; 0 for none. */
  readonly status: number
}

export interface KeyStatusOptions {
  /** The path of `auth.json`. */
  readonly path: string
  /** The settings of the configured model. */
  readonly selection: ProviderSelection
  readonly fallbacks: ModelConfig['fallback_providers']
  /** ms */
  readonly now: number
}

/**
 * Reports on the keys of the configured provider, of those of `fallback_providers`, and of others whose keys rest.
 * Reads only. Throws `auth/unusable`.
 */
function readKeyStatus({ path, selection, fallbacks, now }: KeyStatusOptions): KeyStatus[] {
  const file = createSharedAuthFile(path, silentLog)
  const { providers } = file.read()
  const state = createCredentialState(
    file,
    (name) => resolveProvider(selectionOfName(selection, name))?.keys ?? [],
    silentLog,
  )
  const finishing = fallbacks.filter((entry) => usesProviderKeys(selection, entry))
  const used = [selection.provider, ...finishing.map(({ provider }) => provider)]
  const names = new Set(
    used.flatMap((provider, index) => {
      const choice = resolveProvider(index === 0 ? selection : { ...selection, provider })
      return choice === undefined || choice.name === 'demo' || choice.name === 'none' ? [] : [choice.name]
    }),
  )
  const stored = new Set([...providers.keys()].map((name) => findProvider(name)?.name ?? name))
  const others = [...stored].filter((name) => !names.has(name))
  return [
    ...[...names].map((name) => toStatus(name, state.list(name), selection, now)),
    ...others.flatMap((name) => {
      const status = toStatus(name, state.list(name), selection, now)
      return status.resting.length + status.revoked.length === 0 ? [] : [status]
    }),
  ].filter(({ keys, revoked, missing }) => keys > 0 || revoked.length > 0 || missing !== undefined)
}

function toStatus(
  provider: string,
  credentials: readonly Credential[],
  selection: ProviderSelection,
  now: number,
): KeyStatus {
  const valid = credentials.filter(isValid)
  const choice = resolveProvider(selectionOfName(selection, provider))
  const resting = valid.flatMap((credential): RestingKey[] => {
    const until = restsUntil(credential, now)
    if (until === 0) return []
    return [{ label: credential.label, until: new Date(until).toISOString(), status: credential.health.errorCode }]
  })
  return {
    provider,
    keys: valid.length,
    resting,
    revoked: credentials.filter(({ health }) => health.status === 'dead').map(({ label }) => label),
    ...(valid.length === 0 && choice?.isOfficial === true ? { missing: choice.keyVariable } : {}),
  }
}

/** One line for people. `isGood`: the provider has a key that can be used now. */
function describeKeys(
  { provider, keys, resting, revoked, missing }: KeyStatus,
  now: number,
): { readonly text: string; readonly isGood: boolean } {
  const lost = revoked.length === 0 ? '' : `, revoked: ${revoked.join(', ')}`
  if (missing !== undefined || keys === 0)
    return { text: `${provider}: no key${lost}; \`hermes auth add ${provider}\` stores one`, isGood: false }
  const isGood = resting.length < keys
  const rests = resting.map(({ label, until, status }) => {
    const answer = status === 0 ? '' : ` after the answer ${status}`
    return `${label} for ${formatDuration(Math.max(0, Date.parse(until) - now))}${answer}`
  })
  const count = keys === 1 ? '1 key' : `${keys} keys`
  if (resting.length === 0) return { text: `${provider}: ${count}${lost}`, isGood }
  const who = keys === 1 ? 'its only key rests' : isGood ? `${count}, ${resting.length} rests` : `all ${count} rest`
  return { text: `${provider}: ${who} (${rests.join('; ')})${lost}`, isGood }
}

export interface KeyReport {
  readonly status: readonly KeyStatus[]
  /** For people, without secrets. An unusable file is a line, too. */
  readonly lines: readonly { readonly text: string; readonly isGood: boolean }[]
  /** `auth/unusable` */
  readonly failure?: HermesError
}

/** Reports like `readKeyStatus`, and never throws for the file. */
export function reportKeys(options: KeyStatusOptions): KeyReport {
  try {
    const status = readKeyStatus(options)
    return { status, lines: status.map((each) => describeKeys(each, options.now)) }
  } catch (error) {
    if (!isHermesError(error, 'auth/unusable')) throw error
    return { status: [], lines: [{ text: `${error.message} ${error.hint}`, isGood: false }], failure: error }
  }
}
