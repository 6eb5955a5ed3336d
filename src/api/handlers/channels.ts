/**
 * `/api/channels`: the chats to which messages can be sent.
 */
import { z } from 'zod'
import { listAllTargets } from '../../flows/delivery/list-targets.ts'
import { formatTarget } from '../../flows/delivery/resolve-target.ts'
import type { ApiServices } from '../services.ts'
import type { ApiChannels, ChannelsQuery } from '../shapes/channels.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

export async function listChannels(
  services: ApiServices,
  { platform, limit, cursor }: ChannelsQuery,
  signal: AbortSignal,
): Promise<ApiChannels> {
  const list = ['channels', platform]
  const [after = ''] = decodeCursor(list, cursor, z.tuple([z.string()])) ?? []
  const channels = (await listAllTargets(services, { platform }, signal))
    .map((channel) => ({ ...channel, text: formatTarget(channel.target) }))
    .filter(({ text }) => text > after)
    .sort((a, b) => (a.text < b.text ? -1 : 1))
  const page = channels.slice(0, limit)
  const last = channels.length > limit ? page.at(-1) : undefined
  return {
    channels: page.map(({ target, kind, name, text }) => ({
      target: text,
      platform: target.platform,
      account: target.account,
      chat_id: target.chatId,
      thread_id: target.threadId ?? null,
      kind,
      name: name ?? null,
      connected: services.platforms.adapter(target) !== undefined,
    })),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.text]),
  }
}
