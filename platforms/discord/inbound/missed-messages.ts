/**
 * Reads the messages of a channel after a known one, page by page, in the form of the gateway's events.
 */
import type { DiscordAccount } from '../account.ts'
import { retryAfterRateLimit } from '../connection/api.ts'
import { isRejected } from '../errors.ts'
import { asRecord, idAt, isRecord, type JsonRecord, recordAt } from './payload.ts'
import { isNewer } from './snowflake.ts'

export interface MissedMessages {
  /** Oldest first. */
  readonly messages: readonly JsonRecord[]
  /** The newest message that was left out because of the limit. */
  readonly skipped?: string | undefined
}

/** Discord's limit. */
const pageSize = 100

/** Returns the newest messages after `after`, at most `limit`. Rejects when another attempt can succeed, or as the API does. */
export async function fetchMissed(
  account: DiscordAccount,
  channel: string,
  after: string,
  limit: number,
): Promise<MissedMessages> {
  const { api, guildCache, options, stopping } = account
  const { signal } = stopping
  if (guildCache.channel(channel) === undefined) {
    guildCache.updateChannel(asRecord(await retryAfterRateLimit(signal, () => api.channel(channel, signal))))
  }
  const { found: history, skipped } = await readBack(account, channel, after, limit)
  const known = guildCache.channel(channel)
  const guild = known?.guildId
  const messages = history.toReversed().map((message) => ({
    ...message,
    guild_id: guild,
    channel_type: known?.type,
  }))
  // Roles authorize users, and fetched messages lack them, so members are fetched as well.
  const needsRoles = options.allowedRoles.length > 0 && guild !== undefined
  return { messages: needsRoles ? await withMembers(account, messages, guild) : messages, skipped }
}

/** From the newest message backwards, because only then the newest ones are found when there are more than the limit. */
async function readBack(
  { api, stopping: { signal } }: DiscordAccount,
  channel: string,
  after: string,
  limit: number,
): Promise<{ found: readonly JsonRecord[]; skipped?: string }> {
  const recent: JsonRecord[] = []
  let before: string | undefined
  for (;;) {
    const page = await retryAfterRateLimit(signal, () => api.newestMessages(channel, pageSize, signal, before))
    const messages = Array.isArray(page) ? page.filter(isRecord) : []
    for (const message of messages) {
      const id = idAt(message, 'id')
      if (id === undefined) continue
      if (!isNewer(id, after)) return { found: recent }
      if (recent.length === limit) return { found: recent, skipped: id }
      recent.push(message)
    }
    const last = idAt(messages.at(-1), 'id')
    if (messages.length < pageSize || last === undefined) return { found: recent }
    before = last
  }
}

async function withMembers(
  account: DiscordAccount,
  messages: readonly JsonRecord[],
  guild: string,
): Promise<readonly JsonRecord[]> {
  const members = new Map<string, JsonRecord | undefined>()
  for (const message of messages) {
    const author = recordAt(message, 'author')
    const id = idAt(author, 'id')
    if (id === undefined || author?.['bot'] === true || members.has(id)) continue
    members.set(id, await fetchMember(account, guild, id))
  }
  return messages.map((message) => {
    const member = members.get(idAt(recordAt(message, 'author'), 'id') ?? '')
    return member === undefined ? message : { ...message, member }
  })
}

async function fetchMember(
  { api, stopping: { signal } }: DiscordAccount,
  guild: string,
  user: string,
): Promise<JsonRecord | undefined> {
  try {
    return asRecord(await retryAfterRateLimit(signal, () => api.member(guild, user, signal)))
  } catch (error) {
    if (isRejected(error)) return undefined
    throw error
  }
}
