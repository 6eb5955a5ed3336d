/**
 * Groups the messages of an album. Telegram sends one message for each file, with a common `media_group_id`.
 */
import { isRecord } from '#sdk'
import { asId, asRecord, asText, type JsonRecord, newMessageOf } from './payload.ts'

/** The updates in order. The updates of one album form a group at the position of its first part. */
export function groupAlbums(updates: readonly unknown[]): readonly (readonly JsonRecord[])[] {
  const groups = new Map<unknown, JsonRecord[]>()
  for (const update of updates.filter(isRecord)) {
    const key = albumKeyOf(update) ?? update
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [update])
    else group.push(update)
  }
  return [...groups.values()]
}

/** Includes chat and author, so that a message of another author is never merged into the album. */
function albumKeyOf(update: JsonRecord): string | undefined {
  const message = asRecord(newMessageOf(update))
  const group = asText(message['media_group_id'])
  if (group === undefined) return undefined
  return [message['chat'], message['from']].map((party) => asId(asRecord(party)['id']) ?? '').join(':') + group
}
