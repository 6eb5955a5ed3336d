/**
 * `/api/channels`: the chats to which messages can be sent.
 */
import { z } from 'zod'
import { type ListTargetsDeps, listAllTargets } from '../flows/delivery/list-targets.ts'
import { formatTarget } from '../flows/delivery/resolve-target.ts'
import { parseInput } from '../lib/parse-input.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { ApiRequest } from './request.ts'
import { type ApiChannels, channelsQuery } from './shapes.ts'

export type ChannelsApiDeps = ListTargetsDeps

export async function listChannels(deps: ChannelsApiDeps, { query, signal }: ApiRequest): Promise<ApiChannels> {
  const { platform, limit, cursor } = parseInput(channelsQuery, query)
  const list = ['channels', platform]
  const [after = ''] = decodeCursor(list, cursor, z.tuple([z.string()])) ?? []
  const found = (await listAllTargets(deps, { platform }, signal))
    .map((one) => ({ ...one, text: formatTarget(one.target) }))
    .filter(({ text }) => text > after)
    .sort((a, b) => (a.text < b.text ? -1 : 1))
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  return {
    channels: page.map(({ target, kind, name, text }) => ({
      target: text,
      platform: target.platform,
      account: target.account,
      chat_id: target.chatId,
      thread_id: target.threadId ?? null,
      kind,
      name: name ?? null,
      connected: deps.adapter(target) !== undefined,
    })),
    next_cursor: last === undefined ? null : encodeCursor(list, [last.text]),
  }
}
