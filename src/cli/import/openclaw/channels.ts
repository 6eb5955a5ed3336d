/**
 * The channels of OpenClaw that are platforms of this gateway: their bots, who may talk to them, and how they answer.
 */
import { asArray, asRecord, asString, isRecord, type JsonObject } from '../../../lib/json.ts'
import type { FoundSetting } from '../contract.ts'
import { type ChannelAccess, readAccess, readIds } from './access.ts'
import { type ChannelFacts, channelFacts } from './channel-facts.ts'
import type { Collector } from './collector.ts'

export function readChannels(config: JsonObject, collector: Collector) {
  const channels = asRecord(config['channels'])
  /** Platforms on which people whom an owner approved have access. */
  const paired = new Set<string>()
  const people = new Map<string, ReadonlySet<string>>()
  for (const [platform, facts] of Object.entries(channelFacts)) {
    // The oldest versions had the channels at the top level.
    const channel = channels[platform] ?? config[platform]
    if (!isRecord(channel)) continue
    const access = readPlatform(platform, channel, { config, collector, facts })
    if (access.some(({ admitsPaired }) => admitsPaired)) paired.add(platform)
    people.set(platform, new Set(access.flatMap(({ allowFrom }) => allowFrom)))
  }
  for (const name of Object.keys(channels))
    if (!Object.hasOwn(channelFacts, name) && !['defaults', 'modelByChannel'].includes(name))
      collector.leave(`channels.${name}`, 'there is no such platform here')
  readOwners(config, people, collector)
  readModelsByChannel(asRecord(channels['modelByChannel']), collector)
  return { paired }
}

interface ChannelContext {
  readonly facts: ChannelFacts
  readonly config: JsonObject
  readonly collector: Collector
}

function readPlatform(platform: string, channel: JsonObject, context: ChannelContext): ChannelAccess[] {
  const { accounts, defaultAccount, ...shared } = channel
  const named = Object.entries(asRecord(accounts)).filter(([, account]) => isRecord(account))
  const [first] = named.length === 1 ? named : []
  const main = asString(defaultAccount) || (named.some(([name]) => name === 'default') ? 'default' : (first?.[0] ?? ''))
  const merged = { ...shared, ...asRecord(asRecord(accounts)[main]) }
  const access = [readAccount(platform, merged, { ...context, path: ['platforms', platform], account: '' })]
  for (const [name, account] of named) {
    if (name === main) continue
    const path: FoundSetting['path'] = ['platforms', platform, 'accounts', name.replaceAll(/[^\w-]/g, '-')]
    access.push(readAccount(platform, { ...shared, ...asRecord(account) }, { ...context, path, account: name }))
  }
  return access
}

interface AccountContext extends ChannelContext {
  readonly path: FoundSetting['path']
  /** '' for the only one, or the default one. */
  readonly account: string
}

const accessKeys = ['dm', 'dmPolicy', 'allowFrom', 'groupPolicy', 'groupAllowFrom', 'groups', 'guilds', 'channels']

type SetKey = (key: string, value: unknown, from: string) => void

function readAccount(platform: string, settings: JsonObject, context: AccountContext): ChannelAccess {
  const { collector, path, account, config, facts } = context
  const prefix = account === '' ? `channels.${platform}` : `channels.${platform}.accounts.${account}`
  const set: SetKey = (key, value, from) => collector.set([...path, key], value, `${prefix}.${from}`)
  for (const [from, [key, variable]] of Object.entries(facts.secrets)) {
    const name = account === '' ? variable : `${variable}_${account.replaceAll(/\W/g, '_').toUpperCase()}`
    const reference = collector.secret(settings[from], name, `${prefix}.${from}`)
    // The variable of a platform sets its key.
    if (reference !== undefined && reference !== `\${${variable}}`) set(key, reference, from)
  }
  if (settings['tokenFile'] !== undefined) collector.leave(`${prefix}.tokenFile`, 'add the token to .env')
  readPlainSettings(facts, settings, set)
  readPlaceSettings(facts, settings, set)
  const defaults = asRecord(asRecord(config['channels'])['defaults'])
  const access = readAccess({
    channel: platform,
    facts,
    settings,
    defaults,
    accessGroups: asRecord(config['accessGroups']),
  })
  const lists = {
    allow_from: access.allowFrom,
    group_allow_from: access.groupAllowFrom,
    group_allowed_chats: access.groupAllowedChats,
  }
  for (const [key, ids] of Object.entries(lists)) if (ids.length > 0) set(key, ids, 'allowFrom and groups')
  if (access.allowAllUsers) set('allow_all_users', true, 'dmPolicy')
  set('unauthorized_dm_behavior', access.unauthorizedDm, 'dmPolicy')
  for (const [key, reason] of new Map(access.notes)) collector.leave(`${prefix}.${key}`, reason)
  collector.leaveRest(settings, prefix, [
    ...plainKeys,
    ...accessKeys,
    ...Object.keys(facts.secrets),
    ...Object.keys(facts.texts),
  ])
  return access
}

const plainKeys = ['enabled', 'replyToMode', 'allowBots', 'tokenFile', 'name', 'requireMention']

function readPlainSettings(facts: ChannelFacts, settings: JsonObject, set: SetKey): void {
  const { enabled, replyToMode, allowBots } = settings
  if (typeof enabled === 'boolean') set('enabled', enabled, 'enabled')
  if (['off', 'first', 'all'].includes(asString(replyToMode))) set('reply_to_mode', replyToMode, 'replyToMode')
  if (allowBots !== undefined)
    set('allow_bots', allowBots === true ? 'all' : allowBots === 'mentions' ? 'mentions' : 'none', 'allowBots')
  for (const [from, key] of Object.entries(facts.texts))
    if (asString(settings[from]) !== '') set(key, settings[from], from)
}

/** Whether a mention is needed, and texts for the model, by the chat. */
function readPlaceSettings(facts: ChannelFacts, settings: JsonObject, set: SetKey): void {
  const places = placesOf(facts, settings)
  const single = places.filter(([id]) => /^[-\dA-Z]+$/.test(id))
  const general = settings['requireMention'] ?? places.find(([id]) => id === '*')?.[1]['requireMention']
  const free = single.flatMap(([id, { requireMention }]) => (requireMention === false ? [id] : []))
  const topics = single.flatMap(([, { topics: inner }]) => Object.entries(asRecord(inner)))
  const prompts = [...single, ...topics].flatMap(([id, place]) => {
    const text = asString(asRecord(place)['systemPrompt'])
    return text === '' ? [] : [[id, text] as const]
  })
  if (typeof general === 'boolean') set('require_mention', general, 'requireMention')
  if (free.length > 0) set(facts.freeKey, free, 'requireMention')
  if (prompts.length > 0) set('channel_prompts', Object.fromEntries(prompts), 'systemPrompt')
}

/** Groups and channels by their ids; `*` for all others. */
function placesOf({ places }: ChannelFacts, settings: JsonObject): (readonly [string, JsonObject])[] {
  const guilds = Object.values(asRecord(settings['guilds'])).map(asRecord)
  const entries =
    places === 'guilds'
      ? guilds.flatMap((guild) => [['*', guild] as const, ...Object.entries(asRecord(guild['channels']))])
      : Object.entries(asRecord(settings[places]))
  return entries.map(([id, place]) => [id, asRecord(place)])
}

/**
 * While no list names an owner, everybody who is allowed by id is one here. Where OpenClaw names none either and several people may
 * write, they are members.
 */
function readOwners(config: JsonObject, people: ReadonlyMap<string, ReadonlySet<string>>, collector: Collector): void {
  const listed = asArray(asRecord(config['commands'])['ownerAllowFrom'])
  const owners = Object.keys(channelFacts).flatMap((platform) => {
    const entries = listed.filter((item) => String(item).startsWith(`${platform}:`))
    const context = { channel: platform, accessGroups: {}, key: '', notes: [] }
    return readIds(entries, context).map((id) => `${platform}:${id}`)
  })
  if (owners.length > 0) collector.set(['roles', 'owners'], owners, 'commands.ownerAllowFrom')
  if (owners.length > 0 || [...people.values()].every(({ size }) => size <= 1)) return
  const members = [...people].flatMap(([platform, ids]) => [...ids].map((id) => `${platform}:${id}`))
  collector.set(['roles', 'members'], members, 'allowFrom')
  collector.leave('commands.ownerAllowFrom', 'it names no owner: name one with roles.owners')
}

function readModelsByChannel(byChannel: JsonObject, collector: Collector): void {
  for (const platform of Object.keys(channelFacts)) {
    for (const [chat, name] of Object.entries(asRecord(byChannel[platform]))) {
      const [provider = '', ...model] = asString(name).split('/')
      const path: FoundSetting['path'] = ['platforms', platform, 'channel_overrides', chat]
      const key = `channels.modelByChannel.${platform}`
      if (chat.includes(':') || model.length === 0)
        collector.leave(`${key}.${chat}`, 'topics and aliases are not taken')
      else {
        collector.set([...path, 'provider'], provider, key)
        collector.set([...path, 'model'], model.join('/'), key)
      }
    }
  }
}
