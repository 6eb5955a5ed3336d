/**
 * The models of OpenClaw: `agents.defaults.model`, `models.providers`, the variables with keys, and auth-profiles.json.
 */
import { createHash } from 'node:crypto'
import { findProvider } from '../../../agent/models/catalogue.ts'
import { toStored } from '../../../agent/models/credentials/auth-file.ts'
import { type Credential, healthy } from '../../../agent/models/credentials/credential.ts'
import { asArray, asNumber, asRecord, asString, isRecord, type JsonObject, parseJson } from '../../../lib/json.ts'
import type { FoundKey, ImportEntry } from '../contract.ts'
import { adoptProvider, toServerName } from '../known-servers.ts'
import { failed, left, type SourceHome } from '../source-home.ts'
import type { Collector } from './collector.ts'

const apiModes: Readonly<Record<string, string>> = {
  'openai-completions': 'chat_completions',
  'openai-responses': 'codex_responses',
  'anthropic-messages': 'anthropic_messages',
}

interface NamedModel {
  readonly provider: string
  readonly model: string
}

export function readModels(config: JsonObject, collector: Collector): void {
  const defaults = asRecord(asRecord(config['agents'])['defaults'])
  // The oldest versions had one agent.
  const model = defaults['model'] ?? asRecord(config['agent'])['model']
  const key = defaults['model'] === undefined ? 'agent.model' : 'agents.defaults.model'
  const servers = readServers(asRecord(asRecord(config['models'])['providers']), collector)
  const { primary, fallbacks } = isRecord(model) ? model : { primary: model, fallbacks: undefined }
  const catalogue = asRecord(defaults['models'])
  const first = toModel(primary, { catalogue, servers, collector, key: isRecord(model) ? `${key}.primary` : key })
  if (first !== undefined) {
    collector.set(['model'], first.model, key)
    collector.set(['provider'], first.provider, key)
    const known = asArray(asRecord(asRecord(asRecord(config['models'])['providers'])[first.provider])['models'])
    const entry = known.map(asRecord).find(({ id }) => id === first.model)
    const window = asNumber(entry?.['contextWindow']) || asNumber(defaults['contextTokens'])
    if (window >= 1_000) collector.set(['context_length'], Math.trunc(window), 'contextWindow')
  }
  const others = asArray(fallbacks).flatMap((name) => {
    const model = toModel(name, { catalogue, servers, collector, key: `${key}.fallbacks` })
    return model === undefined ? [] : [model]
  })
  if (others.length > 0) collector.set(['fallback_providers'], others.slice(0, 10), `${key}.fallbacks`)
  const image = toModel(asRecord(defaults['imageModel'])['primary'] ?? defaults['imageModel'], {
    ...{ catalogue, servers, collector },
    key: 'agents.defaults.imageModel',
  })
  if (image === undefined) return
  collector.set(['auxiliary', 'vision', 'provider'], image.provider, 'agents.defaults.imageModel')
  collector.set(['auxiliary', 'vision', 'model'], image.model, 'agents.defaults.imageModel')
}

interface ModelContext {
  readonly catalogue: JsonObject
  /** Names under `providers`. */
  readonly servers: ReadonlySet<string>
  readonly collector: Collector
  readonly key: string
}

/** `provider/model`, or an alias of `agents.defaults.models`. */
function toModel(name: unknown, { catalogue, servers, collector, key }: ModelContext): NamedModel | undefined {
  if (typeof name !== 'string' || name.trim() === '') return undefined
  const byAlias = Object.entries(catalogue).find(([, entry]) => asRecord(entry)['alias'] === name)?.[0]
  const full = Object.hasOwn(catalogue, name) ? name : (byAlias ?? name)
  const at = full.indexOf('/')
  if (at <= 0 || at === full.length - 1) {
    collector.leave(key, 'it names no provider')
    return undefined
  }
  const provider = full.slice(0, at)
  const model = full.slice(at + 1)
  if (servers.has(toServerName(provider)) && findProvider(provider) === undefined)
    return { provider: toServerName(provider), model }
  const adopted = adoptProvider(provider)
  if (adopted === undefined) {
    collector.leave(key, `there is no provider ${provider.slice(0, 40)} here; add its address under providers`)
    return undefined
  }
  for (const { path, value } of adopted.settings) collector.set(path, value, `models of ${provider}`)
  return { provider: adopted.name, model }
}

/** Returns the names under `providers`. */
function readServers(providers: JsonObject, collector: Collector): ReadonlySet<string> {
  const names = new Set<string>()
  for (const [name, value] of Object.entries(providers)) {
    const { baseUrl, apiKey, api, models: _models, ...rest } = asRecord(value)
    const key = `models.providers.${name}`
    const known = findProvider(name)
    const server = known?.name ?? toServerName(name)
    const mode = api === undefined ? undefined : apiModes[asString(api)]
    if (api !== undefined && mode === undefined) {
      collector.leave(key, `this gateway does not speak ${asString(api).slice(0, 40)}`)
      continue
    }
    const variable = known?.entry.keyVariables[0] ?? `${server.replaceAll(/\W/g, '_').toUpperCase()}_API_KEY`
    const secret = collector.secret(apiKey, variable, `${key}.apiKey`)
    const url = asString(baseUrl)
    if (url !== '' && url.replace(/\/+$/, '') !== known?.entry.baseUrl)
      collector.set(['providers', server, 'base_url'], url, key)
    if (mode !== undefined && mode !== known?.entry.apiMode) collector.set(['providers', server, 'api_mode'], mode, key)
    // The catalogue knows the variable of its providers.
    const keyEnv = secret?.slice(2, -1)
    if (keyEnv !== undefined && known?.entry.keyVariables.includes(keyEnv) !== true)
      collector.set(['providers', server, 'key_env'], keyEnv, key)
    names.add(server)
    collector.leaveRest(rest, key, ['authHeader', 'auth'])
  }
  return names
}

/** Keys of auth-profiles.json of the default agent. What a sign-in has given belongs to OpenClaw. */
export function readAuthProfiles(source: SourceHome, config: JsonObject, entries: ImportEntry[]): FoundKey[] {
  const path = ['agents/main/agent/auth-profiles.json', 'agent/auth-profiles.json'].find(
    (name) => source.kindOf(name) !== 'missing',
  )
  if (path === undefined) return []
  const file = source.text(path)
  const stored = file !== undefined && 'text' in file ? parseJson(file.text) : undefined
  if (!isRecord(stored)) {
    const problem = file !== undefined && 'problem' in file ? file.problem : 'it is damaged'
    entries.push(failed('keys', path, problem))
    return []
  }
  const profiles = isRecord(stored['profiles']) ? stored['profiles'] : stored
  const order = asRecord(asRecord(config['auth'])['order'])
  return Object.entries(profiles).flatMap(([id, value], index): FoundKey[] => {
    if (!isRecord(value)) return []
    const { type, provider, key, apiKey, keyRef } = value
    const name = asString(provider) || id.split(':')[0] || ''
    const secret = (asString(key) || asString(apiKey)).trim()
    if (keyRef !== undefined || /^\$\{\w+\}$/.test(secret)) entries.push(left('keys', id, 'the key is in a variable'))
    else if (type !== undefined && type !== 'api_key')
      entries.push(left('keys', id, 'sign in again: two programs cannot share one sign-in'))
    else if (secret === '') entries.push(failed('keys', id, 'it has no key'))
    else {
      const position = asArray(order[name]).indexOf(id)
      const credential: Credential = {
        id: createHash('sha256').update(id).digest('hex').slice(0, 6),
        label: id,
        authType: 'api_key',
        priority: position === -1 ? index : position,
        source: 'manual',
        secret,
        baseUrl: '',
        health: healthy,
        requestCount: 0,
      }
      return [{ provider: findProvider(name)?.name ?? toServerName(name), entry: toStored(credential, '') }]
    }
    return []
  })
}
