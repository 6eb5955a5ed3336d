/**
 * An album comes as several messages that share a `media_group_id`: here they become one again.
 */
import { asId, asRecord, asText, isRecord, type JsonRecord } from './payload.ts'

/** Whether the last update is a part of an album, so that further parts may be on their way. */
export function endsInAlbum(updates: readonly unknown[]): boolean {
  return albumKeyOf(asRecord(updates.at(-1))) !== undefined
}

/** The updates in order; those of one album stand together, at the place of its first part. */
export function groupAlbums(updates: readonly unknown[]): readonly (readonly JsonRecord[])[] {
  const groups = new Map<unknown, JsonRecord[]>()
  for (const update of updates.filter(isRecord)) {
    const name = albumKeyOf(update) ?? update
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [update])
    else group.push(update)
  }
  return [...groups.values()]
}

/** With chat and author: what somebody else wrote must never be taken for a part of it. */
function albumKeyOf(update: JsonRecord): string | undefined {
  const message = asRecord(update['message'] ?? update['channel_post'])
  const group = asText(message['media_group_id'])
  if (group === undefined) return undefined
  return [message['chat'], message['from']].map((one) => asId(asRecord(one)['id']) ?? '').join(':') + group
}
