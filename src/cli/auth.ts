/**
 * `hermes auth`: the keys of model providers in auth.json and in the environment. A running gateway follows the file.
 */
import { text as readText } from 'node:stream/consumers'
import { newCredentialId } from '../agent/models/credentials/auth-file.ts'
import { type Credential, healthy, isReference } from '../agent/models/credentials/credential.ts'
import { withCredential, withEntries } from '../agent/models/credentials/state.ts'
import { formatDuration } from '../lib/duration.ts'
import { HermesError } from '../lib/errors.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { showList } from './kit/list.ts'
import { openQuestions } from './kit/questions.ts'
import { readSettings } from './kit/settings.ts'
import { openKeys } from './shared/known-keys.ts'

/** Without secrets. */
interface ListedKey {
  readonly provider: string
  readonly id: string
  readonly label: string
  readonly source: string
  /** The address to which this key is sent instead of that of the provider. */
  readonly baseUrl?: string
  readonly state: 'ok' | 'rests' | 'revoked'
  /** ISO 8601; absent while it does not rest. */
  readonly until?: string
  readonly error?: string
  readonly turns: number
}

export async function authList(context: CliContext, provider: string | undefined, { json }: JsonOption): Promise<void> {
  const store = openKeys(await readSettings(context), context.home.authFile)
  const names = provider === undefined ? store.names() : [store.nameOf(provider)]
  const keys = names.flatMap((name) => store.list(name).map((key) => toListed(name, key)))
  showList(context, {
    json,
    rows: keys,
    empty: 'There are no keys. `hermes auth add <provider>` stores one.',
    headings: ['PROVIDER', 'KEY', 'ID', 'SOURCE', 'STATE', 'TURNS'],
    cells: (key) => [
      toSingleLine(key.provider),
      toSingleLine(key.label),
      toSingleLine(key.id),
      toSingleLine(key.baseUrl === undefined ? key.source : `${key.source}, for ${key.baseUrl}`),
      { text: toSingleLine(describeState(key)), tone: key.state === 'ok' ? 'good' : 'bad' },
      String(key.turns),
    ],
  })
}

function toListed(provider: string, { id, label, source, baseUrl, health, requestCount }: Credential): ListedKey {
  const rests = health.cooldownUntil > Date.now()
  return {
    provider,
    id,
    label,
    source,
    ...(baseUrl === '' ? {} : { baseUrl }),
    state: health.status === 'dead' ? 'revoked' : rests ? 'rests' : 'ok',
    ...(rests ? { until: new Date(health.cooldownUntil).toISOString() } : {}),
    ...(health.errorCode === 0 ? {} : { error: `${health.errorCode}` }),
    turns: requestCount,
  }
}

function describeState({ state, until, error }: ListedKey): string {
  if (state !== 'rests' || until === undefined) return state
  const code = error === undefined ? '' : ` after ${error}`
  return `rests for ${formatDuration(Date.parse(until) - Date.now())}${code}`
}

/** The key is read from the standard input, in a terminal without showing it. Throws `cli/usage`, `cli/not-found`. */
export async function authAdd(
  context: CliContext,
  provider: string,
  { label, baseUrl }: { readonly label?: string; readonly baseUrl?: string },
): Promise<void> {
  const store = openKeys(await readSettings(context), context.home.authFile)
  const name = store.nameOf(provider)
  const secret = (await readSecret(context, `Key of ${name} (not shown): `)).trim()
  if (secret === '') throw new HermesError('cli/usage', 'No key was given.', { hint: 'Type or pipe the key.' })
  if (!/^[\x21-\x7e]{8,20000}$/.test(secret))
    throw new HermesError('cli/usage', 'This is not a key: a key is one line without spaces.', {
      hint: 'Copy the key again, without quotes.',
    })
  const known = store.list(name).find((credential) => credential.secret === secret)
  if (known !== undefined)
    throw new HermesError('cli/usage', `This key is already stored: ${known.label} (${known.source}).`, {
      hint: `\`hermes auth list ${name}\` shows the keys.`,
    })
  const stored = store.list(name).filter(({ source }) => !isReference(source))
  const credential: Credential = {
    id: newCredentialId(),
    label: label ?? `key ${stored.length + 1}`,
    authType: 'api_key',
    priority: Math.max(-1, ...stored.map(({ priority }) => priority)) + 1,
    source: 'manual',
    secret,
    baseUrl: baseUrl ?? '',
    health: healthy,
    requestCount: 0,
  }
  await store.update((file) => withCredential(file, name, credential))
  context.output.write(`Stored ${toSingleLine(credential.label)} of ${name} (${credential.id}).\n`)
}

/** Throws `cli/not-found`, and `cli/usage` for a key that is not stored here. */
export async function authRemove(context: CliContext, provider: string, key: string): Promise<void> {
  const store = openKeys(await readSettings(context), context.home.authFile)
  const name = store.nameOf(provider)
  const credential = store.find(name, key)
  if (isReference(credential.source)) {
    const variable = credential.source.slice(credential.source.indexOf(':') + 1)
    throw new HermesError('cli/usage', `The key ${credential.label} is not stored in auth.json.`, {
      hint: credential.source.startsWith('env:')
        ? `Remove ${variable} from .env.`
        : `Remove \`${variable}\` from config.yaml.`,
    })
  }
  await store.update((file) =>
    withEntries(file, name, (entry) => (entry.credential?.id === credential.id ? undefined : entry)),
  )
  context.output.write(`Removed ${toSingleLine(credential.label)} of ${name}.\n`)
}

/** The keys can be used again at once. Throws `cli/not-found`. */
export async function authReset(context: CliContext, provider: string, key: string | undefined): Promise<void> {
  const store = openKeys(await readSettings(context), context.home.authFile)
  const name = store.nameOf(provider)
  const credentials = key === undefined ? store.list(name) : [store.find(name, key)]
  const resting = credentials.filter(({ health }) => health.status !== 'ok' || health.cooldownUntil > 0)
  await store.update((file) =>
    resting.reduce((next, credential) => withCredential(next, name, { ...credential, health: healthy }), file),
  )
  context.output.write(
    resting.length === 0 ? 'No key rests.\n' : `${resting.length} of ${credentials.length} can be used again.\n`,
  )
}

async function readSecret({ input, errors }: CliContext, prompt: string): Promise<string> {
  if (input.isTTY !== true) return await readText(input)
  const questions = openQuestions(input, errors)
  try {
    return await questions.ask(prompt, { isHidden: true })
  } finally {
    questions.close()
  }
}
