/**
 * Reads config.yaml and `.env` of Hermes Agent. The spellings of its versions become the main spelling of this gateway.
 */
import { keyAliases } from '../../../app/config-compatibility.ts'
import { dottedPath } from '../../../config/issue.ts'
import { applyKeyAliases } from '../../../config/key-aliases.ts'
import { type ConfigTree, isTree } from '../../../config/tree.ts'
import { findUnusedKey } from '../../../config/unknown-keys.ts'
import { unusedKeys } from '../../../config/unused-keys.ts'
import { asArray, asRecord, asString, isRecord } from '../../../lib/json.ts'
import { parseYaml } from '../../../lib/yaml.ts'
import type { PlatformManifest } from '../../../platforms/manifest.ts'
import type { FoundSetting, FoundVariable, ImportEntry } from '../contract.ts'
import { adoptProvider, toServerName } from '../known-servers.ts'
import { isMachineVariable } from '../machine-variables.ts'
import { failed, left, readDotenv, readText, type SourceHome } from '../source-home.ts'

/** What Hermes writes for itself. */
const bookkeeping = new Set(['_config_version', 'onboarding', 'updates', 'migrations'])

export function readHermesSettings(source: SourceHome, platforms: readonly PlatformManifest[]) {
  const entries: ImportEntry[] = []
  const tree = readTree(source, platforms, entries)
  const settings: FoundSetting[] = []
  const { custom_providers: custom, fallback_model: fallback, ...sections } = tree
  for (const [key, value] of Object.entries(sections)) {
    if (bookkeeping.has(key)) entries.push(left('settings', key, 'Hermes keeps account of itself there'))
    else if (key === 'platforms') settings.push(...readPlatforms(value))
    else if (key === 'mcp_servers') settings.push(setting([key], withoutRights(value, entries)))
    else if (!isNothing(value)) settings.push(setting([key], value))
  }
  settings.push(...readCustomProviders(custom, entries))
  if (isRecord(fallback) && isNothing(sections['fallback_providers']))
    settings.push(setting(['fallback_providers'], [fallback], 'was fallback_model'))
  else if (!isNothing(fallback)) entries.push(left('settings', 'fallback_model', 'fallback_providers takes precedence'))
  return {
    settings: [...adoptProviders(settings, entries), ...readVariables(source, entries)],
    entries,
  }
}

function setting(path: FoundSetting['path'], value: unknown, change = ''): FoundSetting {
  return { kind: 'config', path, value, change }
}

/** Keys of this gateway, with which a program would run outside of the sandbox, or without a question. Hermes has none of them. */
const rights = ['sandbox', 'approval']

function withoutRights(servers: unknown, entries: ImportEntry[]): unknown {
  if (!isTree(servers)) return servers
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      if (!isTree(server)) return [name, server]
      for (const key of rights)
        if (Object.hasOwn(server, key))
          entries.push(left('settings', `mcp_servers.${name}.${key}`, 'is a right of this gateway; add it yourself'))
      return [name, Object.fromEntries(Object.entries(server).filter(([key]) => !rights.includes(key)))]
    }),
  )
}

/** What this gateway reads below `extra`. The adapters of Hermes also read settings of the platform there. */
const extraKeys = new Set([
  ...['channel_prompts', 'allow_admin_from', 'user_allowed_commands', 'group_allow_admin_from'],
  'group_user_allowed_commands',
])

function readPlatforms(platforms: unknown): FoundSetting[] {
  if (!isTree(platforms)) return [setting(['platforms'], platforms)]
  return Object.entries(platforms).flatMap(([name, platform]): FoundSetting[] => {
    if (!isTree(platform)) return [setting(['platforms', name], platform)]
    const { extra, home_channel: channel, ...rest } = platform
    const inner = Object.entries(isTree(extra) ? extra : {})
    const extras = Object.fromEntries(inner.filter(([key]) => extraKeys.has(key)))
    const lifted = inner.filter(([key]) => !extraKeys.has(key) && !Object.hasOwn(rest, key))
    const values = {
      ...rest,
      ...(Object.keys(extras).length === 0 ? {} : { extra: extras }),
      ...(channel === undefined ? {} : { home_channel: withoutPlatform(channel, name) }),
    }
    return [
      setting(['platforms', name], values),
      ...lifted.map(([key, value]) => setting(['platforms', name, key], value, `was platforms.${name}.extra`)),
    ]
  })
}

/** A home channel repeats the name of its platform. */
function withoutPlatform(channel: unknown, name: string): unknown {
  if (!isTree(channel) || channel['platform'] !== name) return channel
  const { platform: _, ...rest } = channel
  return rest
}

/** `key:` without a value, and an empty mapping. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (isTree(value) && Object.values(value).every(isNothing))
}

function readTree(source: SourceHome, platforms: readonly PlatformManifest[], entries: ImportEntry[]): ConfigTree {
  const text = readText(source, 'settings', 'config.yaml', entries)
  if (text === undefined) return {}
  const yaml = parseYaml(text, 'config.yaml')
  const [issue] = yaml.issues
  if (issue !== undefined) {
    entries.push(failed('settings', 'config.yaml', `line ${issue.line}, column ${issue.column}: ${issue.message}`))
    return {}
  }
  if (!isTree(yaml.value ?? {})) {
    entries.push(failed('settings', 'config.yaml', 'it is not a mapping'))
    return {}
  }
  const { tree, shadowed, leftOver } = applyKeyAliases(withoutEmpty(yaml.value ?? {}), keyAliases(platforms))
  for (const { path, by } of shadowed)
    entries.push(left('settings', dottedPath(path), `${dottedPath(by)} takes precedence`))
  for (const { path } of leftOver) {
    const known = findUnusedKey(path, unusedKeys)
    const reason = known === undefined ? 'is not known here' : `has no effect here: ${known.reason}`
    entries.push(left('settings', dottedPath(path), reason))
  }
  return isTree(tree) ? tree : {}
}

/** Keys without a value are defaults, and an empty mapping must not hide another spelling. */
function withoutEmpty(value: unknown): unknown {
  if (!isTree(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (isNothing(inner) ? [] : [[key, withoutEmpty(inner)]])),
  )
}

/** `custom_providers: [{name, base_url, api_key, key_env, api_mode}]`, the former form of `providers`. */
function readCustomProviders(custom: unknown, entries: ImportEntry[]): FoundSetting[] {
  return asArray(custom).flatMap((item, index) => {
    const { name, base_url: url, api_key: key, key_env: variable, api_mode: mode } = asRecord(item)
    const address = asString(url)
    if (address === '') {
      entries.push(left('settings', `custom_providers[${index}]`, 'it has no base_url'))
      return []
    }
    const server = toServerName(asString(name) || (URL.parse(address)?.hostname ?? ''))
    const value = Object.fromEntries(
      Object.entries({ base_url: address, api_key: key, key_env: variable, api_mode: mode }).filter(
        ([, part]) => asString(part) !== '',
      ),
    )
    return [setting(['providers', server], value, 'was in custom_providers')]
  })
}

/** Names of providers that this gateway does not have get an address, or are reported. */
function adoptProviders(settings: readonly FoundSetting[], entries: ImportEntry[]): FoundSetting[] {
  const servers = new Set(
    settings.flatMap(({ path: [first, name], value }) =>
      first !== 'providers' ? [] : name === undefined ? Object.keys(asRecord(value)) : [name],
    ),
  )
  const added: FoundSetting[] = []
  const adopt = (name: string): string | undefined => {
    if (servers.has(name)) return name
    const server = toServerName(name)
    if (name.startsWith('custom:') && servers.has(server)) return server
    const adopted = adoptProvider(name)
    added.push(...(adopted?.settings ?? []))
    return adopted?.name
  }
  const translated = settings.flatMap((setting): FoundSetting[] => {
    const { path, value } = setting
    if (path.length === 1 && path[0] === 'provider' && typeof value === 'string') {
      const name = adopt(value)
      if (name !== undefined) return [name === value ? setting : { ...setting, value: name, change: `was ${value}` }]
      entries.push(
        left('settings', 'provider', `${value.slice(0, 64)} is not known here; add its address under providers`),
      )
      return []
    }
    if (path.length === 1 && path[0] === 'fallback_providers') {
      const list = asArray(value).map((item) => {
        const name = adopt(asString(asRecord(item)['provider']))
        return name === undefined ? item : { ...asRecord(item), provider: name }
      })
      return [{ ...setting, value: list }]
    }
    return [setting]
  })
  const isUnknown = entries.some(({ name, reason }) => name === 'provider' && reason.includes('providers'))
  if (!isUnknown) return [...translated, ...added]
  // The model of an unknown provider, and its key, must not be sent to another one.
  const modelKeys = ['model', 'base_url', 'api_key']
  const dropped = translated.filter(({ path }) => path.length === 1 && modelKeys.includes(path[0]))
  for (const { path } of dropped)
    entries.push(left('settings', path[0], 'belongs to the provider that is not known here'))
  return [...translated.filter((setting) => !dropped.includes(setting)), ...added]
}

function readVariables(source: SourceHome, entries: ImportEntry[]): FoundVariable[] {
  const variables = readDotenv(source, entries)
  return [...variables].flatMap(([name, { value }]): FoundVariable[] => {
    if (value === '') return []
    if (isMachineVariable(name)) {
      entries.push(left('variables', name, 'belongs to the other home'))
      return []
    }
    if (name !== 'MESSAGING_CWD') return [{ kind: 'variable', name, value, change: '' }]
    if (variables.has('TERMINAL_CWD')) return []
    return [{ kind: 'variable', name: 'TERMINAL_CWD', value, change: 'was MESSAGING_CWD' }]
  })
}
