/**
 * Normalizes recorded payloads of Discord's gateway, on one server, after READY and GUILD_CREATE.
 */
import { createGuildCache } from '../../../platforms/discord/inbound/guild-cache.ts'
import { parseInteraction } from '../../../platforms/discord/inbound/interactions.ts'
import { type NormalizeContext, normalize } from '../../../platforms/discord/inbound/normalize.ts'
import { asRecord, type Dispatch, numberAt, textAt } from '../../../platforms/discord/inbound/payload.ts'
import { parseOptions } from '../../../platforms/discord/options.ts'
import { type ReplaySubject, valueAt } from '../../kit/replay.ts'

const bot = '1181000000000000001'
const guild = '1180000000000000001'
const ada = '210000000000000042'

const ready = {
  v: 10,
  user: { id: bot, username: 'Hermes', discriminator: '0', global_name: null, avatar: null, bot: true },
  guilds: [{ id: guild, unavailable: true }],
  session_id: 'deadbeef',
  resume_gateway_url: 'wss://gateway-us-east1-b.discord.gg',
  application: { id: bot, flags: 1 << 19 },
}

const channel = (id: string, type: number, name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  id,
  type,
  name,
  topic: null,
  parent_id: '1180000000000000002',
  position: 1,
  permission_overwrites: [],
  ...more,
})
const thread = (
  id: string,
  parent: string,
  name: string,
  owner: string,
  more: Readonly<Record<string, unknown>> = {},
) => ({
  id,
  type: 11,
  guild_id: guild,
  parent_id: parent,
  owner_id: owner,
  name,
  message_count: 3,
  member_count: 2,
  ...more,
})

const server = {
  id: guild,
  name: 'Engine Makers',
  unavailable: false,
  roles: [
    { id: guild, name: '@everyone' },
    { id: '1180000000000000030', name: 'Hermes', managed: true, tags: { bot_id: bot } },
    { id: '1180000000000000031', name: 'Engineers' },
  ],
  channels: [
    channel('1180000000000000002', 4, 'Rooms', { parent_id: null }),
    channel('1180000000000000010', 0, 'general', { topic: 'Engines and everything else' }),
    channel('1180000000000000011', 5, 'news'),
    channel('1180000000000000012', 2, 'workshop'),
    channel('1180000000000000013', 15, 'questions'),
    channel('1180000000000000014', 0, 'free'),
  ],
  threads: [
    thread('1182000000000000020', '1180000000000000010', 'Gears', bot),
    thread('1182000000000000021', '1180000000000000010', 'Lunch', ada),
    thread('1182000000000000022', '1180000000000000013', 'How do I oil it?', ada, {
      member: { id: '1182000000000000022', user_id: bot, flags: 0 },
    }),
  ],
}

export const subject: ReplaySubject = {
  platform: 'discord',
  allowed: ada,
  authors: (payload) =>
    [['author', 'id'], ['member', 'user', 'id'], ['user', 'id'], ['user_id']].map((path) =>
      valueAt(payload, 'd', ...path),
    ),
  normalize(payload, account) {
    const guildCache = createGuildCache()
    guildCache.handleReady(ready)
    guildCache.update({ t: 'GUILD_CREATE', s: 2, d: server })
    const event: Dispatch = {
      t: textAt(asRecord(payload), 't') ?? '',
      s: numberAt(asRecord(payload), 's') ?? 0,
      d: asRecord(asRecord(payload)['d']),
    }
    guildCache.update(event)
    const view: NormalizeContext = {
      platform: 'discord',
      account: 'default',
      options: parseOptions(account),
      guildCache,
      sessionId: 'deadbeef',
      now: 1_764_000_000_000,
    }
    if (event.t !== 'INTERACTION_CREATE') {
      return normalize(event, view).map((inbound) => (inbound.kind === 'message' ? inbound.event : inbound.change))
    }
    const interaction = parseInteraction(event.d, view)
    if (interaction?.kind === 'command') return [interaction.event]
    return interaction?.kind === 'press' ? [interaction.press] : []
  },
}
