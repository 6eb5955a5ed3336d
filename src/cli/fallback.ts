/**
 * `hermes fallback`: the models that finish a turn when the configured one fails. Edits `fallback_providers` in config.yaml, and
 * removes what an older file has under `fallback_model`.
 */

import type { ModelConfig } from '../agent/models/config.ts'
import { isValid, restsUntil } from '../agent/models/credentials/credential.ts'
import type { ProviderSelection } from '../agent/models/resolve-provider.ts'
import { editConfigItems, editConfigValues, readConfigTree } from '../config/edit-config.ts'
import { usesProviderKeys } from '../flows/models/other-model.ts'
import { HermesError } from '../lib/errors.ts'
import { asRecord } from '../lib/json.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay, reportEmptyList } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'
import { type KnownKeys, openKeys, selectionOf } from './shared/known-keys.ts'

type Entry = ModelConfig['fallback_providers'][number]

/** `fallback_providers` has at most so many entries. */
const maxEntries = 10

/** Without secrets. */
interface ListedEntry {
  readonly provider: string
  readonly model: string
  /** Absent for the address of the provider. */
  readonly baseUrl?: string | undefined
  readonly key: 'ok' | 'rests' | 'missing'
  /** The variable of its key; absent without one. */
  readonly keyVariable?: string | undefined
}

export async function fallbackList(context: CliContext, { json }: JsonOption): Promise<void> {
  const settings = await readSettings(context)
  const keys = openKeys(settings, context.home.authFile, { needsFile: false })
  const facts = { keys, main: selectionOf(settings, undefined) }
  const entries = settings.config.current().fallback_providers.map((entry) => toListed(entry, facts))
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(entries)
  if (entries.length === 0)
    return reportEmptyList(context, 'There are none. `hermes fallback add <provider> <model>` adds one.')
  display.table(
    ['', 'MODEL', 'PROVIDER', 'ADDRESS', 'KEY'],
    entries.map(({ provider, model, baseUrl, key, keyVariable }, index) => [
      String(index + 1),
      toSingleLine(model),
      toSingleLine(provider),
      toSingleLine(baseUrl ?? ''),
      {
        text: `${key}${keyVariable === undefined ? '' : ` (${toSingleLine(keyVariable)})`}`,
        tone: key === 'ok' ? 'good' : 'bad',
      },
    ]),
  )
}

interface KeyFacts {
  readonly keys: KnownKeys
  /** The settings of the configured model. */
  readonly main: ProviderSelection
}

function toListed(entry: Entry, facts: KeyFacts): ListedEntry {
  const { provider, model, base_url: baseUrl, key_env: keyVariable } = entry
  return {
    provider,
    model,
    baseUrl,
    key: keyState(entry, facts),
    keyVariable,
  }
}

function keyState(entry: Entry, { keys, main }: KeyFacts): ListedEntry['key'] {
  const { provider, api_key, key_env } = entry
  if (key_env !== undefined && api_key === undefined) return (main.variables[key_env] ?? '') === '' ? 'missing' : 'ok'
  if (api_key !== undefined || !keys.needsKey(provider)) return 'ok'
  if (!usesProviderKeys(main, entry)) return 'missing'
  const known = keys.list(keys.nameOf(provider)).filter(isValid)
  if (known.length === 0) return 'missing'
  return known.every((credential) => restsUntil(credential, Date.now()) > 0) ? 'rests' : 'ok'
}

export interface FallbackOptions {
  readonly baseUrl?: string
  readonly keyEnv?: string
  readonly contextLength?: string
}

/** Throws `cli/not-found`, `cli/usage`, `config/unreadable`. */
export async function fallbackAdd(
  context: CliContext,
  provider: string,
  model: string,
  { baseUrl, keyEnv, contextLength }: FallbackOptions,
): Promise<void> {
  const settings = await readSettings(context)
  const keys = openKeys(settings, context.home.authFile, { needsFile: false })
  const name = keys.nameOf(provider)
  if (baseUrl !== undefined && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ''))
    throw new HermesError('cli/usage', `${JSON.stringify(baseUrl)} is not an http or https address.`)
  if (contextLength !== undefined && !/^[1-9]\d{3,8}$/.test(contextLength))
    throw new HermesError('cli/usage', '--context-length is a number of tokens, at least 1000.')
  const { fallback_providers: known, model: main, provider: mainProvider } = settings.config.current()
  const isSame = (entry: Pick<Entry, 'provider' | 'model'> & { readonly base_url?: string | undefined }) =>
    entry.provider === name && entry.model === model && (entry.base_url ?? '') === (baseUrl ?? '')
  if (known.some(isSame)) throw new HermesError('cli/usage', `The list already has ${model} of ${name}.`)
  if (mainProvider !== undefined && isSame({ provider: mainProvider, model: main }))
    throw new HermesError('cli/usage', `${model} of ${name} is the configured model itself.`, {
      hint: 'Name another model or another provider.',
    })
  if (known.length >= maxEntries)
    throw new HermesError('cli/usage', `There are ${maxEntries} entries, which is the limit.`, {
      hint: '`hermes fallback remove <number>` removes one.',
    })
  const entry = {
    provider: name,
    model,
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(keyEnv === undefined ? {} : { key_env: keyEnv }),
    ...(contextLength === undefined ? {} : { context_length: Number(contextLength) }),
  }
  editConfigItems(context.home, ['fallback_providers'], { add: entry })
  context.output.write(`${toSingleLine(model)} (${name}) is number ${known.length + 1}.\n`)
  const facts = { keys, main: selectionOf(settings, undefined) }
  if (keyState(entry, facts) === 'missing') context.errors.write(`hermes: ${howToGiveKey(entry, facts)}\n`)
}

function howToGiveKey(entry: Entry, { main }: KeyFacts): string {
  const { provider, key_env: keyVariable } = entry
  if (keyVariable !== undefined) return `there is no key for it. Set ${toSingleLine(keyVariable)} in .env.`
  if (usesProviderKeys(main, entry)) return `there is no key for it. \`hermes auth add ${provider}\` stores one.`
  return `the keys of ${provider} are not sent to another address. If the server needs a key, name its variable with --key-env.`
}

/** By the number in the list, or by the name of the model. Throws `cli/not-found`, `cli/usage`, `config/unreadable`. */
export async function fallbackRemove(context: CliContext, key: string): Promise<void> {
  const { config } = await readSettings(context)
  const { fallback_providers: entries } = config.current()
  const indices = entries.flatMap(({ model, provider }, index) =>
    key === String(index + 1) || key === model || key === `${provider}/${model}` ? [index] : [],
  )
  const [at] = indices
  const entry = at === undefined ? undefined : entries[at]
  if (at === undefined || entry === undefined)
    throw new HermesError('cli/not-found', `No entry is ${JSON.stringify(key)}.`, {
      hint: '`hermes fallback list` shows them with their numbers.',
    })
  if (indices.length > 1)
    throw new HermesError('cli/usage', `${indices.length} entries are ${JSON.stringify(key)}.`, {
      hint: 'Give the number of one: `hermes fallback list`.',
    })
  const stored = asRecord(readConfigTree(context.home))['fallback_providers']
  const count = Array.isArray(stored) ? stored.length : 0
  if (at < count) editConfigItems(context.home, ['fallback_providers'], { removeAt: at })
  else editConfigItems(context.home, ['fallback_model'], { removeAt: at - count })
  context.output.write(`Removed ${toSingleLine(entry.model)} (${entry.provider}).\n`)
}

/** Throws `config/unreadable`. */
export async function fallbackClear(context: CliContext): Promise<void> {
  editConfigValues(context.home, { set: [], remove: [['fallback_providers'], ['fallback_model']] })
  context.output.write('No other model finishes a turn.\n')
}
