/**
 * The channels of which the bot is a member, for people who name one: `slack:#general`.
 */
import type { FoundChat } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { recordAt, recordsAt, textAt } from './payload.ts'

/** Two thousand channels. */
const maxPages = 10
const pageSize = 200

/** Rejects with Slack's reason. Without the scope for private channels only the public ones. */
export async function findChannels(call: ApiCall, signal: AbortSignal): Promise<readonly FoundChat[]> {
  const all = await listChannels(call, 'public_channel,private_channel', signal)
  if (!('missingScope' in all)) return all.channels
  const open = await listChannels(call, 'public_channel', signal)
  if ('missingScope' in open) throw new Error(open.missingScope)
  return open.channels
}

async function listChannels(
  call: ApiCall,
  types: string,
  signal: AbortSignal,
): Promise<{ readonly channels: readonly FoundChat[] } | { readonly missingScope: string }> {
  const channels: FoundChat[] = []
  let cursor = ''
  for (let page = 0; page < maxPages; page += 1) {
    const args = { types, exclude_archived: true, limit: pageSize, ...(cursor === '' ? {} : { cursor }) }
    const result = await call('users.conversations', args, signal)
    if (!result.ok) {
      if (result.failure.code === 'missing_scope') return { missingScope: result.failure.error }
      throw new Error(result.failure.error)
    }
    for (const channel of recordsAt(result.data, 'channels')) {
      const [chatId, name] = [textAt(channel, 'id'), textAt(channel, 'name')]
      if (chatId !== undefined && name !== undefined) channels.push({ chatId, name })
    }
    cursor = textAt(recordAt(result.data, 'response_metadata'), 'next_cursor') ?? ''
    if (cursor === '') break
  }
  return { channels }
}
